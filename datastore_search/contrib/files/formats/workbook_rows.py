"""Stage the rows of a sheet: find its header, and write its cells as texts without loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from ..messages import Notice
from ..messages.failures import LoadFailed
from .cell_ranges import CellRange
from .cell_values import BadCell, format_number
from .footers import MAX_ROWS, begins_footer, describe_footer, is_short
from .header_rows import make_unique_names
from .options import SKIP_FOOTER, ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea, declare_types

#: The header is looked for in these rows.
_MAX_HEADER_ROWS = 50
#: A row with a title has not more cells.
_MAX_TITLE_CELLS = 1
#: No row of a cover sheet has more cells, and most have one.
_MAX_COVER_CELLS = 2

_YEARS = range(1900, 2101)


@dataclass(frozen=True, slots=True)
class Sheet:
    """
    A sheet that has been read.

    ``area`` has its cells, and ``rows`` all rows from the first of the sheet on, with the columns
    of ``area``.  ``merged`` has the last row of each merged cell, and ``notices`` what is known of
    the sheet once its rows are read.
    """

    name: str
    area: CellRange
    rows: Iterator[list[Any]]
    merged: Sequence[int]
    notices: Sequence[Notice] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that is not empty, and its number in the sheet."""

    line: int
    cells: list[Any]

    def count_filled(self) -> int:
        """Count the cells that are not empty."""
        return len([cell for cell in self.cells if cell != ""])


def stage_sheet(
    sheet: Sheet, options: ReadOptions, staging_area: StagingArea, notices: Sequence[Notice]
) -> StagedTable:
    """
    Stage the rows of a sheet; ``notices`` are those that the table gets besides its own.

    Raises: ``LoadFailed`` with ``workbook.empty_sheet``.
    """
    area = _choose_area(sheet, options)
    below: list[Notice] = []
    rows = (row for row in _read_rows(sheet, area, below) if row.line > (options.skip or 0))
    first = list(islice(rows, _MAX_HEADER_ROWS))
    if not first:
        raise LoadFailed("workbook.empty_sheet", sheet=sheet.name)
    if _is_cover(first):
        for notice in notices:
            if notice.code == "notice.sheet_chosen":
                notice.code = "notice.cover_sheet"
    top, (header, first) = first[0].line, _split_header(first, options, area.width)
    labels = _read_labels(header)
    footer: list[_Row] = []
    width = sum(bool(label.strip()) for label in labels) or area.width
    body = _split_footer(chain(first, rows), header.line, width, footer)
    with RowWriter(staging_area, area.width) as writer:
        builder = _TableBuilder(writer, labels, options)
        for row in body:
            builder.add_row(row)
        for row in () if options.footer == SKIP_FOOTER else footer:
            builder.add_row(row)
        if not builder.has_fields:
            raise LoadFailed("workbook.empty_sheet", sheet=sheet.name)
        above = _describe_header(sheet, header, top, builder)
        described = describe_footer([row.line for row in footer], options)
        return builder.build(staging_area, [*notices, *sheet.notices, *above, *described, *below])


def _describe_header(
    sheet: Sheet, header: _Row, top: int, builder: _TableBuilder
) -> Iterator[Notice]:
    """Describe what is above the header, and what is merged or empty below it."""
    if header.line > top:
        yield Notice("notice.rows_above_header", row=header.line)
    if merged := sum(bottom >= header.line for bottom in sheet.merged):
        yield Notice("notice.merged_cells", count=merged)
    if empty := builder.count_empty_rows(header.line):
        yield Notice("notice.empty_rows", count=empty)


def _is_cover(rows: Sequence[_Row]) -> bool:
    """Return whether rows are those of a cover: titles, blank rows, and some pairs of cells."""
    counts = [row.count_filled() for row in rows]
    has_gaps = rows[-1].line - rows[0].line >= len(rows) or len(rows) == 1
    return has_gaps and max(counts) <= _MAX_COVER_CELLS and 2 * counts.count(1) > len(counts)


def _choose_area(sheet: Sheet, options: ReadOptions) -> CellRange:
    """Choose the cells to read: all, or the part of the sheet that the options name."""
    if not options.cell_range:
        return sheet.area
    chosen = CellRange.parse(options.cell_range).intersect(sheet.area)
    if not chosen:
        raise LoadFailed("workbook.empty_range", range=options.cell_range, sheet=sheet.name)
    return chosen


