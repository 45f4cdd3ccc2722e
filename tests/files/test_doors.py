"""The one writer: records of the API and rows of a file are merged by the same rules."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.jobs import LoadFailed
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.messages.writing import InvalidRecord
from datastore_search.models import Resource
from datastore_search.testing import create_resource
from datastore_search.writing import MAX_INDEXED_VALUE_BYTES, Method, history, open_writer

from ..builders import get_ids, get_record_table, search
from .builders import list_row_errors, load_text, read_records

TYPES = {"code": "text", "name": "text", "count": "int4", "amount": "numeric"}
STOCK: list[dict[str, Any]] = [
    {"code": "a", "name": "apple", "count": 1, "amount": Decimal("1.5")},
    {"code": "b", "name": "bread", "count": 2, "amount": 2},
    {"code": "c", "name": None, "count": None, "amount": None},
]

Records = Sequence[Mapping[str, Any]]


class Api:
    """Records are written by a call of the API."""

    def write(self, resource: Resource, records: Records, method: str, user: Any = None) -> None:
        with open_writer(resource, user) as writer:
            writer.write(records, Method(method))
        resource.refresh_from_db()

    def get_refused(self, resource: Resource, records: Records, method: str) -> int:
        """Return the number of the record that is refused first."""
        with pytest.raises((InvalidParameters, InvalidRecord)) as refused:
            self.write(resource, records, method)
        error = refused.value
        first = error.errors[0] if isinstance(error, InvalidParameters) else error
        return int(first.values["record"])


class CsvFile:
    """Records are written by the load of a CSV that is appended or upserted."""

    def write(self, resource: Resource, records: Records, method: str, user: Any = None) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(
            text, list(dict.fromkeys(name for each in records for name in each))
        )
        writer.writeheader()
        writer.writerows(records)
        mode = "append" if method == "insert" else "upsert"
        load_text(resource, text.getvalue(), mode=mode, user=user)

    def get_refused(self, resource: Resource, records: Records, method: str) -> int:
        with pytest.raises(LoadFailed) as refused:
            self.write(resource, records, method)
        assert refused.value.code == "load.bad_rows"
        return list_row_errors(resource.loads.latest("created_at"))[0][0] - 1


Door = Api | CsvFile


@pytest.fixture(params=[Api(), CsvFile()], ids=["api", "file"])
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


@pytest.fixture
def stock(db: None) -> Resource:
    return create_resource("stock", STOCK, types=TYPES, primary_key=["code"])


def read_values(resource: Resource, *names: str) -> list[list[Any]]:
    return [[row[name] for name in names] for row in read_records(resource, sort="_id")]


def read_places(resource: Resource) -> dict[int, str]:
    """Map the ``_id`` of each record to its place in the table, which each write changes."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT _id, ctid::text FROM {get_record_table(resource)}")
        return dict(cursor.fetchall())


# What is written ----------------------------------------------------------------------------------


def test_new_records_come_after_the_others_in_their_order(door: Door, stock: Resource) -> None:
    door.write(stock, [{"code": "z", "count": 7}, {"code": "d", "count": 8}], "insert")

    assert read_values(stock, "_id", "code", "name", "count")[2:] == [
        [3, "c", None, None],
        [4, "z", None, 7],
        [5, "d", None, 8],
    ]


def test_an_upsert_changes_known_records_and_adds_the_others(door: Door, stock: Resource) -> None:
    values = {"d": 4, "b": None, "a": 1}

    door.write(stock, [{"code": code, "count": values[code]} for code in values], "upsert")

    assert read_values(stock, "_id", "code", "name", "count") == [
        [1, "a", "apple", 1],
        [2, "b", "bread", None],
        [3, "c", None, None],
        [4, "d", None, 4],
    ]


def test_words_follow_the_values(door: Door, stock: Resource) -> None:
    door.write(stock, [{"code": "b", "name": "beans"}, {"code": "d", "name": "apple"}], "upsert")

    for word, expected in (("beans", [2]), ("bread", []), ("apple", [1, 4])):
        assert sorted(get_ids(search(Client(), stock, q=word))) == expected


@pytest.mark.parametrize("method", ["insert", "upsert"])
def test_records_without_a_key_are_added(door: Door, db: None, method: str) -> None:
    keyless = create_resource("keyless", [{"a": 1}])
    if method == "upsert":
        with pytest.raises(Exception, match="key"):
            door.write(keyless, [{"a": 1}], method)
    else:
        door.write(keyless, [{"a": 1}, {"a": 1}], method)

    assert len(read_records(keyless)) == (1 if method == "upsert" else 3)


# What is equal ------------------------------------------------------------------------------------


def test_equal_records_are_not_written_again(door: Door, stock: Resource) -> None:
    before = read_places(stock)

    door.write(stock, STOCK, "upsert")
    assert read_places(stock) == before
    door.write(stock, [{**STOCK[0]}, {**STOCK[1], "name": "beans"}, {"code": "c"}], "upsert")

    after = read_places(stock)
    assert {number for number in after if after[number] != before[number]} == {2}
    assert stock.table_version is not None
    assert stock.table_version.record_count == 3


