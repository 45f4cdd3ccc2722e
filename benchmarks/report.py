"""Tables of figures, which all programs print: aligned in a terminal, and valid Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Cells below a header and a caption; the first column is text, the others are numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def as_text(self) -> str:
        """Write the table as Markdown, with its columns aligned."""
        widths = [max(3, *map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        rule = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
        lines = [self.header, rule, *self.rows]
        return "\n".join([self.caption, "", *(_align(line, widths) for line in lines)])


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"| {' | '.join(aligned)} |"


def format_number(value: float | None, unit: str = "") -> str:
    """Format a number with three significant digits, or a dash for None."""
    if value is None:
        return "–"
    digits = next((digits for digits, limit in ((2, 10), (1, 100)) if abs(value) < limit), 0)
    return f"{value:,.{digits}f}{unit}"


def format_ratio(above: float | None, below: float | None) -> str:
    """Format the ratio of two numbers."""
    return format_number(above / below, "×") if above is not None and below else "–"
