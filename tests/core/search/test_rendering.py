"""The SQL that renders records: one decompression per record, and any number of fields."""

from __future__ import annotations

import csv
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datastore_search.database.statements import fetch_column, fetch_value
from datastore_search.models import Resource
from datastore_search.search import Query, RecordsFormat

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
