"""The rows of a file in DuckDB: a column for each field, and the relations that statements read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .duckdb_sql import SQL, Composed, quote_identifier, quote_literal

if TYPE_CHECKING:
    import duckdb

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``.  The
#: process that loads a file may have a view of them.
STAGED_ROWS = quote_identifier("stage", "staged_rows")

#: The rows whose values DuckDB reads, or writes, at once.
ROWS_AT_ONCE = 2_048

#: Columns that are unpivoted together: DuckDB keeps 2,048 values of each in memory.
_COLUMNS_PER_STATEMENT = 200

#: The cells of a table that are copied, so that they are unpivoted once.
_MAX_COPIED_CELLS = 1_000_000

#: The copied cells: ``line BIGINT, name VARCHAR, value VARCHAR``.
_CELLS = quote_identifier("temp", "cells")

#: More than any ``rowid``.
_END = 2**62

_Execute = Callable[..., "duckdb.DuckDBPyConnection"]


def get_column(position: int) -> Composed:
    """Return the column of ``STAGED_ROWS`` for the field at a position."""
    return quote_identifier(f"f{position}")


def list_columns(width: int) -> list[str]:
    """List the names of the columns for ``width`` fields."""
    return [f"f{position}" for position in range(width)]


class StoredRows:
    """The rows of a file, with a column for each field."""

    def __init__(self, execute: _Execute) -> None:
        """Begin with a function that runs statements."""
        self._execute = execute
        #: The table; ``STAGED_ROWS`` may be a view of it.
        self._table = STAGED_ROWS
        #: The columns whose cells ``_CELLS`` has: all, or none.
        self._copied = 0
        #: The bytes of each 2,048 rows, once they were measured.
        self._part_bytes: list[tuple[int, int]] | None = None

    def create(self, width: int) -> None:
        """Create the table for rows of ``width`` fields."""
        columns = [SQL("{} VARCHAR").format(get_column(position)) for position in range(width)]
        self._execute(
            SQL("CREATE TABLE {} ({})").format(
                STAGED_ROWS, SQL(", ").join([SQL("line BIGINT"), *columns])
            )
        )

    def add_columns(self, start: int, stop: int) -> None:
        """Add columns from a position up to another; the rows have no value there."""
        for position in range(start, stop):
            self._execute(
                SQL("ALTER TABLE {} ADD COLUMN {} VARCHAR").format(
                    STAGED_ROWS, get_column(position)
                )
            )

    def reorder_columns(self, order: Sequence[int], width: int) -> None:
        """Keep the columns of ``width`` that are at the positions of ``order``, in this order."""
        for position in range(width):
            change = SQL("RENAME {} TO {}" if position in order else "DROP {}").format(
                get_column(position), quote_identifier(f"old{position}")
            )
            self._execute(SQL("ALTER TABLE {} {}").format(STAGED_ROWS, change))
        for position, old_position in enumerate(order):
            self._execute(
                SQL("ALTER TABLE {} RENAME {} TO {}").format(
                    STAGED_ROWS, quote_identifier(f"old{old_position}"), get_column(position)
                )
            )

    def replace_by_null(self, columns: Sequence[str], texts: Sequence[str]) -> None:
        """
        Replace texts by null wherever they are the whole value.

        Only columns with such texts are rewritten: a view would compare every value each time that
        the rows are read, and a new table takes as long as reading the file.
        """
        listed = SQL(", ").join(map(quote_literal, texts))
        tests = (
            SQL("bool_or({} IN ({}))").format(quote_identifier(column), listed)
            for column in columns
        )
        query = SQL("SELECT {} FROM {}").format(SQL(", ").join(tests), STAGED_ROWS)
        have_texts = self._execute(query).fetchone() or ()
        for column, has_some in zip(columns, have_texts, strict=True):
            if has_some:
                self._execute(
                    SQL(
                        "ALTER TABLE {rows} ALTER {cell} TYPE VARCHAR"
                        " USING CASE WHEN {cell} IN ({texts}) THEN NULL ELSE {cell} END"
                    ).format(rows=self._table, cell=quote_identifier(column), texts=listed)
                )

    def replace(self, columns: Sequence[str], readings: Composed) -> None:
        """Replace the values of columns that a table has, each by its ``reading`` there."""
        for column in columns:
            self._execute(
                SQL("UPDATE {} SET {cell} = reading FROM {} WHERE {cell} = value").format(
                    self._table, readings, cell=quote_identifier(column)
                )
            )
            if self._copied:
                self._execute(
                    SQL(
                        "UPDATE {} AS cells SET value = reading FROM {} AS readings"
                        " WHERE name = {} AND cells.value = readings.value"
                    ).format(_CELLS, readings, quote_literal(column))
                )

    def delete(self, condition: Composed) -> None:
        """Delete the rows whose ``line`` meets a condition."""
        self._execute(SQL("DELETE FROM {} WHERE line {}").format(self._table, condition))

    def delete_empty(self, width: int) -> int:
        """Delete the rows of ``width`` fields without any value, and return their number."""
        is_empty = SQL(" AND ").join(
            [SQL("{} IS NULL").format(get_column(at)) for at in range(width)]
        )
        deleted = self._execute(SQL("DELETE FROM {} WHERE {}").format(self._table, is_empty))
        return int(deleted.fetchall()[0][0])

    def copy_cells(self, columns: Sequence[str], rows: int) -> None:
        """
        Copy the cells of a wide table of few ``rows``; ``columns`` are all, and stay as they are.

        DuckDB takes longer to prepare a statement over 200 columns than to read 200 rows of them.
        """
        self._copied = 0
        if len(columns) > _COLUMNS_PER_STATEMENT and rows * len(columns) <= _MAX_COPIED_CELLS:
            cells = self.select_cells(columns, has_lines=True)
            self._execute(SQL("CREATE OR REPLACE TEMP TABLE {} AS FROM {}").format(_CELLS, cells))
            self._copied = len(columns)

    def split_columns(self, columns: Sequence[str]) -> Iterator[Sequence[str]]:
        """Split columns into lists for ``select_cells`` whose cells DuckDB can hold."""
        most = self._copied or _COLUMNS_PER_STATEMENT
        for start in range(0, len(columns), most):
            yield columns[start : start + most]

    def limit_memory(self, columns: Sequence[str], max_bytes: int) -> None:
        """
        Let statements hold at most ``max_bytes`` of neighbouring rows, or one row, at once.

        Each range of a view of all rows is read by itself.
        """
        ranges = self.split(columns, max_bytes)
        if len(ranges) == 1:
            return
        self._table = quote_identifier("stage", "long_rows")
        self._execute(SQL("ALTER TABLE {} RENAME TO long_rows").format(STAGED_ROWS))
        parts = (
            SQL("SELECT rowid, * FROM {} WHERE {}").format(self._table, each) for each in ranges
        )
        self._execute(
            SQL("CREATE VIEW {} AS {}").format(STAGED_ROWS, SQL(" UNION ALL ").join(parts))
        )

    def split(self, columns: Sequence[str], max_bytes: int) -> list[Composed]:
        """
        Build conditions that split the rows into ranges of at most ``max_bytes``, or of one row.

        DuckDB reads 2,048 rows at once, and holds what a statement makes of them.  Where these have
        fewer bytes they are not split.  Most tables have one range.
        """
        size = SQL("coalesce(list_sum(list_transform([{}], lambda cell: strlen(cell))), 0)").format(
            SQL(", ").join(map(quote_identifier, columns))
        )
        if self._part_bytes is None:
            query = SQL("SELECT rowid // {}, CAST(sum({}) AS BIGINT) FROM {} GROUP BY 1 ORDER BY 1")
            self._part_bytes = self._execute(
                query.format(quote_literal(ROWS_AT_ONCE), size, STAGED_ROWS)
            ).fetchall()
        starts = [0]
        for part, part_bytes in self._part_bytes:
            if part_bytes > max_bytes:
                first = part * ROWS_AT_ONCE
                select = SQL("SELECT rowid, {} FROM {} WHERE {} ORDER BY rowid").format(
                    size, STAGED_ROWS, _select_range(first, first + ROWS_AT_ONCE)
                )
                total = max_bytes  # such a part begins a range
                for row, row_bytes in self._execute(select).fetchall():
                    total += row_bytes
                    if total > max_bytes:
                        starts.append(row)
                        total = row_bytes
        if len(starts) == 1:
            return [SQL("true")]
        return [_select_range(*each) for each in pairwise(sorted({*starts, _END}))]

    def select_cells(
        self,
        columns: Sequence[str],
        relation: Composed = STAGED_ROWS,
        *,
        has_lines: bool = False,
    ) -> Composed:
        """
        Build a relation of the cells of some columns that are not null: ``name`` and ``value``.

        ``relation`` has some of ``STAGED_ROWS``; ``has_lines`` adds the ``line`` of each.  A
        statement has as many expressions for 200 columns as for one: DuckDB prepares each in 2 ms.
        """
        line = SQL("line, " if has_lines else "")
        if self._copied:
            names = SQL(", ").join(map(quote_literal, columns))
            return SQL("(SELECT {line}name, value FROM {} SEMI JOIN {} USING (line){})").format(
                _CELLS,
                relation,
                SQL(" WHERE name IN ({})" if len(columns) < self._copied else "").format(names),
                line=line,
            )
        if len(columns) == 1:
            return SQL(
                "(SELECT {line}{} AS name, {cell} AS value FROM {} WHERE {cell} IS NOT NULL)"
            ).format(
                quote_literal(columns[0]), relation, line=line, cell=quote_identifier(columns[0])
            )
        return SQL(
            "(UNPIVOT (SELECT {line}{columns} FROM {relation})"
            " ON {columns} INTO NAME name VALUE value)"
        ).format(
            line=line,
            columns=SQL(", ").join(map(quote_identifier, columns)),
            relation=relation,
        )


def _select_range(start: int, stop: int) -> Composed:
    """Build the condition of the rows from a ``rowid`` up to another, which is excluded."""
    return SQL("rowid >= {} AND rowid < {}").format(quote_literal(start), quote_literal(stop))
