"""
The staging area: a folder with a DuckDB database, in which a file becomes a table of texts.

``StagingArea`` is the database, ``StoredRows`` the rows in it and the relations that statements
read, ``StagedTable`` what is known of a file that has been read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ....conf import conf as core_conf
from ....field_types import MAX_FIELDS, NUMERIC, TEXT, field_types
from ..conf import conf
from ..messages import BadRow, LoadFailed, Message, Notice
from ..sources.limits import ReadingLimits
from .duckdb_sql import SQL, Composed, Part, quote_identifier, quote_literal

if TYPE_CHECKING:
    import duckdb

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``.  The
#: process that loads a file may have a view of them.
STAGED_ROWS = quote_identifier("stage", "staged_rows")

#: What is wrong with the other rows: see ``StagingArea``.
ROW_ERRORS = quote_identifier("stage", "row_errors")

_DATABASE = quote_identifier("stage")

#: The memory of each field of a wider table: in each step of a statement DuckDB has 2,048 values.
_MAX_NARROW_FIELDS = 300
_FIELD_BYTES = 320 * 2**10

#: The characters of a value that its error shows.
MAX_SHOWN_LENGTH = 100

#: The rows of a part that is examined before all rows; the cells of such a part of a wide table.
_MAX_SAMPLE_ROWS = 20_000
_MAX_SAMPLE_CELLS = 100_000

#: The rows whose values DuckDB reads, or writes, at once.
ROWS_AT_ONCE = 2_048

#: Columns that are unpivoted together: DuckDB keeps 2,048 values of each in memory.
_COLUMNS_PER_STATEMENT = 200

#: The cells of a table that are copied, so that they are unpivoted once.
_MAX_COPIED_CELLS = 1_000_000

#: The copied cells: ``line BIGINT, name VARCHAR, value VARCHAR``.
_CELLS = quote_identifier("temp", "cells")

#: A thread reads a group of rows at a time, and DuckDB's own groups have 122,880.
_ROW_GROUP_ROWS = 20_480

#: The rows from a ``rowid`` up to another, which is excluded, and more than any.
_RANGE, _END = SQL("rowid >= {} AND rowid < {}"), 2**62


def get_column(position: int) -> Composed:
    return quote_identifier(f"f{position}")


def list_columns(width: int) -> list[str]:
    return [f"f{position}" for position in range(width)]


def check_field_count(count: int) -> None:
    """Raise ``LoadFailed`` with ``file.too_many_fields`` if a resource cannot have as many."""
    if count > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=count, most=MAX_FIELDS)


@dataclass(slots=True)
class StagingArea:
    """
    A folder, and a DuckDB database in it.

    The database has ``rows``, and ``ROW_ERRORS (line BIGINT, field VARCHAR, value VARCHAR, error
    VARCHAR)``: ``error`` is the JSON text of a ``BadRow``; ``field`` and ``value`` are empty where
    the error concerns the whole row.  ``limits`` apply to the process that reads the file.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path
    limits: ReadingLimits = field(default_factory=ReadingLimits)
    rows: StoredRows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = StoredRows(self.execute)

    def execute(
        self, query: str, *parts: Part, parameters: Sequence[Any] = (), **named: Part
    ) -> duckdb.DuckDBPyConnection:
        """
        Run a statement of DuckDB's: a template, which is filled in as by ``SQL.format``.

        ``parameters`` are the values of its ``?``.
        """
        statement = SQL(query).format(*parts, **named)
        return self.connection.execute(statement.text, list(parameters))

    def fetch_value(self, query: str, *parts: Part) -> Any:
        """Return the value that a statement of DuckDB's finds; None without a row."""
        row = self.execute(query, *parts).fetchone()
        return row[0] if row else None

    def allow_width(self, width: int) -> None:
        """
        Let DuckDB hold 2,048 rows of a wide table in each step of a statement, by one thread.

        Raises: ``LoadFailed`` with ``file.too_many_fields``.
        """
        check_field_count(width)
        if width > _MAX_NARROW_FIELDS:
            memory_bytes = max(core_conf.LOAD_MEMORY_BYTES, width * _FIELD_BYTES)
            self.limits.extend_memory(memory_bytes - core_conf.LOAD_MEMORY_BYTES)
            self.execute("SET threads = 1; SET memory_limit = {}", f"{memory_bytes}B")

    def restrict(self, path: Path) -> None:
        """Let DuckDB open only this file and the files of the folder, whatever a file says."""
        allow = "SET allowed_paths = [{}]; SET allowed_directories = [{}]"
        self.execute(allow, str(path), f"{self.folder}/")
        self.execute("SET enable_external_access = false")

    def open(self, width: int) -> None:
        """Open the database of a table of ``width`` fields, which another process has made."""
        self.attach()
        self.allow_width(width)
        # Attached files and files in temp_directory may still be used.
        self.execute("SET enable_external_access = false; SET lock_configuration = true")

    def attach(self) -> None:
        """Attach the database, which is made if there is none."""
        attach = "ATTACH {0} AS {1} (ROW_GROUP_SIZE {2}); USE {1}"
        self.execute(attach, str(self.folder / "staged.duckdb"), _DATABASE, _ROW_GROUP_ROWS)


