"""Wide tables: they are read as narrow ones are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from datastore_search.contrib.files.formats import row_writer, staging
from datastore_search.contrib.files.formats.options import ReadOptions
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.publishing import bad_rows, rows
from datastore_search.contrib.files.types.inference import decide_formats
from datastore_search.contrib.files.types.options import LoadOptions

from ..builders import fails_with
from ..contents import build_parquet
from .staging import fetch_rows, read_in_process, render_records
from .test_workbooks import build_workbook

WIDTH = 450


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def read_rows(path: Path) -> list[tuple[Any, ...]]:
    with read_in_process(path, ReadOptions()) as table:
        return fetch_rows(table)


def read_records(path: Path) -> list[dict[str, Any]]:
    """Read the records that would be stored."""
    with read_in_process(path, ReadOptions()) as table:
        return render_records(table, decide_formats(table, LoadOptions()))


def write_csv(path: Path, header: Sequence[str], *lines: Sequence[str]) -> None:
    path.write_text("\n".join(map(",".join, [header, *lines])) + "\n")


def make_names(width: int) -> list[str]:
    return [f"k{position}" for position in range(width)]


def test_cells_are_null_only_where_nothing_is_written(path: Path) -> None:
    write_csv(path, make_names(WIDTH), ["", '""', '"a ""b"", c"', *[" x "] * (WIDTH - 3)])

    found = read_rows(path)

    assert found == [(2, None, "", 'a "b", c', *[" x "] * (WIDTH - 3))]


def test_fields_without_name_and_value_at_the_end_are_dropped(path: Path) -> None:
    path.write_text(f"{','.join(make_names(290))}{',' * 50}\n{'1,' * 290},2{',' * 48}\n")

    found = read_rows(path)

    assert found == [(2, *["1"] * 290, None, "2")]


@pytest.mark.parametrize("batch_bytes", [10, 64 * 2**20])
def test_records_may_get_more_members_than_those_before(
    path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr(row_writer, "_BATCH_BYTES", batch_bytes)
    records = [
        {"a": number, **{name: f"{name} {number}" for name in make_names(width)}}
        for number, width in enumerate([1, 299, 2, 300, 0, WIDTH, 3])
    ]
    path.write_text(json.dumps(records))

    stored = read_records(path)

    fields = ["a", *make_names(WIDTH)]
    assert stored == [
        {name: str(record["a"]) if name == "a" else record.get(name) for name in fields}
        for record in records
    ]


def test_a_value_that_cannot_be_stored_is_an_error_of_its_cell(path: Path) -> None:
    record = dict.fromkeys(make_names(WIDTH), "x")
    path.write_text(json.dumps([record, record | {"k7": "a\0b"}, record | {"k8": r"a\u0000b"}]))

    with read_in_process(path, ReadOptions()) as table:
        lines = [row[0] for row in fetch_rows(table)]
        errors = table.connection.execute("SELECT line, field, value FROM row_errors").fetchall()

    assert lines == [1, 3]
    assert errors == [(2, "k7", "a�b")]


def test_a_wide_parquet_keeps_its_rows(path: Path) -> None:
    columns = ", ".join(f"n + {position} AS k{position}" for position in range(WIDTH))
    path.write_bytes(build_parquet(f"SELECT {columns} FROM range(2100) AS r(n)"))

    found = read_rows(path)

    assert found == [
        (row + 1, *(str(row + position) for position in range(WIDTH))) for row in range(2_100)
    ]


def test_a_wide_sheet_is_read(path: Path) -> None:
    path.write_bytes(build_workbook(make_names(WIDTH), list(range(WIDTH)), [None] * WIDTH, ["x"]))

    found = read_rows(path)

    assert found == [(2, *map(str, range(WIDTH))), (4, "x", *[None] * (WIDTH - 1))]


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_the_copied_cells_of_few_rows_read_as_the_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(staging, "_MAX_COPIED_CELLS", most)
    header = make_names(WIDTH)
    write_csv(path, header, ["1", "-", "x", *["2.5"] * 447], ["", "7", "y", *["bad"] * 447])
    options = LoadOptions(nulls=("-",), types=dict.fromkeys(header[3:], "numeric"))

    with read_in_process(path, ReadOptions(nulls=("-",))) as table:
        decisions = decide_formats(table, options)
        bad_rows.delete_bad_rows(table)
        cells = table.rows.select_cells(table.columns)
        counts = dict(table.execute("SELECT name, count(*) FROM {} GROUP BY 1", cells).fetchall())

    assert [each.field_format.name for each in decisions[:4]] == ["int4", "int4", "text", "numeric"]
    assert [counts.get(column, 0) for column in table.columns] == [1, 0, *[1] * 448]


def test_long_rows_are_rendered_by_several_statements(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_MAX_BYTES_PER_STATEMENT", 50_000)
    lines = [[f"{row} {position}" for position in range(WIDTH)] for row in range(40)]
    write_csv(path, make_names(WIDTH), *lines)

    records = read_records(path)

    assert records == [dict(zip(make_names(WIDTH), line, strict=True)) for line in lines]


@pytest.mark.usefixtures("read_here")
def test_long_values_of_neighbouring_objects_are_named(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    limits = SimpleNamespace(LOAD_MEMORY_BYTES=16 * 2**20)
    monkeypatch.setattr(row_writer, "core_conf", limits)
    monkeypatch.setattr(row_writer, "_BATCH_BYTES", 4 * 2**20)
    path.write_text(json.dumps([{"a": "short"}] * 3_000 + [{"a": "x" * 100_000}] * 300))
    expected = r"from line 3\d\d\d on are too long: consecutive rows have \d\d MB"

    with fails_with("file.long_rows", expected), open_table(path, LoadOptions()):
        pass
