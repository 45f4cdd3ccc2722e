"""
Fill a table with records.

Computing the search vectors takes most of the time.  So a load fills a large table over several
connections (``docs/decisions/0013``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from queue import Full, Queue
from typing import LiteralString, NamedTuple

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ....database.placement import place_beside
from ....database.statements import execute
from ....database.tables import (
    LOCK_TIMEOUT,
    create_table,
    drop_tables,
    list_numbers,
    name_record_table,
    quote_record_table,
)
from ....writing.records import Rows
from ..messages.failures import UnstorableRecord
from .locks import begin_load_transaction

#: JSON texts hold no control characters, so CSV with these needs no escaping.
_COPY_OPTIONS = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"

#: How often failures of threads are looked for, while all threads are busy.
_CHECK_INTERVAL_SECONDS = 1.0


class _Batch(NamedTuple):
    """Records to copy, with their numbers."""

    numbers: range
    records: Sequence[str]

    def render(self) -> str:
        return "".join(
            f"{number}\x02{record}\n"
            for number, record in zip(self.numbers, self.records, strict=True)
        )


#: The batches that wait for a connection; None ends the stream of one.
_Work = Queue[_Batch | None]


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
    numbered = _number_records(batches)
    if max_connections == 1 or connection.in_atomic_block:
        return _fill_by_one(connection, table, language, numbered)
    with begin_load_transaction(connection, table.load_id):
        create_table(connection, table.id, language=language, weights=table.weights)
    count = _fill_by_several(connection.alias, table, numbered, max_connections)
    with begin_load_transaction(connection, table.load_id):
        _set_next_id(connection, table.id, count + 1)
    return count


def _number_records(batches: Iterable[Sequence[str]]) -> Iterator[_Batch]:
    first = 1
    for records in batches:
        numbers = range(first, first + len(records))
        yield _Batch(numbers, records)
        first = numbers.stop


def _fill_by_one(
    connection: BaseDatabaseWrapper, table: NewTable, language: str, batches: Iterable[_Batch]
) -> int:
    """Fill the table in the transaction that makes it: ``COPY … FREEZE`` writes the rows once."""
    count = 0
    try:
        with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
            create_table(connection, table.id, language=language, weights=table.weights)
            copying = build_copy(quote_record_table(table.id), "_id, data", ", FREEZE")
            with cursor.copy(copying) as lines:
                for batch in batches:
                    lines.write(batch.render())
                    count += len(batch.numbers)
            _set_next_id(connection, table.id, count + 1)
    # Django does not wrap the errors of COPY.
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(parse_copy_line(error) or "?") from error
    return count


# Over several connections -------------------------------------------------------------------------


def _fill_by_several(
    alias: str, table: NewTable, batches: Iterable[_Batch], max_connections: int
) -> int:
    count, work = 0, _Work(max_connections)
    with ThreadPoolExecutor(max_connections) as pool:
        running = [pool.submit(_copy_work, alias, table, work) for _ in range(max_connections)]
        try:
            for batch in batches:
                if not _put_batch(batch, work, running):
                    break
                count += len(batch.numbers)
        finally:
            for _future in running:
                _put_batch(None, work, running)
    for future in running:
        future.result()
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


def _copy_work(alias: str, table: NewTable, work: _Work) -> None:
    """Copy batches over a connection of this thread, until the end."""
    batch: _Batch | None = None
    copying = build_copy(quote_record_table(table.id), "_id, data")
    with closing(connections[alias]) as connection:
        try:
            with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
                while batch := work.get():
                    with cursor.copy(copying) as lines:
                        lines.write(batch.render())
        except (psycopg.DataError, errors.StatementTooComplex) as error:
            line = parse_copy_line(error)
            raise UnstorableRecord(batch.numbers[line - 1] if batch and line else "?") from error


def build_copy(
    table: sql.Identifier, columns: LiteralString, more_options: LiteralString = ""
) -> sql.Composed:
    """Build a COPY of lines whose cells, which hold no control characters, are not escaped."""
    return sql.SQL("COPY {table} ({columns}) FROM STDIN ({options})").format(
        table=table,
        columns=sql.SQL(columns),
        options=sql.SQL(_COPY_OPTIONS + more_options),
    )


def parse_copy_line(error: psycopg.Error) -> int | None:
    """Read from PostgreSQL's report at which row a COPY ended."""
    match = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    return int(match[1]) if match else None


def _set_next_id(connection: BaseDatabaseWrapper, table_id: int, number: int) -> None:
    """Set the ``_id`` of the table's next record."""
    statement = "SELECT setval(pg_get_serial_sequence(%s, '_id')::regclass, %s, false)"
    execute(connection, statement, [name_record_table(table_id), number])


_PREFIX = "datastore_search_staging_"


def name_staging_table(load_id: int) -> str:
    return f"{_PREFIX}{load_id}"


def quote_staging_table(load_id: int) -> sql.Identifier:
    """Name the staging table of a load in a statement."""
    return sql.Identifier(name_staging_table(load_id))


@dataclass(frozen=True, slots=True)
class NewTable:
    """A record table that a load is making; ``weights`` are those of fields."""

    id: int
    load_id: int
    weights: Mapping[str, int] = field(default_factory=dict)


def drop_staging_table(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Drop the staging table of a load, if there is one, and return whether it was possible."""
    return drop_tables(connection, [quote_staging_table(load_id)], LOCK_TIMEOUT)


def list_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    return list_numbers(connection, _PREFIX)


def stage_rows(
    connection: BaseDatabaseWrapper,
    load_id: int,
    batches: Iterable[Sequence[tuple[int, str]]],
    beside: str = "",
) -> Rows:
    """
    Create the staging table of a load, copy the rows into it, and return them.

    ``batches`` are lists of lines, each with a JSON object as text.  ``beside`` is the record table
    if that is on a worker.

    Raises: ``UnstorableRecord``, with the number of the row, when PostgreSQL refuses one.
    """
    table = quote_staging_table(load_id)
    # A load before a flush of the database may have left one of the same number.  A crash of the
    # server empties it, and the load fails with it.
    create = sql.SQL(
        "DROP TABLE IF EXISTS {table};"
        " CREATE UNLOGGED TABLE {table} (number bigint, members jsonb NOT NULL)"
    )
    try:
        with begin_load_transaction(connection, load_id), connection.cursor() as cursor:
            cursor.execute(create.format(table=table))
            if beside:
                place_beside(connection, name_staging_table(load_id), beside)
            with cursor.copy(build_copy(table, "number, members")) as lines:
                for batch in batches:
                    lines.write("".join(f"{line}\x02{text}\n" for line, text in batch))
            cursor.execute(sql.SQL("ANALYZE {}").format(table))
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(parse_copy_line(error) or "?") from error
    return Rows(sql.SQL("{} AS rows").format(table))
