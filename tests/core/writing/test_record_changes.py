"""Every way to write changes records by the same rules; ``loading`` tests the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from datastore_search.models import Resource
from datastore_search.writing import GivenField, Method, open_writer
from datastore_search.writing.changes import MAX_INDEXED_VALUE_BYTES

#: Writes a value of the field ``name``: of a new record, or of the one that is there.
Write = Callable[[Resource, str], None]

#: Values that an order index can just hold.
FITTING = {
    "three bytes": "ệ" * 866,
    "the longest with escapes": '"\n' * (MAX_INDEXED_VALUE_BYTES // 2),  # as JSON twice as long
}


def insert(resource: Resource, value: str) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "2", "name": value}], Method.INSERT)


def upsert(resource: Resource, value: str) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "1", "name": value}], Method.UPSERT)


def make_ordered() -> Resource:
    """Make a resource with a key, and an index of the order of its field ``name``."""
    resource = Resource.objects.create(name="ordered")
    with open_writer(resource) as writer:
        fields = [GivenField("code", "text"), GivenField("name", "text")]
        writer.create(fields, [])
        writer.set_key(["code"])
        writer.index_orders(["name"])
        writer.write([{"code": "1", "name": "short"}], Method.INSERT)
    resource.refresh_from_db()
    return resource


def read_state(resource: Resource) -> tuple[bool, int, list[Any]]:
    """Tell whether the order of names is said to be indexed, the indexes, and the names."""
    table = f"datastore_search_record_{resource.table_version_id}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_indexes WHERE tablename = %s AND indexname ~ '_by_'", [table]
        )
        (indexes,) = cursor.fetchone()
        cursor.execute(f"SELECT data ->> 'name' FROM {table} ORDER BY _id")
        names = [name for (name,) in cursor.fetchall()]
    return resource.fields.get(name="name").has_order_index, indexes, names


def check_fitting_value(write: Write, value: str) -> None:
    ordered = make_ordered()

    write(ordered, value)

    has_order_index, indexes, names = read_state(ordered)
    assert (has_order_index, indexes) == (True, 1)
    assert names[-1] == value


def check_longer_value(write: Write) -> None:
    ordered = make_ordered()
    value = "x" * (MAX_INDEXED_VALUE_BYTES + 1)

    write(ordered, value)

    assert read_state(ordered) == (False, 0, [*read_state(ordered)[2][:-1], value])


def check_version(write: Write, *, added: int) -> None:
    ordered = make_ordered()
    before = Resource.objects.described(ordered.pk)
    assert before.table_version is not None

    write(ordered, "other")

    after = Resource.objects.described(ordered.pk)
    assert after.table_version is not None
    assert after.table_version.record_count == before.table_version.record_count + added
    assert after.version > before.version


pytestmark = pytest.mark.django_db

each_door = pytest.mark.parametrize("write", [insert, upsert])


@each_door
@pytest.mark.parametrize("value", FITTING.values(), ids=FITTING)
def test_a_value_that_fits_keeps_the_order_index(write: Write, value: str) -> None:
    check_fitting_value(write, value)


@each_door
def test_a_longer_value_is_stored_and_drops_the_order_index(write: Write) -> None:
    check_longer_value(write)


@pytest.mark.parametrize(("write", "added"), [(insert, 1), (upsert, 0)])
def test_every_change_counts_and_gives_a_new_version(write: Write, added: int) -> None:
    check_version(write, added=added)
