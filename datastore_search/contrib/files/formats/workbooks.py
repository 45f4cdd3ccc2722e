"""Read a sheet of a workbook: XLSX and ODS by calamine, XLS by xlrd (limits: decision 0023)."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import xlrd
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)
from xlrd import biffh
from xlrd.sheet import Sheet as XlrdSheet

from ..messages import LoadFailed, Notice, quote_names
from .cell_values import BadCell, format_number, format_padded, may_be_rounded, read_date
from .headers_and_footers import (
    MAX_FOOTER_ROWS,
    YEARS,
    LastRow,
    describe_footer,
    find_footer,
    make_unique_names,
)
from .options import SKIP_FOOTER, CellRange, ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea, check_field_count, declare_types
from .workbook_cells import (
    list_filled_xlsx_sheets,
    list_ods_merged_cells,
    mark_ods,
    mark_xlsx_sheet,
    open_archive,
    read_marks,
)

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The name of the OLE stream that holds an encrypted workbook.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")

#: The memory that a sheet needs, as a multiple of the bytes of its file.
_MEMORY_RATIO = 16

#: xlrd is written in Python.
_XLS_CPU_FACTOR = 3

#: The kinds of cells of an XLS without a value.
_EMPTY_KINDS = b"\x00\x06"

#: The header is looked for in these rows.
_MAX_HEADER_ROWS = 50
#: A row with a title has not more cells.
_MAX_TITLE_CELLS = 1
#: No row of a cover sheet has more cells, and most have one.
_MAX_COVER_CELLS = 2


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet: its rows, from the first on, in the columns of ``area``; then notices about them."""

    name: str
    area: CellRange
    rows: Iterator[list[Any]]
    merged: Sequence[CellRange]
    notices: Sequence[Notice] = ()

    @classmethod
    def from_calamine(
        cls,
        cells: CalamineSheet,
        merged: Sequence[CellRange] = (),
        *,
        is_marked: bool = False,
        notices: Sequence[Notice] = (),
    ) -> _Sheet:
        if not (cells.start and cells.end):
            raise LoadFailed("workbook.empty_sheet", sheet=cells.name)
        area = CellRange(*(number + 1 for number in (*cells.start, *cells.end)))
        ranges = cells.merged_cell_ranges or ()
        merged = [*merged, *(CellRange(*(at + 1 for at in chain(*each))) for each in ranges)]
        rows = cells.iter_rows()
        return cls(cells.name, area, read_marks(rows) if is_marked else rows, merged, notices)

    def read_rows(
        self, area: CellRange, options: ReadOptions, notices: list[Notice]
    ) -> Iterator[_SheetRow]:
        """Read the rows that are not empty; add a notice where the table goes on below the area."""
        offset, top = area.left - self.area.left, max(area.top, (options.skip or 0) + 1)
        for line, row in enumerate(self.rows, start=1):
            if line < top:
                continue
            cells = row[offset : offset + area.width]
            has_values = any(cell != "" for cell in cells)
            if line > area.bottom:
                if has_values:
                    shown = options.cell_range.upper().replace("$", "")
                    notices.append(Notice("notice.range_continues", range=shown))
                return
            if has_values:
                yield _SheetRow(line, cells)


@dataclass(frozen=True, slots=True)
class _SheetRow:
    """A row that is not empty."""

    line: int
    cells: list[Any]

    def count_filled(self) -> int:
        return len([cell for cell in self.cells if cell != ""])

    def describe(self) -> LastRow:
        first = next((cell for cell in self.cells if isinstance(cell, str) and cell), "")
        return LastRow(self.line, self.line, self.count_filled(), first)


