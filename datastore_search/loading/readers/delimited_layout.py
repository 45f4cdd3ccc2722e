"""
How a file separates its cells, and where its header is, found from its first lines.

Of each way to read these lines that is possible it is asked how well they make a table: whether the
rows have the cells that the header has, whether all lines belong to it, whether the cells look like
values.  DuckDB's own sniffer errs where it matters here: it passes over lines until it likes what
follows, or takes a title for the header (decision 0015).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

from ...exceptions.loads import LoadFailed, UnknownDialect
from .delimited_rows import Dialect, Place, Row, below, rows
from .options import ReadOptions

_SAMPLE_BYTES = 2**20
_SAMPLE_ROWS = 500
_SAMPLE_CELLS = 20_000
_TITLES_MOST = 50
#: Of the rows of a table so many have the header's cells, or else some other number above one.
_FIT_LEAST = 0.3

_DELIMITERS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
#: DuckDB's.
_DELIMITER_BYTES_MOST = 4
#: Hardly in any file: for those of one field.
_NO_DELIMITER = "\x1f"

#: Excel's own way to say what separates the cells.
_SEPARATOR_LINE = re.compile(rb'"?sep=(?P<mark>[^"\r\n])"?[\r\n]', re.IGNORECASE)
_SEPARATOR_BYTES = 16

_SINGLE_QUOTES = re.compile(rb"(?:^|[,;\t|])'", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n|\n|\r")
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d%?\Z")
#: Cells that hold one value: nothing that could be a delimiter, but in numbers and quotes.
_VALUE = re.compile(r"[^,;\t|]*\Z")


@dataclass(frozen=True, slots=True)
class Layout:
    """
    How a file is laid out.

    ``header`` has the names as they stand there, ``line`` is the header's, ``below`` the one after
    it, and ``skipped`` counts the rows down to it, blank ones and itself included.  Rows are to be
    looked for from ``start``.  ``ending`` is how lines end; ``titled`` says that something stands
    above the header that nobody has asked to skip.
    """

    dialect: Dialect
    header: tuple[str, ...]
    line: int
    below: int
    skipped: int
    start: Place
    ending: str
    titled: bool = False


def find_layout(path: Path, options: ReadOptions) -> Layout:
    """
    Find out how a file in UTF-8 is laid out, as far as the options leave it open.

    Raises: ``LoadFailed`` with ``file.empty``, ``UnknownDialect``, ``option.invalid_delimiter``,
    ``file.nothing_below_skipped``.
    """
    sample = _Sample.of(path, options)
    readings = [
        reading for dialect in _dialects(sample, options) if (reading := _read(sample, dialect))
    ]
    if readings:
        return max(readings, key=lambda reading: reading.merit).layout()
    if not sample.start.offset:
        raise (
            LoadFailed("file.empty") if sample.whole and not sample.text.strip() else UnknownDialect
        )
    raise LoadFailed("file.nothing_below_skipped", count=options.skip or 1)


@dataclass(frozen=True, slots=True)
class _Sample:
    """
    The first lines of a file, without those to be skipped.

    ``told`` is the delimiter that Excel's first line names; ``looks`` says that there may be titles
    above the header.
    """

    text: bytes
    start: Place
    whole: bool
    told: str
    looks: bool

    @classmethod
    def of(cls, path: Path, options: ReadOptions) -> _Sample:
        with path.open("rb") as file:
            told = _SEPARATOR_LINE.match(file.readline(_SEPARATOR_BYTES))
            start = below(file, options.skip or (1 if told else 0))
            file.seek(start.offset)
            text = file.read(_SAMPLE_BYTES + 1)
        whole = len(text) <= _SAMPLE_BYTES
        if not whole:
            text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
        return cls(text, start, whole, told["mark"].decode() if told else "", options.skip is None)


def _dialects(sample: _Sample, options: ReadOptions) -> Iterator[Dialect]:
    """List the ways to read a file that are possible, the likely ones first."""
    delimiters: tuple[str, ...] = (*_DELIMITERS, _NO_DELIMITER)
    if options.delimiter or sample.told:
        delimiters = (_usable(options.delimiter or sample.told),)
    yield from (Dialect(delimiter) for delimiter in delimiters)
    if b'\\"' in sample.text:
        yield from (Dialect(delimiter, escape="\\") for delimiter in delimiters)
    if _SINGLE_QUOTES.search(sample.text):
        yield from (Dialect(delimiter, "'", "'") for delimiter in delimiters)


def _usable(delimiter: str) -> str:
    """
    Read a chosen delimiter: itself, or the word for it.

    Raises: ``LoadFailed`` with ``option.invalid_delimiter``.
    """
    found = _WORDS.get(delimiter.strip().lower(), delimiter)
    if re.search("[\"'\\\\\r\n\0]", found) or len(found.encode()) > _DELIMITER_BYTES_MOST:
        raise LoadFailed("option.invalid_delimiter", delimiter=delimiter)
    return found


# One way to read the first lines ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A row that is not blank: where it is among all rows from 1, and its cells, if it is good."""

    row: Row
    place: int
    cells: tuple[str, ...]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)

    @property
    def is_prose(self) -> bool:
        """Tell whether each delimiter has a blank behind it, as a comma in a sentence has."""
        return all(cell[:1] == " " for cell in self.cells[1:])

    @property
    def is_title(self) -> bool:
        return self.filled <= 1 or self.is_prose

    @property
    def is_comment(self) -> bool:
        return self.row.text.startswith(b"#")

    @property
    def is_header(self) -> bool:
        """Tell whether the cells could be names: each is something, and no two are the same."""
        names = {cell.strip() for cell in self.cells}
        return len(names) == len(self.cells) and "" not in names and not _is_number(self.cells[0])


