"""
Fill and index the table of a load: its record table, or the staging table of a merge.

Computing the search vectors takes most of the time.  So a load fills and indexes a large table over
several connections (``docs/decisions/0013``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from queue import Full, Queue
from typing import LiteralString

import psycopg
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ....conf import conf
from ....database.indexes import (
    Indexes,
    IndexStatement,
    analyze_records,
    build_id_statement,
    build_index_statements,
    execute_statements,
)
from ....database.placement import place_beside
from ....database.statements import Clause, execute
from ....database.tables import (
    create_table,
    drop_tables,
    list_numbers,
    name_record_table,
    quote_record_table,
)
from ..messages import UnstorableRecord
from .locks import begin_load_transaction, build_statement_comment

#: The connections of a load without those that fill its table: for its statements, its locks and
#: its progress.
MIN_LOAD_CONNECTIONS = 3

#: JSON texts hold no control characters, so CSV with these needs no escaping.
_COPY_OPTIONS = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"

#: How often failures of threads are looked for, while all threads are busy.
_CHECK_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class NewTable:
    """A record table that a load is making; ``weights`` are those of fields."""

    id: int
    load_id: int
    weights: Mapping[str, int] = field(default_factory=dict)


#: Records to copy, with the number of the first one.
_Batch = tuple[int, Sequence[str]]

#: The batches that wait for a connection; None ends the stream of one.
_Work = Queue[_Batch | None]


def get_pool_size(connection: BaseDatabaseWrapper) -> int | None:
    """
    Return how many connections the pool of a database may open; None without a pool.

    Source: ``psycopg_pool.ConnectionPool``, whose size is fixed without ``max_size``.
    """
    pool = connection.settings_dict.get("OPTIONS", {}).get("pool")
    if not pool:
        return None
    options = pool if isinstance(pool, Mapping) else {}
    return int(options.get("max_size") or options.get("min_size", 4))


def count_load_connections(connection: BaseDatabaseWrapper, wanted: int) -> int:
    """Return how many connections may fill a table: those that a pool has room for, at least 1."""
    size = get_pool_size(connection)
    return wanted if size is None else max(1, min(wanted, size - MIN_LOAD_CONNECTIONS))


def create_records(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    *,
    language: str,
    batches: Iterable[Sequence[str]],
    max_connections: int = 1,
) -> int:
    """
    Create a record table, fill it with records, and return how many.

    The ``batches`` are records as JSON texts, each an object keyed by field name; they are numbered
    from 1 in their order.  The table has no index yet, and is not read before it is published.
    ``max_connections`` fill it at once; within a transaction of the caller, only the caller's own
    connection does.

    Raises: ``UnstorableRecord`` when PostgreSQL refuses one.
    """
    target, count = quote_record_table(table.id), 0
    if max_connections == 1 or connection.in_atomic_block:
        # In the transaction that makes the table, ``COPY … FREEZE`` writes the rows once.
        copying = _build_copy(target, "_id, data", ", FREEZE")
        with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
            create_table(connection, table.id, language=language, weights=table.weights)
            with _name_refused_row(), cursor.copy(copying) as lines:
                for records in batches:
                    lines.write(_render_lines(enumerate(records, count + 1)))
                    count += len(records)
            _set_next_id(connection, table.id, count + 1)
        return count
    with begin_load_transaction(connection, table.load_id):
        create_table(connection, table.id, language=language, weights=table.weights)
    work = _Work(max_connections)

    def copy_work() -> None:
        with (
            closing(connections[connection.alias]) as own,
            begin_load_transaction(own, table.load_id),
            own.cursor() as cursor,
        ):
            while batch := work.get():
                first, records = batch
                copying = _build_copy(target, "_id, data")
                with _name_refused_row(first), cursor.copy(copying) as lines:
                    lines.write(_render_lines(enumerate(records, first)))

    with ThreadPoolExecutor(max_connections) as pool:
        running = [pool.submit(copy_work) for _ in range(max_connections)]
        try:
            for records in batches:
                if not _put_batch((count + 1, records), work, running):
                    break
                count += len(records)
        finally:
            for _future in running:
                _put_batch(None, work, running)
    for future in running:
        future.result()
    with begin_load_transaction(connection, table.load_id):
        _set_next_id(connection, table.id, count + 1)
    return count


def _put_batch(batch: _Batch | None, work: _Work, running: list[Future[None]]) -> bool:
    """Queue a batch, or the end of a stream; return whether no thread has failed."""
    while not all(future.done() for future in running):
        try:
            work.put(batch, timeout=_CHECK_INTERVAL_SECONDS)
        except Full:
            continue
        break
    return not any(future.done() and future.exception() for future in running)


def _build_copy(
    table: sql.Identifier, columns: LiteralString, more_options: LiteralString = ""
) -> sql.Composed:
    options = sql.SQL(_COPY_OPTIONS + more_options)
    return sql.SQL("COPY {} ({}) FROM STDIN ({})").format(table, sql.SQL(columns), options)


def _render_lines(rows: Iterable[tuple[int, str]]) -> str:
    return "".join(f"{number}\x02{text}\n" for number, text in rows)


@contextmanager
def _name_refused_row(first: int = 1) -> Iterator[None]:
    """Raise ``UnstorableRecord`` with the row at which a COPY ends, which begins at ``first``."""
    try:
        yield
    except (psycopg.DataError, errors.StatementTooComplex) as error:  # Django wraps none of COPY
        match = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
        raise UnstorableRecord(first + int(match[1]) - 1 if match else "?") from error


def _set_next_id(connection: BaseDatabaseWrapper, table_id: int, number: int) -> None:
    statement = "SELECT setval(pg_get_serial_sequence(%s, '_id')::regclass, %s, false)"
    execute(connection, statement, [name_record_table(table_id), number])


def create_indexes(
    connection: BaseDatabaseWrapper, table: NewTable, indexes: Indexes, *, max_connections: int = 1
) -> None:
    """
    Index a record table and take its statistics.

    There are at most ``max_connections``, and as many processes for the index of words, which takes
    longer than all others; within a transaction of the caller, only the caller's own.  Each may
    take ``LOAD_MEMORY_BYTES`` of the server; a GIN index takes little of them.
    """
    if connection.in_atomic_block:
        max_connections = 1
    memory_bytes = conf.LOAD_MEMORY_BYTES
    key = build_id_statement(table.id, memory_bytes)
    others = build_index_statements(connection, table.id, indexes, memory_bytes, max_connections)

    def run(own: BaseDatabaseWrapper, *statements: IndexStatement) -> None:
        with begin_load_transaction(own, table.load_id), own.cursor() as cursor:
            execute_statements(cursor, statements)

    def run_in_thread(statement: IndexStatement) -> None:
        with closing(connections[connection.alias]) as own:
            run(own, statement)

    if max_connections == 1:
        run(connection, key, *others)
    else:
        run(connection, key)
        with ThreadPoolExecutor(max_connections) as pool:
            list(pool.map(run_in_thread, others))
    with begin_load_transaction(connection, table.load_id):
        analyze_records(connection, table.id)
    if max_connections > 1:
        # All records become visible to every transaction, so that an index-only scan counts keys.
        vacuum = sql.SQL("{} VACUUM (FREEZE, INDEX_CLEANUP off, TRUNCATE off) {}").format(
            sql.SQL(build_statement_comment(table.load_id)), quote_record_table(table.id)
        )
        try:
            execute(connection, vacuum)
        except OperationalError as error:
            # A limit of the portal ended it, or the cancellation of the load; the load checks that.
            if not isinstance(error.__cause__, errors.QueryCanceled | errors.LockNotAvailable):
                raise


# The staging table of a merge ---------------------------------------------------------------------

_PREFIX = "datastore_search_staging_"


def list_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    return list_numbers(connection, _PREFIX)


def drop_staging_table(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Drop the staging table of a load, if there is one, and return whether it was possible."""
    return drop_tables(connection, [sql.Identifier(f"{_PREFIX}{load_id}")])


