"""The version of a resource increases with every change, and no version is used twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from datastore_search.database.statements import execute, fetch_value
from datastore_search.models import Alias, Field, Resource

from ...builders import make_resource

pytestmark = pytest.mark.django_db


def read_version(resource: Resource) -> int:
    return Resource.objects.described(resource.pk).version


@contextmanager
def restore_mode() -> Iterator[None]:
    """Write rows as pg_restore does, which makes the triggers after them, and as a subscriber."""
    tables = ("datastore_search_resource", "datastore_search_field")
    execute(connection, "SET CONSTRAINTS ALL IMMEDIATE")
    for table in tables:
        execute(connection, f"ALTER TABLE {table} DISABLE TRIGGER USER")
    yield
    for table in tables:
        execute(connection, f"ALTER TABLE {table} ENABLE TRIGGER USER")


#: Changes by plain SQL, as any program may make them.
STATEMENTS = {
    "resource": "UPDATE datastore_search_resource SET title = 'T'",
    "the same": "UPDATE datastore_search_resource SET title = title",
    "version": "UPDATE datastore_search_resource SET version = 5",
    "field": "UPDATE datastore_search_field SET label = 'L' WHERE name = 'code'",
    "fewer fields": "DELETE FROM datastore_search_field WHERE name = 'code'",
    "more fields": (
        "INSERT INTO datastore_search_field (resource_id, name, type, position, label, notes,"
        " is_sparse, has_order_index, chosen_type, extra_info, translations)"
        " SELECT id, 'more', 'text', 9, '', '', true, false, '', '{}', '{}'"
        " FROM datastore_search_resource"
    ),
    "alias": (
        "INSERT INTO datastore_search_alias (resource_id, name)"
        " SELECT id, 'alias' FROM datastore_search_resource"
    ),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=list(STATEMENTS))
def test_a_statement_increases_the_version(resource: Resource, statement: str) -> None:
    before = read_version(resource)

    execute(connection, statement)

    assert read_version(resource) > before


def test_an_alias_that_moves_increases_the_version_of_both(resource: Resource) -> None:
    other = make_resource()
    alias = Alias.objects.create(resource=resource, name="alias")
    before = read_version(resource), read_version(other)

    alias.resource = other
    alias.save()

    after = read_version(resource), read_version(other)
    assert after > before
    assert after[1] > before[1]


def test_a_plain_save_does_not_take_a_version_back(resource: Resource) -> None:
    old = Resource.objects.get(pk=resource.pk)
    Field.objects.update(label="L")
    before = read_version(resource)

    old.save()

    assert read_version(resource) > before


def test_a_restored_version_is_never_that_of_another_state(resource: Resource) -> None:
    seen = [read_version(resource)]
    (dumped,) = Resource.objects.filter(pk=resource.pk).values("title", "version", "modified_at")
    for label in ("a", "b", "c"):
        Field.objects.update(label=label)
        seen.append(read_version(resource))

    with restore_mode():  # the older state comes back, and its version with it
        Resource.objects.filter(pk=resource.pk).update(**dumped)
        Field.objects.update(label="")
    assert read_version(resource) == seen[0]
    for label in ("d", "e", "f"):
        Field.objects.update(label=label)
        seen.append(read_version(resource))

    assert sorted(set(seen)) == seen


def test_a_version_that_was_rolled_back_does_not_come_again(resource: Resource) -> None:
    with transaction.atomic():
        Field.objects.update(label="a")
        rolled_back = read_version(resource)
        transaction.set_rollback(True)
    Field.objects.update(label="b")

    assert read_version(resource) > rolled_back


def test_a_version_increases_while_the_clock_is_behind_it(resource: Resource) -> None:
    ahead = 2**60
    with restore_mode():  # from a server whose clock is ahead
        Resource.objects.update(version=ahead)

    Field.objects.update(label="a")
    assert read_version(resource) == ahead + 1
    Resource.objects.update(title="T")
    assert read_version(resource) == ahead + 2


@pytest.mark.parametrize(
    "change",
    [
        lambda resource: Resource.objects.filter(pk=resource.pk).update(title="T"),
        lambda resource: Field.objects.filter(resource=resource, name="code").update(label="L"),
    ],
    ids=["resource", "field"],
)
def test_a_change_writes_the_resource_once(
    resource: Resource, change: Callable[[Resource], Any]
) -> None:
    counter = "SELECT n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = %s"
    before = fetch_value(connection, counter, ["datastore_search_resource"])

    change(resource)

    assert fetch_value(connection, counter, ["datastore_search_resource"]) == before + 1
