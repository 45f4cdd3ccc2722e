"""Records as text: the SQL that renders them, the size of a batch, and the text of all values."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datastore_search.database.statements import fetch_column, fetch_value
from datastore_search.models import Resource
from datastore_search.search import Query, RecordsFormat, RecordSizes

from ...builders import fetch_page, get_record_table, make_resource


def make_wide_resource(fields: int, words: int) -> tuple[Resource, dict[str, str]]:
    """Make a resource of one record with this many fields, each with this many words."""
    record = {
        f"field {position} %s": " ".join(f"w{position}x{word}" for word in range(words))
        for position in range(fields)
    }
    text = ",".join(record) + "\n" + ",".join(record.values()) + "\n"
    return make_resource(text), record


@pytest.mark.parametrize("fields", [1, 98, 99, 100, 198, 199])
def test_any_number_of_fields_is_rendered_in_every_format(db: None, fields: int) -> None:
    resource, record = make_wide_resource(fields, words=1)

    def fetch_text(records_format: RecordsFormat) -> str:
        return fetch_page(resource, Query(limit=1, records_format=records_format)).text.decode()

    assert json.loads(fetch_text(RecordsFormat.OBJECTS)) == [{"_id": 1, **record}]
    assert json.loads(fetch_text(RecordsFormat.LISTS)) == [[1, *record.values()]]
    assert list(csv.reader([json.loads(fetch_text(RecordsFormat.CSV))])) == [
        ["1", *record.values()]
    ]


def test_a_compressed_record_is_decompressed_once_for_all_its_fields(db: None) -> None:
    resource, record = make_wide_resource(fields=120, words=30)
    compression = f"SELECT pg_column_compression(data) FROM {get_record_table(resource)}"
    assert fetch_value(connection, compression)
    fetch_page(resource, Query(limit=1))  # caches the description

    with CaptureQueriesContext(connection) as captured:
        page = fetch_page(resource, Query(limit=1))
    (statement,) = [each["sql"] for each in captured if "datastore_search_record_" in each["sql"]]
    plan = fetch_column(connection, f"EXPLAIN (VERBOSE, COSTS off) {statement}")

    assert json.loads(page.text) == [{"_id": 1, **record}]
    unpacking = [line for line in plan if "|| '{}'::jsonb" in line]
    fetching = [line for line in plan if "-> 'field" in line]
    assert len(unpacking) == len(fetching) == 1
    assert unpacking[0].count("||") == 1
    assert fetching[0].count("page.record -> 'field") == len(record)


# The number of records in a batch -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "rows"),
    [
        ([], 32),
        ([(0, 0)], 32),
        ([(5, 2_000)], 100),
        ([(1, 100_000)], 20),
        ([(1_000, 110_000_000)], 19),
        ([(3, 2**30)], 1),
        ([(10, 1_000_000), (10, 1_000)], 20),  # the larger answer decides, in any order
        ([(10, 1_000), (10, 1_000_000)], 20),
    ],
)
def test_a_batch_has_as_many_records_as_two_megabytes_hold(
    answers: list[tuple[int, int]], rows: int
) -> None:
    sizes = RecordSizes()
    for count, size_bytes in answers:
        sizes.note_size(count, size_bytes)

    assert sizes.choose_batch_rows(rows) is None
    assert sizes.choose_batch_rows(rows + 1) == rows
    assert sizes.choose_batch_rows(None) == rows


# The text of a record's values, of which its search vector is made --------------------------------


def collect_values(data: dict[str, Any]) -> str:
    statement = "SELECT datastore_search_values(%s::jsonb)"
    return str(fetch_value(connection, statement, [json.dumps(data)]))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, ""),
        ({"a": None}, ""),
        ({"a": "x", "b": None, "c": 1.50, "d": True}, "x 1.5 true"),
        ({"a": []}, ""),
        ({"a": {}, "b": [None], "c": "x"}, "x"),
        # An empty text is a text: the blanks on both sides of it stay.
        ({"a": "x", "b": [""], "c": "y"}, "x  y"),
        ({"a": ["", None, 2, {"k": [1, {"z": "q"}], "e": {}}]}, " 2 1 q e k z"),
        ({"a": {"b": None}}, "b"),
        ({"a": [[1, 2], [3, ["x"]]], "b": "y"}, "1 2 3 x y"),
        # A text that is JSON is no JSON, and one with quotes keeps them.
        ({"a": ['{"b": 1}', 'say "x"']}, '{"b": 1} say "x"'),
        ({"g": {"type": "Point", "coordinates": [1.25, -7]}}, "Point 1.25 -7 type coordinates"),
    ],
)
def test_all_scalar_values_are_collected_and_the_keys_after_them(
    db: None, data: dict[str, Any], text: str
) -> None:
    assert collect_values(data) == text


def test_a_geometry_of_many_points_is_collected_whole(db: None) -> None:
    points = [[number, number + 0.5] for number in range(50_000)]

    text = collect_values({"g": {"type": "LineString", "coordinates": points}})

    numbers = " ".join(f"{first} {second}" for first, second in points)
    assert text in {
        f"{numbers} LineString type coordinates",
        f"LineString {numbers} type coordinates",
    }
