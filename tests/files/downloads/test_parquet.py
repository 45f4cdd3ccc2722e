"""Parquet: types and values as pyarrow and DuckDB read them."""

from __future__ import annotations

import datetime as dt
import io
import math
import threading
from decimal import Decimal
from hashlib import sha512
from typing import Any
from unittest.mock import create_autospec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client

from datastore_search.contrib.files.downloads import parquet
from datastore_search.contrib.files.downloads.parquet import measures_cache
from datastore_search.models import Resource
from datastore_search.search import RecordCopy
from datastore_search.writing import Method, open_writer

from ...builders import make_resource
from ...core.downloads import files
from ...core.downloads.files import read_file, request_file

TYPES = {**files.TYPES, "small": "int2", "words": "_text", "numbers": "_float8"}

CSV = (
    "text,small,i,big,n,f,ok,day,at,zoned,clock,doc,words,numbers\n"
    "Đắk,-5,7,-9223372036854775808,12345678901234567890.1050,NaN,true,0001-01-01,"
    '2020-02-29T12:34:56.789012,2020-02-29T12:00:00+07:00,23:59:59.5,"{""k"": 1.50}",'
    '"[""x"", null, """"]","[1.5, null]"\n'
    '"",0,0,0,-0.1,1e300,false,9999-12-31,9999-12-31T23:59:59,,00:00:00,"""null""",[],[]\n'
    ",,,,,,,,,,,,,\n"
)


def read_table(client: Client, resource: Resource, **parameters: Any) -> pa.Table:
    response = request_file(client, resource, "parquet", **parameters)
    return pq.read_table(io.BytesIO(read_file(response)))


def test_columns_have_the_types_of_the_fields_and_values_come_back_equal(
    client: Client, db: None
) -> None:
    resource = make_resource(CSV, types=TYPES)

    table = read_table(client, resource)

    assert {field.name: str(field.type) for field in table.schema} == {
        "_id": "int64",
        "text": "string",
        "small": "int16",
        "i": "int32",
        "big": "int64",
        "n": "decimal128(38, 4)",
        "f": "double",
        "ok": "bool",
        "day": "date32[day]",
        "at": "timestamp[us]",
        "zoned": "timestamp[us, tz=UTC]",
        "clock": "time64[us]",
        "doc": "string",
        "words": "list<element: string>",
        "numbers": "list<element: double>",
    }
    first, second, third = table.to_pylist()
    assert math.isnan(first.pop("f"))
    assert first == {
        "_id": 1,
        "text": "Đắk",
        "small": -5,
        "i": 7,
        "big": -(2**63),
        "n": Decimal("12345678901234567890.1050"),
        "ok": True,
        "day": dt.date(1, 1, 1),
        "at": dt.datetime.fromisoformat("2020-02-29T12:34:56.789012"),
        "zoned": dt.datetime(2020, 2, 29, 5, tzinfo=dt.UTC),
        "clock": dt.time(23, 59, 59, 500_000),
        "doc": '{"k": 1.50}',
        "words": ["x", None, ""],
        "numbers": [1.5, None],
    }
    assert second["text"] == ""
    assert (second["n"], second["f"], second["ok"]) == (Decimal("-0.1"), 1e300, False)
    assert (second["doc"], second["words"]) == ('"null"', [])
    assert third == {"_id": 3, **dict.fromkeys(["text", *TYPES])}
    for name in third:  # alone, too; NaN is not equal to itself
        alone = read_table(client, resource, fields=name)
        assert str(alone[name].to_pylist()) == str(table[name].to_pylist())


def test_what_parquet_cannot_hold_is_text(client: Client, db: None) -> None:
    digits = "1" * 30 + "." + "1" * 30
    types = {"n": "numeric", "m": "numeric", "clock": "time"}
    resource = make_resource(f"n,m,clock\n{digits},NaN,24:00:00\n", types=types)

    table = read_table(client, resource, fields="n,m,clock")

    assert table.to_pylist() == [{"n": digits, "m": "NaN", "clock": "24:00:00"}]


def test_names_that_differ_only_in_case_stay(client: Client, db: None) -> None:
    table = read_table(client, make_resource("Name,name,NAME_1\na,b,c\n"))

    assert table.to_pylist() == [{"_id": 1, "Name": "a", "name": "b", "NAME_1": "c"}]


def test_numbers_of_many_fields_are_measured(client: Client, db: None) -> None:
    names = [f"f{number}" for number in range(65)]
    rows = [["1.25"] * 65, ["123.5"] * 65]
    resource = make_resource("\n".join(",".join(row) for row in [names, *rows]))

    table = read_table(client, resource)

    assert {str(table.schema.field(name).type) for name in names} == {"decimal128(38, 2)"}


def test_no_records_leave_the_columns(client: Client, resource: Resource) -> None:
    empty = read_table(client, resource, limit=0)

    assert empty.num_rows == 0
    assert empty.schema.names[:2] == ["_id", "code"]


@pytest.mark.slow
def test_a_file_of_several_groups_is_read_whole(client: Client, transactional_db: None) -> None:
    resource = make_resource("n,text\n" + "".join(f"{n},{'x' * 500}\n" for n in range(20_000)))

    file = pq.ParquetFile(io.BytesIO(read_file(request_file(client, resource, "parquet"))))

    assert file.metadata.num_row_groups > 1
    assert file.read().column("n").to_pylist() == list(range(20_000))


@pytest.fixture
def amounts(transactional_db: None) -> Resource:
    """A committed resource with decimals, more than a stream reads before it is sent."""
    measures_cache.clear()
    rows = "".join(f"{n}.5,{sha512(b'%d' % n).hexdigest()}\n" for n in range(20_000))
    return make_resource(f"n,text\n{rows}", types={"n": "numeric", "text": "text"})


def read_type(client: Client, resource: Resource, **parameters: Any) -> str:
    table = read_table(client, resource, fields="n", **parameters)
    return str(table.schema.field("n").type)


def test_all_records_of_a_version_are_measured_once(
    client: Client, amounts: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = create_autospec(RecordCopy.fetch_of_matches, side_effect=RecordCopy.fetch_of_matches)
    monkeypatch.setattr(RecordCopy, "fetch_of_matches", measure)

    assert {read_type(client, amounts) for _ in range(3)} == {"decimal128(38, 1)"}
    assert measure.call_count == 1
    with open_writer(amounts) as writer:
        writer.write([{"n": "0.125"}], Method.INSERT)
    assert read_type(client, amounts) == "decimal128(38, 3)"
    assert measure.call_count == 2
    assert read_type(client, amounts, filters={"n": {"gt": 1}}) == "decimal128(38, 1)"
    assert measure.call_count == 3


def test_a_client_that_goes_away_leaves_no_thread(
    client: Client, amounts: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_GROUP_BYTES", "_PARSED_BYTES", "_BUFFERED_BYTES", "_MAX_WAITING_BYTES"):
        monkeypatch.setattr(parquet, name, 2**16)
    response = request_file(client, amounts, "parquet")
    blocks = iter(response)
    next(blocks)
    assert count_threads() == 1

    response.close()

    assert count_threads() == 0


def count_threads() -> int:
    return sum(thread.name.startswith("parquet") for thread in threading.enumerate())
