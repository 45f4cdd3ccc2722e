"""Scan delimited cells row by row: for the layout, and where DuckDB cannot read a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from sys import maxsize
from typing import BinaryIO, NamedTuple

from ..messages import BadRow, UnknownDialect
from .row_writer import MAX_ROW_BYTES, TOO_LONG

_BLOCK_BYTES = 2**20
_LINE_ENDS = b"\r\n"
_BLANK_LINES = frozenset((b"\n", b"\r\n", b"\r"))

#: After each quotation mark that is left open, the rows below it are scanned again.
_MAX_OPEN_QUOTES = 20


class DelimitedRow(NamedTuple):
    """
    A row: the line on which it begins, its bytes without the line's end, and its number of cells.

    Of a row with an ``error``, text and number are empty.
    """

    line: int
    text: bytes
    cells: int
    error: BadRow | None = None

    @property
    def is_blank(self) -> bool:
        return not self.error and not self.text.strip()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are written: their delimiter, their quotation mark, and what escapes that mark."""

    delimiter: str
    quote: str = '"'
    escape: str = '"'

    def split_cells(self, text: bytes) -> list[str]:
        if self.quote.encode() not in text:
            return text.decode().split(self.delimiter)
        pattern, position = _compile_patterns(self).cell, 0
        escaped = re.compile(re.escape(self.escape) + "(.)", re.DOTALL)
        found: list[str] = []
        while match := pattern.match(text, position):
            if match["quoted"] is None:
                found.append(match["plain"].decode())
            else:
                found.append(escaped.sub(r"\1", match["quoted"].decode()))
            if match["end"] is None:
                break
            position = match.end()
        return found


class _Patterns(NamedTuple):
    """
    The patterns of cells.

    ``cell`` matches a complete cell with the delimiter behind it, if any; ``opened`` one whose
    quotation mark stays open on the line, ``closed`` the rest of it on a later line, and ``behind``
    what may follow that.
    """

    cell: re.Pattern[bytes]
    opened: re.Pattern[bytes]
    closed: re.Pattern[bytes]
    behind: re.Pattern[bytes]


@lru_cache(maxsize=16)
def _compile_patterns(dialect: Dialect) -> _Patterns:
    delimiter, quote, escape = map(re.escape, (dialect.delimiter, dialect.quote, dialect.escape))
    blanks = "" if dialect.delimiter == " " else " *+"
    inside = f"(?:[^{quote}]|{quote}{quote})*+"
    if escape != quote:
        inside = f"(?:[^{quote}{escape}]|{escape}[{quote}{escape}])*+"
    outside = f"[^{delimiter}]*+"
    if len(dialect.delimiter.encode()) > 1:
        outside = f"(?s:(?!{delimiter}).)*+"
    end = rf"(?:(?P<end>{delimiter})|\Z)"
    cell = (
        f"(?:{blanks}{quote}(?P<quoted>{inside}){quote}{blanks}"
        f"|(?P<plain>(?!{blanks}{quote}){outside})){end}"
    )
    patterns = (cell, rf"{blanks}{quote}{inside}\Z", f"{inside}{quote}", f"{blanks}{end}")
    return _Patterns(*(re.compile(each.encode()) for each in patterns))


class LineStart(NamedTuple):
    line: int
    offset: int


FIRST_LINE = LineStart(1, 0)


def find_line_below(file: BinaryIO, lines: int) -> LineStart:
    """Find the line below the first ``lines``, or the end of the file."""
    start, skipped = FIRST_LINE, islice(_read_lines(file, 0, b""), min(lines, maxsize))
    for line, (_text, end) in enumerate(skipped, start=2):
        start = LineStart(line, end)
    return start


