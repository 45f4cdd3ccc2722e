"""
Read a file of delimited cells.

DuckDB reads it, and the lines are counted: when each line of the file is in one of the rows, DuckDB
has skipped nothing, and each row's line is the sum of those before it.  When the counts differ, or
DuckDB refuses the file, it has blank lines, rows of other widths, misplaced quotation marks or line
ends of several kinds.  Then the rows are found one by one, the errors of bad rows are noted, and
DuckDB reads the good rows from a copy that has each row's line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ....field_types import MAX_FIELDS
from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed, UnknownDialect
from .delimited_encoding import convert_to_utf8
from .delimited_layout import Layout, find_layout
from .delimited_rows import Row, scan_rows
from .duckdb_sql import SQL, Composed, Value, add_terms, quote_literal, read_csv
from .footers import delete_rows, describe_footer, find_staged_footer
from .header_rows import make_unique_names
from .options import SKIP_FOOTER, ReadOptions
from .staging import ROW_ERRORS, StagedTable, StagingArea
from .stored_rows import STAGED_ROWS, get_column, list_columns

_BLOCK_BYTES = 2**20
#: DuckDB's own default, sixteen times the longest row, is more than its memory may be.
_USUAL_ROW_BYTES = 4 * 2**20
#: What DuckDB raises for rows that it cannot read, or only one thread can.
_IRREGULAR = (
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    duckdb.ConversionException,
)
#: The errors of rows with too many or too few cells are written once for each number of cells.
_MAX_CACHED_WIDTHS = 1_000
#: More rows may be bad only while more are good.
_MAX_BAD_ROWS = 1_000_000

_NO_BREAKS = SQL("0")
_FEED, _RETURN = SQL("chr(10)"), SQL("chr(13)")


def read_delimited(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a file of delimited cells."""
    text_path, notices = convert_to_utf8(path, options, staging_area.folder)
    layout = find_layout(text_path, options)
    width = len(layout.header)
    if width > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=width, most=MAX_FIELDS)
    # DuckDB would take “*” or “[” in a file's name for a pattern, and “.gz” at its end for a gzip.
    source = staging_area.folder / "source"
    source.symlink_to(text_path.resolve())
    try:
        staging_area.allow_width(width)
        empty_rows = 0
        if not _stage_regular(source, layout, staging_area):
            empty_rows = _stage_row_by_row(source, layout, staging_area)
        if width > 1:  # in a file of one field such a row is a record without a value
            empty_rows += staging_area.rows.delete_empty(width)
        width = _drop_empty_columns(layout.header, staging_area)
        dropped = len(layout.header) - width
        footer = find_staged_footer(staging_area, width)
        if footer and options.footer == SKIP_FOOTER:
            delete_rows(staging_area, footer[0])
    except duckdb.OutOfMemoryException as error:
        raise LoadFailed("load.out_of_memory") from error
    header = tuple(cell.strip() for cell in layout.header[:width])
    return StagedTable(
        staging_area=staging_area,
        names=make_unique_names(header),
        labels=header,
        declared_types=(None,) * width,
        has_header=not options.no_header,
        notices=(
            *notices,
            *layout.notices,
            *([Notice("notice.empty_columns", count=dropped)] if dropped else []),
            *([Notice("notice.empty_rows", count=empty_rows)] if empty_rows else []),
            *describe_footer(footer, options),
        ),
    )


# A regular file -----------------------------------------------------------------------------------


