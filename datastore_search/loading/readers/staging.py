"""A file that has been understood: its fields, and its rows in a DuckDB table, all values texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ...conf import conf
from ...exceptions.loads import Remark
from ..sources.folders import working_folder
from ..sources.limits import Allowance
from .interrupts import interruptible

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``.
STAGED = "stage.staged"

#: Rows that cannot be loaded, and why: see ``Stage``.
FAULTS = "stage.faults"

#: Tables of more fields are read by one thread and written in small groups of rows: DuckDB works on
#: 2,048 rows at once, and keeps place for each of their cells, in each thread.
_WIDE = 300
_WIDE_GROUP_ROWS = 2_048
_WIDE_BLOCK_BYTES = 2**14
_WIDE_FIELD_BYTES = 320 * 2**10

_DATABASE = "stage"
#: Its files, for tables of any width and for wide ones.
_NARROW, _WIDE_NAME = "narrow", "wide"


@dataclass(frozen=True, slots=True)
class Stage:
    """
    Where a file is made into a table: a folder, and a DuckDB database in it.

    The database has the table ``faults (line BIGINT, field VARCHAR, value VARCHAR, kept VARCHAR)``;
    ``kept`` is the JSON text of a kept ``BadRow``, ``field`` and ``value`` are empty where the
    whole row is at fault.  ``allowance`` is what reading the file may take.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path
    allowance: Allowance = field(default_factory=Allowance)

    def make_room(self, width: int) -> None:
        """Get ready for a table of so many fields, before anything is staged."""
        if width > _WIDE:
            self.connection.execute(f"USE memory; DETACH {_DATABASE}")
            self._attach_wide(width)
            self._make_faults()

    def make(self) -> None:
        """Make the database."""
        self._attach(_NARROW)
        self._make_faults()

    def close(self) -> None:
        """Write everything to the database's file."""
        self.connection.execute(f"CHECKPOINT {_DATABASE}; USE memory; DETACH {_DATABASE}")

    def open_again(self, width: int) -> None:
        """Open a database that another process has closed; ``width`` counts the fields."""
        if _file(self.folder, _WIDE_NAME).exists():
            self._attach_wide(width)
        else:
            self._attach(_NARROW)

    def _attach_wide(self, width: int) -> None:
        most = max(conf.LOAD_MEMORY_BYTES, width * _WIDE_FIELD_BYTES)
        self.allowance.add_memory(most - conf.LOAD_MEMORY_BYTES)
        self.connection.execute(f"SET threads = 1; SET memory_limit = '{most}B'")
        options = f"(ROW_GROUP_SIZE {_WIDE_GROUP_ROWS}, BLOCK_SIZE {_WIDE_BLOCK_BYTES})"
        self._attach(_WIDE_NAME, options)

    def _attach(self, name: str, options: str = "") -> None:
        path = literal(str(_file(self.folder, name)))
        self.connection.execute(f"ATTACH {path} AS {_DATABASE} {options}; USE {_DATABASE}")

    def _make_faults(self) -> None:
        self.connection.execute(
            f"CREATE TABLE {FAULTS} (line BIGINT, field VARCHAR, value VARCHAR, kept VARCHAR)"
        )


@dataclass(frozen=True, slots=True)
class Table:
    """
    A file that has been understood.

    ``stage`` has its rows in the table ``staged``, in the order of the file: the line (or the row
    of a sheet, or the place in a list, from 1) as a person would count it, and the columns ``f0``,
    ``f1``, …, all texts, null where the cell is empty.  Rows that do not have the file's shape are
    in ``faults`` only.  ``names`` are the names of the fields, unique, and ``labels`` the header's
    own words.  ``tells`` is the type that the file itself gives each field (a name of
    ``field_types``), or None where it only has texts; a field that the file calls ``text`` never
    becomes a number.
    """

    stage: Stage
    names: tuple[str, ...]
    labels: tuple[str, ...]
    tells: tuple[str | None, ...]
    remarks: tuple[Remark, ...] = ()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB, with the tables."""
        return self.stage.connection

    @property
    def relation(self) -> str:
        """Name the table of the rows."""
        return STAGED

    @property
    def columns(self) -> list[str]:
        """Name DuckDB's columns, in the order of the file."""
        return [f"f{position}" for position in range(len(self.names))]

    def count(self, relation: str = STAGED) -> int:
        """Count the rows of one of the tables."""
        found = self.connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
        return int(found[0]) if found else 0


@contextmanager
def stage() -> Iterator[Stage]:
    """Make a place to stage a file in, gone at the end; DuckDB's memory is the setting's."""
    with working_folder() as folder, stage_in(folder) as place:
        place.make()
        yield place


@contextmanager
def stage_in(folder: Path, allowance: Allowance | None = None) -> Iterator[Stage]:
    """Run DuckDB for a stage in a folder, without a database yet."""
    with (
        _connect(folder) as connection,
        interruptible(connection),
    ):
        yield Stage(connection, folder, allowance or Allowance())


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Run DuckDB within its limits, which a file that is read must not outgrow."""
    config = {
        "memory_limit": f"{conf.LOAD_MEMORY_BYTES}B",
        "temp_directory": str(folder),
        "max_temp_directory_size": f"{conf.UNPACKED_MAX_BYTES}B",
        "threads": "2",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    try:  # not the four threads for each core that read files, each with a stack
        return duckdb.connect(":memory:", config={**config, "async_threads": "2"})
    except duckdb.InvalidInputException:  # an older DuckDB, which has none of them
        return duckdb.connect(":memory:", config={**config})


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.duckdb"


def literal(text: str) -> str:
    """Write a text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def kept_literal(kept: object) -> str:
    """Write a kept message as a literal of DuckDB's SQL, for ``faults.kept``."""
    return literal(json.dumps(kept, ensure_ascii=False))