def scan_rows(
    file: BinaryIO,
    dialect: Dialect,
    start: LineStart = FIRST_LINE,
    *,
    is_complete: bool = True,
    with_blank: bool = True,
) -> Iterator[DelimitedRow]:
    """
    Scan the rows of a file from a line on, and what is wrong with them.

    Empty lines are rows, too, if ``with_blank``.

    A row whose quotation mark stays open until the end of the file has an error, and the next row
    begins on the next line.  If the file is not complete, that row and the following ones are left
    out.

    Raises: ``UnknownDialect`` when that happens too often.
    """
    quote, delimiter = dialect.quote.encode(), dialect.delimiter.encode()
    patterns = _compile_patterns(dialect)
    for _ in range(_MAX_OPEN_QUOTES):
        row: _QuotedRow | None = None
        lines = _read_lines(file, start.offset, quote)
        for line, (text, end) in enumerate(lines, start=start.line):
            if row is None:
                if not with_blank and text in _BLANK_LINES:
                    continue
                if quote not in text and len(text) < MAX_ROW_BYTES:
                    yield DelimitedRow(line, text.rstrip(_LINE_ENDS), text.count(delimiter) + 1)
                    continue
                row = _QuotedRow(line, LineStart(line + 1, end), bytearray())
            row.add_line(text)
            # A line without a quotation mark is within quotation marks, as those before it.
            if quote in text or not row.is_open:
                row.read_cells(text.rstrip(_LINE_ENDS), patterns)
                if not row.is_open:
                    yield row.build()
                    row = None
        if row is None or not is_complete:
            return
        yield DelimitedRow(row.line, b"", 0, BadRow("row.open_quote"))
        start = row.second_line
    raise UnknownDialect


@dataclass(slots=True)
class _QuotedRow:
    """A row with quotation marks, while its lines are read."""

    line: int
    second_line: LineStart
    text: bytearray
    size: int = 0
    cells: int = 0
    is_open: bool = False
    has_stray_quote: bool = False

    def add_line(self, text: bytes) -> None:
        self.size += len(text)
        if self.size < MAX_ROW_BYTES:
            self.text += text
        else:
            self.text.clear()

    def read_cells(self, text: bytes, patterns: _Patterns) -> None:
        """Read the cells of a line, of which the first is open if the last line left it so."""
        position = 0
        if self.is_open:
            closed = patterns.closed.match(text)
            if closed is None:
                return
            behind = patterns.behind.match(text, closed.end())
            self.is_open, self.has_stray_quote = False, behind is None
            if not behind or behind["end"] is None:
                return
            position = behind.end()
        while match := patterns.cell.match(text, position):
            self.cells += 1
            if match["end"] is None:
                return
            position = match.end()
        opened = patterns.opened.match(text, position)
        self.cells += 1
        self.is_open, self.has_stray_quote = opened is not None, opened is None

    def build(self) -> DelimitedRow:
        if self.size >= MAX_ROW_BYTES:
            return DelimitedRow(self.line, b"", 0, TOO_LONG)
        if self.has_stray_quote:
            return DelimitedRow(self.line, b"", 0, BadRow("row.stray_quote"))
        return DelimitedRow(self.line, bytes(self.text).rstrip(_LINE_ENDS), self.cells)


def _read_lines(file: BinaryIO, offset: int, quote: bytes) -> Iterator[tuple[bytes, int]]:
    """
    Read lines with any ends, each with the offset of the next.

    A line that is too long for a row is cut: what is left is still too long, and leaves a quotation
    mark open if the whole line does.
    """
    file.seek(offset)
    rest, dropped = b"", 0
    while block := file.read(_BLOCK_BYTES):
        lines = (rest + block).splitlines(keepends=True)
        rest = lines.pop()
        for text in lines:
            offset += len(text) + dropped
            dropped = 0
            yield text, offset
        if len(rest) > MAX_ROW_BYTES + _BLOCK_BYTES:
            cut = quote and quote * (rest.count(quote, MAX_ROW_BYTES) % 2)
            dropped += len(rest) - MAX_ROW_BYTES - len(cut)
            rest = rest[:MAX_ROW_BYTES] + cut
    if rest:
        yield rest, offset + dropped + len(rest)
