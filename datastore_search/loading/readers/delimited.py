"""
Reading a file of delimited cells.

DuckDB reads it, and the lines are counted: when each line of the file is in one of the rows,
nothing was passed over, and each row's line is the sum of those before it.  When that does not add
up, or DuckDB refuses, the file has blank lines, rows of other widths, quotation marks gone astray
or line ends of several kinds.  Then its rows are found one by one, what is wrong with some of them
is noted, and DuckDB reads the others from a copy that has each row's line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ...exceptions.loads import LoadFailed, UnknownDialect
from ...messages import BadRow, Notice
from ...table_limits import MAX_FIELDS
from .delimited_layout import Layout, find_layout
from .delimited_rows import Row, rows
from .delimited_encoding import as_utf8
from .headers import unique_names
from .options import ReadOptions
from .staging import ROW_ERRORS, STAGED_ROWS, StagedTable, StagingArea, literal

_BLOCK_BYTES = 2**20
#: DuckDB's own default, sixteen times the longest row, is more than its memory may be.
_ROW_BYTES_USUAL = 4 * 2**20
#: What DuckDB says of rows that it cannot read, or only one thread can.
_IRREGULAR = (duckdb.InvalidInputException, duckdb.NotImplementedException)
#: Terms of a sum in DuckDB's SQL, which goes only so deep.
_TERMS_MOST = 50
#: Numbers of cells whose fault is kept as it is written.
_WIDTHS_KEPT = 1_000
#: So many rows may be faulty, and any number as long as more are good.
_FAULTY_MOST = 1_000_000


def read_delimited(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a file of delimited cells.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    text = as_utf8(path, options, place)
    layout = find_layout(text.path, options)
    width = len(layout.header)
    if width > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=width, most=MAX_FIELDS)
    place.prepare_width(width)
    # DuckDB would take “*” or “[” in a file's name for a pattern, and “.gz” at its end for a gzip.
    source = place.folder / "source"
    source.symlink_to(text.path.resolve())
    try:
        if not _stage_as_it_is(source, layout, place):
            _stage_row_by_row(source, layout, place)
        width = _without_empty_columns(layout.header, place)
    except duckdb.OutOfMemoryException as error:
        raise LoadFailed("load.out_of_memory") from error
    header = tuple(cell.strip() for cell in layout.header[:width])
    return StagedTable(
        staging_area=place,
        names=unique_names(header),
        labels=header,
        declared_types=(None,) * width,
        notices=(*text.notices, *_notices(layout, width)),
    )


def _notices(layout: Layout, width: int) -> Iterator[Notice]:
    if layout.titled:
        yield Notice("notice.lines_above_header", line=layout.line)
    if width < len(layout.header):
        yield Notice("notice.empty_columns", count=len(layout.header) - width)


# As it is -----------------------------------------------------------------------------------------


def _stage_as_it_is(path: Path, layout: Layout, place: StagingArea) -> bool:
    """Let DuckDB read the file, and tell whether each of its lines is in one of the rows."""
    lines = _Lines.of(path, layout.dialect.quote.encode())
    width = len(layout.header)
    if lines.are_mixed or (width == 1 and lines.are_blank_at_end):
        return False
    columns = [f"f{position}" for position in range(width)]
    breaks = _breaks(columns, lines.ending) if lines.have_quotes else "0"
    try:
        place.connection.execute(
            f"CREATE TABLE {STAGED_ROWS} AS SELECT {_line(layout.below, breaks)} AS line, *"
            f" FROM {_relation(path, layout, columns)}"
        )
    except _IRREGULAR:
        return False
    last = place.connection.execute(
        f"SELECT line + 1 + {breaks} FROM {STAGED_ROWS} ORDER BY rowid DESC LIMIT 1"
    ).fetchone()
    if (last[0] if last else layout.below) == lines.count + 1:
        return True
    place.connection.execute(f"DROP TABLE {STAGED_ROWS}")
    return False


def _line(first: int, breaks: str) -> str:
    """Say in DuckDB's SQL on which line a row begins: it is streamed, row by row."""
    if breaks == "0":
        return f"{first - 1} + row_number() OVER ()"
    so_far = f"sum(1 + {breaks}) OVER (ROWS UNBOUNDED PRECEDING)"
    return f"CAST({first} + {so_far} - 1 - {breaks} AS BIGINT)"


