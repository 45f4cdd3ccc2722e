"""Types over all rows, without loss; what is stored of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.formats import staging
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import BadRow
from datastore_search.contrib.files.publishing.rows import render_rows
from datastore_search.contrib.files.types.inference import decide_formats
from datastore_search.field_types import get_field_type

from ..failures import fails_with
from ..formats.staging import read_in_process


def read_column(
    folder: Path, values: list[str], chosen: str | None = None
) -> tuple[str, list[Any]]:
    """Read one field: its type, and the JSON texts of its values."""
    path = folder / "file.csv"
    path.write_text("x,last\n" + "".join(f"{value},.\n" for value in values))
    options = LoadOptions(types={"x": chosen} if chosen else {})
    with read_in_process(path, options) as table:
        decisions = decide_formats(table, options)
        texts = [text for batch in render_rows(table, decisions) for _line, text in batch]
    return decisions[0].field_type.name, [
        text[len('{"x":') : -len(',"last":"."}')] for text in texts
    ]


@pytest.mark.parametrize(
    ("values", "type_name", "stored"),
    [
        (["1", "-2", "2147483647"], "int4", ["1", "-2", "2147483647"]),
        (["1", "2147483648"], "int8", ["1", "2147483648"]),
        (["9223372036854775807"], "int8", ["9223372036854775807"]),
        (["9223372036854775808"], "text", ['"9223372036854775808"']),
        (["12345678901234567890", "1"], "text", ['"12345678901234567890"', '"1"']),
        (["007", "8"], "text", ['"007"', '"8"']),
        (["0", "-0"], "text", ['"0"', '"-0"']),
        (["+84", "1"], "text", ['"+84"', '"1"']),
        (["1", " 2"], "text", ['"1"', '" 2"']),
        (["1", "x"], "text", ['"1"', '"x"']),
        (["1.50", "2", "-0.3"], "numeric", ["1.50", "2", "-0.3"]),
        (["-0.00", "1.5"], "text", ['"-0.00"', '"1.5"']),
        ([".5", "1.5"], "text", ['".5"', '"1.5"']),
        (['"1,234"', '"1,234,567"'], "int4", ["1234", "1234567"]),
        (['"1,234"', '"3,000,000,000"'], "int8", ["1234", "3000000000"]),
        (["1.", "1.5"], "text", ['"1."', '"1.5"']),
        (["00.5"], "text", ['"00.5"']),
        (
            ["0.123456789012345678901234567890"],
            "numeric",
            ["0.123456789012345678901234567890"],
        ),
        (["1e5", "2e5"], "text", ['"1e5"', '"2e5"']),
        (["0.5", "9.5e-05", "9.0"], "float8", ["0.5", "9.5e-05", "9"]),
        (["1e+21", "0.1"], "float8", ["1e+21", "0.1"]),
        (["0.12345678901234567890", "1e-05"], "text", ['"0.12345678901234567890"', '"1e-05"']),
        (["NaN", "1"], "text", ['"NaN"', '"1"']),
        (["true", "false"], "bool", ["true", "false"]),
        (["TRUE", "FALSE"], "bool", ["true", "false"]),
        (["True", "false"], "text", ['"True"', '"false"']),
        (["t", "f"], "text", ['"t"', '"f"']),
        (["yes", "no"], "text", ['"yes"', '"no"']),
        (["2024-02-29", "0001-01-01"], "date", ['"2024-02-29"', '"0001-01-01"']),
        (["2024-02-30"], "text", ['"2024-02-30"']),
        (["2024-2-3", "2024-12-13"], "date", ['"2024-02-03"', '"2024-12-13"']),
        (["2024-2-3", "2024-02-13"], "text", ['"2024-2-3"', '"2024-02-13"']),
        (["01/02/2024"], "text", ['"01/02/2024"']),
        (
            ["2024-02-29 12:34", "2024-02-29 00:00"],
            "timestamp",
            ['"2024-02-29T12:34:00.000"', '"2024-02-29T00:00:00.000"'],
        ),
        (["2024-02-29T12:34", "2024-02-29 12:34"], "text", None),
        (["2024-02-29 12:34", "2024-02-29 12:34:56"], "text", None),
        (
            ["2024-02-29 12:34:56", "2024-02-29 12:34:56.500000"],
            "timestamp",
            ['"2024-02-29T12:34:56.000"', '"2024-02-29T12:34:56.500"'],
        ),
        (["2024-02-29 24:00"], "text", ['"2024-02-29 24:00"']),
        (
            ["2024-02-29T12:34:56.789", "2024-02-29T12:34:56.123456"],
            "timestamp",
            ['"2024-02-29T12:34:56.789"', '"2024-02-29T12:34:56.123456"'],
        ),
        (
            ["2024-02-29T12:34:56Z", "2024-02-29T23:00:00Z"],
            "timestamptz",
            ['"2024-02-29T12:34:56.000+00:00"', '"2024-02-29T23:00:00.000+00:00"'],
        ),
        (["2024-02-29 12:34+00:00"], "timestamptz", ['"2024-02-29T12:34:00.000+00:00"']),
        (["2024-02-29T12:34:56Z", "2024-02-29T12:34:56+00:00"], "text", None),
        (["2024-02-29T12:34:56Z", "2024-02-29 12:34:56Z"], "text", None),
        (["2024-02-29T12:34:56Z", "2024-02-29T12:34:56"], "text", None),
        (["2024-02-29T12:34Z", "2024-02-29T12:34:56Z"], "text", None),
        (["2024-02-29T12:34:56+02:00"], "text", ['"2024-02-29T12:34:56+02:00"']),
        (["2024-02-29T24:00:00Z"], "text", ['"2024-02-29T24:00:00Z"']),
        (["2024-02-29T25:00:00"], "text", ['"2024-02-29T25:00:00"']),
        (["2024-02-29", "2024-02-29T00:00:00"], "text", None),
        (["12:34:56", "23:59:59.5"], "time", ['"12:34:56"', '"23:59:59.5"']),
        (["12:34"], "text", ['"12:34"']),
        (["24:00:01"], "text", ['"24:00:01"']),
        (['"{""a"": 1}"'], "text", ['"{\\"a\\": 1}"']),
        (["1", "", '""'], "int4", ["1", "null", "null"]),
        (["", ""], "text", ["null", "null"]),
        (["x", "", '""'], "text", ['"x"', "null", '""']),
        (["x\u2028\x01\\", '"a""b"'], "text", None),
    ],
)
def test_a_field_has_a_type_only_if_every_value_matches(
    tmp_path: Path, values: list[str], type_name: str, stored: list[str] | None
) -> None:
    format_name, texts = read_column(tmp_path, values)

    assert format_name == type_name
    assert texts == (stored or texts)
    for text in texts:
        json.loads(text)


def test_the_last_of_many_rows_counts(tmp_path: Path) -> None:
    type_name, texts = read_column(tmp_path, [str(i) for i in range(1, 50_000)] + ["00"])

    assert type_name == "text"
    assert texts[-1] == '"00"'


#: Rows that are tested before all others, and more than these.
_FIRST_ROWS = 3_000
MANY = 5_000


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
    path.write_text("x,n\n" + f"{first},1\n" * MANY + f"{then},2\n")
    formats = []
    for rows in (_FIRST_ROWS, 10 * MANY):
        monkeypatch.setattr(staging, "_MAX_SAMPLE_ROWS", rows)
        with read_in_process(path, LoadOptions()) as table:
            decisions = decide_formats(table, LoadOptions())
            formats.append([decision.field_type.name for decision in decisions])

    assert formats == [[type_name, "int4"]] * 2


@pytest.mark.parametrize(
    ("chosen", "value", "stored"),
    [
        ("text", "5", '"5"'),
        ("int", "007", "7"),
        ("int4", "+5", "5"),
        ("int8", "-0", "0"),
        ("numeric", "1200.50", "1200.50"),
        ("numeric", "+007.10", "7.10"),
        ("numeric", "-.5", "-0.5"),
        ("numeric", "NaN", '"NaN"'),
        ("numeric", "1e5", "1e5"),
        ("float", "1e5", "100000"),
        ("float8", "NaN", '"NaN"'),
        ("float8", "-inf", '"-Infinity"'),
        ("float8", "Infinity", '"Infinity"'),
        ("float8", "0.10", "0.1"),
        ("float8", "0e-400", "0"),
        ("float8", "1.7e308", "1.7e+308"),
        ("bool", "Yes", "true"),
        ("bool", "0", "false"),
        ("date", "2024-02-29", '"2024-02-29"'),
        ("timestamp", "2024-02-29", '"2024-02-29T00:00:00.000"'),
        ("time", "01:02:03", '"01:02:03"'),
        ("json", '"{""a"": [1, 2.50]}"', '{"a": [1, 2.50]}'),
        ("json", "null", "null"),
        ("text[]", '"[""a"", ""b""]"', '["a","b"]'),
        ("_int4", '"[1, 2]"', "[1,2]"),
        ("_float8", "[0.5]", "[0.5]"),
        ("_float8", '"[null, ""NaN""]"', '[null,"NaN"]'),
        ("_int4", "[]", "[]"),
        ("_bool", "[true]", "[true]"),
    ],
)
def test_a_chosen_type_accepts_what_it_can_read(
    tmp_path: Path, chosen: str, value: str, stored: str
) -> None:
    _, texts = read_column(tmp_path, [value], chosen)

    assert texts == [stored]


@pytest.mark.parametrize(
    ("chosen", "value"),
    [
        ("int4", "2147483648"),
        ("int4", "7.5"),
        ("int4", "x"),
        ("int8", "9223372036854775808"),
        ("numeric", '"1,5"'),
        ("float8", "x"),
        ("float8", "1e400"),
        ("float8", "-1E+400"),
        ("float8", "1" + "0" * 400),
        ("float8", "1e-400"),
        ("float8", "-0." + "0" * 400 + "1"),
        ("bool", "maybe"),
        ("date", "2024-02-30"),
        ("date", "29/02/2024"),
        ("timestamp", "2024-02-29T25:00"),
        ("time", "25:00:00"),
        ("json", "{"),
        ("_text", "x"),
        ("_text", '"{""a"": 1}"'),
        ("_int4", '"[""x""]"'),
        ("_int4", "[1.5]"),
        ("_float8", "[1e400]"),
    ],
)
def test_a_value_that_a_chosen_type_cannot_store_is_a_row_error(
    db: None, tmp_path: Path, chosen: str, value: str
) -> None:
    path = tmp_path / "file.csv"
    path.write_text(f"x,last\n,.\n,.\n{value},.\n")
    options = LoadOptions(types={"x": chosen})
    with read_in_process(path, options) as table:
        decide_formats(table, options)
        errors = table.connection.execute("SELECT line, field, error FROM row_errors").fetchall()

    assert [error[:2] for error in errors] == [(4, "x")]
    assert str(BadRow.from_json(json.loads(errors[0][2]))) == (
        f"The value is not of type {get_field_type(chosen).label}."
    )


def test_a_choice_for_an_unknown_field_or_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("a\n1\n")
    failures: tuple[tuple[dict[str, str], str], ...] = (
        ({"b": "text"}, "option.unknown_field"),
        ({"a": "colour"}, "option.unknown_type"),
    )

    for chosen, failure in failures:
        options = LoadOptions(types=chosen)
        with read_in_process(path, options) as table, fails_with(failure):
            decide_formats(table, options)
