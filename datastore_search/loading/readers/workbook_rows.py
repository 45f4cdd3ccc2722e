"""
Stage the rows of a sheet: find its header, and write its cells as texts.

Each cell becomes the text that its type is written as: numbers without loss, dates as ISO has them.
Empty rows, and empty columns at the edges, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from itertools import chain, islice
from typing import Any

from python_calamine import CalamineSheet

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from .footers import MAX_ROWS, describe_footer, is_short
from .header_rows import (
    FoundHeader,
    HeaderRow,
    describe_found_header,
    find_stacked_header,
    join_header,
)
from .headers import make_unique_names
from .numeric_columns import find_number_types
from .options import SKIP_FOOTER, ReadOptions
from .row_writer import RowWriter
from .sheet_tables import CellRange, TableFinder, describe_tables
from .staging import StagedTable, StagingArea
from .workbook_cells import DATES, FORMATTERS, find_declared_type, may_lack_date
from .workbook_xml import ErrorCell, TextCell

#: The header is looked for in these rows.
_MAX_HEADER_ROWS = 50
#: A row with a title has not more cells.
_MAX_TITLE_CELLS = 1

_YEARS = range(1900, 2101)

_NUMBERS = frozenset({int, float})
#: The kind of a cell that holds an error.
_ERROR = type(None)


_NO_AREA = CellRange(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Sheet:
    """
    A sheet that has been read.

    ``corrections`` are cells that ``cells`` lacks or has in another form, ``numbers_without_date``
    those whose numbers are no date, both in the order of the rows; the latter are looked for only
    where a date may be one of them.  Only the cells of ``area`` are read.
    Where it ``is_unchecked``, the corrections could not be found.  ``empty_formulas`` counts the
    formulas whose values are not in the file; where ``counts_from_1904`` is true, 0 is a day.
    """

    cells: CalamineSheet
    corrections: Iterator[ErrorCell | TextCell] = field(default_factory=lambda: iter(()))
    numbers_without_date: Iterator[TextCell] = field(default_factory=lambda: iter(()))
    format_text: Callable[[str], str] = str
    area: CellRange = _NO_AREA
    is_unchecked: bool = False
    empty_formulas: int = 0
    counts_from_1904: bool = False

    @property
    def left(self) -> int:
        """The number of the first column."""
        return self.area.left

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.area.right - self.area.left + 1


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that is not empty, its number in the sheet, and its errors by their positions."""

    line: int
    cells: list[Any]
    errors: Mapping[int, str]

    def count_filled(self) -> int:
        """Count the cells that are not empty."""
        return len([cell for cell in self.cells if cell != ""]) + len(self.errors)


def stage_sheet(
    sheet: Sheet, options: ReadOptions, staging_area: StagingArea, notices: Sequence[Notice]
) -> StagedTable:
    """
    Stage the rows of a sheet; ``notices`` are those that the table gets besides its own.

    Raises: ``LoadFailed`` with ``workbook.empty_sheet``.
    """
    sheet = replace(sheet, area=_choose_area(sheet, options))
    finder = TableFinder(sheet.left)
    rows = (row for row in _read_rows(sheet, finder) if row.line > (options.skip or 0))
    first = list(islice(rows, _MAX_HEADER_ROWS))
    if not first:
        raise LoadFailed("workbook.empty_sheet", sheet=sheet.cells.name)
    texts = [_format_header_row(sheet, row) for row in first]
    stacked = find_stacked_header(texts, options.header_rows) if options.header_rows != 1 else None
    position, count = _find_header_rows(first, options, stacked)
    header = first[position : position + count]
    labels = _join_labels(sheet, texts[position : position + count])
    above = [Notice("notice.rows_above_header", row=header[0].line)] if position else []
    if stacked and not options.header_rows:
        above += describe_found_header(stacked, first[stacked.start].line)
    with RowWriter(staging_area, sheet.width) as writer:
        builder = _TableBuilder(writer, sheet, labels, options.nulls)
        footer = _Footer(builder, header[-1].line, sum(bool(label.strip()) for label in labels))
        for row in chain(first[position + count :], rows):
            footer.add_row(row)
        if options.footer != SKIP_FOOTER:
            footer.flush()
        if not builder.has_fields:
            raise LoadFailed("workbook.empty_sheet", sheet=sheet.cells.name)
        return builder.build(
            staging_area,
            [
                *notices,
                *above,
                *_describe_merged_cells(sheet, header[-1].line + (count > 1)),
                *_describe_rest(sheet, options, finder, footer.lines),
            ],
        )


def _choose_area(sheet: Sheet, options: ReadOptions) -> CellRange:
    """
    Choose the cells that are read: all, or those of the options as far as the sheet has them.

    Raises: ``LoadFailed`` with ``option.invalid_range``, ``workbook.empty_range``.
    """
    (top, left), (bottom, right) = sheet.cells.start or (0, 0), sheet.cells.end or (0, 0)
    area = CellRange(top + 1, left + 1, bottom + 1, right + 1)
    if not options.cell_range:
        return area
    chosen = CellRange.parse(options.cell_range).intersect(area)
    if not chosen:
        raise LoadFailed("workbook.empty_range", range=options.cell_range, sheet=sheet.cells.name)
    return chosen


