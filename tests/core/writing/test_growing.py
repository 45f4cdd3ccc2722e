"""A small table has no index over all fields, and gets them once it is larger."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection

from datastore_search.database.statements import fetch_column
from datastore_search.database.tables import MAX_UNINDEXED_BYTES

from .tables import Table

KEY, FILTERS, WORDS = "btree (_id)", "gin (data jsonb_path_ops)", "gin (search)"

FIELDS = [{"id": "name", "type": "text"}, {"id": "number", "type": "int4"}]


def list_indexes(table: Table) -> list[str]:
    return fetch_column(
        connection,
        "SELECT split_part(indexdef, ' USING ', 2) FROM pg_indexes WHERE tablename = %s ORDER BY 1",
        [table.get_record_table()],
    )


def make_records(first: int, *, size: int) -> list[dict[str, Any]]:
    """Make a hundred records of this size together, at least, which cannot be compressed."""
    chance, length = random.Random(first), size // 100
    return [
        {"name": f"river bridge {chance.randbytes(length).hex(' ', 6)}", "number": number}
        for number in range(first, first + 100)
    ]


@pytest.fixture
def small(table: Table) -> Table:
    table.run("create", fields=FIELDS, records=make_records(0, size=100_000))
    return table


def test_a_small_table_has_five_relations(small: Table) -> None:
    kinds = fetch_column(
        connection,
        "SELECT relkind FROM pg_class AS each, CAST(%s AS regclass) AS record"
        " WHERE starts_with(relname, %s) OR relname ~ ('^pg_toast_' || record::oid || '(_|$)')"
        " ORDER BY relkind",
        [small.get_record_table()] * 2,
    )

    # The key and the index of TOAST, the table, the sequence, TOAST.
    assert kinds == ["S", "i", "i", "r", "t"]
    assert list_indexes(small) == [KEY]
    assert small.read_ids(q="river bridge", filters={"number": 7}) == [8]
    (name, number) = small.run("info", id=small.id)["fields"]
    assert (name["schema"]["is_index"], number["schema"]["is_index"]) == (True, True)


def test_a_table_that_grows_gets_its_indexes_in_the_same_call(small: Table) -> None:
    small.insert(*make_records(100, size=MAX_UNINDEXED_BYTES))

    assert list_indexes(small) == [KEY, FILTERS, WORDS]
    assert small.read_ids(q="river", filters={"number": [7, 107]}) == [8, 108]
    small.insert(*make_records(200, size=1_000))
    assert list_indexes(small) == [KEY, FILTERS, WORDS]


def test_records_that_grow_count_too(small: Table) -> None:
    small.run("create", primary_key=["number"])
    small.upsert(*make_records(0, size=MAX_UNINDEXED_BYTES))

    assert list_indexes(small)[1:] == [KEY, FILTERS, WORDS]


def test_a_call_that_is_undone_leaves_no_index(small: Table) -> None:
    small.insert(*make_records(100, size=MAX_UNINDEXED_BYTES), dry_run=True)

    assert list_indexes(small) == [KEY]


def test_a_table_gets_only_the_indexes_that_are_chosen(table: Table, settings: Any) -> None:
    settings.DATASTORE_SEARCH_INDEXES = ["words"]
    table.run("create", fields=FIELDS, records=make_records(0, size=MAX_UNINDEXED_BYTES))

    assert list_indexes(table) == [KEY, WORDS]