def _stage_regular(path: Path, layout: Layout, staging_area: StagingArea) -> bool:
    """Read the file by DuckDB, and return whether each of its lines is in one of the rows."""
    lines = _Lines.count_in(path, layout.dialect.quote.encode())
    width = len(layout.header)
    if lines.are_mixed or (width == 1 and lines.are_blank_at_end):
        return False
    breaks = _count_breaks(width, lines.ending) if lines.have_quotes else _NO_BREAKS
    try:
        staging_area.execute(
            SQL("CREATE TABLE {} AS SELECT {} AS line, * FROM {}").format(
                STAGED_ROWS,
                _compute_line(layout.below, breaks),
                read_csv(
                    path,
                    list_columns(width),
                    **_build_options(layout, _USUAL_ROW_BYTES),
                    skip=layout.skipped,
                    new_line=layout.ending.replace("\r", r"\r").replace("\n", r"\n"),
                ),
            )
        )
    except _IRREGULAR:
        return False
    below = staging_area.fetch_value(
        SQL("SELECT line + 1 + {} FROM {} ORDER BY rowid DESC LIMIT 1").format(breaks, STAGED_ROWS)
    )
    if (below or layout.below) == lines.count + 1:
        return True
    staging_area.execute(SQL("DROP TABLE {}").format(STAGED_ROWS))
    return False


def _compute_line(first: int, breaks: Composed) -> Composed:
    """Build the expression of the line on which a row begins, which DuckDB streams."""
    if breaks == _NO_BREAKS:
        return SQL("{} + row_number() OVER ()").format(quote_literal(first - 1))
    return SQL(
        "CAST({first} + sum(1 + {breaks}) OVER (ROWS UNBOUNDED PRECEDING) - 1 - {breaks} AS BIGINT)"
    ).format(first=quote_literal(first), breaks=breaks)


def _count_breaks(width: int, ending: Composed) -> Composed:
    """Build the expression of the number of line breaks within the cells of a row."""
    count = SQL("coalesce(strlen({0}) - strlen(replace({0}, {1}, '')), 0)")
    return add_terms([count.format(get_column(position), ending) for position in range(width)])


def _build_options(layout: Layout, row_bytes: int) -> dict[str, Value]:
    return {
        "delim": layout.dialect.delimiter,
        "quote": layout.dialect.quote,
        "escape": layout.dialect.escape,
        "max_line_size": row_bytes,
        "buffer_size": 2 * row_bytes,
        "parallel": row_bytes <= _USUAL_ROW_BYTES,
    }


@dataclass(frozen=True, slots=True)
class _Lines:
    """
    The lines of a file, counted as an editor does, without blank ones at its end.

    ``ending`` is the expression of the character that ends each line, unless they ``are_mixed``.
    """

    count: int
    ending: Composed
    are_mixed: bool
    are_blank_at_end: bool
    have_quotes: bool

    @classmethod
    def count_in(cls, path: Path, quote: bytes) -> _Lines:
        """Count the lines of a file."""
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
                tail = block[len(content) :]
                ends = tail.count(b"\n") + tail.count(b"\r") - tail.count(b"\r\n")
                blank = ends if content else blank + ends
        return cls(
            count=feeds + returns - both - blank + 1,
            ending=_FEED if feeds else _RETURN,
            are_mixed=bool(feeds) and returns > both,
            are_blank_at_end=blank > 1,
            have_quotes=have_quotes,
        )


# Row by row ---------------------------------------------------------------------------------------


def _stage_row_by_row(path: Path, layout: Layout, staging_area: StagingArea) -> int:
    """
    Find the rows, note the errors of bad ones, and let DuckDB read the good ones.

    Return the number of shorter rows that have delimiters alone, which are left out.
    """
    copy = _Copy(staging_area.folder, layout)
    copy.add_rows(path)
    options = _build_options(layout, max(_USUAL_ROW_BYTES, copy.longest_bytes))
    rows = read_csv(copy.rows_path, ["line", *list_columns(len(layout.header))], **options)
    try:
        staging_area.execute(SQL("CREATE TABLE {} AS FROM {}").format(STAGED_ROWS, rows))
    except _IRREGULAR as error:
        raise UnknownDialect from error
    if staging_area.fetch_value(SQL("SELECT count(*) FROM {}").format(STAGED_ROWS)) != copy.count:
        raise UnknownDialect
    staging_area.execute(
        SQL("INSERT INTO {} SELECT line, '', '', error FROM {}").format(
            ROW_ERRORS, read_csv(copy.errors_path, ["line", "error"])
        )
    )
    copy.rows_path.unlink()
    return copy.empty_rows