class StoredRows:
    """The rows of a file, with a column for each field; ``execute`` runs statements."""

    def __init__(self, execute: Callable[..., duckdb.DuckDBPyConnection]) -> None:
        self._execute = execute
        #: The table; ``STAGED_ROWS`` may be a view of it.
        self._table = STAGED_ROWS
        #: The columns whose cells ``_CELLS`` has: all, or none.
        self._copied = 0
        #: The bytes of each 2,048 rows, once they were measured.
        self._part_bytes: list[tuple[int, int]] | None = None

    def create(self, width: int) -> None:
        columns = [SQL("{} VARCHAR").format(get_column(position)) for position in range(width)]
        self._execute("CREATE TABLE {} ({})", STAGED_ROWS, [SQL("line BIGINT"), *columns])

    def add_columns(self, start: int, stop: int) -> None:
        """Add columns from a position up to another; the rows have no value there."""
        for position in range(start, stop):
            self._execute("ALTER TABLE {} ADD COLUMN {} VARCHAR", STAGED_ROWS, get_column(position))

    def reorder_columns(self, order: Sequence[int], width: int) -> None:
        """Keep the columns of ``width`` that are at the positions of ``order``, in this order."""
        rename = "ALTER TABLE {} RENAME {} TO {}"
        old = [quote_identifier(f"old{position}") for position in range(width)]
        for position in range(width):
            change = rename if position in order else "ALTER TABLE {} DROP {}"
            self._execute(change, STAGED_ROWS, get_column(position), old[position])
        for position, old_position in enumerate(order):
            self._execute(rename, STAGED_ROWS, old[old_position], get_column(position))

    def replace_by_null(self, columns: Sequence[str], texts: Sequence[str]) -> None:
        """
        Replace texts by null wherever they are the whole value.

        Only columns with such texts are rewritten: a view would compare every value each time that
        the rows are read, and a new table takes as long as reading the file.
        """
        cells = [quote_identifier(column) for column in columns]
        tests = (SQL("bool_or({} IN ({}))").format(cell, texts) for cell in cells)
        found = self._execute("SELECT {} FROM {}", tests, STAGED_ROWS).fetchone()
        change = (
            "ALTER TABLE {0} ALTER {1} TYPE VARCHAR"
            " USING CASE WHEN {1} IN ({2}) THEN NULL ELSE {1} END"
        )
        for cell, has_some in zip(cells, found or (), strict=True):
            if has_some:
                self._execute(change, self._table, cell, texts)

    def replace(self, columns: Sequence[str], readings: Composed) -> None:
        """Replace the values of columns that a table has, each by its ``reading`` there."""
        update = "UPDATE {0} SET {1} = reading FROM {2} WHERE {1} = value"
        update_copy = (
            "UPDATE {} AS cells SET value = reading FROM {} AS readings"
            " WHERE name = {} AND cells.value = readings.value"
        )
        for column in columns:
            self._execute(update, self._table, quote_identifier(column), readings)
            if self._copied:
                self._execute(update_copy, _CELLS, readings, column)

    def delete(self, condition: Composed) -> None:
        self._execute("DELETE FROM {} WHERE line {}", self._table, condition)

    def delete_empty(self, width: int) -> int:
        """Delete the rows of ``width`` fields without any value, and return their number."""
        is_empty = SQL(" AND ").join(
            SQL("{} IS NULL").format(get_column(at)) for at in range(width)
        )
        deleted = self._execute("DELETE FROM {} WHERE {}", self._table, is_empty)
        return int(deleted.fetchall()[0][0])

    def copy_cells(self, columns: Sequence[str], rows: int) -> None:
        """
        Copy the cells of a wide table of few ``rows``; ``columns`` are all, and stay as they are.

        DuckDB takes longer to prepare a statement over 200 columns than to read 200 rows of them.
        """
        self._copied = 0
        if len(columns) > _COLUMNS_PER_STATEMENT and rows * len(columns) <= _MAX_COPIED_CELLS:
            cells = self.select_cells(columns, has_lines=True)
            self._execute("CREATE OR REPLACE TEMP TABLE {} AS FROM {}", _CELLS, cells)
            self._copied = len(columns)

    def split_columns(self, columns: Sequence[str]) -> Iterator[Sequence[str]]:
        """Split columns into lists for ``select_cells`` whose cells DuckDB can hold."""
        most = self._copied or _COLUMNS_PER_STATEMENT
        for start in range(0, len(columns), most):
            yield columns[start : start + most]

    def limit_memory(self, columns: Sequence[str], max_bytes: int) -> None:
        """Let statements hold at most ``max_bytes`` of neighbouring rows, or one row, at once."""
        ranges = self.split(columns, max_bytes)
        if len(ranges) == 1:
            return
        # Each range of a view of all rows is read by itself.
        self._table = quote_identifier("stage", "long_rows")
        self._execute("ALTER TABLE {} RENAME TO long_rows", STAGED_ROWS)
        parts = (
            SQL("SELECT rowid, * FROM {} WHERE {}").format(self._table, each) for each in ranges
        )
        self._execute("CREATE VIEW {} AS {}", STAGED_ROWS, SQL(" UNION ALL ").join(parts))

    def split(self, columns: Sequence[str], max_bytes: int) -> list[Composed]:
        """
        Build conditions that split the rows into ranges of at most ``max_bytes``, or of one row.

        DuckDB reads 2,048 rows at once, and holds what a statement makes of them.  Where these have
        fewer bytes they are not split.  Most tables have one range.
        """
        size = SQL("coalesce(list_sum(list_transform([{}], lambda cell: strlen(cell))), 0)").format(
            map(quote_identifier, columns)
        )
        if self._part_bytes is None:
            query = "SELECT rowid // {}, CAST(sum({}) AS BIGINT) FROM {} GROUP BY 1 ORDER BY 1"
            self._part_bytes = self._execute(query, ROWS_AT_ONCE, size, STAGED_ROWS).fetchall()
        starts = [0]
        for part, part_bytes in self._part_bytes:
            if part_bytes > max_bytes:
                select = "SELECT rowid, {} FROM {} WHERE {} ORDER BY rowid"
                rows = _RANGE.format(part * ROWS_AT_ONCE, (part + 1) * ROWS_AT_ONCE)
                total = max_bytes  # such a part begins a range
                for row, row_bytes in self._execute(select, size, STAGED_ROWS, rows).fetchall():
                    total += row_bytes
                    if total > max_bytes:
                        starts.append(row)
                        total = row_bytes
        if len(starts) == 1:
            return [SQL("true")]
        return [_RANGE.format(*each) for each in pairwise(sorted({*starts, _END}))]

    def select_cells(
        self, columns: Sequence[str], relation: Composed = STAGED_ROWS, *, has_lines: bool = False
    ) -> Composed:
        """
        Build a relation of the cells of some columns that are not null: ``name`` and ``value``.

        ``relation`` has some of ``STAGED_ROWS``; ``has_lines`` adds the ``line`` of each.  A
        statement has as many expressions for 200 columns as for one: DuckDB prepares each in 2 ms.
        """
        line = SQL("line, " if has_lines else "")
        if self._copied:
            named = SQL(" WHERE name IN ({})" if len(columns) < self._copied else "").format(
                columns
            )
            return SQL("(SELECT {}name, value FROM {} SEMI JOIN {} USING (line){})").format(
                line, _CELLS, relation, named
            )
        if len(columns) == 1:
            return SQL(
                "(SELECT {line}{} AS name, {cell} AS value FROM {} WHERE {cell} IS NOT NULL)"
            ).format(columns[0], relation, line=line, cell=quote_identifier(columns[0]))
        return SQL("(UNPIVOT (SELECT {0}{1} FROM {2}) ON {1} INTO NAME name VALUE value)").format(
            line, map(quote_identifier, columns), relation
        )


