"""Times of PostgreSQL for a COPY of the same rows, without an index or a check."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from psycopg import Connection, sql

from benchmarks.data import FIELDS

_BLOCK_BYTES = 2**20
_TABLE = sql.Identifier("benchmark_copied")

#: The columns as PostgreSQL declares them; a timestamp of the file has no time zone.
_COLUMNS = sql.SQL(", ").join(
    sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(type_)) for name, type_ in FIELDS.items()
)


def copy_typed(connection: Connection[Any], path: Path) -> float:
    """Copy a CSV file into typed columns, and return the seconds."""
    return _copy_rows(connection, _COLUMNS, sql.SQL("FORMAT csv, HEADER"), path)


def copy_json(connection: Connection[Any], path: Path) -> float:
    """Copy the records as the portal stores them, one JSON text a line; return the seconds."""
    return _copy_rows(connection, sql.SQL("data jsonb"), sql.SQL("FORMAT text"), path)


def export_json(connection: Connection[Any], table_id: int, path: Path) -> None:
    """Write the records of a table into a file for ``copy_json``."""
    table = sql.Identifier(f"datastore_search_record_{table_id}")
    statement = sql.SQL("COPY (SELECT data FROM {} ORDER BY _id) TO STDOUT").format(table)
    with (
        path.open("wb") as file,
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        for block in copy:
            file.write(block)


def _copy_rows(
    connection: Connection[Any], columns: sql.Composable, options: sql.SQL, path: Path
) -> float:
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_TABLE))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(_TABLE, columns))
    started_at = time.perf_counter()
    copy_in(connection, sql.SQL("COPY {} FROM STDIN ({})").format(_TABLE, options), path)
    seconds = time.perf_counter() - started_at
    connection.execute(sql.SQL("DROP TABLE {}").format(_TABLE))
    return seconds


def copy_in(connection: Connection[Any], statement: sql.Composed, path: Path) -> None:
    """Send a file to a COPY."""
    with path.open("rb") as file, connection.cursor() as cursor, cursor.copy(statement) as copy:
        while block := file.read(_BLOCK_BYTES):
            copy.write(block)