def _read(sample: _Sample, dialect: Dialect) -> _Reading | None:
    """Read the first lines in one way; None when there is no header then."""
    lines, cells = [], 0
    found = enumerate(rows(BytesIO(sample.text), dialect, whole=sample.whole), start=1)
    try:
        for place, row in islice(found, _SAMPLE_ROWS):
            if not row.is_blank:
                parts = () if row.fault else tuple(dialect.cells(row.text))
                lines.append(_Line(row, place, parts))
                cells += len(parts)
            if cells > _SAMPLE_CELLS:
                break
    except UnknownDialect:
        return None
    header = _header(lines) if sample.looks and lines else 0
    if len(lines) <= header or not lines[header].cells:
        return None
    return _Reading(
        sample, dialect, lines[header], tuple(lines[:header]), tuple(lines[header + 1 :])
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The first rows of a file, read in one way."""

    sample: _Sample
    dialect: Dialect
    header: _Line
    titles: tuple[_Line, ...]
    body: tuple[_Line, ...]

    @property
    def merit(self) -> tuple[object, ...]:
        """Say how good a table this is, to be compared with those of other ways."""
        fit = self._share(self._fits(line) for line in self.body)
        values = self._share(_is_value(cell) for line in self.body for cell in line.cells)
        return (
            self._has_fields(fit),
            fit,
            -len(self.titles),
            values,
            len(self.header.cells),
            self.dialect.delimiter == _NO_DELIMITER,
        )

    def layout(self) -> Layout:
        """Give what was found out, for the whole file."""
        start, text = self.sample.start, self.header.row.text
        ending = _LINE_END.search(self.sample.text, self.sample.text.find(text) + len(text))
        return Layout(
            dialect=self.dialect,
            header=self.header.cells,
            line=start.line - 1 + self.header.row.line,
            below=start.line - 1 + self.header.row.line + len(text.splitlines()),
            skipped=start.line - 1 + self.header.place,
            start=start,
            ending=ending[0].decode() if ending else "\n",
            titled=bool(self.titles),
        )

    def _has_fields(self, fit: float) -> bool:
        """Tell whether the delimiter is one, and no part of texts."""
        if len(self.header.cells) == 1:
            return False
        if fit < _FIT_LEAST and _usual_width(self.body) == 1:
            return False
        return fit == 1 or not all(line.is_prose for line in (self.header, *self.body))

    def _fits(self, line: _Line) -> bool:
        width = len(self.header.cells)
        return len(line.cells) >= width and not any(line.cells[width:])

    @staticmethod
    def _share(answers: Iterable[bool]) -> float:
        found = list(answers)
        return sum(found) / len(found) if found else 1.0


# The header ---------------------------------------------------------------------------------------


def _header(lines: list[_Line]) -> int:
    """Find the header: the first row, unless there are surely titles above another."""
    width = _usual_width(lines)
    comments = next((at for at, line in enumerate(lines) if not line.is_comment), 0)
    if comments and len(lines[comments].cells) == width and lines[comments].is_header:
        return comments
    for at, line in enumerate(lines[: _TITLES_MOST + 1]):
        if len(line.cells) == width > 1 and not line.is_title and line.is_header:
            return at if at and _are_titles(lines, at) else 0
        if not line.is_title:
            return 0
    return 0


def _are_titles(lines: list[_Line], header: int) -> bool:
    """
    Tell whether what stands above a likely header is surely not the header itself.

    It is so when nothing stands between them, or when there are numbers below names.
    """
    above, line = lines[header - 1], lines[header]
    has_gap = line.row.line - above.row.line > 1 or any(
        not title.filled for title in lines[1:header]
    )
    return has_gap or any(
        _is_number(cell) and not _is_number(name)
        for below_it in lines[header + 1 :]
        for name, cell in zip(line.cells, below_it.cells, strict=False)
    )


def _usual_width(lines: Sequence[_Line]) -> int:
    counts = Counter(len(line.cells) for line in lines)
    return max(counts, key=lambda width: (counts[width], width))


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.match(cell.strip()))


def _is_value(cell: str) -> bool:
    return bool(_VALUE.match(cell)) or _is_number(cell)
