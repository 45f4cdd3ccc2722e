"""Ranges of the cells of a sheet, such as ``A1:D20``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..messages.failures import LoadFailed

_RANGE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6}):([A-Z]{1,3})([1-9][0-9]{0,6})?")
_LETTERS = 26

#: A limit of Excel and OpenDocument.
_MAX_ROW = 1_048_576


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
