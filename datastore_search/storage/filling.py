"""
Fill a table with records.

Computing the search vectors takes most of the time, on one core for each connection; so a load
fills its table over several (``docs/decisions/0013``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Full, Queue

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ..exceptions.loads import UnstorableRecord
from .locks import begin_load_transaction, open_thread_connection
from .tables import NewTable, create_table, quote_record_table

#: JSON text holds no control characters, so CSV with these needs no escaping.
_COPY_OPTIONS = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"

#: How often failures of threads are looked for, while all threads are busy.
_CHECK_INTERVAL_SECONDS = 1.0

#: The number of the first record of a batch, and the batch; None ends a stream.
NumberedBatch = tuple[int, list[str]] | None


def create_records(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    *,
    language: str,
    batches: Iterable[list[str]],
    max_connections: int = 1,
) -> int:
    """
    Create a record table, fill it with records, and return how many.

    ``batches`` are lists of JSON texts, one an object keyed by field name; records are numbered
    from 1 in their order.  The table has no index yet, and is not read before it is published.
    ``max_connections`` fill it at once; within a transaction of the caller, only the caller's own
    connection does.

    Raises: ``UnstorableRecord`` when PostgreSQL refuses one.
    """
    if max_connections > 1 and not connection.in_atomic_block:
        with begin_load_transaction(connection, table.load_id):
            create_table(connection, table.id, language=language)
        count = _fill_by_several(connection.alias, table, batches, max_connections)
        with begin_load_transaction(connection, table.load_id):
            _set_next_id(connection, table.id, count + 1)
    else:
        count = _fill_by_one(connection, table, language, batches)
    return count


def _fill_by_one(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    language: str,
    batches: Iterable[list[str]],
) -> int:
    """
    Fill the table in the transaction that makes it.

    Source: ``COPY … FREEZE`` of PostgreSQL: such rows are written once, already frozen.
    """
    count = 0
    try:
        with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
            create_table(connection, table.id, language=language)
            with cursor.copy(_build_copy(table.id, freeze=True)) as lines:
                for batch in batches:
                    lines.write(_render_lines(count + 1, batch))
                    count += len(batch)
            _set_next_id(connection, table.id, count + 1)
    # Django does not wrap the errors of COPY.
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(parse_copy_line(error) or "?") from error
    return count


def _fill_by_several(
    alias: str,
    table: NewTable,
    batches: Iterable[list[str]],
    max_connections: int,
) -> int:
    count = 0
    work: Queue[NumberedBatch] = Queue(max_connections)
    with ThreadPoolExecutor(max_connections) as pool:
        running = [
            pool.submit(_copy_batches, alias, table, work) for _number in range(max_connections)
        ]
        try:
            for batch in batches:
                if not _put_batch((count + 1, batch), work, running):
                    break
                count += len(batch)
        finally:
            for _future in running:
                _put_batch(None, work, running)
    for future in running:
        future.result()
    return count


def _put_batch(
    piece: NumberedBatch, work: Queue[NumberedBatch], running: list[Future[None]]
) -> bool:
    """Queue a batch, or the end of a stream; return whether no thread has failed."""
    while not all(future.done() for future in running):
        try:
            work.put(piece, timeout=_CHECK_INTERVAL_SECONDS)
        except Full:
            continue
        break
    return not any(future.done() and future.exception() for future in running)


def _copy_batches(alias: str, table: NewTable, work: Queue[NumberedBatch]) -> None:
    """Copy batches over a connection of this thread, until the end."""
    firsts: list[tuple[int, int]] = []
    try:
        with (
            open_thread_connection(alias) as connection,
            begin_load_transaction(connection, table.load_id),
            connection.cursor() as cursor,
            cursor.copy(_build_copy(table.id, freeze=False)) as lines,
        ):
            while piece := work.get():
                first, batch = piece
                firsts.append((first, len(batch)))
                lines.write(_render_lines(first, batch))
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(_find_row(firsts, parse_copy_line(error))) from error


def _build_copy(table_id: int, *, freeze: bool) -> sql.Composable:
    return sql.SQL("COPY {table} (_id, data) FROM STDIN ({options}{freeze})").format(
        table=quote_record_table(table_id),
        options=sql.SQL(_COPY_OPTIONS),
        freeze=sql.SQL(", FREEZE" if freeze else ""),
    )


def _render_lines(first: int, batch: list[str]) -> str:
    return "".join(f"{number}\x02{text}\n" for number, text in enumerate(batch, first))


def parse_copy_line(error: psycopg.Error) -> int | None:
    """Read from PostgreSQL's report at which row a COPY ended."""
    match = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    return int(match[1]) if match else None


def _find_row(firsts: list[tuple[int, int]], line: int | None) -> int | str:
    """Find the row of a line of a COPY: ``firsts`` are its batches, by first row and length."""
    for first, length in firsts:
        if line is not None and line <= length:
            return first + line - 1
        line = line and line - length
    return "?"


def _set_next_id(connection: BaseDatabaseWrapper, table_id: int, number: int) -> None:
    """Set the ``_id`` of the table's next record."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("ALTER TABLE {table} ALTER COLUMN _id RESTART WITH {number}").format(
                table=quote_record_table(table_id), number=sql.Literal(number)
            )
        )
