"""The API and files that are merged change records by the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.record_changes import MAX_INDEXED_VALUE_BYTES
from datastore_search.writing import GivenField, Method, open_writer

from .builders import load_csv

pytestmark = pytest.mark.usefixtures("read_here")


def insert(resource: Resource, value: str, _folder: Path) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "2", "name": value}], Method.INSERT)


def upsert(resource: Resource, value: str, _folder: Path) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "1", "name": value}], Method.UPSERT)


def merge(resource: Resource, value: str, folder: Path, mode: str) -> None:
    path = folder / "more.csv"
    quoted = value.replace('"', '""')
    path.write_text(f'code,name\n{2 if mode == "append" else 1},"{quoted}"\n')
    load_file(resource, path, options=LoadOptions(mode=mode))


def append_file(resource: Resource, value: str, folder: Path) -> None:
    merge(resource, value, folder, "append")


def upsert_file(resource: Resource, value: str, folder: Path) -> None:
    merge(resource, value, folder, "upsert")


each_door = pytest.mark.parametrize("write", [insert, upsert, append_file, upsert_file])


@pytest.fixture
def ordered(db: None) -> Resource:
    """A resource with a key, and an index of the order of its field ``name``."""
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


@each_door
@pytest.mark.parametrize(
    "value",
    [
        "ệ" * 866,  # of three bytes
        '"\n' * (MAX_INDEXED_VALUE_BYTES // 2),  # as JSON twice as long
    ],
    ids=["three bytes", "the longest with escapes"],
)
def test_a_value_that_fits_keeps_the_order_index(
    ordered: Resource, tmp_path: Path, write: Any, value: str
) -> None:
    write(ordered, value, tmp_path)

    has_order_index, indexes, names = read_state(ordered)
    assert (has_order_index, indexes) == (True, 1)
    assert names[-1] == value


@each_door
def test_a_longer_value_is_stored_and_drops_the_order_index(
    ordered: Resource, tmp_path: Path, write: Any
) -> None:
    value = "x" * (MAX_INDEXED_VALUE_BYTES + 1)

    write(ordered, value, tmp_path)

    assert read_state(ordered) == (False, 0, [*read_state(ordered)[2][:-1], value])


def test_a_load_that_replaces_the_records_stores_such_values_without_the_index(
    ordered: Resource,
) -> None:
    longer = "x" * (MAX_INDEXED_VALUE_BYTES + 1)
    rows = "".join(f"{code},n{code}\n" for code in range(2_100))

    load_csv(ordered, f"code,name\n{rows}x,y\n")
    assert read_state(ordered)[0]  # of a table that is large enough
    load_csv(ordered, f"code,name\n{rows}x,{longer}\n")

    has_order_index, _indexes, names = read_state(ordered)
    assert (has_order_index, names[-1]) == (False, longer)


@each_door
def test_every_change_counts_and_gives_a_new_version(
    ordered: Resource, tmp_path: Path, write: Any
) -> None:
    before = Resource.objects.described(ordered.pk)
    assert before.table_version is not None

    write(ordered, "other", tmp_path)

    after = Resource.objects.described(ordered.pk)
    assert after.table_version is not None
    added = write in {insert, append_file}
    assert after.table_version.record_count == before.table_version.record_count + added
    assert after.version > before.version
