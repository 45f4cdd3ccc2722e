"""
Split the rows of a table of DuckDB's into ranges of limited bytes.

DuckDB reads 2,048 rows at once, and holds their values, however long these are.  A statement on
fewer rows reads only the values of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import duckdb

from .duckdb_sql import SQL, Composed, quote_identifier, quote_literal

_Execute = Callable[..., duckdb.DuckDBPyConnection]

#: The rows whose values DuckDB reads, or writes, at once.
ROWS_AT_ONCE = 2_048


class RowRange(NamedTuple):
    """The rows from a ``rowid`` up to another, which is excluded; None is the end of the table."""

    start: int
    stop: int | None = None

    def build_condition(self) -> Composed:
        """Build the condition of these rows."""
        if self.stop is None:
            return SQL("rowid >= {}").format(quote_literal(self.start)) if self.start else _ALL
        return SQL("rowid >= {} AND rowid < {}").format(
            quote_literal(self.start), quote_literal(self.stop)
        )


_ALL = SQL("true")


def split_rows(
    execute: _Execute, rows: Composed, columns: Sequence[str], max_bytes: int
) -> list[RowRange]:
    """
    Split all rows into ranges, each with values of at most ``max_bytes`` among 2,048 rows.

    A longer row is a range of its own.  Most tables have one range.
    """
    lengths = (SQL("coalesce(strlen({}), 0)").format(quote_identifier(each)) for each in columns)
    size = SQL(" + ").join(lengths)

    def measure_parts(start: int, stop: int) -> list[tuple[int, int]]:
        query = SQL("SELECT rowid // {}, sum({}) FROM {} WHERE {} GROUP BY 1")
        condition = RowRange(start, stop).build_condition()
        return execute(query.format(quote_literal(ROWS_AT_ONCE), size, rows, condition)).fetchall()

    def measure_rows(start: int, stop: int) -> list[tuple[int, int]]:
        query = SQL("SELECT rowid, {} FROM {} WHERE {} ORDER BY rowid")
        return execute(query.format(size, rows, RowRange(start, stop).build_condition())).fetchall()

    (last,) = execute(SQL("SELECT coalesce(max(rowid), 0) FROM {}").format(rows)).fetchone() or (0,)
    parts: Counter[int] = Counter()
    for part, part_bytes in _measure_in_halves(measure_parts, 0, last + 1):
        parts[part] += part_bytes
    starts = [0]
    for part in sorted(part for part, part_bytes in parts.items() if part_bytes > max_bytes):
        first = part * ROWS_AT_ONCE
        total = max_bytes  # such a part begins a range
        for row, row_bytes in _measure_in_halves(measure_rows, first, first + ROWS_AT_ONCE):
            total += row_bytes
            if total > max_bytes:
                if row:
                    starts.append(row)
                total = row_bytes
    return [RowRange(*each) for each in zip(starts, [*starts[1:], None], strict=True)]


def _measure_in_halves(
    measure: Callable[[int, int], list[tuple[int, int]]], start: int, stop: int
) -> list[tuple[int, int]]:
    """Measure a range of rows, in halves where DuckDB cannot hold the values of all."""
    try:
        return measure(start, stop)
    except duckdb.OutOfMemoryException:
        if stop - start == 1:
            raise
        middle = (start + stop) // 2
        return [
            *_measure_in_halves(measure, start, middle),
            *_measure_in_halves(measure, middle, stop),
        ]
