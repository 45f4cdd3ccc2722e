"""The indexes of a table that a load makes: several at once, and what else a load knows of it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ....database.indexes import (
    Indexes,
    IndexStatement,
    analyze_records,
    build_id_statement,
    build_index_statements,
    execute_statements,
)
from ....database.statements import execute
from ....database.tables import quote_record_table
from .filling import NewTable
from .locks import begin_load_transaction, build_statement_comment


def create_indexes(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    indexes: Indexes,
    *,
    memory_bytes: int,
    max_connections: int = 1,
) -> None:
    """
    Index a record table and take its statistics.

    ``memory_bytes`` is the memory of the server for each connection; a GIN index takes little of
    it.  There are at most ``max_connections``, and as many processes for the index of words, which
    takes longer than all others; within a transaction of the caller, only the caller's own.
    """
    load_id = table.load_id
    if connection.in_atomic_block:
        max_connections = 1
    key = build_id_statement(table.id, memory_bytes)
    others = build_index_statements(connection, table.id, indexes, memory_bytes, max_connections)
    if max_connections == 1:
        _run_statements(connection, load_id, key, *others)
    else:
        _run_statements(connection, load_id, key)
        with ThreadPoolExecutor(max_connections) as pool:
            run = partial(_run_statement_in_thread, connection.alias, load_id)
            list(pool.map(run, others))
    with begin_load_transaction(connection, load_id):
        analyze_records(connection, table.id)
    if max_connections > 1:
        _freeze(connection, table.id, load_id)


def _run_statements(
    connection: BaseDatabaseWrapper, load_id: int, *statements: IndexStatement
) -> None:
    with begin_load_transaction(connection, load_id), connection.cursor() as cursor:
        execute_statements(cursor, statements)


def _run_statement_in_thread(alias: str, load_id: int, statement: IndexStatement) -> None:
    with closing(connections[alias]) as connection:
        _run_statements(connection, load_id, statement)


def count_common_values(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    names: Iterable[str],
    *,
    min_records: int,
) -> dict[str, dict[str | None, int]]:
    """Count the values that at least ``min_records`` records have, of some fields of text."""
    statement = sql.SQL("SELECT data ->> %s, count(*) FROM {} GROUP BY 1 HAVING count(*) >= %s")
    counting = statement.format(quote_record_table(table.id))
    with begin_load_transaction(connection, table.load_id):
        return {name: dict(execute(connection, counting, [name, min_records])) for name in names}


def _freeze(connection: BaseDatabaseWrapper, table_id: int, load_id: int) -> None:
    """Mark all records as visible to every transaction, so that an index-only scan counts keys."""
    vacuum = sql.SQL("{} VACUUM (FREEZE, INDEX_CLEANUP off, TRUNCATE off) {}").format(
        sql.SQL(build_statement_comment(load_id)), quote_record_table(table_id)
    )
    try:
        execute(connection, vacuum)
    except OperationalError as error:
        # A limit of the portal has ended it, or the cancellation of the load; the load checks that.
        if not isinstance(error.__cause__, errors.QueryCanceled | errors.LockNotAvailable):
            raise
