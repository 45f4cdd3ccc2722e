"""Read the sheets of an XLS by xlrd."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import time, timedelta
from pathlib import Path
from typing import Any, Literal

import xlrd
from xlrd.biffh import XL_CELL_BOOLEAN, XL_CELL_DATE, XL_CELL_ERROR, XLRDError, error_text_from_code
from xlrd.sheet import Sheet as XlrdSheet

from ..messages.failures import LoadFailed
from .cell_ranges import CellRange
from .workbook_errors import CellErrors
from .workbook_rows import Sheet

#: The kinds of cells without a value.
_EMPTY_KINDS = b"\x00\x06"
#: Hours, minutes or seconds in a format that does not begin again with each day.
_DURATION = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)


def open_xls(path: Path) -> xlrd.Book:
    """
    Read an XLS with all of its sheets.

    Raises: ``LoadFailed`` with ``workbook.encrypted``, ``workbook.damaged``.
    """
    try:
        with Path(os.devnull).open("w") as log:
            return xlrd.open_workbook(
                str(path),
                logfile=log,
                ragged_rows=True,
                formatting_info=True,
                ignore_workbook_corruption=True,  # a sector that two streams name
            )
    except MemoryError:
        raise
    except Exception as error:  # xlrd raises whatever a damaged record leads to
        is_encrypted = isinstance(error, XLRDError) and "encrypted" in str(error)
        code = "workbook.encrypted" if is_encrypted else "workbook.damaged"
        raise LoadFailed(code) from error


def measure_width(sheet: XlrdSheet) -> int:
    """Return the number of columns up to the last one with a value."""
    rows = (bytes(sheet.row_types(row)).rstrip(_EMPTY_KINDS) for row in range(sheet.nrows))
    return max(map(len, rows), default=0)


def read_xls_sheet(book: xlrd.Book, number: int) -> Sheet:
    """
    Read a sheet, counted from 0.

    Raises: ``LoadFailed`` with ``workbook.empty_sheet``.
    """
    sheet = book.sheet_by_index(number)
    width = measure_width(sheet)
    if not width:
        raise LoadFailed("workbook.empty_sheet", sheet=sheet.name)
    return Sheet(
        sheet.name,
        CellRange(1, 1, sheet.nrows, width),
        _read_rows(book, sheet, width),
        [
            CellRange(top + 1, left + 1, bottom, right)
            for top, bottom, left, right in sheet.merged_cells
        ],
        _find_errors(sheet),
    )


def _find_errors(sheet: XlrdSheet) -> CellErrors:
    return {
        row + 1: {
            column + 1: error_text_from_code.get(int(sheet.cell_value(row, column)), "#ERROR")
            for column, kind in enumerate(sheet.row_types(row))
            if kind == XL_CELL_ERROR
        }
        for row in range(sheet.nrows)
        if XL_CELL_ERROR in sheet.row_types(row)
    }


def _read_rows(book: xlrd.Book, sheet: XlrdSheet, width: int) -> Iterator[list[Any]]:
    """Read the rows, all with as many cells."""
    for row in range(sheet.nrows):
        cells: list[Any] = [*sheet.row_values(row, end_colx=width)]
        for column, kind in enumerate(sheet.row_types(row, end_colx=width)):
            if kind == XL_CELL_DATE:
                style = book.xf_list[sheet.cell_xf_index(row, column)]
                # xlrd does not know the texts of East Asian dates.
                number_format = book.format_map[style.format_key].format_str or ""
                cells[column] = _read_date(cells[column], number_format, book.datemode)
            elif kind == XL_CELL_BOOLEAN:
                cells[column] = bool(cells[column])
            elif kind == XL_CELL_ERROR:
                cells[column] = ""
        yield cells + [""] * (width - len(cells))


def _read_date(number: float, number_format: str, datemode: Literal[0, 1]) -> Any:
    """Read a number that is shown as a date, a time or a duration; others stay numbers."""
    try:
        if _DURATION.search(number_format):
            return timedelta(days=number)
        moment = xlrd.xldate_as_datetime(number, datemode)
    except (OverflowError, ValueError):
        return number
    if number < 1:
        return moment.time() if number >= 0 else number
    return moment.date() if moment.time() == time() else moment