def _describe_rest(
    sheet: Sheet, options: ReadOptions, finder: TableFinder, footer: Sequence[int]
) -> Iterator[Notice]:
    """Describe notes below the table, other tables, or what a chosen range leaves out."""
    tables = [] if options.cell_range else finder.find_tables()
    # What looks like notes may be the other tables.
    if options.footer == SKIP_FOOTER or all(table.top < min(footer) for table in tables if footer):
        yield from describe_footer(footer, options)
    yield from describe_tables(tables)
    if options.cell_range and finder.has_row_below:
        yield Notice("notice.range_continues", range=str(sheet.area))


def _read_rows(sheet: Sheet, finder: TableFinder) -> Iterator[_Row]:
    """Read the rows that are not empty."""
    left, width = sheet.left, sheet.width
    offset = left - 1 - (sheet.cells.start or (0, 0))[1]
    correction = next(sheet.corrections, None)
    for line, row in enumerate(sheet.cells.iter_rows(), start=1):
        if line < sheet.area.top:
            continue
        cells = row[offset : offset + width]
        if line > sheet.area.bottom:
            finder.has_row_below = any(cell != "" for cell in cells)
            return
        errors = {}
        while correction and correction.row <= line:
            if correction.row == line and left <= correction.column < left + width:
                if isinstance(correction, ErrorCell):
                    errors[correction.column - left] = correction.name
                    cells[correction.column - left] = ""
                else:
                    cells[correction.column - left] = correction.text
            correction = next(sheet.corrections, None)
        if errors or any(cell != "" for cell in cells):
            finder.add_row(line, cells)
            yield _Row(line, cells, errors)


def _find_header_rows(
    rows: Sequence[_Row], options: ReadOptions, stacked: FoundHeader | None
) -> FoundHeader:
    """Find the position of the header, and the number of its rows."""
    if options.skip is not None:
        return FoundHeader(0, options.header_rows or 1)
    if stacked and options.header_rows:
        return stacked
    return FoundHeader(_find_header(rows), options.header_rows or 1)


def _format_header_row(sheet: Sheet, row: _Row) -> HeaderRow:
    """Write the cells of a row that may be in the header as texts."""
    formatters = {**FORMATTERS, str: sheet.format_text}
    cells = [row.errors.get(position, cell) for position, cell in enumerate(row.cells)]
    ranges = sheet.cells.merged_cell_ranges or []
    return HeaderRow(
        row.line,
        [formatters[type(cell)](cell) for cell in cells],
        is_merged=any(
            first_row + 1 <= row.line <= last_row + 1 and last_column > first_column
            for (first_row, first_column), (last_row, last_column) in ranges
        ),
    )


def _join_labels(sheet: Sheet, header: Sequence[HeaderRow]) -> list[str]:
    """Join the names of a header; one that is merged over several cells is that of all of them."""
    rows = [list(row.cells) for row in header]
    if len(rows) == 1:
        return rows[0]
    first_line = header[0].line
    for (top, left), (bottom, right) in sheet.cells.merged_cell_ranges or []:
        depth, position = top + 1 - first_line, left + 1 - sheet.left
        if not (0 <= depth < len(rows) and 0 <= position < sheet.width):
            continue
        for cells in rows[depth : bottom + 2 - first_line]:
            cells[position : right + 2 - sheet.left] = [rows[depth][position]] * len(
                cells[position : right + 2 - sheet.left]
            )
    return join_header(rows, has_gaps=not any(row.is_merged for row in header))


def _find_header(rows: Sequence[_Row]) -> int:
    """
    Find the header below titles and notes: the first row with about as many cells as the fullest.

    When that might be a record as well, the header is the first row.
    """
    counts = [row.count_filled() for row in rows]
    max_count = max(counts)
    position = next(position for position, count in enumerate(counts) if 2 * count > max_count)
    has_titles = max_count > _MAX_TITLE_CELLS + 1 and max(counts[:position], default=0) <= (
        _MAX_TITLE_CELLS
    )
    return position if has_titles or all(map(_may_be_name, rows[position].cells)) else 0


def _may_be_name(cell: Any) -> bool:
    """Return whether a cell may be in a header: a text, a date or a year."""
    return isinstance(cell, str | date) or cell in _YEARS


def _describe_merged_cells(sheet: Sheet, header_line: int) -> list[Notice]:
    ranges = sheet.cells.merged_cell_ranges or []
    count = sum(last_row + 1 >= header_line for _first, (last_row, _last_column) in ranges)
    return [Notice("notice.merged_cells", count=count)] if count else []


