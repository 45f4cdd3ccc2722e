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
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import duckdb

from ..messages import BadRow, Notice, UnknownDialect
from .delimited_layout import Layout, find_layout
from .delimited_rows import scan_rows
from .duckdb_sql import SQL, Value, add_terms, quote_literal, read_csv
from .encodings import convert_to_utf8
from .headers_and_footers import describe_footer, find_staged_footer, make_unique_names
from .options import SKIP_FOOTER, ReadOptions
from .staging import ROW_ERRORS, STAGED_ROWS, StagedTable, StagingArea, get_column, list_columns

_BLOCK_BYTES = 2**20
#: DuckDB's own default, sixteen times the longest row, is more than its memory may be.
_USUAL_ROW_BYTES = 4 * 2**20
#: What DuckDB raises for rows that it cannot read, or only one thread can.
_IRREGULAR = (
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    duckdb.ConversionException,
)
#: More rows may be bad only while more are good.
_MAX_BAD_ROWS = 1_000_000


def read_delimited(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    text_path, notices = convert_to_utf8(path, options, staging_area.folder)
    layout = find_layout(text_path, options)
    width = len(layout.header)
    # DuckDB would take “*” or “[” in a file's name for a pattern, and “.gz” at its end for a gzip.
    source = staging_area.folder / "source"
    source.symlink_to(text_path.resolve())
    staging_area.allow_width(width)
    empty_rows = 0
    if not _stage_regular(source, layout, staging_area):
        empty_rows = _stage_row_by_row(source, layout, staging_area)
    if width > 1:  # in a file of one field such a row is a record without a value
        empty_rows += staging_area.rows.delete_empty(width)
    # Columns at the end that have neither name nor value are dropped.
    header = tuple(cell.strip() for cell in layout.header)
    named = max((at for at, name in enumerate(header, start=1) if name), default=1)
    if unnamed := [get_column(position) for position in range(named, width)]:
        counts = (SQL("count(nullif({}, ''))").format(column) for column in unnamed)
        filled = staging_area.execute("SELECT {} FROM {}", counts, STAGED_ROWS).fetchone() or ()
        kept = max((at for at, count in enumerate(filled, start=1) if count), default=0)
        for column in unnamed[kept:]:
            staging_area.execute("ALTER TABLE {} DROP COLUMN {}", STAGED_ROWS, column)
        width = named + kept
    dropped, header = len(header) - width, header[:width]
    footer = find_staged_footer(staging_area, width)
    if footer and options.footer == SKIP_FOOTER:
        below = SQL(">= {}").format(footer[0])
        staging_area.rows.delete(below)
        staging_area.execute("DELETE FROM {} WHERE line {}", ROW_ERRORS, below)
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


def _stage_regular(path: Path, layout: Layout, staging_area: StagingArea) -> bool:
    """Read the file by DuckDB, and return whether each of its lines is in one of the rows."""
    lines = _Lines.from_file(path, layout.dialect.quote.encode())
    width = len(layout.header)
    if lines.are_mixed or (width == 1 and lines.are_blank_at_end):
        return False
    source = read_csv(
        path,
        list_columns(width),
        **_build_options(layout, _USUAL_ROW_BYTES),
        skip=layout.skipped,
        new_line=layout.ending.replace("\r", r"\r").replace("\n", r"\n"),
    )
    first, breaks = quote_literal(layout.below), quote_literal(0)
    numberings = [(SQL("{} - 1 + row_number() OVER ()").format(first), breaks)]
    if lines.have_quotes:  # cells may have line breaks, which few files have
        ending = SQL("chr(10)" if lines.have_feeds else "chr(13)")
        count = SQL("coalesce(strlen({0}) - strlen(replace({0}, {1}, '')), 0)")
        breaks = add_terms([count.format(get_column(at), ending) for at in range(width)])
        line = SQL(
            "CAST({first} + sum(1 + {breaks}) OVER (ROWS UNBOUNDED PRECEDING) - 1 - {breaks}"
            " AS BIGINT)"
        ).format(first=first, breaks=breaks)
        numberings.append((line, breaks))
    create = "CREATE TABLE {} AS SELECT {} AS line, * FROM {}"
    last = "SELECT line + 1 + {} FROM {} ORDER BY rowid DESC LIMIT 1"
    for line, breaks in numberings:
        try:
            staging_area.execute(create, STAGED_ROWS, line, source)
        except _IRREGULAR:
            return False
        below = staging_area.fetch_value(last, breaks, STAGED_ROWS)
        if (below or layout.below) == lines.number + 1:
            return True
        staging_area.execute("DROP TABLE {}", STAGED_ROWS)
    return False


def _build_options(layout: Layout, row_bytes: int) -> dict[str, Value]:
    return {
        "delim": layout.dialect.delimiter,
        "quote": layout.dialect.quote,
        "escape": layout.dialect.escape,
        "max_line_size": row_bytes,
        "buffer_size": 2 * row_bytes,
        "parallel": row_bytes <= _USUAL_ROW_BYTES,
    }


class _Lines(NamedTuple):
    """The lines of a file, counted as an editor does, without blank ones at its end."""

    number: int
    have_feeds: bool
    are_mixed: bool
    are_blank_at_end: bool
    have_quotes: bool

    @classmethod
    def from_file(cls, path: Path, quote: bytes) -> _Lines:
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
        number = feeds + returns - both - blank + 1
        return cls(number, bool(feeds), bool(feeds) and returns > both, blank > 1, have_quotes)


def _stage_row_by_row(path: Path, layout: Layout, staging_area: StagingArea) -> int:
    """
    Let DuckDB read a copy of the good rows, each behind its line, and the errors of the others.

    Return the number of rows that have delimiters alone.
    """
    rows_path, errors_path = staging_area.folder / "rows", staging_area.folder / "errors"
    delimiter, width = layout.dialect.delimiter.encode(), len(layout.header)
    count = bad_rows = empty_rows = blank_rows = longest_bytes = 0
    with path.open("rb") as file, rows_path.open("wb") as rows, errors_path.open("wb") as errors:
        # In a file of one field a blank line is a record without a value, but not at the end.
        for row in scan_rows(file, layout.dialect, layout.start, with_blank=width == 1):
            if row.line < layout.below:
                continue
            if width == 1 and not row.text and not row.error:
                blank_rows += 1
                continue
            blank_lines = range(row.line - blank_rows, row.line)
            rows.writelines(b"%d%b\n" % (line, delimiter) for line in blank_lines)
            count, blank_rows = count + blank_rows, 0
            if row.cells != width and row.is_blank:
                continue
            # More delimiters at the end do no harm.
            text = row.text.removesuffix(delimiter * (row.cells - width))
            if row.cells == width or len(text) < len(row.text):
                written = b"%d%b%b\n" % (row.line, delimiter, text)
                rows.write(written)
                longest_bytes = max(longest_bytes, len(written))
                count += 1
            elif row.error or text.replace(delimiter, b""):
                quoted = _quote_error(row.error, row.cells, width)
                errors.write(b'%d,"%b"\n' % (row.line, quoted))
                bad_rows += 1
                if bad_rows > max(_MAX_BAD_ROWS, count):
                    raise UnknownDialect
            else:
                empty_rows += 1
    options = _build_options(layout, max(_USUAL_ROW_BYTES, longest_bytes))
    source = read_csv(rows_path, ["line", *list_columns(width)], **options)
    try:
        staging_area.execute("CREATE TABLE {} AS FROM {}", STAGED_ROWS, source)
    except _IRREGULAR as error:
        raise UnknownDialect from error
    if staging_area.fetch_value("SELECT count(*) FROM {}", STAGED_ROWS) != count:
        raise UnknownDialect
    insert = "INSERT INTO {} SELECT line, '', '', error FROM {}"
    staging_area.execute(insert, ROW_ERRORS, read_csv(errors_path, ["line", "error"]))
    rows_path.unlink()
    return empty_rows


@lru_cache(maxsize=1_000)  # there may be millions of such rows
def _quote_error(error: BadRow | None, cells: int, width: int) -> bytes:
    error = error or BadRow("row.cell_count", cells=cells, header=width)
    return json.dumps(error.to_json(), ensure_ascii=False).replace('"', '""').encode()
