"""
Rows of delimited cells, found one by one.

This is for what DuckDB cannot tell: the header and how cells are separated, from the first lines;
and where a file is not regular, on which line each row begins and what is wrong with it.  It works
on bytes of UTF-8, of which it keeps one row.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import BinaryIO, NamedTuple

from ...exceptions.loads import UnknownDialect
from ...messages import BadRow
from .row_writer import MAX_ROW_BYTES

_BLOCK_BYTES = 2**20
_LINE_ENDS = b"\r\n"
_BLANK_LINES = frozenset((b"\n", b"\r\n", b"\r"))

#: Quotation marks may be left open so often: each takes another look at what follows.
_OPEN_MOST = 20


class Row(NamedTuple):
    """
    A row: the line on which it begins, its bytes without the line's end, and its cells.

    Where something is wrong with it, ``fault`` says so, and ``cells`` counts nothing.
    """

    line: int
    text: bytes
    cells: int
    fault: BadRow | None = None

    @property
    def is_blank(self) -> bool:
        """Tell whether there is nothing to see."""
        return not self.fault and not self.text.strip()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are written: what separates them, what quotes them, what escapes a quote."""

    delimiter: str
    quote: str = '"'
    escape: str = '"'

    def cells(self, text: bytes) -> list[str]:
        """Split the text of a row with which nothing is wrong."""
        pattern, found, at = _patterns(self).cell, [], 0
        while match := pattern.match(text, at):
            found.append(self._value(match))
            if match["end"] is None:
                break
            at = match.end()
        return found

    def _value(self, match: re.Match[bytes]) -> str:
        if match["quoted"] is None:
            return match["plain"].decode()
        text = match["quoted"].decode()
        return re.sub(re.escape(self.escape) + "(.)", r"\1", text, flags=re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """
    What cells look like.

    ``cell`` is a whole one with the delimiter behind it, if any; ``opened`` one whose quote the
    line leaves open, ``closed`` the rest of it on a later line, and ``behind`` what may follow
    that.
    """

    cell: re.Pattern[bytes]
    opened: re.Pattern[bytes]
    closed: re.Pattern[bytes]
    behind: re.Pattern[bytes]


@lru_cache(maxsize=16)
def _patterns(dialect: Dialect) -> _Patterns:
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
    return _Patterns(
        cell=re.compile(cell.encode()),
        opened=re.compile(rf"{blanks}{quote}{inside}\Z".encode()),
        closed=re.compile(f"{inside}{quote}".encode()),
        behind=re.compile(f"{blanks}{end}".encode()),
    )


# Rows ---------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A line and the byte at which it begins."""

    line: int
    offset: int


TOP = Place(1, 0)


def below(file: BinaryIO, lines: int) -> Place:
    """Find the place below so many lines, or the end of the file."""
    place = TOP
    for line, (_text, end) in enumerate(islice(_lines(file, 0, b""), lines), start=2):
        place = Place(line, end)
    return place


def rows(
    file: BinaryIO,
    dialect: Dialect,
    place: Place = TOP,
    *,
    whole: bool = True,
    with_blank: bool = True,
) -> Iterator[Row]:
    """
    Find the rows of a file from a place on, and what is wrong with them.

    Lines with nothing on them are rows, too, unless they are not wanted.

    A row whose quotation mark stays open until the end of the file is one with a fault, and the
    next row begins on the next line.  If the file is not ``whole`` it is left out, with what
    follows.

    Raises: ``UnknownDialect`` when that happens too often.
    """
    for _ in range(_OPEN_MOST):
        opened = yield from _rows(file, dialect, place, with_blank=with_blank)
        if opened is None or not whole:
            return
        yield Row(opened.line - 1, b"", 0, BadRow("row.open_quote"))
        place = opened
    raise UnknownDialect


def _rows(
    file: BinaryIO, dialect: Dialect, place: Place, *, with_blank: bool
) -> Generator[Row, None, Place | None]:
    """Find rows from a place on; tell where to go on when a quote is left open."""
    quote, delimiter = dialect.quote.encode(), dialect.delimiter.encode()
    patterns = _patterns(dialect)
    row: _QuotedRow | None = None
    for line, (text, end) in enumerate(_lines(file, place.offset, quote), start=place.line):
        if row is None:
            if not with_blank and text in _BLANK_LINES:
                continue
            if quote not in text and len(text) < MAX_ROW_BYTES:
                yield Row(line, text.rstrip(_LINE_ENDS), text.count(delimiter) + 1)
                continue
            row = _QuotedRow(patterns, Place(line, end))
        elif quote not in text:
            row.take_inside(text)
            continue
        if row.take(text):
            yield row.found()
            row = None
    return row.after_first if row else None


class _State(Enum):
    """How far a row is read."""

    OPEN = auto()
    ENDED = auto()
    STRAY = auto()


class _QuotedRow:
    """A row with quotation marks, while its lines are read."""

    def __init__(self, patterns: _Patterns, first: Place) -> None:
        self._patterns = patterns
        self._line = first.line
        self.after_first = Place(first.line + 1, first.offset)
        self._text = bytearray()
        self._bytes = 0
        self._cells = 0
        self._state = _State.ENDED

    def take(self, text: bytes) -> bool:
        """Take a line, and tell whether the row ends with it."""
        self.take_inside(text)
        self._read(text.rstrip(_LINE_ENDS))
        return self._state is not _State.OPEN

    def take_inside(self, text: bytes) -> None:
        """Take a line within a quotation mark that is left open: it has no quotation mark."""
        self._bytes += len(text)
        if self._bytes < MAX_ROW_BYTES:
            self._text += text
        else:
            self._text.clear()

    def found(self) -> Row:
        """Give the row, once it has ended."""
        if self._bytes >= MAX_ROW_BYTES:
            return Row(self._line, b"", 0, BadRow("row.too_long", most=MAX_ROW_BYTES // 2**20))
        if self._state is _State.STRAY:
            return Row(self._line, b"", 0, BadRow("row.stray_quote"))
        return Row(self._line, bytes(self._text).rstrip(_LINE_ENDS), self._cells)

    def _read(self, text: bytes) -> None:
        at = 0
        if self._state is _State.OPEN:
            closed = self._patterns.closed.match(text)
            if closed is None:
                return
            behind = self._patterns.behind.match(text, closed.end())
            self._state = _State.ENDED if behind else _State.STRAY
            if not behind or behind["end"] is None:
                return
            at = behind.end()
        self._read_cells(text, at)

    def _read_cells(self, text: bytes, at: int) -> None:
        while match := self._patterns.cell.match(text, at):
            self._cells += 1
            if match["end"] is None:
                self._state = _State.ENDED
                return
            at = match.end()
        opened = self._patterns.opened.match(text, at)
        self._cells += 1
        self._state = _State.OPEN if opened else _State.STRAY


def _lines(file: BinaryIO, offset: int, quote: bytes) -> Iterator[tuple[bytes, int]]:
    """
    Read lines, however they end, each with the place of the next.

    Of a line that is longer than a row may be, as much is kept as shows that, and whether it leaves
    a quote open.
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
