"""
Detect the dialect of a file and the line of its header, from its first lines.

Each possible dialect is scored by the table that it makes of these lines: whether the rows have the
cells of the header, whether all lines belong to the table, whether the cells look like values.
DuckDB's own sniffer skips lines until the rest fits, or takes a title for the header (decision
0015).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path

from ..messages import LoadFailed, Notice, UnknownDialect
from .delimited_rows import DelimitedRow, Dialect, LineStart, find_line_below, scan_rows
from .headers_and_footers import is_year
from .options import ReadOptions

_SAMPLE_BYTES = 2**20
_SAMPLE_ROWS = 500
_SAMPLE_CELLS = 20_000
_MAX_TITLES = 50
#: The share of rows that have the header's cells; with less, rows of one cell mean no delimiter.
_MIN_FIT = 0.3

_DELIMITERS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
#: A limit of DuckDB.
_MAX_DELIMITER_BYTES = 4
#: The delimiter of a file with one field: a character that hardly any file has.
_NO_DELIMITER = "\x1f"

#: How Excel declares the delimiter.
_SEPARATOR_LINE = re.compile(rb'"?sep=(?P<mark>[^"\r\n])"?[\r\n]', re.IGNORECASE)
_SEPARATOR_BYTES = 16

_SINGLE_QUOTES = re.compile(rb"(?:^|[,;\t|])'", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n|\n|\r")
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d%?\Z")
#: A cell with one value: no character that could be a delimiter.
_VALUE = re.compile(r"[^,;\t|]*\Z")


@dataclass(frozen=True, slots=True)
class Layout:
    """
    The layout of a file.

    ``header`` are the names as the file has them, ``below`` is the line after the header, and
    ``skipped`` the number of rows down to it, blank ones and itself included; without a header the
    names are empty, and ``below`` is the line of the first row.  Rows are scanned
    from ``start``.  ``ending`` is the end of a line.
    """

    dialect: Dialect
    header: tuple[str, ...]
    below: int
    skipped: int
    start: LineStart
    ending: str
    notices: tuple[Notice, ...]


def find_layout(path: Path, options: ReadOptions) -> Layout:
    """
    Detect the layout of a file in UTF-8, as far as the options leave it open.

    Raises: ``LoadFailed`` with ``file.empty``, ``UnknownDialect``, ``option.invalid_delimiter``,
    ``file.nothing_below_skipped``.
    """
    sample = _Sample.from_file(path, options)
    delimiters: tuple[str, ...] = (*_DELIMITERS, _NO_DELIMITER)
    if known := options.delimiter or sample.declared_delimiter:
        delimiter = _WORDS.get(known.strip().lower(), known)
        is_too_long = len(delimiter.encode()) > _MAX_DELIMITER_BYTES
        if is_too_long or re.search("[\"'\\\\\r\n\0]", delimiter):
            raise LoadFailed("option.invalid_delimiter", delimiter=known)
        delimiters = (delimiter,)
    # The possible dialects, the likely ones first.
    dialects = [Dialect(delimiter) for delimiter in delimiters]
    if b'\\"' in sample.text:
        dialects += [Dialect(delimiter, escape="\\") for delimiter in delimiters]
    if _SINGLE_QUOTES.search(sample.text):
        dialects += [Dialect(delimiter, "'", "'") for delimiter in delimiters]
    candidates = [each for each in map(partial(_Candidate.read, sample), dialects) if each]
    if candidates:
        return max(candidates, key=_Candidate.compute_score).build_layout()
    if sample.start.offset:
        raise LoadFailed("file.nothing_below_skipped", count=options.skip or 1)
    if sample.is_complete and not sample.text.strip():
        raise LoadFailed("file.empty")
    raise UnknownDialect


@dataclass(frozen=True, slots=True)
class _Sample:
    """The first lines of a file below the skipped ones; Excel's first line names a delimiter."""

    text: bytes
    start: LineStart
    is_complete: bool
    declared_delimiter: str
    options: ReadOptions

    @classmethod
    def from_file(cls, path: Path, options: ReadOptions) -> _Sample:
        with path.open("rb") as file:
            declared = _SEPARATOR_LINE.match(file.readline(_SEPARATOR_BYTES))
            start = find_line_below(file, options.skip or (1 if declared else 0))
            file.seek(start.offset)
            text = file.read(_SAMPLE_BYTES + 1)
        is_complete = len(text) <= _SAMPLE_BYTES
        if not is_complete:
            text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
        delimiter = declared["mark"].decode() if declared else ""
        return cls(text, start, is_complete, delimiter, options)


