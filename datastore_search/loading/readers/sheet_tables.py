"""
Find the tables of a sheet that has several, and name them by their cells, such as ``A1:D20``.

Blank rows and blank columns are between tables.  Not each blank row is: a table begins with names,
above numbers or dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import Notice

_RANGE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6}):([A-Z]{1,3})([1-9][0-9]{0,6})?")
_LETTERS = 26

#: A limit of Excel and OpenDocument.
_MAX_ROW = 1_048_576

_YEARS = range(1900, 2101)
#: A sheet with more blocks of rows has records with blank rows between them.
_MAX_BLOCKS = 100
#: The header of a block and its first values are looked for in these rows.
_MAX_SAMPLE_ROWS = 6
_MIN_TABLE_SIZE = 2


@dataclass(frozen=True, slots=True)
class CellRange:
    """The cells between two corners, both included, with rows and columns counted from 1."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def parse(cls, text: str) -> CellRange:
        """
        Parse a range such as ``A1:D20``, or ``A1:D`` for all rows from the first on.

        Raises: ``LoadFailed`` with ``option.invalid_range``.
        """
        match = _RANGE.fullmatch(text.strip().upper().replace("$", ""))
        if not match:
            raise LoadFailed("option.invalid_range", range=text)
        left, top, right, bottom = match.groups()
        found = cls(int(top), parse_column(left), int(bottom or _MAX_ROW), parse_column(right))
        if found.top > found.bottom or found.left > found.right:
            raise LoadFailed("option.invalid_range", range=text)
        return found

    def __str__(self) -> str:
        left, right = format_column(self.left), format_column(self.right)
        return f"{left}{self.top}:{right}{self.bottom}"

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.right - self.left + 1

    def intersect(self, other: CellRange) -> CellRange | None:
        """Return the cells that are in both ranges, None if there are none."""
        found = CellRange(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )
        return found if found.top <= found.bottom and found.left <= found.right else None


def parse_column(letters: str) -> int:
    """Return the number of a column, from 1, of its letters."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number


def format_column(number: int) -> str:
    """Write the number of a column as letters."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + rest) + letters
    return letters


@dataclass(slots=True)
class _Block:
    """Rows without a blank one between them, and the last line in which each column has a value."""

    top: int
    last_lines: list[int]
    bottom: int
    rows: list[Sequence[Any]] = field(default_factory=list)
    full_line: int = 0

    def add_row(self, line: int, cells: Sequence[Any]) -> None:
        self.bottom = line
        if len(self.rows) < _MAX_SAMPLE_ROWS:
            self.rows.append(cells)
        if "" not in cells:
            self.full_line = line
            return
        for position, cell in enumerate(cells):
            if cell != "":
                self.last_lines[position] = line

    def list_parts(self, left: int) -> Iterator[tuple[CellRange, list[Sequence[Any]]]]:
        """List the parts that have blank columns between them, with their first rows."""
        lines = [max(line, self.full_line) for line in self.last_lines]
        start = None
        for position, line in enumerate([*lines, 0]):
            if line and start is None:
                start = position
            elif not line and start is not None:
                part = CellRange(
                    self.top, left + start, max(lines[start:position]), left + position - 1
                )
                yield part, [row[start:position] for row in self.rows]
                start = None


class TableFinder:
    """
    Finds the tables among the rows of a sheet, whose first column has the number ``left``.

    ``has_row_below`` says that there is a row directly below those that are read.
    """

    def __init__(self, left: int) -> None:
        """Begin without a row."""
        self.has_row_below = False
        self._left = left
        self._blocks: list[_Block] = []

    def add_row(self, line: int, cells: Sequence[Any]) -> None:
        """Add a row that is not blank."""
        if len(self._blocks) > _MAX_BLOCKS:
            return
        if not self._blocks or self._blocks[-1].bottom + 1 < line:
            self._blocks.append(_Block(line, [0] * len(cells), line))
        self._blocks[-1].add_row(line, cells)

    def find_tables(self) -> list[CellRange]:
        """Find the tables, in the order of their places; none where there is but one."""
        if len(self._blocks) > _MAX_BLOCKS:
            return []
        tables: list[CellRange] = []
        for block in self._blocks:
            for part, rows in block.list_parts(self._left):
                if _is_table(part, rows):
                    tables.append(part)
                else:
                    _extend_table(tables, part)
        return tables if len(tables) > 1 else []


def describe_tables(tables: Sequence[CellRange]) -> Iterator[Notice]:
    """Describe the tables of a sheet, of which one could be chosen."""
    if tables:
        yield Notice("notice.several_tables", ranges=", ".join(f"“{table}”" for table in tables))


def _is_table(part: CellRange, rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether a part begins with names, perhaps below a title, above numbers or dates."""
    filled = [[cell for cell in row if cell != ""] for row in rows]
    while filled and len(filled[0]) < _MIN_TABLE_SIZE:
        filled = filled[1:]
    return (
        part.width >= _MIN_TABLE_SIZE
        and len(filled) >= _MIN_TABLE_SIZE
        and all(isinstance(cell, str) or cell in _YEARS for cell in filled[0])
        and any(isinstance(cell, int | float | date) for row in filled[1:] for cell in row)
    )


def _extend_table(tables: list[CellRange], part: CellRange) -> None:
    """Extend the last table above a part by it, unless the part is much narrower, as notes are."""
    for position in range(len(tables) - 1, -1, -1):
        table = tables[position]
        if table.left <= part.left and part.right <= table.right:
            if 2 * part.width > table.width:
                tables[position] = replace(table, bottom=part.bottom)
            return