def _read_rows(sheet: Sheet, area: CellRange, notices: list[Notice]) -> Iterator[_Row]:
    """Read the rows that are not empty; add a notice where the table goes on below the area."""
    offset = area.left - sheet.area.left
    for line, row in enumerate(sheet.rows, start=1):
        if line < area.top:
            continue
        cells = row[offset : offset + area.width]
        has_values = any(cell != "" for cell in cells)
        if line > area.bottom:
            if has_values:
                notices.append(Notice("notice.range_continues", range=str(area)))
            return
        if has_values:
            yield _Row(line, cells)


def _split_header(rows: list[_Row], options: ReadOptions, width: int) -> tuple[_Row, list[_Row]]:
    """Split the first rows into the header, which may be none, and those below it."""
    if options.no_header:
        return _Row(rows[0].line - 1, [""] * width), rows
    position = _find_header(rows) if options.skip is None else 0
    return rows[position], rows[position + 1 :]


def _read_labels(header: _Row) -> list[str]:
    """Write the cells of the header as texts."""
    return [FORMATTERS[type(cell)](cell) for cell in header.cells]


def _find_header(rows: Sequence[_Row]) -> int:
    """Find the header: the first row about as full as the fullest, or the first if in doubt."""
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


def _split_footer(
    rows: Iterable[_Row], line: int, width: int, footer: list[_Row]
) -> Iterator[_Row]:
    """Yield the rows above the footer, and leave its rows in ``footer``."""
    has_rows = False
    for row in rows:
        may_be_footer = bool(footer) or (has_rows and row.line > line + 1)
        line, has_rows = row.line, True
        is_in_footer = (may_be_footer and is_short(row.count_filled(), width)) or begins_footer(
            next((cell for cell in row.cells if isinstance(cell, str) and cell), "")
        )
        if is_in_footer and len(footer) < MAX_ROWS:
            footer.append(row)
            continue
        yield from footer
        footer.clear()
        yield row


class _TableBuilder:
    """Writes rows, and collects what the table is to know of them."""

    def __init__(self, writer: RowWriter, labels: Sequence[str], options: ReadOptions) -> None:
        self._labels = list(labels)
        self._nulls = frozenset(options.nulls)
        self._has_header = not options.no_header
        self._writer = writer
        self._kinds: list[set[type]] = [set() for _ in labels]
        self._rows = self._last_line = 0

    @property
    def has_fields(self) -> bool:
        """Whether there is a label or a value, and not blanks alone."""
        return any(map(str.strip, self._labels)) or any(self._kinds)

    def add_row(self, row: _Row) -> None:
        """Add a row; a cell with an error is a bad row's, unless its name means nothing."""
        self._rows, self._last_line = self._rows + 1, row.line
        errors: dict[int, BadCell] = {}
        texts: list[str | None] = []
        for position, (kinds, cell) in enumerate(zip(self._kinds, row.cells, strict=True)):
            kind = type(cell)
            if cell == "":
                texts.append(None)
                continue
            if not (isinstance(cell, str) and cell in self._nulls):
                if kind is BadCell:
                    errors[position] = cell
                    kind = type(None)
                kinds.add(kind)
            texts.append(FORMATTERS[type(cell)](cell))
        for position, error in errors.items():
            self._writer.add_error(row.line, error.row_error, position, error)
        if not errors:
            self._writer.add_row(row.line, texts)

    def count_empty_rows(self, header_line: int) -> int:
        """Count the rows between the header and the last row that are left out."""
        return max(0, self._last_line - header_line - self._rows)

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
        return StagedTable(
            staging_area=staging_area,
            names=names,
            labels=labels,
            declared_types=declare_types(
                staging_area,
                [self._kinds[at] for at in positions],
                {int, float, Decimal},
                self._nulls,
            ),
            notices=tuple(notices),
            has_header=self._has_header,
        )


def _format_time(moment: time) -> str:
    text = moment.isoformat()
    return text.rstrip("0") if moment.microsecond else text


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
    time: _format_time,
    timedelta: _format_duration,
}
