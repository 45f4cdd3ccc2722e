"""Wide tables, whose rows are stored as cells: they are read as narrow ones are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datastore_search.loading.publishing import rows
from datastore_search.loading.publishing.preview import build_preview
from datastore_search.loading.readers import row_writer, stored_rows
from datastore_search.loading.readers.options import ReadOptions
from datastore_search.loading.typing.inference import decide_formats
from datastore_search.loading.typing.options import LoadOptions

from ..files import list_row_errors, load_new_resource, load_text, read_rows
from ..torture.make_files import build_parquet
from .staging import fetch_rows, read_in_process, render_records
from .test_workbooks import build_workbook

WIDTH = 450


def read(path: Path, **options: Any) -> tuple[bool, list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Read a file: whether it has cells, its rows, and the records that would be stored."""
    with read_in_process(path, ReadOptions(**options)) as table:
        fetched = fetch_rows(table)
        return (
            table.rows.is_wide,
            fetched,
            render_records(table, decide_formats(table, LoadOptions())),
        )


def write_csv(path: Path, header: Sequence[str], *lines: Sequence[str]) -> None:
    path.write_text("\n".join(map(",".join, [header, *lines])) + "\n")


def make_names(width: int) -> list[str]:
    return [f"k{position}" for position in range(width)]


@pytest.mark.parametrize(("width", "is_wide"), [(300, False), (301, True)])
def test_a_table_of_more_fields_is_stored_as_cells(
    tmp_path: Path, width: int, *, is_wide: bool
) -> None:
    path = tmp_path / "file.csv"
    write_csv(path, make_names(width), ["7"] * width, ['"007"', *["x"] * (width - 1)])

    found = read(path)

    assert found[:2] == (is_wide, [(2, *["7"] * width), (3, "007", *["x"] * (width - 1))])


def test_cells_are_null_only_where_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    write_csv(path, make_names(WIDTH), ["", '""', '"a ""b"", c"', *[" x "] * (WIDTH - 3)])

    _is_wide, found, _records = read(path)

    assert found == [(2, None, "", 'a "b", c', *[" x "] * (WIDTH - 3))]


def test_fields_without_name_and_value_at_the_end_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text(f"{','.join(make_names(290))}{',' * 50}\n{'1,' * 290},2{',' * 48}\n")

    _is_wide, found, _records = read(path)

    assert found == [(2, *["1"] * 290, None, "2")]


@pytest.mark.parametrize("batch_bytes", [10, 64 * 2**20])
def test_records_become_cells_when_there_are_more_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr(row_writer, "_BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(row_writer, "_CELL_BATCH_BYTES", batch_bytes)
    records = [
        {"a": number, **{name: f"{name} {number}" for name in make_names(width)}}
        for number, width in enumerate([1, 299, 2, 300, 0, WIDTH, 3])
    ]
    path = tmp_path / "file.json"
    path.write_text(json.dumps(records))

    is_wide, found, stored = read(path)

    fields = ["a", *make_names(WIDTH)]
    assert is_wide
    assert [row[0] for row in found] == [1, 2, 3, 4, 5, 6, 7]
    assert stored == [
        {name: str(record["a"]) if name == "a" else record.get(name) for name in fields}
        for record in records
    ]


def test_a_value_that_cannot_be_stored_is_an_error_of_its_cell(tmp_path: Path) -> None:
    record = dict.fromkeys(make_names(WIDTH), "x")
    path = tmp_path / "file.json"
    path.write_text(json.dumps([record, record | {"k7": "a\0b"}, record | {"k8": r"a\u0000b"}]))

    with read_in_process(path, ReadOptions()) as table:
        lines = [row[0] for row in fetch_rows(table)]
        errors = table.connection.execute("SELECT line, field, value FROM row_errors").fetchall()

    assert lines == [1, 3]
    assert errors == [(2, "k7", "a�b")]


def test_a_wide_parquet_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    columns = ", ".join(f"n + {position} AS k{position}" for position in range(WIDTH))
    path.write_bytes(build_parquet(f"SELECT {columns} FROM range(3000) AS r(n)"))

    is_wide, found, _records = read(path)

    assert is_wide
    assert found == [
        (row + 1, *(str(row + position) for position in range(WIDTH))) for row in range(3_000)
    ]


def test_a_wide_sheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.xlsx"
    path.write_bytes(build_workbook(make_names(WIDTH), list(range(WIDTH)), [None] * WIDTH, ["x"]))

    _is_wide, found, _records = read(path)

    assert found == [
        (2, *map(str, range(WIDTH))),
        (4, "x", *[None] * (WIDTH - 1)),
    ]


def test_long_rows_are_rendered_by_several_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_MAX_CELL_BYTES_PER_STATEMENT", 50_000)
    path = tmp_path / "file.csv"
    lines = [[f"{row} {position}" for position in range(WIDTH)] for row in range(40)]
    write_csv(path, make_names(WIDTH), *lines)

    _is_wide, _found, records = read(path)

    assert records == [dict(zip(make_names(WIDTH), line, strict=True)) for line in lines]


def test_a_wide_file_is_merged_by_its_key(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "_MAX_NARROW_FIELDS", 0)
    resource = load_new_resource("k,d,t\n1,2024-01-02,x\n2,2024-01-03,y\n", key=("k",))
    text = "k,d,n\n2,3/1/2024,z\n3,4/13/2024,w\n3,1/1/2024,v\n,1/1/2024,u\nq,5/1/2024,s\n"

    load = load_text(resource, text, mode="upsert", bad_rows="skip", date_order="mdy")

    assert read_rows(resource) == [
        [1, 1, "2024-01-02", "x", None],
        [2, 2, "2024-03-01", "y", "z"],
        [3, 3, "2024-04-13", None, "w"],
    ]
    assert [(line, field) for line, field, _value, _reason in list_row_errors(load)] == [
        (4, "k"),
        (5, "k"),
        (6, "k"),
    ]


def test_a_wide_file_is_previewed(
    db: None, read_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("d,n,e\n1/2/2024,007,\n,008,\n3/4/2024,009,\n5/6/2024,010,\n7/8/2024,011,\n")
    expected = build_preview(None, path, LoadOptions()).to_json()
    monkeypatch.setattr(stored_rows, "_MAX_NARROW_FIELDS", 0)

    found = build_preview(None, path, LoadOptions()).to_json()

    assert found == expected
    assert [field["values"] for field in found["fields"]] == [
        ("1/2/2024", "3/4/2024", "5/6/2024"),
        ("007", "008", "009"),
        (),
    ]