def _breaks(columns: Sequence[str], ending: str) -> str:
    """Count the line breaks within the cells of a row."""
    terms = [
        f"coalesce(strlen({column}) - strlen(replace({column}, {ending}, '')), 0)"
        for column in columns
    ]
    sums = [
        f"({' + '.join(terms[start : start + _TERMS_MOST])})"
        for start in range(0, len(terms), _TERMS_MOST)
    ]
    return f"({' + '.join(sums)})"


def _relation(path: Path, layout: Layout, columns: Sequence[str]) -> str:
    typed = ", ".join(f"'{column}': 'VARCHAR'" for column in columns)
    return (
        f"read_csv({literal(str(path))}, skip = {layout.skipped}, columns = {{{typed}}},"
        f" new_line = {_ENDINGS[layout.ending]}, {_options(layout, _ROW_BYTES_USUAL)})"
    )


def _options(layout: Layout, row_bytes: int) -> str:
    dialect = layout.dialect
    return (
        "auto_detect = false, header = false, allow_quoted_nulls = false,"
        f" delim = {literal(dialect.delimiter)}, quote = {literal(dialect.quote)},"
        f" escape = {literal(dialect.escape)},"
        f" max_line_size = {row_bytes}, buffer_size = {2 * row_bytes},"
        f" parallel = {row_bytes <= _ROW_BYTES_USUAL}"
    )


_ENDINGS = {"\n": r"'\n'", "\r": r"'\r'", "\r\n": r"'\r\n'"}


@dataclass(frozen=True, slots=True)
class _Lines:
    """
    The lines of a file, counted as an editor does, without blank ones at its end.

    ``ending`` is the character that ends each, in DuckDB's SQL; if they ``are_mixed`` there is not
    one such character.
    """

    count: int
    ending: str
    are_mixed: bool
    are_blank_at_end: bool
    have_quotes: bool

    @classmethod
    def of(cls, path: Path, quote: bytes) -> _Lines:
        feeds = returns = both = blank = 0
        have_quotes = False
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                if block.endswith(b"\r"):
                    block += file.read(1)
                feeds += block.count(b"\n")
                returns += block.count(b"\r")
                both += block.count(b"\r\n")
                have_quotes = have_quotes or quote in block
                content = block.rstrip(b"\r\n")
                ends = _line_ends(block[len(content) :])
                blank = ends if content else blank + ends
        return cls(
            count=feeds + returns - both - blank + 1,
            ending="chr(10)" if feeds else "chr(13)",
            are_mixed=bool(feeds) and returns > both,
            are_blank_at_end=blank > 1,
            have_quotes=have_quotes,
        )


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


# Row by row ---------------------------------------------------------------------------------------


def _stage_row_by_row(path: Path, layout: Layout, place: StagingArea) -> None:
    """
    Find the rows, note what is wrong with some, and let DuckDB read the others.

    Raises: ``UnknownDialect``.
    """
    copy = _Copy(place.folder, layout)
    # In a file of one field a blank line is a record without a value.
    with_blank = len(layout.header) == 1
    with path.open("rb") as file, copy.opened():
        for row in rows(file, layout.dialect, layout.start, with_blank=with_blank):
            if row.line > layout.line:
                copy.take(row)
    columns = ["'line': 'BIGINT'", *(f"'f{at}': 'VARCHAR'" for at in range(len(layout.header)))]
    try:
        place.connection.execute(
            f"CREATE TABLE {STAGED_ROWS} AS FROM read_csv({literal(str(copy.rows))},"
            rf" columns = {{{', '.join(columns)}}}, new_line = '\n',"
            f" {_options(layout, max(_ROW_BYTES_USUAL, copy.longest))})"
        )
    except _IRREGULAR as error:
        raise UnknownDialect from error
    found = place.connection.execute(f"SELECT count(*) FROM {STAGED_ROWS}").fetchone()
    if found != (copy.count,):
        raise UnknownDialect
    place.connection.execute(
        f"INSERT INTO {ROW_ERRORS} SELECT line, '', '', kept FROM read_csv("
        f"{literal(str(copy.faults))}, auto_detect = false, header = false, delim = ',',"
        r""" quote = '"', escape = '"', new_line = '\n',"""
        " columns = {'line': 'BIGINT', 'kept': 'VARCHAR'})"
    )
    copy.rows.unlink()


