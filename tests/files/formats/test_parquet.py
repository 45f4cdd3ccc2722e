"""Parquet, whose types are the file's own."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datastore_search.contrib.files.formats import parquet
from datastore_search.contrib.files.formats.parquet import read_parquet
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.jobs import LoadOptions

from ..builders import fails_with
from ..contents import build_parquet
from ..reading import read_in_test_process
from .staging import get_read_failure, read_content

_UUID = "6f1a1c5e-0000-4000-8000-000000000001"


def read_query(path: Path, query: str) -> tuple[tuple[str | None, ...], list[tuple[Any, ...]]]:
    """Read a file of the answer to a query: the declared types, and the rows without lines."""
    table, rows, _errors = read_content(read_parquet, path, build_parquet(query))
    return table.declared_types, [row[1:] for row in rows]


@pytest.mark.parametrize(
    ("value", "declared_type", "text"),
    [
        ("7::TINYINT", "int4", "7"),
        ("18446744073709551615::UBIGINT", "numeric", "18446744073709551615"),
        ("true", "bool", "true"),
        (f"'{_UUID}'::UUID", "text", _UUID),
        ("-7::SMALLINT", "int4", "-7"),
        ("4294967295::UINTEGER", "int8", "4294967295"),
        ("1.10::DECIMAL(38, 10)", "numeric", "1.1000000000"),
        ("1e300::DOUBLE", "float8", "1e+300"),
        ("'-inf'::DOUBLE", "float8", "-Infinity"),
        ("0.1::FLOAT", "float8", "0.1"),
        ("DATE '0044-03-15'", "date", "0044-03-15"),
        ("DATE '12345-01-01'", "date", "12345-01-01"),
        ("TIMESTAMP_S '2024-03-05 14:30:15'", "timestamp", "2024-03-05 14:30:15"),
        ("TIMESTAMP_MS '2024-03-05 14:30:15.5'", "timestamp", "2024-03-05 14:30:15.5"),
        ("'00:00'::TIME", "time", "00:00:00"),
        ("'a'::ENUM('a', 'b')", "text", "a"),
        ("INTERVAL 1 MONTH", "text", "1 month"),
        ("'{\"a\": 1.10}'::JSON", "json", '{"a": 1.10}'),
        ("[[1, 2], NULL]", "json", "[[1,2],null]"),
        ("['2024-03-05'::DATE]", "json", '["2024-03-05"]'),
        ("{'a b\"c': 1}", "json", '{"a b\\"c":1}'),
        ("{'a': NULL::INTEGER, 'b': 'x\ny'}", "json", '{"a":null,"b":"x\\ny"}'),
        ("MAP {1: 'a', 2: NULL}", "json", '{"1":"a","2":null}'),
        (r"{'b': '\xFF'::BLOB}", "json", r'{"b":"\\xFF"}'),
        ("{'n': 12345678901234567.10::DECIMAL(38, 2)}", "json", '{"n":12345678901234567.10}'),
        ("['nan'::DOUBLE, 1.5, '-inf'::DOUBLE]", "_float8", '["NaN",1.5,"-Infinity"]'),
        ("[0.1::FLOAT, NULL]", "_float8", "[0.1,null]"),
        ("{'f': ['nan'::DOUBLE, 1.5]}", "json", '{"f":["NaN",1.5]}'),
        ("MAP {}::MAP(VARCHAR, INTEGER)", "json", "{}"),
        ("[]::VARCHAR[]", "_text", "[]"),
        ("NULL::VARCHAR[]", "_text", None),
        ("''", "text", ""),
    ],
)
def test_a_declared_type_decides_how_values_are_written(
    tmp_path: Path, value: str, declared_type: str, text: str | None
) -> None:
    assert read_query(tmp_path / "file", f"SELECT {value} AS k") == ((declared_type,), [(text,)])


def test_moments_with_zones_are_written_in_universal_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Ho_Chi_Minh")
    declared_types, rows = read_query(
        tmp_path / "file",
        "SELECT TIMESTAMPTZ '2024-03-05 14:30:15.5+07' AS one,"
        " [TIMESTAMPTZ '2024-03-05 14:30:15+07'] AS many",
    )

    assert declared_types == ("timestamptz", "json")
    assert rows == [("2024-03-05 07:30:15.5+00:00", '["2024-03-05 07:30:15+00"]')]


@pytest.mark.parametrize("name", ["a*.parquet", "[ab].parquet", "a?.csv", "it's.parquet", "s3:x"])
def test_the_name_of_a_file_is_no_pattern(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab.parquet").write_bytes(build_parquet("SELECT 'another' AS k"))

    assert read_query(tmp_path / name, "SELECT 'this' AS k") == (("text",), [("this",)])


def test_a_file_that_points_to_another_is_refused(tmp_path: Path) -> None:
    another = tmp_path / "another.parquet"
    another.write_bytes(build_parquet("SELECT 'secret' AS k"))
    content, length = another.read_bytes(), struct.unpack("<I", another.read_bytes()[-8:-4])[0]
    # Of each column the footer may say first in which file it is; here it says nothing.
    mark, name = b"\x19\x1c\x26", str(another).encode()
    footer = content[-8 - length : -8].replace(
        mark, mark[:2] + b"\x18" + bytes([len(name)]) + name + b"\x16", 1
    )
    pointing = content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"

    failure = get_read_failure(read_parquet, tmp_path / "file", pointing)

    assert failure.code == "parquet.damaged"
    assert "no references" in str(failure.__cause__)


def test_names_of_columns_may_be_anything(tmp_path: Path) -> None:
    content = build_parquet("""SELECT 1 AS "a""b", 2 AS "'; DROP TABLE faults; --", 3 AS c0""")

    table, _rows, errors = read_content(read_parquet, tmp_path / "file", content)

    assert table.names == ('a"b', "'; DROP TABLE faults; --", "c0")
    assert errors == []


def test_records_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    query = "SELECT (i * 7919) % 250007 AS n FROM range(250000) t(i)"

    _declared_types, rows = read_query(tmp_path / "file", query)

    assert rows == [(str(n * 7919 % 250007),) for n in range(250_000)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"PAR1", "parquet.damaged"),
        (b"PAR1" + bytes(100) + b"PAR1", "parquet.damaged"),
        (b"k,n\n1,2\n", "parquet.damaged"),
        (b"", "file.empty"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    assert get_read_failure(read_parquet, tmp_path / "file", content).code == code


def test_numbers_that_would_be_rounded_are_refused(tmp_path: Path) -> None:
    number = pa.array([Decimal(f"{10**38}.01")], pa.decimal256(76, 2))
    for values in (number, pa.StructArray.from_arrays([number], ["within"])):
        pq.write_table(pa.table({"x": values}), tmp_path / "made")
        content = (tmp_path / "made").read_bytes()

        failure = get_read_failure(read_parquet, tmp_path / "file", content)

        assert str(failure) == (
            "Files of the format Parquet, DECIMAL(76) are not read. Save the table as CSV, and load"
            " that file."
        )


def test_a_shortage_of_memory_does_not_mean_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(build_parquet("SELECT 1 AS n"))
    shortage = duckdb.TransactionException("failed to pin block of size 256.0 KiB")
    monkeypatch.setattr(parquet, "_check_texts", Mock(side_effect=shortage))

    with read_in_test_process(), fails_with("load.out_of_memory"), open_table(path, LoadOptions()):
        pass


def test_a_value_of_fifty_megabytes_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(
        build_parquet("SELECT n, repeat('x', n * 10 * 1048576) AS a FROM unnest([1, 5, 0]) AS t(n)")
    )

    with open_table(path, LoadOptions()) as table:
        lines = table.connection.execute("SELECT line, f0 FROM staged_rows").fetchall()
        errors = table.connection.execute("SELECT line, error FROM row_errors").fetchall()

    assert lines == [(1, "1"), (3, "0")]
    assert [(line, json.loads(text)["code"]) for line, text in errors] == [(2, "row.too_long")]