@dataclass(frozen=True, slots=True)
class _Workbook:
    """
    A workbook; ``sheets`` are those with cells, from 0, and whether people see each.

    ``list_filled`` lists those of some sheets that have a value, and ``read_sheet`` reads one.
    """

    names: Sequence[str]
    sheets: Sequence[tuple[int, bool]]
    list_filled: Callable[[Sequence[int]], list[int]]
    read_sheet: Callable[[int], _Sheet]

    def choose_sheet(self, wanted: str) -> tuple[int, list[Notice]]:
        names = self.names
        if wanted in names:
            return names.index(wanted), []
        if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
            return int(wanted) - 1, []
        if wanted:
            raise LoadFailed("workbook.unknown_sheet", sheet=wanted, sheets=quote_names(names))
        visible = [number for number, is_visible in self.sheets if is_visible]
        # The hidden ones are read only if there are no others.
        filled = self.list_filled(visible or [number for number, _is_visible in self.sheets])
        if not filled:
            raise LoadFailed("workbook.empty")
        chosen, *others = filled
        if not others:
            return chosen, []
        listed = quote_names(names[number] for number in others)
        return chosen, [Notice("notice.sheet_chosen", sheet=names[chosen], others=listed)]


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except PasswordError as error:
        raise LoadFailed("workbook.encrypted") from error
    except CalamineError as error:
        is_too_large = "limit exceeded" in str(error)
        raise LoadFailed("load.out_of_memory" if is_too_large else "workbook.damaged") from error
    except OverflowError as error:  # a duration of millions of years
        raise LoadFailed("workbook.damaged") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise LoadFailed("workbook.damaged") from error  # Rust's for a member that ends too early
    except BaseException as error:
        # A panic of Rust is not an ``Exception``, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise LoadFailed("workbook.damaged") from error
        raise


