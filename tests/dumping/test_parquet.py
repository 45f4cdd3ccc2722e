"""Parquet: types and values as pyarrow and DuckDB read them."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from django.test import Client

from datastore_search.models import Resource

from ..builders import make_resource
from .files import read_file, request_file

TYPES = {
    "small": "int2",
    "i": "int4",
    "big": "int8",
    "n": "numeric",
    "f": "float8",
    "ok": "bool",
    "day": "date",
    "at": "timestamp",
    "zoned": "timestamptz",
    "clock": "time",
    "doc": "json",
    "words": "_text",
    "numbers": "_float8",
}

CSV = (
    "text,small,i,big,n,f,ok,day,at,zoned,clock,doc,words,numbers\n"
    "Đắk,-5,7,-9223372036854775808,12345678901234567890.1050,NaN,true,0001-01-01,"
    '2020-02-29T12:34:56.789012,2020-02-29T12:00:00+07:00,23:59:59.5,"{""k"": 1.50}",'
    '"[""x"", null, """"]","[1.5, null]"\n'
    '"",0,0,0,-0.1,1e300,false,9999-12-31,9999-12-31T23:59:59,,00:00:00,"""null""",[],[]\n'
    ",,,,,,,,,,,,,\n"
)


def read_table(response: Any) -> pa.Table:
    return pq.read_table(io.BytesIO(read_file(response)))


def test_columns_have_the_types_of_the_fields(client: Client, db: None) -> None:
    table = read_table(request_file(client, make_resource(CSV, types=TYPES), "parquet"))

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


def test_values_and_nulls_come_back_equal(client: Client, db: None) -> None:
    table = read_table(request_file(client, make_resource(CSV, types=TYPES), "parquet"))

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
        "at": dt.datetime(2020, 2, 29, 12, 34, 56, 789_012),  # noqa: DTZ001 - it has no zone
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


def test_duckdb_reads_the_same_values(client: Client, db: None, tmp_path: Path) -> None:
    path = tmp_path / "dump.parquet"
    path.write_bytes(read_file(request_file(client, make_resource(CSV, types=TYPES), "parquet")))

    with duckdb.connect() as connection:
        rows = connection.execute(
            'SELECT text, big, n, day, "at", words FROM read_parquet(?) ORDER BY _id', [str(path)]
        ).fetchall()

    assert rows[0] == (
        *("Đắk", -(2**63), Decimal("12345678901234567890.1050"), dt.date(1, 1, 1)),
        dt.datetime(2020, 2, 29, 12, 34, 56, 789_012),  # noqa: DTZ001 - it has no zone
        ["x", None, ""],
    )
    assert rows[2] == (None,) * 6


def test_what_parquet_cannot_hold_is_text(client: Client, db: None) -> None:
    digits = "1" * 30 + "." + "1" * 30
    resource = make_resource(
        f"n,m,clock\n{digits},NaN,24:00:00\n",
        types={"n": "numeric", "m": "numeric", "clock": "time"},
    )

    table = read_table(request_file(client, resource, "parquet", fields="n,m,clock"))

    assert table.to_pylist() == [{"n": digits, "m": "NaN", "clock": "24:00:00"}]


def test_the_file_has_the_named_fields_of_the_records_found(
    client: Client, resource: Resource
) -> None:
    parameters: dict[str, Any] = {
        "fields": "code,amount",
        "sort": "code desc",
        "filters": {"stage": "active"},
    }

    table = read_table(request_file(client, resource, "parquet", **parameters))

    assert table.column("code").to_pylist() == ["006", "004", "002", "001"]
    empty = read_table(request_file(client, resource, "parquet", limit=0))
    assert empty.num_rows == 0
    assert empty.schema.names[:2] == ["_id", "code"]


def test_a_file_of_several_groups_is_read_whole(client: Client, transactional_db: None) -> None:
    resource = make_resource("n,text\n" + "".join(f"{n},{'x' * 500}\n" for n in range(20_000)))

    file = pq.ParquetFile(io.BytesIO(read_file(request_file(client, resource, "parquet"))))

    assert file.metadata.num_row_groups > 1
    assert file.read().column("n").to_pylist() == list(range(20_000))
