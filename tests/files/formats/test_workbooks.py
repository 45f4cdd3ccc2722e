"""Sheets, and what is looked at before they are read."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import xlwt
from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from datastore_search.contrib.files.formats import workbooks
from datastore_search.contrib.files.formats.cell_values import (
    BadCell,
    format_number,
    format_padded,
    read_date,
)
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.staging import StagedTable
from datastore_search.contrib.files.formats.workbooks import FORMATTERS, read_workbook
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed

from ..builders import fails_with
from ..contents import (
    build_ods,
    build_ods_cell,
    build_ods_table,
    build_ods_texts,
    build_sheet,
    edit_archive,
    save_workbook,
)
from ..torture.cases import FILES
from .staging import Errors, Rows, get_read_failure, read_content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "upload"


def read(path: Path, content: bytes, **options: Any) -> tuple[StagedTable, Rows, Errors]:
    return read_content(read_workbook, path, content, **options)


def build_workbook(*rows: Sequence[object]) -> bytes:
    return save_workbook(build_sheet(*map(list, rows))[0])


def edit_sheet(content: bytes, change: Callable[[str], str]) -> bytes:
    return edit_archive(content, {"xl/worksheets/sheet1.xml": change})


def remove_cell_references(content: bytes) -> bytes:
    """Leave out the names of cells and rows, as some programs do."""
    return edit_sheet(
        content, lambda xml: xml.replace('<c r="', '<c x="').replace('<row r="', '<row x="')
    )


def build_ods_sheet(*rows: str) -> bytes:
    return build_ods(build_ods_table("S", *rows))


# Headers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["a", "b"], [1, 2]], 1),
        ([["Title"], ["a", "b", "c"], [1, 2, 3]], 2),
        ([["Title"], ["Source:", "us"], ["a", "b", "c", "d"], [1, 2, 3, 4]], 3),
        ([["Title"], [], ["place", 2022, 2023], ["x", 1, 2]], 3),
        ([["Title"], ["x", 1.5, 2.5], ["y", 3.5, 4.5]], 2),
        ([["a", None], ["x", "y"], ["z", "w"]], 2),
        ([["a"], [1], [2]], 1),
        ([["a", "b"], ["x"], ["y"]], 1),
        ([["half", "named", None, None], [1, 2, 3, 4], [5, 6, 7, 8]], 1),
    ],
)
def test_the_header_is_found_below_titles_and_notes(
    path: Path, rows: list[list[object]], header: int
) -> None:
    table, staged, _errors = read(path, build_workbook(*rows))

    above = [notice.parameters["row"] for notice in table.notices]
    assert above == ([header] if header > 1 else [])
    assert staged[0][0] == header + 1


def test_no_rows_are_skipped_where_that_is_the_choice(path: Path) -> None:
    content = build_workbook(["Title"], ["a", "b", "c"], [1, 2, 3])

    table, *_rest = read(path, content, skip=0)

    assert (table.labels, table.notices) == (("Title", "", ""), ())


# Cells --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (100.0, "100"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (2.0**53, "9007199254740992"),
        (1e20, "100000000000000000000"),
        (1.5e300, "1.5e+300"),
        (1e-7, "0.0000001"),
        (5e-324, "5e-324"),
    ],
)
def test_numbers_are_written_without_loss(number: float, text: str) -> None:
    assert format_number(number) == text
    assert float(text) == number


def test_kinds_that_are_mixed_are_text(path: Path) -> None:
    content = build_workbook(
        ["a", "b", "c"], [1, True, date(2024, 3, 5)], ["x", 2, 3], [None, None, "y"]
    )

    table, rows, _errors = read(path, content)

    assert table.declared_types == ("text", "text", "text")
    assert rows == [(2, "1", "true", "2024-03-05"), (3, "x", "2", "3"), (4, None, None, "y")]


_LONG_NUMBERS = {
    "123456789012345678": "123456789012345678",
    "9007199254740992": "9007199254740992",
    "9007199254740993": "9007199254740993",
    "-9007199254740993": "-9007199254740993",
    "474939423470395392": "474939423470395392",
    "1.2345678901234567E+17": "123456789012345670",
    "1.23456789012345E+17": "123456789012345000",
    "12345678901234567890": "12345678901234567890",
    "0.12345678901234567": "0.12345678901234567",
    "12345678901234567.25": "12345678901234567.25",
    # As programs write the doubles 0.04, 847.43 and 6.02214076e23.
    "4.0000000000000002E-2": "0.04",
    "847.4299999999999": "847.43",
    "6.0221407599999999E+23": "6.02214076e+23",
}


def build_numbers_xlsx(attributes: str) -> bytes:
    numbers = iter(_LONG_NUMBERS)
    return edit_sheet(
        build_workbook(["n"], *([7] for _ in _LONG_NUMBERS)),
        lambda xml: re.sub(
            r'<c (r="[A-Z0-9]+") t="n"><v>7<',
            lambda at: f"<c {at[1]}{attributes}{next(numbers)}<",
            xml,
        ),
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: build_numbers_xlsx("><v>"),
        lambda: build_numbers_xlsx(" t='n'><v>"),
        lambda: build_numbers_xlsx('><f t="shared" ref="A2:A9" si="0">B2*1</f><v>'),
        lambda: remove_cell_references(build_numbers_xlsx("><v>")),
        lambda: build_ods_sheet(
            build_ods_texts("n"),
            *(build_ods_cell("float", "1E17", value=number) for number in _LONG_NUMBERS),
        ),
    ],
    ids=["xlsx", "typed", "formulas", "unplaced", "ods"],
)
def test_numbers_have_the_digits_that_the_file_writes(
    path: Path, build: Callable[[], bytes]
) -> None:
    table, rows, _errors = read(path, build())

    assert [row[1] for row in rows] == [*_LONG_NUMBERS.values()]
    assert table.declared_types == ("numeric",)


def test_a_sheet_may_have_a_value_that_is_no_number(path: Path) -> None:
    workbook, sheet = build_sheet(["a", "b"], [7, 7], [8, 8])
    for row, number_format in ((2, "00000"), (3, "yyyy")):
        sheet.cell(row, 2).number_format = number_format
    content = save_workbook(workbook)

    for value in ("x", "1.2.3", "nan", "1e99999999999999999999", "-", "0E-", "1_0"):
        changed = edit_sheet(content, partial(re.sub, "<v>[78]<", f"<v>{value}<"))
        with suppress(LoadFailed):
            read(path, changed)


# Number formats -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number_format", "number", "text"),
    [
        ("00000", 2134, "02134"),
        ("00000", 123456, "123456"),
        ("00000", -7, "-00007"),
        ("000-00-0000", 12345678, "012-34-5678"),
        (r"00000\-0000", 21340001, "02134-0001"),
        ('"ID"000', 7, "ID007"),
        ("[<=99999]00000;00000-0000", 2134, "02134"),
        ("[<=99999]00000;00000-0000", 21340001, "02134-0001"),
        ("[Red]000;[Blue](000)", -7, "(007)"),
        ("000;-000;none", 0, None),
        ("[$-409]00000_);@", 501, "00501"),
        ("##-000", 7, "-007"),
        ("+00 (000) 000", 49301234, "+49 (301) 234"),
        ("0", 7, None),
        ("#,##0", 7, None),
        ("00.0", 7, None),
        ("00%", 7, None),
        ("General", 7, None),
        ("00000", 1.5, None),
        ("00000", 1e300, None),
    ],
)
def test_numbers_with_leading_zeros_are_written_as_they_are_shown(
    number_format: str, number: float, text: str | None
) -> None:
    assert format_padded(Decimal(number), number_format) == text


def test_the_leading_zeros_of_an_ods_are_kept(path: Path) -> None:
    shown = {"2134": "02134", "12345": "12345", "12345678": "012-34-5678", "7": "ID007", "0": "00"}
    shown |= {"123456789": "123-45-6789", "1234": "ID1234", "-7": "-00007"}
    plain = {"0.5": "00.50", "0": "0.00", "5": "5", "6": "6 kg", "1e3": "1 000", "70": "70%"}
    cells = [
        build_ods_cell("float", text, value=value)
        for value, text in (*shown.items(), *plain.items())
    ]

    _table, rows, _errors = read(path, build_ods_sheet(build_ods_texts("k"), *cells))

    assert [row[1] for row in rows] == [*shown.values(), "0.5", "0", "5", "6", "1000", "70"]


@pytest.mark.parametrize(
    ("number_format", "system", "number", "outcome"),
    [
        ("dd/mm/yyyy", 1900, 0, BadCell("0")),
        ("dd/mm/yyyy", 1900, 0.5, BadCell("0.5")),
        ("dd/mm/yyyy hh:mm", 1900, 0, BadCell("0")),
        ("dd/mm/yyyy hh:mm", 1900, 0.5, time(12)),
        ("mmm yyyy", 1900, -1, BadCell("-1")),
        ("hh:mm", 1900, -0.5, BadCell("-0.5")),
        ("hh:mm", 1900, 0, time(0)),
        ("mm:ss.0", 1900, 0.25, time(6)),
        ("[h]:mm", 1900, -0.5, timedelta(hours=-12)),
        ("yyyy-mm-dd", 1900, 59, date(1900, 2, 28)),
        ("yyyy-mm-dd", 1900, 60, "1900-02-29"),
        ("yyyy-mm-dd", 1900, 60.5, "1900-02-29 12:00:00"),
        ("yyyy-mm-dd", 1900, 61, date(1900, 3, 1)),
        ("yyyy-mm-dd", 1900, 2958466, BadCell("2958466")),
        ("yyyy-mm-dd", 1904, 0, date(1904, 1, 1)),
        ("yyyy-mm-dd", 1904, 60, date(1904, 3, 1)),
        ("yyyy-mm-dd", 1904, -1, BadCell("-1")),
        ("h:mm", 1904, 0.5, time(12)),
    ],
)
def test_numbers_are_dates_only_where_there_is_such_a_day(
    path: Path, number_format: str, system: int, number: float, outcome: Any
) -> None:
    workbook, sheet = build_sheet(["k", "x"], [1, number])
    sheet["B2"].number_format = number_format
    if system == 1904:
        workbook.epoch = CALENDAR_MAC_1904
    content = save_workbook(workbook)

    _table, rows, errors = read(path, content)

    assert read_date(float(number), number_format, 1 if system == 1904 else 0) == outcome
    if isinstance(outcome, BadCell):
        assert errors == [(2, "x", outcome, "row.no_date")]
    else:
        written = FORMATTERS[type(outcome)](outcome)
        assert (rows, errors) == ([(2, "1", written)], [])


def test_a_column_with_numbers_of_no_day_stays_a_date(path: Path) -> None:
    days = (date(2023, 3, 15), 0, date(2023, 3, 25), -1)
    rows_ = [[f"shop{number}", day] for number, day in enumerate(days, start=1)]
    workbook, sheet = build_sheet(["shop", "closed"], *rows_)
    for row in range(2, 6):
        sheet.cell(row, 2).number_format = "dd/mm/yyyy"
    content = save_workbook(workbook)

    table, rows, errors = read(path, content)

    assert table.declared_types == ("text", "date")
    assert rows == [(2, "shop1", "2023-03-15"), (4, "shop3", "2023-03-25")]
    assert errors == [(3, "closed", "0", "row.no_date"), (5, "closed", "-1", "row.no_date")]


def test_an_xls_may_have_rounded_its_long_numbers(path: Path) -> None:
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("S")
    numbers = [(123456789012345678, 123456789012345000), (2**53 + 1, 2**53 - 1), (1, 2)]
    for row, cells in enumerate([("id", "n"), *numbers]):
        for column, cell in enumerate(cells):
            sheet.write(row, column, cell)
    content = io.BytesIO()
    workbook.save(content)

    table, rows, _errors = read(path, content.getvalue())

    assert table.declared_types == ("text", "int8")
    assert rows == [
        (2, "123456789012345680", "123456789012345000"),
        (3, "9007199254740992", "9007199254740991"),
        (4, "1", "2"),
    ]
    assert [(each.code, each.parameters) for each in table.notices] == [
        ("notice.rounded_numbers", {"count": 2})
    ]


# Errors -------------------------------------------------------------------------------------------


def test_every_error_of_a_row_is_reported(path: Path) -> None:
    content = build_workbook(
        ["a", "b", "c"], ["#N/A", 1, "#REF!"], [1, 2, 3], [None, None, "#VALUE!"]
    )

    _table, rows, errors = read(path, content)

    assert rows == [(3, "1", "2", "3")]
    assert errors == [
        (2, "a", "#N/A", "row.error_cell"),
        (2, "c", "#REF!", "row.error_cell"),
        (4, "c", "#VALUE!", "row.error_cell"),
    ]


def test_an_error_in_the_header_is_a_name(path: Path) -> None:
    content = build_workbook(["#N/A", "b"], [1, 2])

    assert read(path, content)[0].names == ("#N/A", "b")


def test_errors_are_found_wherever_the_table_begins(path: Path) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for cell_name, value in {"D5": "k", "E5": "n", "D6": "x", "E6": "#N/A"}.items():
        sheet[cell_name] = value

    _table, _rows, errors = read(path, save_workbook(workbook))

    assert errors == [(6, "n", "#N/A", "row.error_cell")]


# Limits -------------------------------------------------------------------------------------------


def test_an_ods_whose_xml_is_broken_ends_with_its_processor_time(path: Path, settings: Any) -> None:
    settings.DATASTORE_SEARCH_READ_CPU_SECONDS = 1  # calamine never ends
    table = build_ods_table("S", build_ods_texts("a"), build_ods_texts("b"))
    path.write_bytes(build_ods(table.replace("</table:table>", "</table:tab>")))

    with fails_with("load.reader_timeout"), open_table(path, LoadOptions()):
        pass


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"k,n\n1,2\n", b"<html>"]
)
def test_what_is_no_workbook_is_refused(path: Path, content: bytes) -> None:
    assert get_read_failure(read_workbook, path, content).code in {
        "workbook.unknown_format",
        "workbook.damaged",
    }


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/worksheets/sheet1.xml"]
)
def test_a_workbook_that_lacks_what_it_says_is_refused(path: Path, part: str) -> None:
    content = edit_archive(build_workbook(["a"], [1]), {part: lambda xml: xml[: len(xml) // 3]})

    assert isinstance(get_read_failure(read_workbook, path, content), LoadFailed)


def test_an_ods_whose_kind_is_cut_is_refused(path: Path) -> None:
    content = build_ods(build_ods_table("S", build_ods_texts("a")))
    cut = edit_archive(content, {"mimetype": lambda kind: kind[-24:]})

    # calamine reads a fixed number of bytes, and raises an OSError without a number.
    assert get_read_failure(read_workbook, path, cut).code == "workbook.damaged"


def test_a_panic_of_calamine_is_a_damaged_workbook(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):  # as Rust's binding calls it
        pass

    def raise_panic(*_arguments: object) -> None:
        raise PanicException

    monkeypatch.setattr(workbooks, "_open_workbook", raise_panic)

    failure = get_read_failure(read_workbook, path, build_workbook(["a"], [1]))

    assert failure.code == "workbook.damaged"


# Other kinds --------------------------------------------------------------------------------------


def test_the_errors_of_an_ods_are_bad_rows(path: Path) -> None:
    other = build_ods_table("Other", build_ods_cell("error", "Err:502"))
    rows = build_ods_table(
        "S",
        build_ods_texts("k", "n"),
        build_ods_texts("a") + build_ods_cell("float", "1", value="1"),
        # LibreOffice, Excel, an old program
        build_ods_texts("b")
        + build_ods_cell("string", "#DIV/0!", string_value="").replace(
            'calcext:value-type="string"', 'calcext:value-type="error"'
        ),
        build_ods_texts("c") + build_ods_cell("float", "#N/A", value="0"),
        build_ods_texts("d") + build_ods_cell("error", "Err:502"),
    )
    twice = rows.replace("<table:table-row>", '<table:table-row table:number-rows-repeated="2">')

    table, staged, errors = read(path, build_ods(other, twice), sheet="S")

    assert table.declared_types == ("text", "text")
    assert staged == [(2, "k", "n"), (3, "a", "1"), (4, "a", "1")]
    assert errors == [
        (line, "n", name, "row.error_cell")
        for line, name in zip(
            range(5, 11), ("#DIV/0!", "#DIV/0!", "#N/A", "#N/A", "Err:502", "Err:502"), strict=True
        )
    ]


def test_the_breaks_tabs_and_blanks_of_an_ods_stay(path: Path) -> None:
    texts = {
        "one<text:tab/>two": "one\ttwo",
        "one<text:line-break/>two<text:line-break></text:line-break>three": "one\ntwo\nthree",
        "one<text:s/>two<text:s text:c='3'/>three": "one two   three",
        "one</text:p><text:p/><text:p><text:span>two</text:span>": "one\n\ntwo",
    }

    rows = read(path, build_ods_sheet(build_ods_texts("k"), *map(build_ods_texts, texts)))[1]

    assert [text for _line, text in rows] == [*texts.values()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("PT27H17M54S", "27:17:54"),
        ("PT01H00M00S", "01:00:00"),
        ("PT23H59M59.5S", "23:59:59.5"),
        ("PT24H00M00S", "24:00:00"),
        ("P1DT2H", "26:00:00"),
        ("-PT1H30M00S", "-01:30:00"),
        ("PT90M", "01:30:00"),
        ("PT0S", "00:00:00"),
        ("PT100H00M00.25S", "100:00:00.25"),
    ],
)
def test_the_durations_of_an_ods_are_written_in_hours(path: Path, value: str, text: str) -> None:
    cell = build_ods_cell("time", "x", time_value=value)
    content = build_ods_sheet(
        build_ods_texts("k"), cell, cell.replace("><text:p>x</text:p></table:table-cell>", "/>")
    )

    assert read(path, content)[1] == [(2, text), (3, text)]


def test_the_merged_cells_of_an_ods_are_counted_from_the_header_on(path: Path) -> None:
    def merge(cell: str, columns: int, rows: int) -> str:
        spans = f'number-columns-spanned="{columns}" table:number-rows-spanned="{rows}"'
        return cell.replace("<table:table-cell", f"<table:table-cell table:{spans}")

    covered = "<table:covered-table-cell/>"
    title = merge(build_ods_texts("Title"), 3, 1) + covered * 2
    single = merge(build_ods_texts("y"), 1, 1) + build_ods_texts("1", "2")
    group = merge(build_ods_texts("x"), 1, 2) + build_ods_texts("1", "2")
    other = build_ods_table("Other", title)
    rows = (title, build_ods_texts("a", "b", "c"), single, group, covered + build_ods_texts("3"))

    table, staged, _errors = read(path, build_ods(other, build_ods_table("S", *rows)), sheet="S")

    assert {each.code: each.parameters for each in table.notices} == {
        "notice.rows_above_header": {"row": 2},
        "notice.merged_rows": {"count": 1, "fields": "“a” (1)"},
    }
    assert staged[-1] == (5, None, "3", None)


def test_an_xls_whose_streams_share_sectors_is_read(path: Path) -> None:
    content = (FILES / "old.xls").read_bytes()
    expected = read(path, content)[1]
    shared = bytearray(content)
    directory = 512 * (1 + int.from_bytes(content[48:52], "little"))
    root, workbook = (slice(at + 116, at + 124) for at in (directory, directory + 128))

    shared[root] = shared[workbook]  # the first sector and the length

    assert read(path, bytes(shared))[1] == expected


def test_an_xls_with_the_dates_of_east_asia_is_read(path: Path) -> None:
    content = (FILES / "cells.xls").read_bytes()
    expected = read(path, content)[1]
    # The records of cells' formats: a font, a number format.
    formats = re.compile(rb"(\xe0\x00\x14\x00..)\xa5\x00", re.DOTALL)

    japanese = formats.sub(lambda match: match[1] + b"\x1f\x00", content)

    assert japanese != content
    assert read(path, japanese)[1] == expected