def test_other_digits_are_another_value(door: Door, stock: Resource) -> None:
    door.write(stock, [{"code": "a", "amount": "1.50"}], "upsert")

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT data ->> 'amount' FROM {get_record_table(stock)} WHERE _id = 1")
        assert cursor.fetchone() == ("1.50",)


@pytest.mark.parametrize(
    ("kind", "first", "same"),
    [("numeric", "1.5", "1.50"), ("text", "%s é", "%s é"), ("date", "2024-02-29", "2024-02-29")],
)
def test_a_key_is_the_same_when_its_value_is(
    door: Door, db: None, kind: str, first: str, same: str
) -> None:
    keyed = create_resource(
        "keyed", [{"50 %": first}], types={"50 %": kind, "v": "text"}, primary_key=["50 %"]
    )

    door.write(keyed, [{"50 %": same, "v": "new"}], "upsert")

    assert read_values(keyed, "_id", "v") == [[1, "new"]]
    assert door.get_refused(keyed, [{"50 %": same}], "insert") == 1


def test_a_key_of_two_fields_tells_records_apart(door: Door, db: None) -> None:
    records = [{"a": 1, "b": "x", "v": "old"}, {"a": 1, "b": "y", "v": "old"}]
    keyed = create_resource("keyed", records, primary_key=["a", "b"])

    door.write(keyed, [{"a": 1, "b": "y", "v": "new"}, {"a": 2, "b": "x", "v": "new"}], "upsert")

    assert read_values(keyed, "a", "b", "v") == [[1, "x", "old"], [1, "y", "new"], [2, "x", "new"]]


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "records", "number"),
    [
        ("insert", [{"code": "d"}, {"code": "b"}], 2),
        ("insert", [{"code": "d"}, {"code": "e"}, {"code": "d"}], 3),
        ("insert", [{"code": "d", "count": 1}, {"code": "e", "count": "many"}], 2),
        ("upsert", [{"code": "a", "count": 5}, {"code": "b", "count": 2**31}], 2),
    ],
)
def test_a_bad_record_is_named_by_its_number_and_nothing_is_written(
    door: Door, stock: Resource, method: str, records: Records, number: int
) -> None:
    before = read_records(stock), read_places(stock), stock.version

    assert door.get_refused(stock, records, method) == number

    stock.refresh_from_db()
    assert (read_records(stock), read_places(stock), stock.version) == before


# What changes with the records --------------------------------------------------------------------


@pytest.mark.parametrize(("method", "added"), [("insert", 1), ("upsert", 0)])
def test_every_change_counts_and_gives_a_new_version(
    door: Door, stock: Resource, method: str, added: int
) -> None:
    before = Resource.objects.described(stock.pk)

    door.write(stock, [{"code": "d" if added else "a", "name": "other"}], method)

    after = Resource.objects.described(stock.pk)
    assert before.table_version is not None
    assert after.table_version is not None
    assert after.table_version.record_count == before.table_version.record_count + added
    assert after.version > before.version


def test_the_history_counts_what_was_added_and_changed(
    door: Door, stock: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_entries", {})
    user = get_user_model().objects.create_user("writer")
    records = [*STOCK, {"code": "b", "name": "beans"}, {"code": "d", "name": "dates"}]

    door.write(stock, [STOCK[0], *records[3:]], "upsert", user)

    entry = LogEntry.objects.get(user=user)
    assert [each.popitem()[1]["object"] for each in json.loads(entry.change_message)] == list("11")


@dataclass(frozen=True)
class Value:
    """A value of an indexed field, and whether the index holds it."""

    text: str
    fits: bool = True


VALUES = {
    "three bytes": Value("ệ" * 866),
    "escapes": Value('"\n' * (MAX_INDEXED_VALUE_BYTES // 2)),  # as JSON twice as long
    "longer": Value("x" * (MAX_INDEXED_VALUE_BYTES + 1), fits=False),
}


@pytest.mark.parametrize("method", ["insert", "upsert"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_only_a_longer_value_drops_the_index_of_an_order(
    door: Door, stock: Resource, method: str, value: Value
) -> None:
    with open_writer(stock) as writer:
        writer.index_orders(["name"])

    door.write(stock, [{"code": "d" if method == "insert" else "a", "name": value.text}], method)

    with connection.cursor() as cursor:
        table = get_record_table(stock)
        cursor.execute(
            "SELECT count(*) FROM pg_indexes WHERE tablename = %s AND indexname ~ '_by_'", [table]
        )
        assert cursor.fetchone() == (int(value.fits),)
    assert stock.fields.get(name="name").has_order_index is value.fits
    assert value.text in [name for (name,) in read_values(stock, "name")]
