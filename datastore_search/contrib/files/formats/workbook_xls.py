"""Read the sheets of an XLS by xlrd."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import xlrd
from xlrd.biffh import (
    XL_CELL_BOOLEAN,
    XL_CELL_DATE,
    XL_CELL_ERROR,
    XL_CELL_NUMBER,
    XLRDError,
    error_text_from_code,
)
from xlrd.sheet import Sheet as XlrdSheet

from ..messages import Notice
from ..messages.failures import LoadFailed
from .cell_ranges import CellRange
from .cell_values import BadCell, may_be_rounded
from .number_formats import format_padded, read_date
from .workbook_rows import Sheet

#: The kinds of cells without a value.
_EMPTY_KINDS = b"\x00\x06"


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
    notices: list[Notice] = []
    return Sheet(
        sheet.name,
        CellRange(1, 1, sheet.nrows, width),
        _read_rows(book, sheet, width, notices),
        [bottom for _top, bottom, _left, _right in sheet.merged_cells],
        notices,
    )


def _read_rows(
    book: xlrd.Book, sheet: XlrdSheet, width: int, notices: list[Notice]
) -> Iterator[list[Any]]:
    """Read the rows, all with as many cells; add a notice of numbers that may be rounded."""
    formats = [book.format_map[style.format_key].format_str or "" for style in book.xf_list]
    padded = {at for at, each in enumerate(formats) if format_padded(Decimal(1), each)}
    for row in range(sheet.nrows):
        cells: list[Any] = [*sheet.row_values(row, end_colx=width)]
        for column, kind in enumerate(sheet.row_types(row, end_colx=width)):
            cell = cells[column]
            if kind == XL_CELL_NUMBER:
                style = sheet.cell_xf_index(row, column)
                if may_be_rounded(cell):
                    cells[column] = str(int(cell))
                    if not notices:
                        notices.append(Notice("notice.rounded_numbers", count=0))
                    notices[0].parameters["count"] += 1
                elif style in padded:
                    cells[column] = format_padded(Decimal(cell), formats[style]) or cell
            elif kind == XL_CELL_DATE:
                # xlrd does not know the texts of East Asian dates.
                style = sheet.cell_xf_index(row, column)
                cells[column] = read_date(cell, formats[style], book.datemode)
            elif kind == XL_CELL_BOOLEAN:
                cells[column] = bool(cell)
            elif kind == XL_CELL_ERROR:
                cells[column] = BadCell(error_text_from_code.get(int(cell), "#ERROR"))
        yield cells + [""] * (width - len(cells))