@dataclass(frozen=True, slots=True)
class StagedTable:
    """
    A file that has been read.

    ``STAGED_ROWS`` has its rows in the order of the file: the line (the row of a sheet, the
    position in a list), counted from 1, and the columns ``f0``, ``f1``, …, all texts, null where
    the cell is empty.  Rows that do not have the file's shape are in ``ROW_ERRORS`` only.
    ``names`` are the names of the fields, unique, and ``labels`` the texts of the header.
    ``declared_types`` are the types that the file itself gives its fields (names of
    ``field_types``), None where it has only texts; a field that the file declares as ``text`` never
    becomes a number.  ``has_header`` says that the names were read from the first row of cells.
    """

    staging_area: StagingArea
    names: tuple[str, ...]
    labels: tuple[str, ...]
    declared_types: tuple[str | None, ...]
    notices: tuple[Notice, ...] = ()
    has_header: bool = False

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self.staging_area.connection

    @property
    def columns(self) -> list[str]:
        return list_columns(len(self.names))

    @property
    def rows(self) -> StoredRows:
        return self.staging_area.rows

    @property
    def is_wide(self) -> bool:
        """Whether it has too many columns for an expression of each: rows are rendered in lists."""
        return len(self.names) > _MAX_NARROW_FIELDS

    @property
    def sample_size(self) -> int:
        return _MAX_SAMPLE_CELLS // len(self.names) if self.is_wide else _MAX_SAMPLE_ROWS

    def execute(self, query: str, *parts: Part, **more: Any) -> duckdb.DuckDBPyConnection:
        return self.staging_area.execute(query, *parts, **more)

    def get_name(self, column: str) -> str:
        return self.names[int(column[1:])]

    def record_errors(self, columns: Sequence[str], condition: Composed, error: BadRow) -> None:
        """Record a row error for each cell of a few columns that meets a condition on ``value``."""
        self.execute(
            "INSERT INTO {} SELECT line, field, replace(value[:{}], chr(0), '�'), {} FROM {}"
            " JOIN (SELECT unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS field)"
            " USING (name) WHERE {}",
            ROW_ERRORS,
            MAX_SHOWN_LENGTH,
            quote_message(error),
            self.rows.select_cells(columns, has_lines=True),
            condition,
            parameters=[list(columns), list(map(self.get_name, columns))],
        )

    def measure_longest_values(self) -> list[int]:
        lengths = (SQL("max(strlen({}))").format(quote_identifier(name)) for name in self.columns)
        found = self.execute("SELECT {} FROM {}", lengths, STAGED_ROWS).fetchone()
        return [length or 0 for length in found or ()]

    def count_rows(self) -> int:
        return int(self.staging_area.fetch_value("SELECT count(*) FROM {}", STAGED_ROWS))

    def count_row_errors(self) -> int:
        """Count the errors of all rows; a row may have several."""
        return int(self.staging_area.fetch_value("SELECT count(*) FROM {}", ROW_ERRORS))

    def count_bad_rows(self) -> int:
        return int(self.staging_area.fetch_value("SELECT count(DISTINCT line) FROM {}", ROW_ERRORS))


