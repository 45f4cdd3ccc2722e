"""Types over all rows, without loss; what is stored of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.formats import staging
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import BadRow
from datastore_search.contrib.files.types.inference import decide_formats
from datastore_search.field_types import get_field_type

from ..formats.staging import read_in_process, render_records, stage_columns


def read_column(folder: Path, values: list[str]) -> tuple[str, list[Any]]:
    """Read one field: its type, and its values, of which numbers are texts."""
    path = folder / "file.csv"
    path.write_text("x,last\n" + "".join(f"{value},.\n" for value in values))
    with read_in_process(path, LoadOptions()) as table:
        decisions = decide_formats(table, LoadOptions())
        records = render_records(table, decisions)
    return decisions[0].field_type.name, [record["x"] for record in records]


@pytest.mark.parametrize(
    ("type_name", "values", "stored"),
    [
        ("int4", ["1", "-2", "2147483647"], ["1", "-2", "2147483647"]),
        ("int4", ['"1,234"', '"1,234,567"'], ["1234", "1234567"]),
        ("int8", ["1", "2147483648"], ["1", "2147483648"]),
        ("int8", ["9223372036854775807"], ["9223372036854775807"]),
        ("int8", ['"1,234"', '"3,000,000,000"'], ["1234", "3000000000"]),
        ("numeric", ["1.50", "2", "-0.3"], ["1.50", "2", "-0.3"]),
        ("numeric", ["0." + "1234567890" * 3], ["0." + "1234567890" * 3]),
        ("float8", ["0.5", "9.5e-05", "9.0"], ["0.5", "9.5e-05", "9"]),
        ("float8", ["1e+21", "0.1"], ["1e+21", "0.1"]),
        ("int4", ["1", "", '""'], ["1", None, None]),
        ("bool", ["true", "false"], [True, False]),
        ("bool", ["TRUE", "FALSE"], [True, False]),
        ("date", ["2024-02-29", "0001-01-01"], ["2024-02-29", "0001-01-01"]),
        ("date", ["2024-2-3", "2024-12-13"], ["2024-02-03", "2024-12-13"]),
        ("timestamp", ["2024-02-29 12:34", "2024-02-29 00:00"],
         ["2024-02-29T12:34:00.000", "2024-02-29T00:00:00.000"]),
        ("timestamp", ["2024-02-29 12:34:56", "2024-02-29 12:34:56.500000"],
         ["2024-02-29T12:34:56.000", "2024-02-29T12:34:56.500"]),
        ("timestamp", ["2024-02-29T12:34:56.789", "2024-02-29T12:34:56.123456"],
         ["2024-02-29T12:34:56.789", "2024-02-29T12:34:56.123456"]),
        ("timestamptz", ["2024-02-29T12:34:56Z", "2024-02-29T23:00:00Z"],
         ["2024-02-29T12:34:56.000+00:00", "2024-02-29T23:00:00.000+00:00"]),
        ("timestamptz", ["2024-02-29 12:34+00:00"], ["2024-02-29T12:34:00.000+00:00"]),
        ("time", ["12:34:56", "23:59:59.5"], ["12:34:56", "23:59:59.5"]),
        ("text", ["", ""], [None, None]),
        ("text", ["x", "", '""'], ["x", None, ""]),
        ("text", ['"{""a"": 1}"', '"a""b"'], ['{"a": 1}', 'a"b']),
    ],
)  # fmt: skip
def test_a_field_has_a_type_if_every_value_matches(
    tmp_path: Path, type_name: str, values: list[str], stored: list[Any]
) -> None:
    assert read_column(tmp_path, values) == (type_name, stored)


@pytest.mark.parametrize(
    "values",
    [
        ["9223372036854775808"], ["12345678901234567890", "1"], ["007", "8"], ["0", "-0"],
        ["+84", "1"], ["1", " 2"], ["1", "x"], ["-0.00", "1.5"], [".5", "1.5"], ["1.", "1.5"],
        ["00.5"], ["1e5", "2e5"], ["0.12345678901234567890", "1e-05"], ["NaN", "1"],
        ["True", "false"], ["t", "f"], ["yes", "no"], ["x\u2028\x01\\", "y"],
        ["2024-02-30"], ["2024-2-3", "2024-02-13"], ["01/02/2024"],
        ["2024-02-29", "2024-02-29T00:00:00"], ["2024-02-29T25:00:00"],
        ["2024-02-29 24:00"], ["2024-02-29T24:00:00Z"], ["2024-02-29T12:34:56+02:00"],
        ["2024-02-29T12:34", "2024-02-29 12:34"], ["2024-02-29 12:34", "2024-02-29 12:34:56"],
        ["2024-02-29T12:34:56Z", "2024-02-29T12:34:56+00:00"],
        ["2024-02-29T12:34:56Z", "2024-02-29 12:34:56Z"],
        ["2024-02-29T12:34:56Z", "2024-02-29T12:34:56"],
        ["2024-02-29T12:34Z", "2024-02-29T12:34:56Z"],
        ["12:34"], ["24:00:01"],
    ],
)  # fmt: skip
def test_a_field_stays_text_if_a_value_would_come_back_in_another_way(
    tmp_path: Path, values: list[str]
) -> None:
    assert read_column(tmp_path, values) == ("text", values)


@pytest.mark.parametrize(
    ("first", "then", "type_name"),
    [
        ("7", "x", "text"),
        ("7", "3000000000", "int8"),
        ("7", "7.5", "numeric"),
        ("7", "", "int4"),
        ("", "7", "int4"),
        ("true", "TRUE", "text"),
        ("x", "7", "text"),
        ("01/02/2024", "31/12/2024", "date"),
        ("01/02/2024", "03/04/2024", "text"),
        ("7", '"1,234,567"', "int4"),
        ("7", '"0,5"', "numeric"),
        ("", "31.12.2024 14:30", "timestamp"),
    ],
)
def test_the_first_rows_alone_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str, type_name: str
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("x,n\n" + f"{first},1\n" * 5_000 + f"{then},2\n")
    formats = []
    for rows in (3_000, 50_000):  # that are tested before all others
        monkeypatch.setattr(staging, "_MAX_SAMPLE_ROWS", rows)
        with read_in_process(path, LoadOptions()) as table:
            decisions = decide_formats(table, LoadOptions())
            formats.append([decision.field_type.name for decision in decisions])

    assert formats == [[type_name, "int4"]] * 2


#: What a type reads, and refuses, beside what ``tests/tables/test_conformance.py`` has.
READ: tuple[tuple[str, str, Any], ...] = (
    ("numeric", "1200.50", "1200.50"),
    ("numeric", "+007.10", "7.10"),
    ("numeric", "-.5", "-0.5"),
    ("numeric", "1e5", "1e5"),
    ("float", "1e5", "100000"),
    ("float8", "0.10", "0.1"),
    ("float8", "0e-400", "0"),
    ("float8", "1.7e308", "1.7e+308"),
    ("bool", "0", False),
    ("json", '{"a": [1, 2.50]}', {"a": ["1", "2.50"]}),
    ("_float8", '[null, "NaN"]', [None, "NaN"]),
    ("_int4", "[]", []),
    ("_int4", "null", None),
    ("_float8", "null", None),
    ("_text", "null", None),
)
REFUSED = (
    ("int4", "2147483648"),
    ("int8", "9223372036854775808"),
    ("numeric", "1,5"),
    ("float8", "1e400"),
    ("float8", "-1E+400"),
    ("float8", "1" + "0" * 400),
    ("float8", "1e-400"),
    ("float8", "-0." + "0" * 400 + "1"),
    ("timestamp", "2024-02-29T25:00"),
    ("_text", '{"a": 1}'),
    ("_text", "[1e99999999999999999999]"),
    ("_int4", '["x"]'),
    ("_int4", "[1.5]"),
    ("_float8", "[1e400]"),
)


def name_columns(chosen: Sequence[tuple[Any, ...]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Give the types and the values of columns of one cell each."""
    names = [f"x{number}" for number in range(len(chosen))]
    return (
        {name: kind for name, (kind, *_more) in zip(names, chosen, strict=True)},
        {name: [value] for name, (_kind, value, *_more) in zip(names, chosen, strict=True)},
    )


def test_a_chosen_type_reads_what_it_can_store() -> None:
    types, columns = name_columns(READ)
    with stage_columns(columns) as table:
        (record,) = render_records(table, decide_formats(table, LoadOptions(types=types)))

    assert [*record.values()] == [stored for _kind, _value, stored in READ]


def test_a_value_that_a_chosen_type_cannot_store_is_a_row_error(db: None) -> None:
    types, columns = name_columns(REFUSED)
    with stage_columns(columns) as table:
        decide_formats(table, LoadOptions(types=types))
        rows = table.connection.execute("SELECT field, line, error FROM row_errors").fetchall()

    errors = {name: (line, str(BadRow.from_json(json.loads(error)))) for name, line, error in rows}
    assert errors == {
        name: (2, f"The value is not of type {get_field_type(kind).label}.")
        for name, kind in types.items()
    }
