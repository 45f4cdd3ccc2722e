"""
Read from an XLS what calamine does not give: cells with errors, and numbers that are no date.

calamine gives a cell with an error as an empty one, makes a time of day of a negative number, and
28 February 1900 of the number 60.  xlrd has the numbers and the errors as the file has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import xlrd
from xlrd.biffh import XL_CELL_DATE, XL_CELL_ERROR, error_text_from_code
from xlrd.sheet import Sheet as XlsSheet

from .workbook_cells import format_number
from .workbook_xml import ErrorCell, TextCell

#: What Excel shows as a day that 1900 did not have.
_DAY_60 = 60


def open_xls_sheet(path: Path, name: str) -> XlsSheet | None:
    """Open a sheet by xlrd; None if xlrd cannot read what calamine can."""
    try:
        with Path(os.devnull).open("w") as log:
            book = xlrd.open_workbook(str(path), logfile=log, on_demand=True, ragged_rows=True)
            return book.sheet_by_name(name)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - xlrd raises whatever a damaged record leads to
        return None


def find_xls_errors(sheet: XlsSheet) -> Iterator[ErrorCell]:
    """Find the cells with errors, in the order of the rows."""
    for row, column, value in _find_cells(sheet, XL_CELL_ERROR):
        yield ErrorCell(row, column, error_text_from_code.get(int(value), "#ERROR"))


def find_xls_numbers_without_date(sheet: XlsSheet) -> Iterator[TextCell]:
    """Find the cells that are shown as dates or times, whose numbers are none."""
    for row, column, value in _find_cells(sheet, XL_CELL_DATE):
        if value < 0 or _DAY_60 <= value < _DAY_60 + 1:
            yield TextCell(row, column, format_number(value))


def xls_counts_from_1904(sheet: XlsSheet) -> bool:
    """Return whether a workbook counts days from the first one of 1904, and not of 1900."""
    return sheet.book is not None and bool(sheet.book.datemode)


def _find_cells(sheet: XlsSheet, kind: int) -> Iterator[tuple[int, int, float]]:
    """Find the cells of a kind, by their rows and columns from 1."""
    for row in range(sheet.nrows):
        kinds = sheet.row_types(row)
        if kind in kinds:
            values = sheet.row_values(row)
            for column, found in enumerate(kinds):
                if found == kind:
                    yield row + 1, column + 1, float(values[column])