@dataclass(frozen=True, slots=True)
class _Line:
    """A row that is not blank, its position among all rows from 1, and its cells if it is good."""

    row: DelimitedRow
    position: int
    cells: tuple[str, ...]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)

    @property
    def is_prose(self) -> bool:
        """Whether each delimiter has a blank behind it, as a comma in a sentence has."""
        return all(cell[:1] == " " for cell in self.cells[1:])

    def is_title_of(self, width: int) -> bool:
        """Return whether it has at most half as many values as the table has columns."""
        return self.filled <= max(1, width // 2) or self.is_prose

    @property
    def is_header(self) -> bool:
        """Whether the cells could be names: none is empty, and no two are the same."""
        names = {cell.strip() for cell in self.cells}
        return len(names) == len(self.cells) and "" not in names and not _is_number(self.cells[0])


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A dialect, and the first rows of a file read in it."""

    sample: _Sample
    dialect: Dialect
    header: _Line
    titles: Sequence[_Line]
    body: Sequence[_Line]

    @classmethod
    def read(cls, sample: _Sample, dialect: Dialect) -> _Candidate | None:
        """Read the first lines in a dialect; None if they have no header."""
        lines, cells = [], 0
        rows = scan_rows(BytesIO(sample.text), dialect, is_complete=sample.is_complete)
        try:
            for position, row in islice(enumerate(rows, start=1), _SAMPLE_ROWS):
                if not row.is_blank:
                    parts = () if row.error else tuple(dialect.split_cells(row.text))
                    lines.append(_Line(row, position, parts))
                    cells += len(parts)
                if cells > _SAMPLE_CELLS:
                    break
        except UnknownDialect:
            return None
        is_sought = sample.options.skip is None and not sample.options.no_header
        start = _find_header(lines) if is_sought else 0
        if len(lines) <= start or not lines[start].cells:
            return None
        header = lines[start]
        if sample.options.no_header:
            header, start = replace(header, cells=("",) * _find_usual_width(lines)), -1
        return cls(sample, dialect, header, lines[: max(start, 0)], lines[start + 1 :])

    def compute_score(self) -> tuple[object, ...]:
        width, body = len(self.header.cells), self.body
        fit = _compute_share(
            len(line.cells) >= width and not any(line.cells[width:]) for line in body
        )
        values = _compute_share(
            bool(_VALUE.match(cell)) or _is_number(cell) for line in body for cell in line.cells
        )
        # Whether the delimiter is one, not a part of texts.
        has_fields = width > 1 and not (fit < _MIN_FIT and _find_usual_width(body) == 1)
        if has_fields and fit < 1:
            has_fields = not all(line.is_prose for line in (self.header, *body))
        return (
            has_fields,
            fit,
            -len(self.titles),
            # Apostrophes of a text are no quotation marks beside those of CSV.
            width > 1 or self.dialect.quote == '"' or b'"' not in self.sample.text,
            values,
            width,
            self.dialect.delimiter == _NO_DELIMITER,
        )

    def build_layout(self) -> Layout:
        start, header = self.sample.start, self.header
        text, above = header.row.text, start.line - 1
        has_header = not self.sample.options.no_header
        ending = _LINE_END.search(self.sample.text, self.sample.text.find(text) + len(text))
        line = above + header.row.line
        return Layout(
            dialect=self.dialect,
            header=header.cells,
            below=line + has_header * len(text.splitlines()),
            skipped=above + header.position - (not has_header),
            start=start,
            ending=ending[0].decode() if ending else "\n",
            notices=(Notice("notice.lines_above_header", line=line),) if self.titles else (),
        )


def _compute_share(answers: Iterable[bool]) -> float:
    found = list(answers)
    return sum(found) / len(found) if found else 1.0


def _find_header(lines: list[_Line]) -> int:
    """Find the header: the first row, unless another one clearly has titles above it."""
    if not lines:
        return 0
    width = _find_usual_width(lines)
    comments = next((at for at, line in enumerate(lines) if line.row.text[:1] != b"#"), 0)
    if comments and len(lines[comments].cells) == width and lines[comments].is_header:
        return comments
    for at, line in enumerate(lines[: _MAX_TITLES + 1]):
        if len(line.cells) == width > 1 and line.is_header and not line.is_title_of(width):
            return at if at and _are_titles(lines, at) else 0
        if line.filled >= width and not line.is_prose:
            return 0
    return 0


def _are_titles(lines: list[_Line], header: int) -> bool:
    """Return whether the lines above a likely header are clearly not the header."""
    above, line = lines[header - 1], lines[header]
    width, titles = len(line.cells), lines[:header]
    has_gap = line.row.line - above.row.line > 1 or any(not title.filled for title in titles[1:])
    has_numbers = any(
        _is_number(cell) and not _is_number(name)
        for below_it in lines[header + 1 :]
        for name, cell in zip(line.cells, below_it.cells, strict=False)
    )
    if not all(title.is_title_of(width) for title in titles):
        return has_gap and has_numbers
    # As in a sheet: most names are texts or years.
    has_names = not any(_is_number(cell) and not is_year(cell) for cell in line.cells)
    return has_gap or has_numbers or (has_names and max(each.filled for each in titles) > 1)


def _find_usual_width(lines: Sequence[_Line]) -> int:
    counts = Counter(len(line.cells) for line in lines)
    return max(counts, key=lambda width: (counts[width], width))


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.match(cell.strip()))
