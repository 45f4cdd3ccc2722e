"""The signal that names the surrogate keys of a change, whatever makes the change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from datastore_search.models import Alias, Field, Resource
from datastore_search.signals import CATALOGUE_KEY, answers_changed
from datastore_search.writing import Method, open_writer

from ...builders import act, make_resource, make_writer_token

pytestmark = pytest.mark.needs("scale")


@pytest.fixture
def keys() -> Iterator[list[set[str]]]:
    """What the signal names."""
    named: list[set[str]] = []

    def receive(*, keys: set[str], **_signal: object) -> None:
        named.append(keys)

    answers_changed.connect(receive)
    yield named
    answers_changed.disconnect(receive)


def write_records(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "007"}], Method.INSERT)


def write_by_the_api(resource: Resource) -> None:
    sent = {"resource_id": str(resource.pk), "method": "insert", "records": [{}], "force": True}
    assert act(Client(), "datastore_upsert", sent, make_writer_token()).status_code == 200


def drop_table(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.drop_table()


def save_resource(resource: Resource) -> None:
    resource.private = True
    resource.save()


def update_resources(resource: Resource) -> None:
    Resource.objects.update(title="Another")


def save_field(resource: Resource) -> None:
    resource.fields.get(position=0).save()


def update_fields(resource: Resource) -> None:
    changed = list(resource.fields.all())
    Field.objects.bulk_update(changed, ["label"])


def delete_field(resource: Resource) -> None:
    resource.fields.filter(name="code").delete()


def create_alias(resource: Resource) -> None:
    Alias.objects.create(resource=resource, name="new")


def delete_alias(resource: Resource) -> None:
    resource.aliases.get(name="old").delete()


def delete_resource(resource: Resource) -> None:
    resource.delete()


def delete_resources(resource: Resource) -> None:
    Resource.objects.all().delete()


CHANGES = (
    write_records, write_by_the_api, drop_table, save_resource, update_resources, save_field,
    update_fields, delete_field, create_alias, delete_alias, delete_resource,
    delete_resources,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_names_its_resource_once_it_is_committed(
    transactional_db: None, keys: list[set[str]], change: Callable[[Resource], None]
) -> None:
    resource = make_resource(name="rivers")
    Alias.objects.create(resource=resource, name="old")
    pk = str(resource.pk)
    keys.clear()

    with transaction.atomic():
        change(resource)
        assert keys == []

    assert set().union(*keys) == {pk, CATALOGUE_KEY}


def test_an_alias_that_moves_names_both_resources(
    transactional_db: None, keys: list[set[str]]
) -> None:
    one, other = make_resource(name="one"), make_resource(name="other")
    alias = Alias.objects.create(resource=one, name="old")
    keys.clear()

    alias.resource = other
    alias.save()

    assert set().union(*keys) == {str(one.pk), str(other.pk), CATALOGUE_KEY}


def test_a_change_that_is_rolled_back_names_nothing(
    transactional_db: None, keys: list[set[str]]
) -> None:
    resource = make_resource()
    keys.clear()

    with transaction.atomic():
        save_resource(resource)
        transaction.set_rollback(True)
    Resource.objects.none().update(title="Another")

    assert keys == []


def test_without_a_receiver_nothing_is_read_for_it(
    resource: Resource, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        Resource.objects.filter(pk=resource.pk).update(title="Another")