def stage_rows(
    connection: BaseDatabaseWrapper,
    load_id: int,
    batches: Iterable[Sequence[tuple[int, str]]],
    beside: str = "",
) -> Clause:
    """
    Create the staging table of a load, copy the rows into it, and return them.

    ``batches`` are lists of lines, each with a JSON object as text.  ``beside`` is the record table
    if that is on a worker.

    Raises: ``UnstorableRecord``, with the number of the row, when PostgreSQL refuses one.
    """
    name = f"{_PREFIX}{load_id}"
    table = sql.Identifier(name)
    # A load before a flush of the database may have left one of the same number.  A crash of the
    # server empties it, and the load fails with it.
    create = sql.SQL(
        "DROP TABLE IF EXISTS {table};"
        " CREATE UNLOGGED TABLE {table} (number bigint, members jsonb NOT NULL)"
    )
    with begin_load_transaction(connection, load_id), connection.cursor() as cursor:
        cursor.execute(create.format(table=table))
        if beside:
            place_beside(connection, name, beside)
        with _name_refused_row(), cursor.copy(_build_copy(table, "number, members")) as lines:
            for batch in batches:
                lines.write(_render_lines(batch))
        cursor.execute(sql.SQL("ANALYZE {}").format(table))
    return Clause(sql.SQL("{} AS rows").format(table))
