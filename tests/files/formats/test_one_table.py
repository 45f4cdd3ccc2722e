"""One table, written as CSV, XLSX, XLS and ODS from one list, gives one table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
import xlwt
from openpyxl import Workbook

from datastore_search.contrib.files.formats.child import read_file
from datastore_search.contrib.files.formats.staging import ROW_ERRORS
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.types.inference import decide_formats

from ..contents import (
    build_ods,
    build_ods_cell,
    build_ods_table,
    build_ods_texts,
    edit_archive,
    save_workbook,
)
from .staging import render_records, temporary_staging_area


@dataclass
class Column:
    """
    A column: its cells as texts of CSV, and the values and the number format of a sheet.

    ``type`` and ``records`` are what each format gives, but for the one of ``difference``: its
    reason, the format, the type and the records that it gives.  Without values or records, these
    are the texts.
    """

    name: str
    type: str
    texts: list[str]
    values: list[Any] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    number_format: str = "General"
    difference: tuple[str, str, str, list[Any]] = ("", "", "", [])

    def __post_init__(self) -> None:
        self.values = self.values or self.texts
        self.records = self.records or self.texts


_DAYS = [date(2024, 3, 5), date(1900, 1, 1), date(9999, 12, 31)]
_MOMENTS = [datetime(2024, 3, 5, 14, 30, 15), datetime(2024, 3, 6), datetime(1999, 12, 31, 23, 59)]  # noqa: DTZ001
_TIMES = [time(0), time(14, 30), time(23, 59, 59)]
_DURATIONS = [timedelta(hours=27, minutes=17, seconds=54), timedelta(hours=1), timedelta(days=5)]
_LONG = [123456789012345678, 9007199254740993, 474939423470395392]
_ROUNDED = ["123456789012345680", "9007199254740992", "474939423470395392"]
_DECIMALS = [0.1, -1234.56, 0.12345678901234]
_WITH_UNIT = "a CSV has the text; its unit is never left out without a choice"
_RATES, _PRICES = ["50%", "12.5%", "100%"], ["€ 1234.50", "€ 2.00", "€ 0.99"]

COLUMNS = [
    Column("key", "text", ["a", "b", "c"]),
    Column(
        "long",
        "int8",
        [*map(str, _LONG)],
        _LONG,
        difference=("an XLS stores doubles: text, with a notice", "xls", "text", _ROUNDED),
    ),
    Column("zip", "text", ["02134", "00501", "12345"], [2134, 501, 12345], number_format="00000"),
    Column(
        "number",
        "text",
        ["012-34-5678", "123-45-6789", "000-00-0001"],
        [12345678, 123456789, 1],
        number_format="000-00-0000",
    ),
    Column("whole", "int4", ["5", "-3", "0"], [5, -3, 0]),
    Column("decimal", "numeric", [*map(str, _DECIMALS)], _DECIMALS),
    Column("day", "date", [*map(str, _DAYS)], _DAYS, number_format="yyyy-mm-dd"),
    Column(
        "moment",
        "timestamp",
        [*map(str, _MOMENTS)],
        _MOMENTS,
        [f"{each.isoformat()}.000" for each in _MOMENTS],
        "yyyy-mm-dd hh:mm:ss",
    ),
    Column("clock", "time", [*map(str, _TIMES)], _TIMES, number_format="hh:mm:ss"),
    Column(
        "duration",
        "text",
        ["27:17:54", "01:00:00", "120:00:00"],
        _DURATIONS,
        number_format="[hh]:mm:ss",
    ),
    Column("truth", "bool", ["true", "false", "true"], [True, False, True], [True, False, True]),
    Column("text", "text", ["one\ntwo", "three\tfour", "  five  six"]),
    Column("gap", "int4", ["", "1", ""], [None, 1, None], [None, "1", None]),
    Column(
        "rate",
        "numeric",
        _RATES,
        [0.5, 0.125, 1],
        ["0.5", "0.125", "1"],
        "0.0%",
        (_WITH_UNIT, "csv", "text", _RATES),
    ),
    Column(
        "price",
        "numeric",
        _PRICES,
        [1234.5, 2, 0.99],
        ["1234.5", "2", "0.99"],
        '"€" #,##0.00',
        (_WITH_UNIT, "csv", "text", _PRICES),
    ),
]

#: Names of errors that every program has, and their numbers in an XLS.
_ERRORS = {"#DIV/0!": 0x07, "#N/A": 0x2A, "#REF!": 0x17}


def write_csv(columns: list[Column], *, has_errors: bool) -> bytes:
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(column.name for column in columns)
    writer.writerows(zip(*(column.texts for column in columns), strict=True))
    if has_errors:
        writer.writerows([name, *[""] * (len(columns) - 1)] for name in _ERRORS)
    return target.getvalue().encode()


def write_xlsx(columns: list[Column], *, has_errors: bool) -> bytes:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for number, column in enumerate(columns, start=1):
        sheet.cell(1, number, column.name)
        for row, value in enumerate(column.values, start=2):
            sheet.cell(row, number, value).number_format = column.number_format
    if has_errors:
        for row, name in enumerate(_ERRORS, start=len(columns[0].values) + 2):
            sheet.cell(row, 1, name)
    # openpyxl writes 16 digits.
    long = {f"{each:.16g}": str(each) for each in columns[1].values}
    return edit_archive(
        save_workbook(workbook),
        {
            "xl/worksheets/sheet1.xml": lambda xml: re.sub(
                "<v>([^<]+)<", lambda at: f"<v>{long.get(at[1], at[1])}<", xml
            )
        },
    )


def write_xls(columns: list[Column], *, has_errors: bool) -> bytes:
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("Sheet")
    for number, column in enumerate(columns):
        sheet.write(0, number, column.name)
        style = xlwt.easyxf(num_format_str=column.number_format)
        for row, value in enumerate(column.values, start=1):
            if isinstance(value, timedelta):
                sheet.write(row, number, value / timedelta(1), style)
            elif value is not None:
                sheet.write(row, number, value, style)
    if has_errors:
        for row, code in enumerate(_ERRORS.values(), start=len(columns[0].values) + 1):
            sheet.row(row).set_cell_error(0, code)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


def write_ods(columns: list[Column], *, has_errors: bool) -> bytes:
    rows = [build_ods_texts(*(column.name for column in columns))]
    rows += (
        "".join(write_ods_cell(each.values[row], each.texts[row], each) for each in columns)
        for row in range(len(columns[0].values))
    )
    if has_errors:
        for name in _ERRORS:
            error = build_ods_cell("string", name, string_value="").replace(
                'calcext:value-type="string"', 'calcext:value-type="error"'
            )
            rows.append(error)
    return build_ods(build_ods_table("Sheet", *rows))


def write_ods_cell(value: Any, text: str, column: Column) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        shown = escape(value).replace("\n", "</text:p><text:p>").replace("\t", "<text:tab/>")
        return build_ods_cell("string", shown.replace("  ", '<text:s text:c="2"/>'))
    if isinstance(value, bool):
        return build_ods_cell("boolean", text, boolean_value=str(value).lower())
    if isinstance(value, date):
        return build_ods_cell("date", text, date_value=value.isoformat())
    if isinstance(value, time | timedelta):
        hours, minutes, seconds = text.split(":")
        return build_ods_cell("time", text, time_value=f"PT{hours}H{minutes}M{seconds}S")
    kind = "percentage" if "%" in column.number_format else "float"
    return build_ods_cell(kind, text, value=str(value))


WRITERS: Mapping[str, Callable[..., bytes]] = {
    "csv": write_csv,
    "xlsx": write_xlsx,
    "xls": write_xls,
    "ods": write_ods,
}


def expect(column: Column, suffix: str) -> tuple[str, list[Any]]:
    """Return the type and the records of a column that a format gives."""
    _reason, other, type_name, records = column.difference
    return (type_name, records) if suffix == other else (column.type, column.records)


@pytest.mark.parametrize("suffix", WRITERS)
def test_one_table_is_the_same_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(WRITERS[suffix](COLUMNS, has_errors=False))

    with temporary_staging_area() as staging_area:
        table = read_file(path, LoadOptions(), staging_area)
        decisions = decide_formats(table, LoadOptions())
        records = render_records(table, decisions)

    found = {
        name: (decision.field_type.name, [record[name] for record in records])
        for name, decision in zip(table.names, decisions, strict=True)
    }
    assert found == {column.name: expect(column, suffix) for column in COLUMNS}
    assert [notice.code for notice in table.notices] == (
        ["notice.rounded_numbers"] if suffix == "xls" else []
    )


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITERS if suffix != "csv"])
def test_errors_are_the_same_in_every_sheet(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(WRITERS[suffix](COLUMNS[:3], has_errors=True))

    with temporary_staging_area() as staging_area:
        table = read_file(path, LoadOptions(), staging_area)
        query = "SELECT line, field, value FROM {} ORDER BY line"
        errors = table.execute(query, ROW_ERRORS).fetchall()

    assert errors == [(line, "key", name) for line, name in enumerate(_ERRORS, start=5)]


# Merged cells -------------------------------------------------------------------------------------

_PLACES: list[list[Any]] = [
    ["Places", None, None],
    ["region", "district", "n"],
    ["North", "a", 1],
    [None, "b", 2],
    ["South", None, 3],
    [None, None, 4],
    ["Both", None, 5],
]
#: The first and the last row, and the first and the last column, from 0.
_MERGED = [(0, 0, 0, 2), (2, 3, 0, 0), (4, 5, 0, 1), (6, 6, 0, 1)]


def merge_xlsx() -> bytes:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for cells in _PLACES:
        sheet.append(cells)
    for top, bottom, left, right in _MERGED:
        sheet.merge_cells(None, top + 1, left + 1, bottom + 1, right + 1)
    return save_workbook(workbook)


def merge_xls() -> bytes:
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("Sheet", cell_overwrite_ok=True)
    for merged in _MERGED:
        sheet.merge(*merged)
    for row, cells in enumerate(_PLACES):
        for column, cell in enumerate(cells):
            if cell is not None:
                sheet.write(row, column, cell)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


def merge_ods() -> bytes:
    spans = {(top, left): (bottom - top, right - left) for top, bottom, left, right in _MERGED}
    rows = []
    for row, cells in enumerate(_PLACES):
        texts = []
        for column, cell in enumerate(cells):
            text = "<table:table-cell/>" if cell is None else build_ods_texts(str(cell))
            high, wide = spans.get((row, column), (0, 0))
            if high or wide:
                spanned = f'rows-spanned="{high + 1}" table:number-columns-spanned="{wide + 1}"'
                text = text.replace("-cell", f"-cell table:number-{spanned}", 1)
            texts.append(text)
        rows.append("".join(texts))
    covered = "<table:table-cell/><table:table-cell/>"
    repeated = '<table:covered-table-cell table:number-columns-repeated="2"/>'
    rows = [each.replace(covered, repeated) for each in rows]
    return build_ods(build_ods_table("Sheet", *rows))


MERGERS = {"xlsx": merge_xlsx, "xls": merge_xls, "ods": merge_ods}


@pytest.mark.parametrize("suffix", MERGERS)
@pytest.mark.parametrize("fill_merged", [False, True])
def test_merged_cells_are_counted_and_filled_down_if_chosen(
    tmp_path: Path, suffix: str, fill_merged: bool
) -> None:
    path, options = tmp_path / f"table.{suffix}", LoadOptions(fill_merged=fill_merged)
    path.write_bytes(MERGERS[suffix]())

    with temporary_staging_area() as staging_area:
        table = read_file(path, options, staging_area)
        records = render_records(table, decide_formats(table, options))

    def fill(value: str) -> str | None:
        return value if fill_merged else None

    assert [(record["region"], record["district"]) for record in records] == [
        ("North", "a"),
        (fill("North"), "b"),
        ("South", None),
        (fill("South"), None),
        ("Both", None),
    ]
    code = "notice.merged_filled" if fill_merged else "notice.merged_rows"
    assert [(each.code, each.parameters) for each in table.notices] == [
        ("notice.rows_above_header", {"row": 2}),
        ("notice.merged_cells", {"count": 1}),
        (code, {"count": 2, "fields": "“region” (2)"}),
    ]


def test_a_merged_cell_that_begins_beside_the_chosen_cells_fills_nothing(tmp_path: Path) -> None:
    path, options = tmp_path / "table.xlsx", LoadOptions(fill_merged=True, cell_range="B2:C7")
    path.write_bytes(merge_xlsx())

    with temporary_staging_area() as staging_area:
        table = read_file(path, options, staging_area)
        records = render_records(table, decide_formats(table, options))

    assert [record["district"] for record in records] == ["a", "b", None, None, None]