class Interrupter:
    """
    Ends the work of another thread: its statements of DuckDB at once, the rest at its next check.

    ``failure`` is why the work is to end, None while it may go on.
    """

    def __init__(self) -> None:
        self.failure: LoadFailed | None = None
        self._connections: list[duckdb.DuckDBPyConnection] = []
        self._lock = Lock()

    def raise_if_cancelled(self) -> None:
        if self.failure:
            raise self.failure

    def interrupt_queries(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.interrupt()

    @contextmanager
    def register_connection(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Make a connection interruptible by ``interrupt_queries`` during this block."""
        self._connections.append(connection)
        try:
            yield
        finally:
            with self._lock:  # a connection that is being closed must not be interrupted
                self._connections.remove(connection)


@contextmanager
def create_staging_area(folder: Path, limits: ReadingLimits | None = None) -> Iterator[StagingArea]:
    """Create a staging area in a folder; its file is complete after the block."""
    with _connect(folder) as connection:
        staging_area = StagingArea(connection, folder, limits or ReadingLimits())
        try:
            staging_area.attach()
            columns = SQL("line BIGINT, field VARCHAR, value VARCHAR, error VARCHAR")
            staging_area.execute("CREATE TABLE {} ({})", ROW_ERRORS, columns)
            yield staging_area
            staging_area.execute("CHECKPOINT {0}; USE memory; DETACH {0}", _DATABASE)
        except BaseException:
            # Without any memory, DuckDB breaks down when its connection is closed.
            staging_area.limits.extend_memory(core_conf.LOAD_MEMORY_BYTES)
            raise


@contextmanager
def open_staging_area(folder: Path, width: int, interrupter: Interrupter) -> Iterator[StagingArea]:
    """Open the staging area that another process has created, for a table of ``width`` fields."""
    with _connect(folder) as connection, interrupter.register_connection(connection):
        staging_area = StagingArea(connection, folder)
        staging_area.open(width)
        yield staging_area


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Start DuckDB with limits that a file must not exceed."""
    import duckdb  # noqa: PLC0415 - 28 MB and 0.2 s, which no web process needs

    config: dict[str, Any] = {
        "memory_limit": f"{core_conf.LOAD_MEMORY_BYTES}B",
        "temp_directory": str(folder),
        "max_temp_directory_size": f"{conf.MAX_UNPACKED_BYTES}B",
        "threads": "2",
        "async_threads": "2",  # not four for each core that read files, each with a stack
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=config)
    # Compressing texts takes longer than reading the file.
    methods = "zstd,fsst,dict_fsst,dictionary"
    connection.execute(f"SET disabled_compression_methods = '{methods}'; SET TimeZone = 'UTC'")
    return connection


def find_number_types(
    staging_area: StagingArea, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    """Find the narrowest type that holds all digits of each column of numbers, by its position."""
    integers = [kind for kind in field_types.values() if kind.is_integer and kind.holds]
    holds = [
        SQL(
            "bool_and(regexp_full_match(value, '-?[0-9]+') AND try_cast(value AS {}) IS NOT NULL)"
        ).format(SQL(kind.duckdb_type))
        for kind in integers
    ]
    types = dict.fromkeys(columns, NUMERIC.name)
    query = "SELECT CAST(name[2:] AS INTEGER), {} FROM {} WHERE value NOT IN ({}) GROUP BY name"
    for some in staging_area.rows.split_columns([f"f{column}" for column in columns]):
        cells = staging_area.rows.select_cells(some)
        found = staging_area.execute(query, holds, cells, ["", *nulls])
        for column, *are_held in found.fetchall():
            types[column] = next(compress(integers, are_held), NUMERIC).name
    return types


def declare_types(
    staging_area: StagingArea,
    kinds: Iterable[set[type]],
    number_kinds: set[type],
    nulls: Collection[str],
) -> tuple[str | None, ...]:
    """Declare the type of each column by the kinds of its values in Python; None without values."""
    found = [each - {type(None)} for each in kinds]
    numbers = [column for column, each in enumerate(found) if each and each <= number_kinds]
    number_types = find_number_types(staging_area, numbers, nulls)
    types: list[str | None] = []
    for column, some in enumerate(found):
        suitable = (each for each in field_types.values() if some <= each.python_types)
        declared = next(suitable, TEXT).name if some else None
        types.append(number_types.get(column, declared))
    return tuple(types)


def quote_message(message: Message) -> Composed:
    """Quote a message for ``ROW_ERRORS.error``."""
    return quote_literal(json.dumps(message.to_json(), ensure_ascii=False))
