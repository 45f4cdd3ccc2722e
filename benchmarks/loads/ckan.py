"""
CKAN's load by COPY, in the database of its DataStore.

Source: CKAN ``datastore_create`` (the table, its trigger and its index) and ckanext-xloader, which
drops the index, copies and makes the index again.  xloader fills the vectors by an UPDATE after the
COPY, which leaves a dead copy of each row; here the trigger fills them meanwhile, which is faster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection, sql

from benchmarks.data import FIELDS
from benchmarks.failures import BenchmarkError

from .floors import copy_in

_TABLE = sql.Identifier("benchmark_load")
_NAMES = sql.SQL(", ").join(map(sql.Identifier, FIELDS))
_COLUMNS = sql.SQL(", ").join(
    sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(type_)) for name, type_ in FIELDS.items()
)


@contextmanager
def connect_to_ckan(address: str) -> Iterator[Connection[Any] | None]:
    """
    Connect to the database of CKAN's DataStore, if an address is given.

    Raises: ``BenchmarkError``.
    """
    if not address:
        yield None
        return
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        raise BenchmarkError(f"CKAN's database: {error}") from error
    with connection:
        yield connection


def load_into_ckan(connection: Connection[Any], path: Path) -> float:
    """
    Load a file exactly as CKAN does, and return the seconds.

    Raises: ``BenchmarkError`` when the database is not that of a CKAN DataStore.
    """
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_TABLE))
    started_at = time.perf_counter()
    connection.execute(
        sql.SQL("CREATE TABLE {} (_id serial PRIMARY KEY, _full_text tsvector, {})").format(
            _TABLE, _COLUMNS
        )
    )
    try:
        connection.execute(
            sql.SQL(
                "CREATE TRIGGER zfulltext BEFORE INSERT OR UPDATE ON {}"
                " FOR EACH ROW EXECUTE PROCEDURE populate_full_text_trigger()"
            ).format(_TABLE)
        )
        statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv, HEADER)")
        copy_in(connection, statement.format(_TABLE, _NAMES), path)
        connection.execute(sql.SQL("CREATE INDEX ON {} USING gist (_full_text)").format(_TABLE))
        connection.execute(sql.SQL("SELECT count(*) FROM {}").format(_TABLE))
        connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(_TABLE))
        return time.perf_counter() - started_at
    except psycopg.Error as error:
        raise BenchmarkError(f"CKAN's load: {error}") from error
    finally:
        connection.execute(sql.SQL("DROP TABLE {}").format(_TABLE))
