"""
Workbooks of Excel (XLSX), with typed cells, a header that stays in view, and a filter.

A value that Excel cannot hold exactly is a text: whole numbers and decimals of more than 15 digits,
days before March 1900, microseconds, moments with a zone.  No cell is a formula.

XlsxWriter needs the whole file before the first byte can be sent.  It writes rows to a file as they
come, so its memory does not grow with them (``docs/decisions/0034``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Self

from django.utils.translation import gettext, gettext_lazy as _

from ....downloads.dump import BLOCK_BYTES, PROGRESS, REPORTED_ROWS, Dump
from ....downloads.text_rows import begins_like_formula
from ....field_types import get_field_type
from ....field_types.json_values import EXACT
from ....guards.folders import create_working_folder
from ....messages.availability import NoRoomForAnswer
from ....messages.search import UnwritableFile
from ....search import RecordCopy
from ....search.records import MAX_SPOOL_BYTES

#: Limits of Excel; the header is one of the rows, and letters outside the BMP count as two.
MAX_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 1_048_576, 16_384, 32_767

#: What ends a text that is cut.
_ELLIPSIS = "…"

#: Number of digits that Excel stores.
_MAX_DIGITS = 15

#: Widths of columns, in characters, after the header and the first rows; the filter has a button.
_MIN_WIDTH, _MAX_WIDTH, _FILTER_WIDTH, _MEASURED_ROWS = 8, 60, 3, 200

_OPTIONS = {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}

#: What XML forbids; the format of workbooks escapes controls without loss.
_NONCHARACTERS = re.compile("[\ufffe\uffff]")

_Write = Callable[[int, int, str], object]


class TooManyRowsForWorkbook(UnwritableFile):
    message = _(
        "An Excel sheet has at most %(most)s rows, and %(count)s records were found. Ask for "
        "fewer records, or for CSV."
    )


class TooManyColumnsForWorkbook(UnwritableFile):
    message = _("An Excel sheet has at most %(most)s columns. Ask for fewer fields, or for CSV.")


class FileTooLarge(UnwritableFile):
    message = _(
        "The file would take more than %(most)s bytes of disk. Ask for fewer records or fields, or"
        " for CSV."
    )


def write_workbook(dump: Dump) -> Generator[bytes]:
    """
    Write a workbook of one sheet; reports come while its file is made.

    Texts that are too long for a cell are cut, and a second sheet says how many.

    Raises: ``TooManyColumnsForWorkbook``; when iterated ``TooManyRowsForWorkbook``,
    ``FileTooLarge``.
    """
    copy = dump.copy
    if len(copy.fields) > MAX_COLUMNS:
        raise TooManyColumnsForWorkbook(most=MAX_COLUMNS)
    return _write_file(copy, dump.headers)


def _write_file(copy: RecordCopy, headers: Sequence[str]) -> Generator[bytes]:
    count = copy.count_rows(MAX_ROWS)
    if count >= MAX_ROWS:
        raise TooManyRowsForWorkbook(most=MAX_ROWS - 1, count=count)
    with ExitStack() as files:
        # The folder goes before the file is sent, and also on failure or when the client goes away.
        with create_working_folder() as folder:
            try:
                with (
                    _Workbook(folder / "dump.xlsx", copy.fields, headers) as workbook,
                    copy.open_cells() as rows,
                ):
                    for number, row in enumerate(rows, 1):
                        workbook.write_row(number, row)
                        if number % REPORTED_ROWS == 0:
                            # The rows are copied into the sheet while both files exist.
                            size_bytes = sum(path.stat().st_size for path in folder.iterdir())
                            if 2 * size_bytes > MAX_SPOOL_BYTES:
                                raise FileTooLarge(most=MAX_SPOOL_BYTES)
                            yield PROGRESS
                file = files.enter_context((folder / "dump.xlsx").open("rb"))
            except OSError as error:
                raise NoRoomForAnswer from error
        while block := file.read(BLOCK_BYTES):
            yield block


class _Workbook:
    """A workbook of one sheet, which is complete at the end of a block that has not failed."""

    def __init__(
        self, path: Path, fields: tuple[tuple[str, str], ...], headers: Sequence[str]
    ) -> None:
        from xlsxwriter import Workbook

        self._workbook = Workbook(path, {**_OPTIONS, "tmpdir": str(path.parent)})
        self._sheet = self._workbook.add_worksheet()
        self._plain = self._workbook.add_format()
        # A cell that is edited stays a text.
        self._quoted = self._workbook.add_format({"quote_prefix": True})
        self._writes: list[_Write] = []
        for _name, type_name in fields:
            kind = get_field_type(type_name)
            write: _Write = self._write_text
            if kind.is_nested:
                write = self._write_nested
            elif kind.is_boolean:
                write = partial(self._write_value, "t".__eq__, self._sheet.write_boolean)
            elif kind.excel_format and kind.read_python:
                style = self._workbook.add_format({"num_format": kind.excel_format})
                write_moment = partial(self._sheet.write_datetime, cell_format=style)
                read_moment = partial(_read_moment, kind.read_python)
                write = partial(self._write_value, read_moment, write_moment)
            elif kind.is_number:
                read_number = partial(_read_number, float if kind.is_double else Decimal)
                write = partial(self._write_value, read_number, self._sheet.write_number)
            self._writes.append(write)
        self._cut_count, self._last_row = 0, 0
        self._sheet.freeze_panes(1, 0)
        self._sheet.set_row(0, None, self._workbook.add_format({"bold": True}))
        self._widths = [len(header) + _FILTER_WIDTH for header in headers]
        for column, header in enumerate(headers):
            self._write_text(0, column, header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_args: object) -> None:
        """Add widths and a filter, and a sheet that says how many texts were cut, if any."""
        if failure:  # close the files without writing the workbook
            for each in self._workbook.worksheets():
                with suppress(OSError):
                    each.row_data_fh.close()
            self._workbook.fileclosed = True
            return
        for column, width in enumerate(self._widths):
            self._sheet.set_column(column, column, min(max(width, _MIN_WIDTH), _MAX_WIDTH))
        if self._widths:
            self._sheet.autofilter(0, 0, self._last_row, len(self._widths) - 1)
        if self._cut_count:
            text = gettext(
                "Number of texts that are too long for an Excel cell (%(most)s characters) and "
                "are cut in this file: %(count)s. They end in “…”. CSV has the whole texts."
            )
            notes = self._workbook.add_worksheet(gettext("Notes"))
            notes.write_string(0, 0, text % {"most": MAX_CELL_LENGTH, "count": self._cut_count})
        self._workbook.close()

    def write_row(self, number: int, cells: tuple[str | None, ...]) -> None:
        """Write the cells of a row; null leaves a cell empty."""
        self._last_row = number
        if number <= _MEASURED_ROWS:
            lengths = (len(cell or "") + 1 for cell in cells)
            self._widths = list(map(max, self._widths, lengths))
        for column, (write, cell) in enumerate(zip(self._writes, cells, strict=True)):
            if cell is not None:
                write(number, column, cell)

    def _write_nested(self, row: int, column: int, cell: str) -> None:
        if cell != "null":
            self._write_text(row, column, cell)

    def _write_value(
        self,
        read: Callable[[str], Any],
        write: Callable[[int, int, Any], object],
        row: int,
        column: int,
        cell: str,
    ) -> None:
        with suppress(ValueError):  # an infinity, or 24:00
            if (value := read(cell)) is not None:
                write(row, column, value)
                return
        self._write_text(row, column, cell)

    def _write_text(self, row: int, column: int, text: str) -> None:
        text = _NONCHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)
        if len(text) > MAX_CELL_LENGTH // 2 and len(_encode(text)) > 2 * MAX_CELL_LENGTH:
            kept = _encode(text)[: 2 * (MAX_CELL_LENGTH - len(_ELLIPSIS))]
            text = kept.decode("utf-16-le", "ignore") + _ELLIPSIS  # no half of a character
            self._cut_count += 1
        if text.startswith("<r>"):  # as markup, it would be written without escapes
            self._sheet.write_rich_string(row, column, self._plain, text[0], text[1:])
        else:
            style = self._quoted if begins_like_formula(text) else None
            self._sheet.write_string(row, column, text, style)


def _encode(text: str) -> bytes:
    """Encode a text in the units in which Excel counts, of two bytes each."""
    return text.encode("utf-16-le")


# Values that Excel holds exactly; None for others -------------------------------------------------


def _read_number(parse: Callable[[str], Decimal | float], text: str) -> float | None:
    number = parse(text)
    if isinstance(number, Decimal) and (
        not number.is_finite() or len(EXACT.normalize(number).as_tuple().digits) > _MAX_DIGITS
    ):
        return None
    double = float(f"{float(number):.16G}")  # as xlsxwriter writes it
    # A double has no 1e400 and no 1e-400.
    return double if math.isfinite(double) and bool(double) == bool(number) else None


def _read_moment(parse: Callable[[str], Any], text: str) -> date | time | None:
    moment: date | time = parse(text)
    has_microseconds = isinstance(moment, datetime | time) and moment.microsecond % 1000
    # Excel counts a 29 February 1900, so the days before it differ between programs.
    is_early = isinstance(moment, date) and (moment.year, moment.month) < (1900, 3)
    return None if has_microseconds or is_early else moment
