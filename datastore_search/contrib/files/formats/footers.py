"""
Recognise notes, sources and totals below a table: its last rows, which have fewer cells.

They are left out by choice only.  Such a row stands below a blank line, is shorter than the header
where rows have lengths, or begins with a word for a total or a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb

from ..messages import Notice
from .duckdb_sql import SQL
from .options import SKIP_FOOTER, ReadOptions
from .staging import ROW_ERRORS, STAGED_ROWS, StagingArea, get_column

#: A footer has not more rows.
MAX_ROWS = 50
_MIN_WIDTH = 3

#: The first cell of totals, and of notes, in the languages of the package.
_WORDS = re.compile(
    r"((grand |sub-?)?totals?|total (general|général|geral)|sum|(gesamt)?summe|(ins)?gesamt"
    r"|ensemble|suma|soma|(ال)?مجموع|الإجمالي|tổng( số| cộng)?) ?:?"
    r"|(sources?|data sources?|quellen?|fuentes?|fontes?|(ال)?مصدر|nguồn|notes?|notas?"
    r"|hinweise?|anmerkung(en)?|ملاحظ(ة|ات)|ghi chú) ?[:：].*",
    re.IGNORECASE | re.DOTALL,
)


def describe_footer(lines: Sequence[int], options: ReadOptions) -> Iterator[Notice]:
    if lines:
        code = "notice.footer_skipped" if options.footer == SKIP_FOOTER else "notice.footer_found"
        yield Notice(code, count=len(lines), line=lines[0])


class LastRow(NamedTuple):
    """One of the last rows: its lines, its number of filled cells, and the first of these."""

    line: int
    end: int
    filled: int
    first: str = ""
    #: Whether it has fewer cells than the header.
    is_cut: bool = False


def find_footer(rows: Sequence[LastRow], width: int) -> list[int]:
    """Find the lines of the footer among the last rows of a table, of which it leaves the first."""
    start = len(rows)
    for position in range(len(rows) - 1, 0, -1):
        row, above = rows[position], rows[position - 1]
        is_marked = row.is_cut or bool(_WORDS.fullmatch(row.first.strip()))
        if not (is_marked or (width >= _MIN_WIDTH and 2 * row.filled <= width + 1)):
            break
        if is_marked or row.line > above.end + 1:
            start = position
    footer = [row.line for row in rows[start:]]
    return footer if len(footer) <= MAX_ROWS else []


def find_staged_footer(staging_area: StagingArea, width: int) -> list[int]:
    last = staging_area.fetch_value(SQL("SELECT max(rowid) FROM {}").format(STAGED_ROWS))
    if last is None:
        return []
    positions = range(max(0, last - MAX_ROWS), last + 1)
    try:
        staged = _fetch_rows(staging_area, width, positions[0], positions[-1])
    except duckdb.OutOfMemoryException:  # it holds the texts of all of them
        staged = [row for at in positions for row in _fetch_rows(staging_area, width, at, at)]
    cut: list[LastRow] = []
    if width >= _MIN_WIDTH:
        # Rows that are shorter than the header; the texts of bad rows are not staged.
        found = staging_area.execute(
            SQL(
                "SELECT line, CAST(error->>'$.parameters.cells' AS INTEGER) AS cells FROM {errors}"
                " WHERE line > {line} AND error->>'$.code' = 'row.cell_count' AND cells < {width}"
                " ORDER BY line DESC LIMIT {most}"
            ).format(errors=ROW_ERRORS, line=staged[0].line, width=width, most=MAX_ROWS + 1)
        ).fetchall()
        cut = [LastRow(line, line, cells, is_cut=True) for line, cells in found]
    return find_footer(sorted([*staged, *cut]), width)


def _fetch_rows(staging_area: StagingArea, width: int, first: int, last: int) -> list[LastRow]:
    found = staging_area.execute(
        SQL(
            "SELECT line,"
            r" line + len(regexp_extract_all(array_to_string(cells, ''), '\r\n|\r|\n')),"
            " len(cells), coalesce(cells[1][:100], '') FROM"
            " (SELECT line, list_filter([{}], lambda cell: cell <> '') AS cells"
            " FROM {} WHERE rowid BETWEEN {} AND {}) ORDER BY line"
        ).format(SQL(", ").join(map(get_column, range(width))), STAGED_ROWS, first, last)
    ).fetchall()
    return [LastRow(*row) for row in found]