class _Footer:
    """Holds back the rows that may be a footer, until a row of the table follows."""

    def __init__(self, builder: _TableBuilder, line: int, width: int) -> None:
        """Begin below the line of the header, which has ``width`` names."""
        self._builder = builder
        self._width = width
        self._line = line
        self._has_rows = False
        self._held: list[_Row] = []

    def add_row(self, row: _Row) -> None:
        """Add a row to the table, or hold it back below a blank row."""
        may_be_footer = bool(self._held) or (self._has_rows and row.line > self._line + 1)
        self._line, self._has_rows = row.line, True
        if may_be_footer and is_short(row.count_filled(), self._width):
            self._held.append(row)
            if len(self._held) > MAX_ROWS:
                self.flush()
                self._held.clear()
            return
        if self._held:
            self.flush()
            self._held.clear()
        self._builder.add_row(row)

    def flush(self) -> None:
        """Add the rows that are held back to the table."""
        for row in self._held:
            self._builder.add_row(row)

    @property
    def lines(self) -> list[int]:
        """The lines of the rows that are held back."""
        return [row.line for row in self._held]


class _TableBuilder:
    """Writes rows, and collects what the table is to know of them."""

    def __init__(
        self,
        writer: RowWriter,
        sheet: Sheet,
        labels: Sequence[str],
        nulls: Sequence[str],
    ) -> None:
        self._sheet = sheet
        self._number: TextCell | None = TextCell(0, 0, "")
        self._formatters = {**FORMATTERS, str: sheet.format_text}
        self._labels = list(labels)
        self._nulls = frozenset(nulls)
        self._writer = writer
        self._kinds: list[set[type]] = [set() for _ in labels]

    @property
    def has_fields(self) -> bool:
        """Whether there is a label or a value, and not blanks alone."""
        return any(map(str.strip, self._labels)) or any(self._kinds)

    def add_row(self, row: _Row) -> None:
        """Add a row; a cell with an error is a bad row's, unless its name means nothing."""
        errors = {
            position: name for position, name in row.errors.items() if name not in self._nulls
        }
        for position, name in errors.items():
            self._kinds[position].add(_ERROR)
            self._writer.add_error(row.line, BadRow("row.error_cell", error=name), position, name)
        if not errors and not self._add_numbers_without_date(row):
            self._writer.add_row(row.line, self._format_cells(row.cells))

    def _add_numbers_without_date(self, row: _Row) -> bool:
        """Add the errors of cells that look like dates but have numbers that are none."""
        suspects = [
            position
            for position, cell in enumerate(row.cells)
            if type(cell) in DATES and may_lack_date(cell)
        ]
        if not suspects:
            return False
        numbers = self._find_numbers_without_date(row.line)
        found = [position for position in suspects if position in numbers]
        for position in found:
            number = numbers[position]
            self._kinds[position].add(_ERROR)
            self._writer.add_error(row.line, BadRow("row.no_date"), position, number)
        return bool(found)

    def _find_numbers_without_date(self, row: int) -> dict[int, str]:
        """Find those of a row by their positions; rows are asked for in their order."""
        numbers = {}
        while self._number and self._number.row <= row:
            if self._number.row == row:
                numbers[self._number.column - self._sheet.left] = self._number.text
            self._number = next(self._sheet.numbers_without_date, None)
        return numbers

    def build(self, staging_area: StagingArea, notices: Sequence[Notice]) -> StagedTable:
        """Build the table of all rows; a column without label and values is left out."""
        positions = [
            position
            for position, (label, kinds) in enumerate(zip(self._labels, self._kinds, strict=True))
            if label.strip() or kinds
        ]
        labels = tuple(self._labels[position].strip() for position in positions)
        names = make_unique_names(labels)
        self._writer.finish(names, positions)
        kinds = [self._kinds[position] - {_ERROR} for position in positions]
        numbers = [column for column, found in enumerate(kinds) if found and found <= _NUMBERS]
        number_types = find_number_types(staging_area, numbers, self._nulls)
        return StagedTable(
            staging_area=staging_area,
            names=names,
            labels=labels,
            declared_types=tuple(
                number_types.get(column) or find_declared_type(found)
                for column, found in enumerate(kinds)
            ),
            notices=(*notices, *self._describe_first_days(names, kinds)),
        )

    def _describe_first_days(
        self, names: Sequence[str], kinds: Sequence[AbstractSet[type]]
    ) -> Iterator[Notice]:
        """Describe fields of dates that have times, which may be the first day of 1904."""
        if self._sheet.counts_from_1904:
            for name, found in zip(names, kinds, strict=True):
                if time in found and found & {date, datetime}:
                    yield Notice("notice.first_day_1904", field=name)

    def _format_cells(self, cells: Sequence[Any]) -> list[str | None]:
        """Write cells as texts, and note their kinds."""
        texts: list[str | None] = []
        for kinds, cell in zip(self._kinds, cells, strict=True):
            kind = type(cell)
            if cell == "":
                texts.append(None)
                continue
            if kind is not str or cell not in self._nulls:
                kinds.add(kind)
            texts.append(self._formatters[kind](cell))
        return texts
