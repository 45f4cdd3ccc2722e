"""The history of the admin: who has changed the records of a resource."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client

from datastore_search import interface
from datastore_search.models import Resource
from datastore_search.writing import history

from ...builders import act, make_writer_token

pytestmark = pytest.mark.usefixtures("_new_process")


@pytest.fixture
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_entries", {})


def make_table(user: Any) -> Resource:
    made = interface.create(
        user,
        resource={"name": "rivers"},
        fields=[{"id": "code", "type": "text"}],
        primary_key=["code"],
        records=[{"code": "a"}, {"code": "b"}],
    )
    return Resource.objects.get(pk=made["resource_id"])


def list_entries(user: Any) -> list[tuple[str | None, str]]:
    entries = LogEntry.objects.filter(user=user, action_flag=CHANGE).order_by("pk")
    return [(entry.object_id, entry.get_change_message()) for entry in entries]


@pytest.fixture
def writer(db: None) -> Any:
    return get_user_model().objects.create_superuser("writer", password="secret")


def test_many_writes_are_one_entry_with_their_sums(writer: Any) -> None:
    resource = make_table(writer)
    for code in "abcde":
        interface.upsert(writer, resource.pk, [{"code": code}, {"code": f"{code}2"}])
    interface.delete(writer, resource.pk, {"code": ["a", "b"]})

    assert list_entries(writer) == [(str(resource.pk), "Added records “10”. Deleted records “2”.")]


def test_each_user_resource_and_time_has_an_entry(
    writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_table(writer)
    other = get_user_model().objects.create_superuser("other", password="secret")
    interface.upsert(other, resource.pk, [{"code": "c"}])
    monkeypatch.setattr(history, "_MAX_AGE", history._MAX_AGE * 0)
    interface.upsert(writer, resource.pk, [{"code": "d"}])

    assert [len(list_entries(user)) for user in (writer, other)] == [2, 1]


def test_a_write_that_fails_or_changes_nothing_leaves_no_entry(writer: Any) -> None:
    resource = make_table(writer)
    LogEntry.objects.all().delete()
    with pytest.raises(interface.DatastoreError):
        interface.upsert(writer, resource.pk, [{"code": "x"}, {"nothing": 1}])
    interface.upsert(writer, resource.pk, [])

    assert list_entries(writer) == []
    interface.upsert(writer, resource.pk, [{"code": "x"}])  # its entry was deleted
    assert len(list_entries(writer)) == 1


def test_a_token_of_the_api_is_its_user(client: Client, writer: Any) -> None:
    resource = make_table(writer)
    token = make_writer_token("robot")
    sent = {"resource_id": str(resource.pk), "records": [{"code": "z"}]}

    assert act(client, "datastore_upsert", sent, token).status_code == 200

    assert len(list_entries(get_user_model().objects.get(username="robot"))) == 1


def test_users_that_are_not_stored_have_no_entry(writer: Any, resource: Resource) -> None:
    unknown = get_user_model()(username="of another service")

    for user in (unknown, None, object()):
        history.record_changes(user, resource, {"added": 1}, "default")

    assert LogEntry.objects.count() == 0


def test_without_the_admin_nothing_is_written(
    writer: Any, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: name != "django.contrib.admin")

    history.record_changes(writer, resource, {"added": 1}, "default")

    assert LogEntry.objects.count() == 0


def test_the_numbers_of_what_was_rolled_back_do_not_count(writer: Any) -> None:
    resource = make_table(writer)
    for code in "cd":
        with transaction.atomic():
            interface.upsert(writer, resource.pk, [{"code": "lost"}])
            transaction.set_rollback(True)
        interface.upsert(writer, resource.pk, [{"code": code}])

    added = [message.split(".")[0] for _id, message in list_entries(writer)]
    assert added == ["Added records “2”", "Added records “1”", "Added records “1”"]
