"""Sheets, and what is looked at before they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from datastore_search.contrib.files.formats import workbooks
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.workbook_rows import format_number
from datastore_search.contrib.files.formats.workbooks import read_workbook
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages.failures import LoadFailed
from datastore_search.field_types import MAX_FIELDS

from ..contents import (
    build_ods,
    build_ods_cell,
    build_ods_table,
    build_ods_texts,
    build_sheet,
    edit_archive,
    save_workbook,
)
from ..failures import fails_with
from ..torture.cases import FILES
from .staging import get_read_failure, read_content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "upload"


def build_workbook(*rows: Sequence[object]) -> bytes:
    return save_workbook(build_sheet(*map(list, rows))[0])


def edit_sheet(content: bytes, change: Callable[[str], str]) -> bytes:
    return edit_archive(content, {"xl/worksheets/sheet1.xml": change})


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
    table, staged, _errors = read_content(read_workbook, path, build_workbook(*rows))

    above = [notice.parameters["row"] for notice in table.notices]
    assert above == ([header] if header > 1 else [])
    assert staged[0][0] == header + 1


def test_no_rows_are_skipped_where_that_is_the_choice(path: Path) -> None:
    content = build_workbook(["Title"], ["a", "b", "c"], [1, 2, 3])

    table, *_rest = read_content(read_workbook, path, content, skip=0)

    assert (table.labels, table.notices) == (("Title", "", ""), ())


def test_there_may_not_be_too_many_fields(path: Path) -> None:
    content = build_workbook([f"k{n}" for n in range(MAX_FIELDS + 1)])

    assert get_read_failure(read_workbook, path, content).code == "file.too_many_fields"


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


def test_texts_that_mean_nothing_do_not_make_numbers_texts(path: Path) -> None:
    content = build_workbook(["n"], [1], ["-"], [3])

    table, rows, _errors = read_content(read_workbook, path, content, nulls=("-",))

    assert table.declared_types == ("int4",)
    assert rows == [(2, "1"), (3, "-"), (4, "3")]


def test_kinds_that_are_mixed_are_text(path: Path) -> None:
    table, rows, _errors = read_content(
        read_workbook,
        path,
        build_workbook(
            ["a", "b", "c"], [1, True, date(2024, 3, 5)], ["x", 2, 3], [None, None, "y"]
        ),
    )

    assert table.declared_types == ("text", "text", "text")
    assert rows == [
        (2, "1", "true", "2024-03-05"),
        (3, "x", "2", "3"),
        (4, None, None, "y"),
    ]


def test_texts_are_staged_as_they_are(path: Path) -> None:
    nasty = ['"a",b', "line\nbreak", " blanks ", "0", "\\N", "số"]
    content = build_workbook(["k"], *([text] for text in nasty))

    _table, rows, _errors = read_content(read_workbook, path, content)

    assert [text for _line, text in rows] == nasty


def test_numbers_keep_what_their_double_holds(path: Path) -> None:
    content = edit_sheet(
        build_workbook(["n"], [7]), lambda xml: xml.replace("<v>7<", "<v>4.0000000000000002E-2<")
    )

    assert read_content(read_workbook, path, content)[1] == [(2, "0.04")]


# Errors -------------------------------------------------------------------------------------------


def test_every_error_of_a_row_is_reported(path: Path) -> None:
    content = build_workbook(
        ["a", "b", "c"], ["#N/A", 1, "#REF!"], [1, 2, 3], [None, None, "#VALUE!"]
    )

    _table, rows, errors = read_content(read_workbook, path, content)

    assert rows == [(3, "1", "2", "3")]
    assert errors == [
        (2, "a", "#N/A", "row.error_cell"),
        (2, "c", "#REF!", "row.error_cell"),
        (4, "c", "#VALUE!", "row.error_cell"),
    ]


def test_an_error_in_the_header_is_a_name(path: Path) -> None:
    content = build_workbook(["#N/A", "b"], [1, 2])

    assert read_content(read_workbook, path, content)[0].names == ("#N/A", "b")


def test_errors_are_found_wherever_the_table_begins(path: Path) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for cell_name, value in {"D5": "k", "E5": "n", "D6": "x", "E6": "#N/A"}.items():
        sheet[cell_name] = value

    _table, _rows, errors = read_content(read_workbook, path, save_workbook(workbook))

    assert errors == [(6, "n", "#N/A", "row.error_cell")]


# Limits -------------------------------------------------------------------------------------------


def remove_cell_references(content: bytes) -> bytes:
    """Leave out the names of cells and rows, as some programs do."""
    return edit_sheet(
        content, lambda xml: xml.replace('<c r="', '<c x="').replace('<row r="', '<row x="')
    )


def test_cells_without_places_come_one_after_the_other(path: Path) -> None:
    content = remove_cell_references(build_workbook(["a", "b"], [1, 2], [3, 4]))

    table, rows, _errors = read_content(read_workbook, path, content)

    assert table.names == ("a", "b")
    assert [row[1:] for row in rows] == [("1", "2"), ("3", "4")]


def test_an_ods_whose_xml_is_broken_ends_with_its_processor_time(path: Path, settings: Any) -> None:
    settings.DATASTORE_SEARCH_READ_CPU_SECONDS = 1  # calamine never ends
    path.write_bytes(
        build_ods(
            build_ods_table("S", build_ods_texts("a"), build_ods_texts("b")).replace(
                "</table:table>", "</table:tab>"
            )
        )
    )

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

    monkeypatch.setattr(workbooks, "_choose_sheet", raise_panic)

    assert (
        get_read_failure(read_workbook, path, build_workbook(["a"], [1])).code == "workbook.damaged"
    )


# Other kinds --------------------------------------------------------------------------------------


def test_an_ods_is_refused_for_errors_in_the_sheet_that_is_read(path: Path) -> None:
    rows = build_ods_table("S", build_ods_texts("k"), build_ods_texts("a"))
    twice = rows.replace("<table:table-row>", '<table:table-row table:number-rows-repeated="2">')
    error = build_ods_table("T", build_ods_cell("error", "Err:502"))
    content = build_ods(twice, error)

    assert read_content(read_workbook, path, content)[1] == [(2, "k"), (3, "a"), (4, "a")]
    with fails_with("workbook.unplaced"):
        read_content(read_workbook, path, content, sheet="T")


def test_an_xls_whose_streams_share_sectors_is_read(path: Path) -> None:
    content = (FILES / "old.xls").read_bytes()
    expected = read_content(read_workbook, path, content)[1]
    shared = bytearray(content)
    directory = 512 * (1 + int.from_bytes(content[48:52], "little"))
    root, workbook = (slice(at + 116, at + 124) for at in (directory, directory + 128))

    shared[root] = shared[workbook]  # the first sector and the length

    assert read_content(read_workbook, path, bytes(shared))[1] == expected


def test_an_xls_with_the_dates_of_east_asia_is_read(path: Path) -> None:
    content = (FILES / "cells.xls").read_bytes()
    expected = read_content(read_workbook, path, content)[1]
    # The records of cells' formats: a font, a number format.
    formats = re.compile(rb"(\xe0\x00\x14\x00..)\xa5\x00", re.DOTALL)

    japanese = formats.sub(lambda match: match[1] + b"\x1f\x00", content)

    assert japanese != content
    assert read_content(read_workbook, path, japanese)[1] == expected