def _format_error(error: BadRow) -> bytes:
    """Write an error as a cell of CSV."""
    return b'"%b"' % json.dumps(error.to_json(), ensure_ascii=False).replace('"', '""').encode()


class _Copy:
    """The good rows of a file, each behind its line, and the errors of the others."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.rows_path = folder / "rows"
        self.errors_path = folder / "errors"
        self.count = 0
        self.longest_bytes = 0
        self.empty_rows = 0
        self._layout = layout
        self._width = len(layout.header)
        self._delimiter = layout.dialect.delimiter.encode()
        self._blank_rows = 0
        self._bad_rows = 0
        self._width_errors: dict[int, bytes] = {}

    def add_rows(self, path: Path) -> None:
        """Write all rows of the file."""
        layout = self._layout
        # In a file of one field a blank line is a record without a value.
        with_blank = self._width == 1
        with (
            path.open("rb") as file,
            self.rows_path.open("wb") as self._rows,
            self.errors_path.open("wb") as self._errors,
        ):
            for row in scan_rows(file, layout.dialect, layout.start, with_blank=with_blank):
                if row.line >= layout.below:
                    self._add_row(row)

    def _add_row(self, row: Row) -> None:
        """Write a row, or its error; a blank line is a row where rows have one cell."""
        if self._width == 1 and not row.text and not row.error:
            self._blank_rows += 1
            return
        for line in range(row.line - self._blank_rows, row.line):
            self._write_row(line, b"")
        self._blank_rows = 0
        if row.error:
            self._write_error(row.line, _format_error(row.error))
        elif row.cells == self._width:
            self._write_row(row.line, row.text)
        elif not row.is_blank:
            self._add_ragged_row(row)

    def _add_ragged_row(self, row: Row) -> None:
        """Write a row that only has more delimiters at its end, or its error."""
        rest = self._delimiter * (row.cells - self._width)
        if rest and row.text.endswith(rest):
            self._write_row(row.line, row.text.removesuffix(rest))
            return
        if not row.text.replace(self._delimiter, b""):
            self.empty_rows += 1
            return
        error = self._width_errors.get(row.cells)
        if error is None:  # there may be millions of such rows
            error = _format_error(BadRow("row.cell_count", cells=row.cells, header=self._width))
            if len(self._width_errors) < _MAX_CACHED_WIDTHS:
                self._width_errors[row.cells] = error
        self._write_error(row.line, error)

    def _write_error(self, line: int, error: bytes) -> None:
        self._errors.write(b"%d,%b\n" % (line, error))
        self._bad_rows += 1
        if self._bad_rows > _MAX_BAD_ROWS and self._bad_rows > self.count:
            raise UnknownDialect

    def _write_row(self, line: int, text: bytes) -> None:
        written = b"%d%b%b\n" % (line, self._delimiter, text)
        self._rows.write(written)
        self.longest_bytes = max(self.longest_bytes, len(written))
        self.count += 1


# Columns ------------------------------------------------------------------------------------------


def _drop_empty_columns(header: Sequence[str], staging_area: StagingArea) -> int:
    """Drop columns at the end that have neither name nor value, and return the new width."""
    width = len(header)
    named = max((at for at, name in enumerate(header, start=1) if name.strip()), default=1)
    if named == width:
        return width
    counts = SQL(", ").join(
        SQL("count(nullif({}, ''))").format(get_column(position))
        for position in range(named, width)
    )
    query = SQL("SELECT {} FROM {}").format(counts, STAGED_ROWS)
    found = staging_area.execute(query).fetchone() or ()
    while width > named and not found[width - 1 - named]:
        width -= 1
        staging_area.execute(
            SQL("ALTER TABLE {} DROP COLUMN {}").format(STAGED_ROWS, get_column(width))
        )
    return width
