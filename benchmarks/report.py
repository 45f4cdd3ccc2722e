"""Tables of figures, for a terminal and for a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .failures import BenchmarkError


@dataclass(frozen=True, slots=True)
class Table:
    """Cells below a header and a caption; the first column is text, the others are numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def as_text(self) -> str:
        """Write the table with its columns aligned."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.caption, "", *(_align(line, widths) for line in lines)])

    def as_markdown(self) -> str:
        """Write the table as Markdown."""
        rule = ["---", *("---:" for _ in self.header[1:])]
        lines = [self.header, rule, *self.rows]
        return "\n".join([self.caption, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    name, width = first
    return "  ".join([name.ljust(width), *(cell.rjust(wide) for cell, wide in others)]).rstrip()


def write_tables_into(page: Path, tables: Mapping[str, Table]) -> None:
    """
    Write each table between the page's comments ``<!-- name -->`` and ``<!-- /name -->``.

    Raises: ``BenchmarkError`` when the page lacks them; it is not changed then.
    """
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        text = _replace_block(text, name, table.as_markdown())
    page.write_text(text, encoding="utf-8")


def _replace_block(text: str, name: str, block: str) -> str:
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    between = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", re.DOTALL)
    text, count = between.subn(lambda _: f"\n{block}\n\n", text)
    if count != 1:
        raise BenchmarkError(f"The page must have {begin} and {end} once.")
    return text


# Cells --------------------------------------------------------------------------------------------


def format_number(value: float | None, unit: str = "") -> str:
    """Format a number with three significant digits, or a dash for None."""
    if value is None:
        return "–"
    digits = next((digits for digits, limit in ((2, 10), (1, 100)) if abs(value) < limit), 0)
    return f"{value:,.{digits}f}{unit}"


def format_ratio(above: float | None, below: float | None) -> str:
    """Format the ratio of two numbers."""
    return format_number(above / below, "×") if above is not None and below else "–"
