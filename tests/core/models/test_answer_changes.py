"""The signal that names the surrogate keys of a change, whatever makes the change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from datastore_search.models import Alias, Field, Resource
from datastore_search.signals import CATALOGUE_KEY, answers_changed
from datastore_search.writing import Method, Writer, open_writer

from ...builders import act, make_resource, make_writer_token, receive

pytestmark = pytest.mark.needs("scale")


@pytest.fixture
def received() -> Iterator[list[dict[str, set[str]]]]:
    with receive(answers_changed) as calls:
        yield calls


def join_keys(received: list[dict[str, set[str]]]) -> set[str]:
    return {key for each in received for key in each["keys"]}


def write_by_the_api(resource: Resource) -> None:
    sent = {"resource_id": str(resource.pk), "method": "insert", "records": [{}], "force": True}
    assert act(Client(), "datastore_upsert", sent, make_writer_token()).status_code == 200


def use_writer(resource: Resource, change: Callable[[Writer], object]) -> None:
    with open_writer(resource) as writer:
        change(writer)


def save_resource(resource: Resource) -> None:
    resource.private = True
    resource.save()


CHANGES: dict[str, Callable[[Resource], object]] = {
    "write records": lambda each: use_writer(
        each, lambda writer: writer.write([{"code": "007"}], Method.INSERT)
    ),
    "write by the API": write_by_the_api,
    "drop the table": lambda each: use_writer(each, lambda writer: writer.drop_table()),
    "save the resource": save_resource,
    "update resources": lambda _each: Resource.objects.update(title="Another"),
    "save a field": lambda each: each.fields.get(position=0).save(),
    "update fields": lambda each: Field.objects.bulk_update([*each.fields.all()], ["label"]),
    "delete a field": lambda each: each.fields.filter(name="code").delete(),
    "create an alias": lambda each: Alias.objects.create(resource=each, name="new"),
    "delete an alias": lambda each: each.aliases.get(name="old").delete(),
    "delete the resource": lambda each: each.delete(),
    "delete resources": lambda _each: Resource.objects.all().delete(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_names_its_resource_once_it_is_committed(
    transactional_db: None, received: list[dict[str, set[str]]], change: str
) -> None:
    resource = make_resource(name="rivers")
    Alias.objects.create(resource=resource, name="old")
    pk = str(resource.pk)
    received.clear()

    with transaction.atomic():
        CHANGES[change](resource)
        assert received == []

    assert join_keys(received) == {pk, CATALOGUE_KEY}


def test_an_alias_that_moves_names_both_resources(
    transactional_db: None, received: list[dict[str, set[str]]]
) -> None:
    one, other = make_resource(name="one"), make_resource(name="other")
    alias = Alias.objects.create(resource=one, name="old")
    received.clear()

    alias.resource = other
    alias.save()

    assert join_keys(received) == {str(one.pk), str(other.pk), CATALOGUE_KEY}


def test_a_change_that_is_rolled_back_names_nothing(
    transactional_db: None, received: list[dict[str, set[str]]]
) -> None:
    resource = make_resource()
    received.clear()

    with transaction.atomic():
        save_resource(resource)
        transaction.set_rollback(True)
    Resource.objects.none().update(title="Another")

    assert received == []


def test_without_a_receiver_nothing_is_read_for_it(
    resource: Resource, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        Resource.objects.filter(pk=resource.pk).update(title="Another")
