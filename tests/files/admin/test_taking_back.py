"""A load of a user is taken back: the records from before are published again, for a week."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from datastore_search.contrib.files.jobs import clean_up_loads, cleanup
from datastore_search.contrib.files.models import Load, Mode
from datastore_search.database import statements
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource
from datastore_search.signals import resource_written
from datastore_search.writing import Method, open_writer

from ...builders import act, ask, get_result, make_token, make_user
from ..builders import load_text
from .test_loading import LOADS

OLD = "code,name,depth\n1,Red,3\n2,Blue,5\n"
NEW = "code,name,river\n1,Crimson,yes\n3,Green,no\n4,Grey,no\n"


@pytest.fixture
def load(admin_user: Any, no_resource: None) -> Load:
    """The load of a user that has replaced other records."""
    resource = Resource.objects.create(name="colours")
    load_text(resource, OLD, key=("code",))
    field = resource.fields.get(name="depth")
    field.label, field.notes = "Depth", "in metres"
    field.save()
    load = load_text(resource, NEW, user=admin_user, key=("name",), drop_missing_fields=True)
    resource.fields.filter(name="name").update(label="Colour")
    return load


def read(client: Client, load: Load) -> tuple[list[str], list[str]]:
    """Read the names of the records and of the fields, as everyone does."""
    result = get_result(ask(client, {"resource_id": str(load.resource_id), "sort": "name"}))
    names = [field["id"] for field in result["fields"]]
    return [record["name"] for record in result["records"]], names[1:]


def send(client: Client, load: Load, button: str = "publish", version: int = 0) -> str:
    """Press a button, by default of the page as it is now."""
    load.refresh_from_db()
    version = version or (load.former or {"version": 0})["version"]
    response = client.post(f"{LOADS}{load.pk}/former/", {button: version}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_the_records_from_before_are_published_again_and_those_of_the_load_too(
    admin_client: Client, load: Load
) -> None:
    page = admin_client.get(f"{LOADS}{load.pk}/change/").content.decode()
    assert "The records from before this load (2) are kept until" in page
    of_resource = f"/en/admin/datastore_search/resource/{load.resource_id}/change/"
    assert f'{LOADS}{load.pk}/change/#former">Take the load back' in (
        admin_client.get(of_resource).content.decode()
    )

    page = send(admin_client, load)

    assert "The records are published again." in page
    assert "The records of this load (3) are kept until" in page
    assert '#former">The load is taken back' in admin_client.get(of_resource).content.decode()
    assert read(Client(), load) == (["Blue", "Red"], ["code", "name", "depth"])
    resource = Resource.objects.get(pk=load.resource_id)
    assert resource.primary_key == ["code"]
    assert [field.label for field in resource.fields.all()] == ["", "Colour", "Depth"]
    assert resource.fields.get(name="depth").notes == "in metres"
    assert LogEntry.objects.filter(object_id=str(resource.pk)).exists()

    with open_writer(resource) as writer:  # what changes since is kept, too
        writer.write([{"code": 2, "name": "Navy"}], Method.UPDATE)
    send(admin_client, load)

    assert read(Client(), load) == (["Crimson", "Green", "Grey"], ["code", "name", "river"])
    send(admin_client, load)
    assert read(Client(), load)[0] == ["Navy", "Red"]


def test_a_second_click_does_not_undo_the_first(admin_client: Client, load: Load) -> None:
    page = admin_client.get(f"{LOADS}{load.pk}/change/").content.decode()
    (version,) = re.findall(r'name="publish" value="(\d+)"', page)

    for _click in range(2):
        assert "The records are published again." in send(admin_client, load, version=int(version))
        assert read(Client(), load)[0] == ["Blue", "Red"]


def test_what_is_published_meanwhile_is_not_deleted(
    admin_client: Client, load: Load, django_capture_on_commit_callbacks: Any
) -> None:
    page = admin_client.get(f"{LOADS}{load.pk}/change/").content.decode()
    (version,) = re.findall(r'name="delete" value="(\d+)"', page)
    send(admin_client, load)  # by a colleague

    with django_capture_on_commit_callbacks(execute=True):
        send(admin_client, load, "delete", int(version))

    assert len(list_record_tables(connection)) == 2
    assert read(Client(), load)[0] == ["Blue", "Red"]
    send(admin_client, load)
    assert len(read(Client(), load)[0]) == 3


def test_portals_are_told_that_the_records_are_others(
    admin_client: Client, load: Load, django_capture_on_commit_callbacks: Any
) -> None:
    received = list[dict[str, Any]]()

    def receive(resource: Resource, **values: Any) -> None:
        received.append({"resource": resource.pk, **values})

    resource_written.connect(receive)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            send(admin_client, load)
    finally:
        resource_written.disconnect(receive)

    (values,) = received
    assert values["resource"] == load.resource_id
    assert [values[name] for name in ("added", "updated", "deleted")] == [2, 0, 3]


@pytest.mark.django_db(transaction=True)
def test_a_click_does_not_wait_for_a_long_change(
    admin_client: Client, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "WRITE_LOCK_TIMEOUT", timedelta(milliseconds=50))
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:  # as a load that merges does
            cursor.execute("SELECT FROM datastore_search_resource FOR NO KEY UPDATE")
        for button in ("publish", "delete"):
            page = send(admin_client, load, button)
            assert "Another change of the resource has not ended yet." in page
    finally:
        other.rollback()
        other.close()

    assert len(read(Client(), load)[0]) == 3
    load.resource.delete()


def test_they_are_kept_for_a_week(admin_client: Client, load: Load) -> None:
    assert clean_up_loads() == 0
    assert len(list_record_tables(connection)) == 2
    assert not list(cleanup.find_leftovers(connection, set()))

    Load.objects.update(finished_at=timezone.now() - timedelta(days=7, minutes=1))

    assert "no longer kept" in send(admin_client, load)
    assert "kept until" not in admin_client.get(f"{LOADS}{load.pk}/change/").content.decode()
    assert clean_up_loads() == 0  # for an hour: somebody may just have published them
    Load.objects.update(finished_at=timezone.now() - timedelta(days=7, hours=2))
    assert clean_up_loads() == 1
    assert read(Client(), load)[0] == ["Crimson", "Green", "Grey"]


def test_only_the_last_ones_are_kept(admin_client: Client, load: Load) -> None:
    load_text(load.resource, "code,name\n9,Black\n", user=load.user, drop_missing_fields=True)

    assert len(list_record_tables(connection)) == 2
    assert "no longer kept" in send(admin_client, load)
    send(admin_client, load.resource.loads.latest("pk"))
    assert read(Client(), load)[0] == ["Crimson", "Green", "Grey"]


@pytest.mark.parametrize("is_off", [False, True])
def test_without_a_user_or_by_the_setting_none_are_kept(
    load: Load, settings: Any, *, is_off: bool
) -> None:
    user = None
    if is_off:
        settings.DATASTORE_SEARCH_UPLOAD_RETENTION, user = timedelta(0), load.user
    load_text(load.resource, OLD, user=user, drop_missing_fields=True)

    assert len(list_record_tables(connection)) == 1
    assert not Load.objects.filter(former__isnull=False).exists()


def test_they_can_be_deleted_at_once(
    admin_client: Client, load: Load, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        send(admin_client, load, "delete")

    assert list_record_tables(connection) == {load.table_version_id}
    assert "no longer kept" in send(admin_client, load)
    assert len(read(Client(), load)[0]) == 3


def test_they_are_deleted_with_the_table(
    client: Client, load: Load, django_capture_on_commit_callbacks: Any
) -> None:
    parameters = {"resource_id": str(load.resource_id), "force": True}
    with django_capture_on_commit_callbacks(execute=True):
        get_result(act(client, "datastore_delete", parameters, make_token(load.user)))

    assert not list_record_tables(connection)


def test_a_load_that_merges_stays_with_what_is_published(admin_client: Client, load: Load) -> None:
    load_text(load.resource, "code,name\n5,Pink\n", user=load.user, mode=Mode.APPEND)

    send(admin_client, load)
    assert read(Client(), load)[0] == ["Blue", "Red"]
    send(admin_client, load)
    assert "Pink" in read(Client(), load)[0]


def test_nobody_else_publishes_them(client: Client, load: Load) -> None:
    viewer = make_user("viewer", permissions=("view_resource",), is_staff=True)
    client.force_login(viewer)

    assert "former/" not in client.get(f"{LOADS}{load.pk}/change/").content.decode()
    assert client.post(f"{LOADS}{load.pk}/former/").status_code == 403
    changer = make_user("changer", permissions=("view_resource", "change_resource"), is_staff=True)
    client.force_login(changer)
    page = client.get(f"{LOADS}{load.pk}/change/").content.decode()
    assert ("Publish them again" in page, "Delete them now" in page) == (True, False)
    assert client.post(f"{LOADS}{load.pk}/former/", {"delete": load.pk}).status_code == 403
    assert client.get(f"{LOADS}{load.pk}/former/").status_code == 405
    assert len(read(Client(), load)[0]) == 3