def _written(fault: BadRow) -> bytes:
    """Write what is wrong with a row as a cell of CSV."""
    return b'"%b"' % json.dumps(fault.to_json(), ensure_ascii=False).replace('"', '""').encode()


class _Copy:
    """The good rows of a file, each behind its line, and what is wrong with the others."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.rows = folder / "rows"
        self.faults = folder / "faults"
        self.count = 0
        self.longest = 0
        self._width = len(layout.header)
        self._delimiter = layout.dialect.delimiter.encode()
        self._blanks = 0
        self._faulty = 0
        self._ragged: dict[int, bytes] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open the files to write to."""
        with self.rows.open("wb") as self._rows, self.faults.open("wb") as self._faults:
            yield

    def take(self, row: Row) -> None:
        """Keep a row, or what is wrong with it; a blank line is a row where rows have one cell."""
        if self._width == 1 and not row.text and not row.fault:
            self._blanks += 1
            return
        for line in range(row.line - self._blanks, row.line):
            self._write(line, b"")
        self._blanks = 0
        if row.fault:
            self._note(row, row.fault)
        elif row.cells == self._width:
            self._write(row.line, row.text)
        elif not row.is_blank:
            self._take_ragged(row)

    def _take_ragged(self, row: Row) -> None:
        """Keep a row that only has more delimiters at its end."""
        rest = self._delimiter * (row.cells - self._width)
        if rest and row.text.endswith(rest):
            self._write(row.line, row.text.removesuffix(rest))
        else:
            self._note_ragged(row)

    def _note(self, row: Row, fault: BadRow) -> None:
        self._note_written(row, _written(fault))

    def _note_ragged(self, row: Row) -> None:
        """Note that a row has too many cells or too few; there may be millions of such rows."""
        written = self._ragged.get(row.cells)
        if written is None:
            written = _written(BadRow("row.cell_count", cells=row.cells, header=self._width))
            if len(self._ragged) < _WIDTHS_KEPT:
                self._ragged[row.cells] = written
        self._note_written(row, written)

    def _note_written(self, row: Row, written: bytes) -> None:
        self._faults.write(b"%d,%b\n" % (row.line, written))
        self._faulty += 1
        if self._faulty > _FAULTY_MOST and self._faulty > self.count:
            raise UnknownDialect

    def _write(self, line: int, text: bytes) -> None:
        written = b"%d%b%b\n" % (line, self._delimiter, text)
        self._rows.write(written)
        self.longest = max(self.longest, len(written))
        self.count += 1


# Columns ------------------------------------------------------------------------------------------


def _without_empty_columns(header: Sequence[str], place: StagingArea) -> int:
    """Drop columns at the end that have neither name nor value, and tell how many are left."""
    width = len(header)
    named = max((at for at, name in enumerate(header, start=1) if name.strip()), default=1)
    if named == width:
        return width
    counts = ", ".join(f"count(nullif(f{at}, ''))" for at in range(named, width))
    found = place.connection.execute(f"SELECT {counts} FROM {STAGED_ROWS}").fetchone() or ()
    while width > named and not found[width - 1 - named]:
        width -= 1
        place.connection.execute(f"ALTER TABLE {STAGED_ROWS} DROP COLUMN f{width}")
    return width
