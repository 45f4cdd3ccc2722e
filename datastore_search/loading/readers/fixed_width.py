"""
Read a text file whose cells have fixed widths, by choice, and recognise one.

A cell is what stands at its characters, without the blanks around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TextIO

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from ...table_limits import MAX_FIELDS
from .delimited_encoding import convert_to_utf8
from .footers import delete_rows, describe_footer, find_staged_footer
from .header_rows import join_header
from .headers import make_unique_names
from .options import SKIP_FOOTER, ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea

_MAX_LINE_LENGTH = 2**20
_SAMPLE_LINES = 500
_MIN_SAMPLE_LINES = 3
_MAX_FOUND_LENGTH = 10_000
#: A line of one cell has no widths to find.
_MIN_CELLS = 2
_CELL = re.compile(r"([1-9][0-9]{0,6})-([1-9][0-9]{0,6})?")


@dataclass(frozen=True, slots=True)
class FixedWidths:
    """The characters of each cell: the position before the first one, and the last; from 0."""

    cells: tuple[slice, ...]
    #: The characters of a line; None where the last cell ends with its line.
    length: int | None

    @classmethod
    def parse(cls, text: str) -> FixedWidths:
        """
        Parse cells by their first and last characters, such as ``1-8,9-20,21-``, or their widths.

        Raises: ``LoadFailed`` with ``option.invalid_widths``, ``file.too_many_fields``.
        """
        parts = [part.strip() for part in text.split(",", MAX_FIELDS + 1)]
        if len(parts) > MAX_FIELDS:
            raise LoadFailed("file.too_many_fields", count=len(parts), most=MAX_FIELDS)
        if all(re.fullmatch("[1-9][0-9]{0,6}", part) for part in parts):
            edges = list(accumulate(map(int, parts), initial=0))
            parts = [f"{start + 1}-{end}" for start, end in pairwise(edges)]
        cells: list[slice] = []
        end: int | None = 0
        for part in parts:
            match = _CELL.fullmatch(part)
            if not match or end is None or int(match[1]) <= end:
                raise LoadFailed("option.invalid_widths", widths=text[:100])
            end = int(match[2]) if match[2] else None
            cells.append(slice(int(match[1]) - 1, end))
        if any(cell.stop is not None and cell.stop <= cell.start for cell in cells):
            raise LoadFailed("option.invalid_widths", widths=text[:100])
        if (end or cells[-1].start) > _MAX_LINE_LENGTH:
            raise LoadFailed("option.invalid_widths", widths=text[:100])
        return cls(tuple(cells), end)

    def split_line(self, line: str) -> list[str]:
        """Split a line into its cells."""
        return [line[cell].strip(" ") for cell in self.cells]

    def find_error(self, line: str) -> BadRow | None:
        """Find why a line has other cells: its length, or text between the cells."""
        wanted = self.cells[-1].start if self.length is None else self.length
        is_long = self.length is not None and line[self.length :].strip(" ")
        if is_long or len(line) < wanted:
            return BadRow("row.line_length", length=len(line), widths=wanted)
        ends = [0, *(cell.stop for cell in self.cells[:-1])]
        if any(line[end : cell.start].strip() for end, cell in zip(ends, self.cells, strict=True)):
            return BadRow("row.between_widths")
        return None


def read_fixed_width(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a file whose cells have the fixed widths of the options; its first line is the header.

    Raises: ``LoadFailed``, with what is wrong with the file or the widths.
    """
    widths = FixedWidths.parse(options.fixed_widths)
    text = convert_to_utf8(path, options, staging_area.folder)
    width, skip = len(widths.cells), options.skip or 0
    with text.path.open(encoding="utf-8-sig") as file, RowWriter(staging_area, width) as writer:
        lines = ((at, line) for at, line in _read_lines(file) if at > skip and line.strip())
        header = [widths.split_line(line) for _at, line in islice(lines, options.header_rows or 1)]
        if not header:
            raise LoadFailed("file.nothing_below_skipped", count=skip or 1)
        for at, line in lines:
            if len(line) > _MAX_LINE_LENGTH:
                writer.add_error(at, BadRow("row.too_long", most=_MAX_LINE_LENGTH // 2**20))
            elif error := widths.find_error(line):
                writer.add_error(at, error)
            else:
                writer.add_row(at, [cell or None for cell in widths.split_line(line)])
        labels = tuple(join_header(header)) if len(header) > 1 else tuple(header[0])
        names = make_unique_names(labels)
        writer.finish(names)
    footer = find_staged_footer(staging_area, width)
    if footer and options.footer == SKIP_FOOTER:
        delete_rows(staging_area, footer[0])
    return StagedTable(
        staging_area=staging_area,
        names=names,
        labels=labels,
        declared_types=(None,) * width,
        notices=(*text.notices, *describe_footer(footer, options)),
    )


def describe_found_widths(path: Path) -> Iterator[Notice]:
    """Describe the widths of a file in UTF-8 that looks as if its cells had fixed widths."""
    with path.open(encoding="utf-8-sig") as file:
        lines = [line for _at, line in islice(_read_lines(file), _SAMPLE_LINES) if line.strip()]
    if widths := find_widths(lines):
        yield Notice("notice.fixed_widths_found", widths=widths)


def find_widths(lines: Sequence[str]) -> str:
    """
    Find the widths of cells that are padded with blanks in lines of one length; empty if not clear.

    Some blanks must stand at the same characters of all lines, and some cell must be padded.
    """
    lengths = {len(line) for line in lines}
    if len(lines) < _MIN_SAMPLE_LINES or len(lengths) > 1 or max(lengths) > _MAX_FOUND_LENGTH:
        return ""
    is_filled = "".join(
        " " if all(letter == " " for letter in letters) else "x"
        for letters in zip(*lines, strict=True)
    )
    starts = [match.start() for match in re.finditer("x+", is_filled)]
    if len(starts) < _MIN_CELLS or not any("  " in line.strip() for line in lines):
        return ""
    starts[0] = 0
    ends = [*starts[1:], lengths.pop()]
    return ",".join(f"{start + 1}-{end}" for start, end in zip(starts, ends, strict=True))


def _read_lines(file: TextIO) -> Iterator[tuple[int, str]]:
    """Read the lines with their numbers; only the start of one that is longer than the most."""
    at = 0
    while line := file.readline(_MAX_LINE_LENGTH + 1):
        at += 1
        rest = line
        while rest and not rest.endswith("\n"):
            rest = file.readline(_MAX_LINE_LENGTH)
        yield at, line.removesuffix("\n")
