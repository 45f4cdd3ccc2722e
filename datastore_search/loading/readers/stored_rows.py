"""
How the rows of a file are stored in DuckDB: a column for each field, or a row for each cell.

DuckDB plans a statement by its columns, and holds 2,048 values of each: thousands of columns take
seconds and gigabytes, however few rows there are.  So a wide table is stored as cells, and a
statement on it has three columns, whatever its width (``docs/decisions/0050``).  All statements on
rows get their relations here; both forms give the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import duckdb

from .duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from .row_ranges import split_rows

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``; of a wide
#: table ``line BIGINT`` alone.  The process that loads a file may have a view of them.
STAGED_ROWS = quote_identifier("stage", "staged_rows")

#: The cells of a wide table, null where they are empty: ``line BIGINT, name VARCHAR, value
#: VARCHAR``; the names are those of columns.
STAGED_CELLS = quote_identifier("stage", "staged_cells")

_MAX_NARROW_FIELDS = 300

#: The line and the name of a cell, compressed, and the length of its value.
_CELL_BYTES = 16

#: Columns that are unpivoted together: DuckDB keeps 2,048 values of each in memory.
_COLUMNS_PER_STATEMENT = 200

_Execute = Callable[..., duckdb.DuckDBPyConnection]


def is_wide(width: int) -> bool:
    """Return whether a table of ``width`` fields is stored as cells."""
    return width > _MAX_NARROW_FIELDS


def count_cell_bytes(rows: int, width: int) -> int:
    """Count the bytes that the cells of a wide table take at least; 0 for a narrow table."""
    return rows * width * _CELL_BYTES if is_wide(width) else 0


def get_column(position: int) -> Composed:
    """Return the column of ``STAGED_ROWS`` for the field at a position."""
    return quote_identifier(f"f{position}")


def list_columns(start: int, stop: int) -> list[str]:
    """List the names of the columns from a position up to another, which is excluded."""
    return [f"f{position}" for position in range(start, stop)]


def quote_names(names: Sequence[str]) -> Composed:
    """Quote names of columns as a list: one literal, which DuckDB reads faster than thousands."""
    return SQL("string_split({}, ' ')").format(quote_literal(" ".join(names)))


class StoredRows(Protocol):
    """The rows of a file, in one of the forms."""

    is_wide: bool

    def create(self, width: int) -> None:
        """Create the tables for rows of ``width`` fields."""

    def add_columns(self, start: int, stop: int) -> None:
        """Add columns from a position up to another; the rows have no value there."""

    def reorder_columns(self, order: Sequence[int], width: int) -> None:
        """Keep the columns of ``width`` that are at the positions of ``order``, in this order."""

    def replace_by_null(self, columns: Sequence[str], texts: Sequence[str]) -> None:
        """Replace texts by null wherever they are the whole value."""

    def delete(self, condition: Composed) -> None:
        """Delete the rows whose ``line`` meets a condition."""

    def limit_memory(self, columns: Sequence[str], max_bytes: int) -> None:
        """Let statements hold at most ``max_bytes`` of neighbouring rows, or one row, at once."""

    def split_columns(self, columns: Sequence[str]) -> Iterator[Sequence[str]]:
        """Split columns into lists for ``select_cells`` whose cells DuckDB can hold."""

    def select_rows(self, columns: Sequence[str]) -> Composed:
        """Build a relation of all rows with some, few columns, and their ``line``."""

    def select_cells(
        self,
        columns: Sequence[str],
        relation: Composed = STAGED_ROWS,
        *,
        has_lines: bool = False,
    ) -> Composed:
        """
        Build a relation of the cells of some columns that are not null: ``name`` and ``value``.

        ``relation`` has some of ``STAGED_ROWS``; ``has_lines`` adds the ``line`` of each.
        """

    def select_filled(self, width: int, first: int, last: int) -> Composed:
        """
        Build a relation of the rows from one ``rowid`` to another: ``line``, and a list ``cells``.

        The list has the cells that are neither null nor empty.
        """

    def measure_longest(self, columns: Sequence[str]) -> list[int]:
        """Measure the longest value of each column, in bytes."""


class ColumnRows:
    """Rows with a column for each field."""

    is_wide = False

    def __init__(self, execute: _Execute) -> None:
        """Begin with a function that runs statements."""
        self._execute = execute
        #: The table; ``STAGED_ROWS`` may be a view of it.
        self._table = STAGED_ROWS

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

    def delete(self, condition: Composed) -> None:
        """Delete the rows whose ``line`` meets a condition."""
        self._execute(SQL("DELETE FROM {} WHERE line {}").format(self._table, condition))

    def limit_memory(self, columns: Sequence[str], max_bytes: int) -> None:
        """
        Let statements hold at most ``max_bytes`` of neighbouring rows, or one row, at once.

        Each part of a view of all rows is read by itself.
        """
        parts = split_rows(self._execute, STAGED_ROWS, columns, max_bytes)
        if len(parts) == 1:
            return
        self._table = quote_identifier("stage", "long_rows")
        self._execute(SQL("ALTER TABLE {} RENAME TO long_rows").format(STAGED_ROWS))
        selected = (
            SQL("SELECT rowid, * FROM {} WHERE {}").format(self._table, part.build_condition())
            for part in parts
        )
        self._execute(
            SQL("CREATE VIEW {} AS {}").format(STAGED_ROWS, SQL(" UNION ALL ").join(selected))
        )

    def split_columns(self, columns: Sequence[str]) -> Iterator[Sequence[str]]:
        """Split columns into lists for ``select_cells`` whose cells DuckDB can hold."""
        for start in range(0, len(columns), _COLUMNS_PER_STATEMENT):
            yield columns[start : start + _COLUMNS_PER_STATEMENT]

    def select_rows(self, columns: Sequence[str]) -> Composed:
        """Build a relation of all rows with some, few columns, and their ``line``."""
        return STAGED_ROWS

    def select_cells(
        self,
        columns: Sequence[str],
        relation: Composed = STAGED_ROWS,
        *,
        has_lines: bool = False,
    ) -> Composed:
        """
        Build a relation of the cells of some columns that are not null: ``name`` and ``value``.

        A statement on it has as many expressions for 200 columns as for one: DuckDB prepares each
        in 2 ms.
        """
        line = SQL("line, " if has_lines else "")
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

    def select_filled(self, width: int, first: int, last: int) -> Composed:
        """Build a relation of the rows from one ``rowid`` to another: ``line``, ``cells``."""
        return SQL(
            "(SELECT line, list_filter([{}], lambda cell: cell <> '') AS cells FROM {}"
            " WHERE rowid BETWEEN {} AND {})"
        ).format(
            SQL(", ").join(map(get_column, range(width))),
            STAGED_ROWS,
            quote_literal(first),
            quote_literal(last),
        )

    def measure_longest(self, columns: Sequence[str]) -> list[int]:
        """Measure the longest value of each column, in bytes."""
        lengths = (SQL("max(strlen({}))").format(quote_identifier(column)) for column in columns)
        query = SQL("SELECT {} FROM {}").format(SQL(", ").join(lengths), STAGED_ROWS)
        return [length or 0 for length in self._execute(query).fetchone() or ()]


class CellRows:
    """Rows of a wide table: a row of DuckDB's for each cell."""

    is_wide = True

    def __init__(self, execute: _Execute) -> None:
        """Begin with a function that runs statements."""
        self._execute = execute

    def create(self, width: int = 0) -> None:
        """Create the tables."""
        self._execute(SQL("CREATE TABLE {} (line BIGINT)").format(STAGED_ROWS))
        self._execute(
            SQL("CREATE TABLE {} (line BIGINT, name VARCHAR, value VARCHAR)").format(STAGED_CELLS)
        )

    def copy_columns(self, width: int) -> None:
        """Take the place of rows with columns."""
        rows = quote_identifier("stage", "column_rows")
        self._execute(SQL("ALTER TABLE {} RENAME TO column_rows").format(STAGED_ROWS))
        self.create()
        self._execute(SQL("INSERT INTO {} SELECT line FROM {}").format(STAGED_ROWS, rows))
        self._execute(
            SQL("INSERT INTO {} SELECT line, unnest({}), unnest([{}]) FROM {}").format(
                STAGED_CELLS,
                quote_names(list_columns(0, width)),
                SQL(", ").join(map(get_column, range(width))),
                rows,
            )
        )
        self._execute(SQL("DROP TABLE {}").format(rows))

    def add_columns(self, start: int, stop: int) -> None:
        """Add columns from a position up to another; the rows have no value there."""
        if start < stop:
            self._execute(
                SQL("INSERT INTO {} SELECT line, unnest({}), NULL FROM {}").format(
                    STAGED_CELLS, quote_names(list_columns(start, stop)), STAGED_ROWS
                )
            )

    def reorder_columns(self, order: Sequence[int], width: int) -> None:
        """Keep the columns of ``width`` that are at the positions of ``order``, in this order."""
        kept = [f"f{position}" for position in order]
        dropped = [f"f{position}" for position in {*range(width)} - {*order}]
        if dropped:
            self._execute(
                SQL("DELETE FROM {} WHERE name IN (SELECT unnest({}))").format(
                    STAGED_CELLS, quote_names(dropped)
                )
            )
        if kept != list_columns(0, len(kept)):
            self._execute(
                SQL(
                    "UPDATE {} AS cells SET name = new.name FROM (SELECT unnest({}) AS old_name,"
                    " unnest({}) AS name) AS new WHERE cells.name = old_name"
                ).format(STAGED_CELLS, quote_names(kept), quote_names(list_columns(0, len(kept))))
            )

    def replace_by_null(self, columns: Sequence[str], texts: Sequence[str]) -> None:
        """Replace texts by null wherever they are the whole value."""
        self._execute(
            SQL("UPDATE {} SET value = NULL WHERE value IN ({})").format(
                STAGED_CELLS, SQL(", ").join(map(quote_literal, texts))
            )
        )

    def delete(self, condition: Composed) -> None:
        """Delete the rows whose ``line`` meets a condition."""
        for relation in (STAGED_ROWS, STAGED_CELLS):
            self._execute(SQL("DELETE FROM {} WHERE line {}").format(relation, condition))

    def limit_memory(self, columns: Sequence[str], max_bytes: int) -> None:
        """Do nothing: neighbouring cells are those of few rows."""

    def split_columns(self, columns: Sequence[str]) -> Iterator[Sequence[str]]:
        """Split columns into lists for ``select_cells``: one list, if there are columns."""
        if columns:
            yield columns

    def select_rows(self, columns: Sequence[str]) -> Composed:
        """Build a relation of all rows with some, few columns, and their ``line``."""
        values = (
            SQL("max(value) FILTER (name = {}) AS {}").format(
                quote_literal(column), quote_identifier(column)
            )
            for column in columns
        )
        return SQL("(SELECT {} FROM {} WHERE {} GROUP BY line)").format(
            SQL(", ").join([SQL("line"), *values]), STAGED_CELLS, _is_in(columns)
        )

    def select_cells(
        self,
        columns: Sequence[str],
        relation: Composed = STAGED_ROWS,
        *,
        has_lines: bool = False,
    ) -> Composed:
        """Build a relation of the cells of some columns that are not null."""
        is_part = relation != STAGED_ROWS
        return SQL("(SELECT {}name, value FROM {} WHERE value IS NOT NULL AND {}{})").format(
            SQL("line, " if has_lines else ""),
            STAGED_CELLS,
            _is_in(columns),
            SQL(" AND line IN (SELECT line FROM {})" if is_part else "").format(relation),
        )

    def select_filled(self, width: int, first: int, last: int) -> Composed:
        """Build a relation of the rows from one ``rowid`` to another: ``line``, ``cells``."""
        return SQL(
            "(SELECT line, coalesce(list(value) FILTER (value <> ''), []) AS cells FROM {}"
            " WHERE line IN (SELECT line FROM {} WHERE rowid BETWEEN {} AND {}) GROUP BY line)"
        ).format(STAGED_CELLS, STAGED_ROWS, quote_literal(first), quote_literal(last))

    def measure_longest(self, columns: Sequence[str]) -> list[int]:
        """Measure the longest value of each column, in bytes."""
        query = SQL("SELECT name, max(strlen(value)) FROM {} GROUP BY name").format(STAGED_CELLS)
        lengths: dict[str, Any] = dict(self._execute(query).fetchall())
        return [lengths.get(column) or 0 for column in columns]


def _is_in(columns: Sequence[str]) -> Composed:
    """Build the condition that a cell is in one of some columns."""
    if len(columns) == 1:
        return SQL("name = {}").format(quote_literal(columns[0]))
    return SQL("name IN (SELECT unnest({}))").format(quote_names(columns))
