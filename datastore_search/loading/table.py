"""A file that has been understood: its fields, and its rows in a DuckDB table, all values texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ..conf import conf
from ..exceptions.loads import Remark
from .watching import interruptible

#: The rows of the file that have its shape: ``line BIGINT, f0 VARCHAR, f1 VARCHAR, …``.
STAGED = "staged"

#: Rows that cannot be loaded, and why: see ``Stage``.
FAULTS = "faults"


@dataclass(frozen=True, slots=True)
class Stage:
    """
    Where a file is made into a table: a folder, and a DuckDB database in it.

    The database has the table ``faults (line BIGINT, field VARCHAR, value VARCHAR, kept VARCHAR)``;
    ``kept`` is the JSON text of a kept ``BadRow``, ``field`` and ``value`` are empty where the
    whole row is at fault.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path


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
    with (
        TemporaryDirectory(prefix="datastore_search_") as folder,
        duckdb.connect(
            str(Path(folder) / "stage.duckdb"),
            config={
                "memory_limit": f"{conf.LOAD_MEMORY_BYTES}B",
                "temp_directory": folder,
                "threads": 2,
                "autoload_known_extensions": False,
                "autoinstall_known_extensions": False,
            },
        ) as connection,
        interruptible(connection),
    ):
        connection.execute(
            f"CREATE TABLE {FAULTS} (line BIGINT, field VARCHAR, value VARCHAR, kept VARCHAR)"
        )
        yield Stage(connection, Path(folder))


def literal(text: str) -> str:
    """Write a text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def kept_literal(kept: object) -> str:
    """Write a kept message as a literal of DuckDB's SQL, for ``faults.kept``."""
    return literal(json.dumps(kept, ensure_ascii=False))