@_translate_errors()
def read_workbook(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a sheet of a workbook: the one that is chosen, or the first that has cells."""
    workbook = _open_workbook(path, staging_area)
    number, notices = workbook.choose_sheet(options.sheet.strip())
    sheet = workbook.read_sheet(number)
    check_field_count(sheet.area.width)
    area: CellRange | None = sheet.area
    if options.cell_range:
        area = CellRange.parse(options.cell_range).intersect(sheet.area)
    if not area:
        raise LoadFailed("workbook.empty_range", range=options.cell_range, sheet=sheet.name)
    below: list[Notice] = []
    rows = sheet.read_rows(area, options, below)
    first = list(islice(rows, _MAX_HEADER_ROWS))
    if not first:
        raise LoadFailed("workbook.empty_sheet", sheet=sheet.name)
    # A cover has titles, blank rows, and some pairs of cells.
    top = first[0].line
    counts = [row.count_filled() for row in first]
    has_gaps = first[-1].line - top >= len(first) or len(first) == 1
    if has_gaps and max(counts) <= _MAX_COVER_CELLS and 2 * counts.count(1) > len(counts):
        for notice in notices:
            notice.code = "notice.cover_sheet"
    # The header is the first row about as full as the fullest, or the first row if in doubt.
    position = -options.no_header
    if not options.no_header and options.skip is None:
        max_count = max(counts)
        fullest = next(at for at, count in enumerate(counts) if 2 * count > max_count)
        has_titles = max_count > _MAX_TITLE_CELLS + 1 and (
            max(counts[:fullest], default=0) <= _MAX_TITLE_CELLS
        )
        # A header has texts, dates and years.
        may_be_names = all(isinstance(e, str | date) or e in YEARS for e in first[fullest].cells)
        position = fullest if has_titles or may_be_names else 0
    header = _SheetRow(top - 1, [""] * area.width) if position < 0 else first[position]
    first = first[position + 1 :]
    labels = [FORMATTERS[type(cell)](cell) for cell in header.cells]
    merged = [e for e in sheet.merged if e.bottom >= header.line and e.intersect(area)]
    high = [e for e in merged if e.bottom > e.top > header.line]
    with RowWriter(staging_area, area.width) as writer:
        builder = _TableBuilder(writer, labels, options)
        footer = builder.add_rows(builder.fill_down(chain(first, rows), high, area.left))
        found = [*notices, *sheet.notices]
        if header.line > top:
            found.append(Notice("notice.rows_above_header", row=header.line))
        more = {
            "notice.merged_cells": len(merged) - len(high),
            "notice.empty_rows": builder.last_line - header.line - builder.row_count,
        }
        found += [Notice(code, count=count) for code, count in more.items() if count > 0]
        found += [*describe_footer(footer, options), *below]
        return builder.build(found, sheet.name)


def _open_workbook(path: Path, staging_area: StagingArea) -> _Workbook:
    limits = staging_area.limits
    limits.extend_memory(_MEMORY_RATIO * path.stat().st_size)
    with path.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                if content.find(_ENCRYPTED_STREAM) >= 0:
                    raise LoadFailed("workbook.encrypted")
            limits.extend_cpu_time(path.stat().st_size, factor=_XLS_CPU_FACTOR)
            return _open_xls(path)
    with open_archive(path) as archive:
        names = archive.namelist()
        unpacked_bytes = sum(member.file_size for member in archive.infolist())
        is_ods = False
        if "content.xml" in names and "mimetype" in names:
            with archive.open("mimetype") as mimetype:
                is_ods = b"opendocument.spreadsheet" in mimetype.read(200)
    limits.check_unpacked_bytes(unpacked_bytes)
    limits.extend_cpu_time(unpacked_bytes)
    if "xl/workbook.xml" in names:
        return _open_xlsx(path, staging_area.folder)
    if is_ods:
        return _open_ods(path, staging_area.folder)
    raise LoadFailed("workbook.unknown_format")


def _open_xlsx(path: Path, folder: Path) -> _Workbook:
    # calamine knows the kind of a workbook by its suffix.
    source, marked = folder / "source.xlsx", folder / "marked.xlsx"
    source.symlink_to(path.resolve())
    workbook = CalamineWorkbook.from_path(source)

    def read_sheet(number: int) -> _Sheet:
        empty_formulas = mark_xlsx_sheet(path, number, marked)
        notices = [Notice("notice.empty_formulas", count=empty_formulas)] if empty_formulas else []
        if not marked.exists():
            return _Sheet.from_calamine(workbook.get_sheet_by_index(number), notices=notices)
        workbook.close()
        with CalamineWorkbook.from_path(marked) as copy:
            sheet = copy.get_sheet_by_index(number)
            return _Sheet.from_calamine(sheet, is_marked=True, notices=notices)

    list_filled = partial(list_filled_xlsx_sheets, path)
    return _Workbook(workbook.sheet_names, _list_worksheets(workbook), list_filled, read_sheet)


def _open_ods(path: Path, folder: Path) -> _Workbook:
    source, marked = folder / "source.ods", folder / "marked.ods"
    mark_ods(path, marked)
    is_marked = marked.exists()
    source.symlink_to(marked if is_marked else path.resolve())
    workbook = CalamineWorkbook.from_path(source)

    def list_filled(numbers: Sequence[int]) -> list[int]:
        return [number for number in numbers if workbook.get_sheet_by_index(number).start]

    def read_sheet(number: int) -> _Sheet:
        sheet = workbook.get_sheet_by_index(number)
        return _Sheet.from_calamine(sheet, list_ods_merged_cells(path, number), is_marked=is_marked)

    return _Workbook(workbook.sheet_names, _list_worksheets(workbook), list_filled, read_sheet)


def _list_worksheets(workbook: CalamineWorkbook) -> list[tuple[int, bool]]:
    return [
        (number, sheet.visible == SheetVisibleEnum.Visible)
        for number, sheet in enumerate(workbook.sheets_metadata)
        if sheet.typ == SheetTypeEnum.WorkSheet
    ]


def _open_xls(path: Path) -> _Workbook:
    try:
        with Path(os.devnull).open("w") as log:
            book = xlrd.open_workbook(
                str(path),
                logfile=log,
                ragged_rows=True,
                formatting_info=True,
                ignore_workbook_corruption=True,  # a sector that two streams name
            )
    except MemoryError:
        raise
    except Exception as error:  # xlrd raises whatever a damaged record leads to
        is_encrypted = isinstance(error, biffh.XLRDError) and "encrypted" in str(error)
        code = "workbook.encrypted" if is_encrypted else "workbook.damaged"
        raise LoadFailed(code) from error

    def list_filled(numbers: Sequence[int]) -> list[int]:
        return [number for number in numbers if _measure_width(book.sheet_by_index(number))]

    def read_sheet(number: int) -> _Sheet:
        sheet = book.sheet_by_index(number)
        width = _measure_width(sheet)
        if not width:
            raise LoadFailed("workbook.empty_sheet", sheet=sheet.name)
        area = CellRange(1, 1, sheet.nrows, width)
        merged = [CellRange(a + 1, c + 1, b, d) for a, b, c, d in sheet.merged_cells]
        notices: list[Notice] = []
        rows = _read_xls_rows(book, sheet, width, notices)
        return _Sheet(sheet.name, area, rows, merged, notices)

    sheets = [(number, not each.visibility) for number, each in enumerate(book.sheets())]
    return _Workbook(book.sheet_names(), sheets, list_filled, read_sheet)


def _measure_width(sheet: XlrdSheet) -> int:
    """Return the number of columns up to the last one with a value."""
    rows = (bytes(sheet.row_types(row)).rstrip(_EMPTY_KINDS) for row in range(sheet.nrows))
    return max(map(len, rows), default=0)


def _read_xls_rows(
    book: xlrd.Book, sheet: XlrdSheet, width: int, notices: list[Notice]
) -> Iterator[list[Any]]:
    """Read the rows, all with as many cells; add a notice of numbers that may be rounded."""
    formats = [book.format_map[style.format_key].format_str or "" for style in book.xf_list]
    padded = {at for at, each in enumerate(formats) if format_padded(Decimal(1), each)}
    for row in range(sheet.nrows):
        cells: list[Any] = [*sheet.row_values(row, end_colx=width)]
        for column, kind in enumerate(sheet.row_types(row, end_colx=width)):
            cell = cells[column]
            if kind == biffh.XL_CELL_NUMBER:
                style = sheet.cell_xf_index(row, column)
                if may_be_rounded(cell):
                    cells[column] = str(int(cell))
                    if not notices:
                        notices.append(Notice("notice.rounded_numbers", count=0))
                    notices[0].parameters["count"] += 1
                elif style in padded:
                    cells[column] = format_padded(Decimal(cell), formats[style]) or cell
            elif kind == biffh.XL_CELL_DATE:
                # xlrd does not know the texts of East Asian dates.
                style = sheet.cell_xf_index(row, column)
                cells[column] = read_date(cell, formats[style], book.datemode)
            elif kind == biffh.XL_CELL_BOOLEAN:
                cells[column] = bool(cell)
            elif kind == biffh.XL_CELL_ERROR:
                cells[column] = BadCell(biffh.error_text_from_code.get(int(cell), "#ERROR"))
        yield cells + [""] * (width - len(cells))


# The table ----------------------------------------------------------------------------------------


class _TableBuilder:
    """Writes rows, and collects what the table is to know of them."""

    def __init__(self, writer: RowWriter, labels: Sequence[str], options: ReadOptions) -> None:
        self._labels = labels
        self._nulls = frozenset(options.nulls)
        self._options = options
        self._writer = writer
        self._kinds: list[set[type]] = [set() for _ in labels]
        #: The empty cells below the first of merged ones, by column.
        self._merged: Counter[int] = Counter()
        self.row_count = self.last_line = 0

    def add_rows(self, rows: Iterable[_SheetRow]) -> list[int]:
        """Add rows, of the footer only if it is not left out, and return the lines of that."""
        last: deque[_SheetRow] = deque()
        for row in rows:
            if len(last) > MAX_FOOTER_ROWS:
                self._add_row(last.popleft())
            last.append(row)
        width = sum(bool(label.strip()) for label in self._labels) or len(self._labels)
        footer = find_footer([row.describe() for row in last], width)
        for row in last:
            if self._options.footer != SKIP_FOOTER or row.line not in footer:
                self._add_row(row)
        return footer

    def fill_down(
        self, rows: Iterable[_SheetRow], merged: Iterable[CellRange], left: int
    ) -> Iterator[_SheetRow]:
        """Count the empty cells of merged ranges, and fill them from the first one if chosen."""
        bottoms = {(e.top, e.left - left): e.bottom for e in merged if e.left >= left}
        last: dict[int, tuple[int, Any]] = {at: (0, "") for _top, at in bottoms}
        for row in rows:
            for at, (bottom, value) in last.items():
                if row.cells[at] != "":
                    last[at] = bottoms.get((row.line, at), 0), row.cells[at]
                elif row.line <= bottom:
                    self._merged[at] += 1
                    row.cells[at] = value if self._options.fill_merged else ""
            yield row

    def _add_row(self, row: _SheetRow) -> None:
        """Add a row; a cell with an error is a bad row's, unless its name means nothing."""
        self.row_count, self.last_line = self.row_count + 1, row.line
        errors: dict[int, BadCell] = {}
        texts: list[str | None] = []
        for position, (kinds, cell) in enumerate(zip(self._kinds, row.cells, strict=True)):
            if cell == "":
                texts.append(None)
                continue
            if not (isinstance(cell, str) and cell in self._nulls):
                if isinstance(cell, BadCell):
                    errors[position] = cell
                kinds.add(type(None if position in errors else cell))
            texts.append(FORMATTERS[type(cell)](cell))
        for position, error in errors.items():
            self._writer.add_error(row.line, error.row_error, position, error)
        if not errors:
            self._writer.add_row(row.line, texts)

    def build(self, notices: Sequence[Notice], sheet: str) -> StagedTable:
        """Build the table of all rows; a column without label and values is left out."""
        positions = [
            position
            for position, (label, kinds) in enumerate(zip(self._labels, self._kinds, strict=True))
            if label.strip() or kinds
        ]
        if not positions:
            raise LoadFailed("workbook.empty_sheet", sheet=sheet)
        labels = tuple(self._labels[position].strip() for position in positions)
        names = make_unique_names(labels)
        self._writer.finish(names, positions)
        counts = [(name, self._merged[at]) for name, at in zip(names, positions, strict=True)]
        if listed := ", ".join(f"“{name}” ({count})" for name, count in counts if count):
            code = "notice.merged_filled" if self._options.fill_merged else "notice.merged_rows"
            notices = [*notices, Notice(code, count=self._merged.total(), fields=listed)]
        kinds, numbers = [self._kinds[at] for at in positions], {int, float, Decimal}
        staging_area = self._writer.staging_area
        return StagedTable(
            staging_area=staging_area,
            names=names,
            labels=labels,
            declared_types=declare_types(staging_area, kinds, numbers, self._nulls),
            notices=tuple(notices),
            has_header=not self._options.no_header,
        )


def _format_duration(duration: timedelta) -> str:
    """Write a duration as sheets do, in hours: 30:00:00."""
    seconds = abs(duration).total_seconds()
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    sign = "-" if duration < timedelta() else ""
    fraction = f"{rest % 1:.6f}"[1:].rstrip("0").rstrip(".")
    return f"{sign}{int(hours):02}:{int(minutes):02}:{int(rest):02}{fraction}"


FORMATTERS: Mapping[type, Callable[[Any], str]] = {
    str: str,
    BadCell: str,
    bool: lambda truth: "true" if truth else "false",
    int: str,
    float: format_number,
    Decimal: lambda number: format(number, "f"),
    date: date.isoformat,
    datetime: lambda moment: moment.isoformat(" "),
    time: lambda clock: clock.isoformat().rstrip("0") if clock.microsecond else clock.isoformat(),
    timedelta: _format_duration,
}
