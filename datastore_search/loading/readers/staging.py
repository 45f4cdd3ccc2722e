"""
The staging area: a folder with a DuckDB database, in which a file becomes a table of texts.

The process that reads a file creates it; the process that loads the file opens it afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ...conf import conf
from ...messages import Message, Notice
from ..sources.limits import ReadingLimits
from .duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from .interrupter import Interrupter

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``.
STAGED_ROWS = quote_identifier("stage", "staged_rows")

#: What is wrong with the other rows: see ``StagingArea``.
ROW_ERRORS = quote_identifier("stage", "row_errors")

#: Tables of more fields are read by one thread and written in small groups of rows: DuckDB works on
#: 2,048 rows at once, and reserves memory for each of their cells, in each thread.
_MAX_NARROW_FIELDS = 300
_WIDE_GROUP_ROWS = 2_048
_WIDE_BLOCK_BYTES = 2**14
_WIDE_FIELD_BYTES = 320 * 2**10

_DATABASE = quote_identifier("stage")
_NO_OPTIONS = SQL("")
_NARROW_FILE, _WIDE_FILE = "narrow.duckdb", "wide.duckdb"


def get_column(position: int) -> Composed:
    """Return the column of ``STAGED_ROWS`` for the field at a position."""
    return quote_identifier(f"f{position}")


def select_cells(columns: Sequence[str], relation: Composed = STAGED_ROWS) -> Composed:
    """
    Build a relation of the cells of some columns that are not null: ``name`` and ``value``.

    A statement on it has as many expressions for 200 columns as for one: DuckDB prepares each in
    2 ms.
    """
    if len(columns) == 1:
        return SQL("(SELECT {} AS name, {cell} AS value FROM {} WHERE {cell} IS NOT NULL)").format(
            quote_literal(columns[0]), relation, cell=quote_identifier(columns[0])
        )
    return SQL(
        "(UNPIVOT (SELECT {columns} FROM {relation}) ON {columns} INTO NAME name VALUE value)"
    ).format(columns=SQL(", ").join(map(quote_identifier, columns)), relation=relation)


@dataclass(frozen=True, slots=True)
class StagingArea:
    """
    A folder, and a DuckDB database in it.

    The database has ``ROW_ERRORS (line BIGINT, field VARCHAR, value VARCHAR, error VARCHAR)``:
    ``error`` is the JSON text of a ``BadRow``; ``field`` and ``value`` are empty where the error is
    that of the whole row.  ``limits`` are those of the process that reads the file.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path
    limits: ReadingLimits = field(default_factory=ReadingLimits)

    def execute(self, query: Composed, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement of DuckDB's; ``parameters`` are the values of its ``?``."""
        return self.connection.execute(query.text, list(parameters))

    def prepare_width(self, width: int) -> None:
        """Prepare for a table of ``width`` fields, before rows are staged."""
        if width > _MAX_NARROW_FIELDS:
            self.execute(SQL("USE memory; DETACH {}").format(_DATABASE))
            self._attach_wide(width)
            self._create_row_errors()

    def create(self) -> None:
        """Create the database."""
        self._attach(_NARROW_FILE)
        self._create_row_errors()

    def open(self, width: int) -> None:
        """Open the database of a table of ``width`` fields, made by another process."""
        if (self.folder / _WIDE_FILE).exists():
            self._attach_wide(width)
        else:
            self._attach(_NARROW_FILE)

    def close(self) -> None:
        """Write everything to the database's file."""
        self.execute(SQL("CHECKPOINT {0}; USE memory; DETACH {0}").format(_DATABASE))

    def _attach_wide(self, width: int) -> None:
        memory_bytes = max(conf.LOAD_MEMORY_BYTES, width * _WIDE_FIELD_BYTES)
        self.limits.extend_memory(memory_bytes - conf.LOAD_MEMORY_BYTES)
        self.execute(
            SQL("SET threads = 1; SET memory_limit = {}").format(quote_literal(f"{memory_bytes}B"))
        )
        self._attach(
            _WIDE_FILE,
            SQL("(ROW_GROUP_SIZE {}, BLOCK_SIZE {})").format(
                quote_literal(_WIDE_GROUP_ROWS), quote_literal(_WIDE_BLOCK_BYTES)
            ),
        )

    def _attach(self, name: str, options: Composed = _NO_OPTIONS) -> None:
        self.execute(
            SQL("ATTACH {file} AS {database} {options}; USE {database}").format(
                file=quote_literal(str(self.folder / name)), database=_DATABASE, options=options
            )
        )

    def _create_row_errors(self) -> None:
        self.execute(
            SQL(
                "CREATE TABLE {} (line BIGINT, field VARCHAR, value VARCHAR, error VARCHAR)"
            ).format(ROW_ERRORS)
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
    becomes a number.
    """

    staging_area: StagingArea
    names: tuple[str, ...]
    labels: tuple[str, ...]
    declared_types: tuple[str | None, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB's connection to the staging area."""
        return self.staging_area.connection

    @property
    def columns(self) -> list[str]:
        """The names of DuckDB's columns, in the order of the file."""
        return [f"f{position}" for position in range(len(self.names))]

    def execute(self, query: Composed, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement of DuckDB's; ``parameters`` are the values of its ``?``."""
        return self.staging_area.execute(query, parameters)

    def count_rows(self) -> int:
        """Count the rows that have the file's shape."""
        return self._count(SQL("SELECT count(*) FROM {}").format(STAGED_ROWS))

    def count_row_errors(self) -> int:
        """Count the errors of all rows; a row may have several."""
        return self._count(SQL("SELECT count(*) FROM {}").format(ROW_ERRORS))

    def count_bad_rows(self) -> int:
        """Count the rows that have errors."""
        return self._count(SQL("SELECT count(DISTINCT line) FROM {}").format(ROW_ERRORS))

    def _count(self, query: Composed) -> int:
        row = self.execute(query).fetchone()
        return int(row[0]) if row else 0


@contextmanager
def create_staging_area(folder: Path, limits: ReadingLimits | None = None) -> Iterator[StagingArea]:
    """Create a staging area in a folder; its file is complete after the block."""
    with _connect(folder) as connection:
        staging_area = StagingArea(connection, folder, limits or ReadingLimits())
        staging_area.create()
        yield staging_area
        staging_area.close()


@contextmanager
def open_staging_area(folder: Path, width: int, interrupter: Interrupter) -> Iterator[StagingArea]:
    """Open the staging area that another process has created, for a table of ``width`` fields."""
    with _connect(folder) as connection, interrupter.register_connection(connection):
        staging_area = StagingArea(connection, folder)
        staging_area.open(width)
        yield staging_area


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Start DuckDB with limits that a file must not exceed."""
    config = {
        "memory_limit": f"{conf.LOAD_MEMORY_BYTES}B",
        "temp_directory": str(folder),
        "max_temp_directory_size": f"{conf.MAX_UNPACKED_BYTES}B",
        "threads": "2",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    try:  # not the four threads for each core that read files, each with a stack
        connection = duckdb.connect(":memory:", config={**config, "async_threads": "2"})
    except duckdb.InvalidInputException:  # an older DuckDB, which has none of them
        connection = duckdb.connect(":memory:", config={**config})
    # To read one long text that is packed so, DuckDB unpacks those of 2,048 rows.
    connection.execute("SET disabled_compression_methods = 'zstd'")
    return connection


def find_database_file(folder: Path) -> Path:
    """Find the file of the database that was created in a folder."""
    wide = folder / _WIDE_FILE
    return wide if wide.exists() else folder / _NARROW_FILE


def quote_message(message: Message) -> Composed:
    """Quote a message for ``ROW_ERRORS.error``."""
    return quote_literal(json.dumps(message.to_json(), ensure_ascii=False))
