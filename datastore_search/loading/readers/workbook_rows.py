"""
Reading a sheet of a workbook: Excel's (XLSX, XLSM, XLS) and OpenDocument's (ODS).

calamine reads the cells with their types. Each becomes the text that its type is written as:
numbers without loss, dates as ISO has them. Empty rows, and empty columns at the edges, are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import Any

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from ...table_limits import MAX_FIELDS
from . import ods, ole
from . import workbook_xml as xlsx
from .headers import unique_names
from .numeric_columns import types_of_numbers
from .options import ReadOptions
from .row_writer import Rows
from .staging import StagedTable, StagingArea
from .workbook_cells import WRITERS, ods_text, told_by
from .workbooks import Kind, kind_of

#: Rows among which the header is looked for.
_FIRST_ROWS = 50
#: Cells that a row with a title has.
_TITLE_CELLS = 1

#: Of the memory that calamine takes for a sheet to the bytes of its file, as figures are packed.
_MEMORY_RATIO = 16

_YEARS = range(1900, 2101)

_NUMBERS = frozenset({int, float})
#: The kind of a cell that holds an error.
_ERROR = type(None)


def read_sheet(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a sheet of a workbook: the one that was chosen, or the first that has cells.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    kind = kind_of(path, place.limits)
    place.limits.extend_memory(_MEMORY_RATIO * path.stat().st_size)
    # calamine goes by the ending of the name.
    source = place.folder / f"workbook.{kind}"
    source.symlink_to(path.resolve())
    if kind == Kind.XLS:
        ole.look_at_chains(source)
    has_errors = kind == Kind.ODS and ods.look_at_cells(source)
    with _calamine(), CalamineWorkbook.from_path(source) as workbook:
        book = _Workbook(source, kind, workbook, has_errors)
        number, notices = book.choose(options.sheet)
        return _table(book.open(number), options, place, notices)


@contextmanager
def _calamine() -> Iterator[None]:
    """
    Say what calamine means.

    Raises: ``LoadFailed`` with ``workbook.encrypted``, ``workbook.damaged``.
    """
    try:
        yield
    except PasswordError as error:
        raise LoadFailed("workbook.encrypted") from error
    except CalamineError as error:
        raise LoadFailed("workbook.damaged") from error
    except BaseException as error:
        # A panic of Rust's is no Exception, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise LoadFailed("workbook.damaged") from error
        raise


# Which sheet --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet that has been read, and the errors in its cells, in the order of the rows."""

    cells: CalamineSheet
    errors: Iterator[tuple[int, int, str]]
    text: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Workbook:
    path: Path
    kind: Kind
    calamine: CalamineWorkbook
    has_errors: bool

    def choose(self, wanted: str) -> tuple[int, list[Notice]]:
        """
        Choose a sheet, by its name, its number from 1, or for being the first with cells.

        Raises: ``LoadFailed`` with ``workbook.unknown_sheet``, ``workbook.empty``.
        """
        names = self.calamine.sheet_names
        if wanted:
            return self._wanted(wanted.strip()), []
        filled = [number for number in self._usual() if self._has_values(number)]
        if not filled:
            raise LoadFailed("workbook.empty")
        chosen, *others = filled
        if not others:
            return chosen, []
        listed = ", ".join(f"“{names[number]}”" for number in others)
        return chosen, [Notice("notice.sheet_chosen", sheet=names[chosen], others=listed)]

    def open(self, number: int) -> _Sheet:
        """
        Read a sheet.

        Raises: ``LoadFailed`` with ``workbook.empty_sheet``, ``workbook.sheet_too_large``,
        ``workbook.damaged``.
        """
        errors = self._errors(number)
        cells = self.calamine.get_sheet_by_index(number)
        if cells.start is None:
            raise LoadFailed("workbook.empty_sheet", sheet=cells.name)
        if cells.width > MAX_FIELDS:
            raise LoadFailed("file.too_many_fields", count=cells.width, most=MAX_FIELDS)
        return _Sheet(cells, errors, ods_text if self.kind == Kind.ODS else str)

    def _errors(self, number: int) -> Iterator[tuple[int, int, str]]:
        if self.kind == Kind.ODS and self.has_errors:
            return ods.errors_in(self.path, number)
        if self.kind == Kind.XLSX:
            part = xlsx.sheet_part(self.path, number)
            if xlsx.look_at_cells(self.path, part):
                return xlsx.errors_in(self.path, part)
        return iter(())

    def _wanted(self, wanted: str) -> int:
        names = self.calamine.sheet_names
        if wanted in names:
            return names.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
            return int(wanted) - 1
        raise LoadFailed(
            "workbook.unknown_sheet", sheet=wanted, sheets=", ".join(f"“{name}”" for name in names)
        )

    def _usual(self) -> list[int]:
        """List the sheets that people see; the hidden ones only if there are no others."""
        sheets = [
            (number, sheet.visible == SheetVisibleEnum.Visible)
            for number, sheet in enumerate(self.calamine.sheets_metadata)
            if sheet.typ == SheetTypeEnum.WorkSheet
        ]
        seen = [number for number, visible in sheets if visible]
        return seen or [number for number, _visible in sheets]

    def _has_values(self, number: int) -> bool:
        if self.kind == Kind.XLSX:
            return xlsx.has_values(self.path, xlsx.sheet_part(self.path, number))
        return self.calamine.get_sheet_by_index(number).start is not None


# Rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that has cells, its number in the sheet, and the errors in it by their places."""

    line: int
    cells: list[Any]
    errors: Mapping[int, str]

    @property
    def filled(self) -> int:
        """Count the cells that are not empty."""
        return len([cell for cell in self.cells if cell != ""]) + len(self.errors)


def _table(
    sheet: _Sheet, options: ReadOptions, place: StagingArea, notices: Sequence[Notice]
) -> StagedTable:
    rows = (row for row in _filled(sheet) if row.line > (options.skip or 0))
    first = list(islice(rows, _FIRST_ROWS))
    if not first:
        raise LoadFailed("workbook.empty_sheet", sheet=sheet.cells.name)
    start = 0 if options.skip is not None else _place_of_header(first)
    above = [Notice("notice.rows_above_header", row=first[start].line)] if start else []
    notices = (*notices, *above, *_merged(sheet, first[start].line))
    with Rows(place, sheet.cells.width) as staged:
        filling = _Filling(staged, first[start], options.nulls, sheet.text)
        for row in chain(first[start + 1 :], rows):
            filling.add(row)
        return filling.table(place, notices)


def _filled(sheet: _Sheet) -> Iterator[_Row]:
    """Give the rows that have cells."""
    left = (sheet.cells.start or (0, 0))[1] + 1
    width = sheet.cells.width
    error = next(sheet.errors, None)
    for line, cells in enumerate(sheet.cells.iter_rows(), start=1):
        errors = {}
        while error and error[0] <= line:
            row, column, name = error
            if row == line and left <= column < left + width:
                errors[column - left] = name
            error = next(sheet.errors, None)
        if errors or any(cell != "" for cell in cells):
            yield _Row(line, cells, errors)


def _place_of_header(rows: Sequence[_Row]) -> int:
    """
    Find the header below titles and notes: the first row that is filled about as the widest.

    When that might just as well be a record, the header is the first row.
    """
    most = max(row.filled for row in rows)
    place = next(place for place, row in enumerate(rows) if 2 * row.filled > most)
    is_title = most > _TITLE_CELLS + 1 and all(row.filled <= _TITLE_CELLS for row in rows[:place])
    is_header = all(map(_may_be_name, rows[place].cells))
    return place if is_title or is_header else 0


def _may_be_name(cell: Any) -> bool:
    """Tell texts, dates and years from what only a record has."""
    return isinstance(cell, str | date) or cell in _YEARS


def _merged(sheet: _Sheet, header: int) -> list[Notice]:
    """Say that cells from the header on are merged."""
    ranges = sheet.cells.merged_cell_ranges or []
    count = sum(last_row + 1 >= header for _first, (last_row, _last_column) in ranges)
    return [Notice("notice.merged_cells", count=count)] if count else []


class _Filling:
    """The table while rows are added."""

    def __init__(
        self, rows: Rows, header: _Row, nulls: Sequence[str], text: Callable[[str], str]
    ) -> None:
        cells = [header.errors.get(position, cell) for position, cell in enumerate(header.cells)]
        self._writers = {**WRITERS, str: text}
        self._labels = [self._writers[type(cell)](cell) for cell in cells]
        self._nulls = frozenset(nulls)
        self._rows = rows
        self._kinds: list[set[type]] = [set() for _ in cells]

    def add(self, row: _Row) -> None:
        """Add a row; an error is a fault, unless it means nothing by choice."""
        errors = {place: name for place, name in row.errors.items() if name not in self._nulls}
        for place, name in errors.items():
            self._kinds[place].add(_ERROR)
            self._rows.fault(row.line, BadRow("row.error_cell", error=name), place, name)
        if not errors:
            self._rows.add(row.line, self._texts(row.cells))

    def table(self, place: StagingArea, notices: Sequence[Notice]) -> StagedTable:
        """Give the table when all rows have been added; a column without anything is left out."""
        kept = [
            position
            for position, (label, kinds) in enumerate(zip(self._labels, self._kinds, strict=True))
            if label.strip() or kinds
        ]
        labels = tuple(self._labels[position].strip() for position in kept)
        names = unique_names(labels)
        self._rows.finish(names, kept)
        kinds = [self._kinds[position] - {_ERROR} for position in kept]
        numbers = [column for column, found in enumerate(kinds) if found and found <= _NUMBERS]
        told = types_of_numbers(place, numbers, self._nulls)
        tells = tuple(told.get(column) or told_by(found) for column, found in enumerate(kinds))
        return StagedTable(
            staging_area=place,
            names=names,
            labels=labels,
            declared_types=tells,
            notices=tuple(notices),
        )

    def _texts(self, cells: Sequence[Any]) -> list[str | None]:
        """Write cells as texts, and note of which kinds they are."""
        texts: list[str | None] = []
        for kinds, cell in zip(self._kinds, cells, strict=True):
            kind = type(cell)
            if cell == "":
                texts.append(None)
                continue
            if kind is not str or cell not in self._nulls:
                kinds.add(kind)
            texts.append(self._writers[kind](cell))
        return texts
