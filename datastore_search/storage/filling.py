"""
Filling a table with records.

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
from .locks import another_connection, working
from .tables import create_table, record_table

#: JSON text holds no control characters, so CSV with these needs no escaping.
_OPTIONS = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"

#: Seconds between two looks at whether a stream has failed, while all of them are busy.
_LOOK_AGAIN = 1.0

#: The number of the first record of a batch, and the batch; None ends a stream.
Work = tuple[int, list[str]] | None


def create_records(
    connection: BaseDatabaseWrapper,
    load_id: int,
    *,
    language: str,
    batches: Iterable[list[str]],
    streams: int = 1,
) -> int:
    """
    Make the table of a load and fill it with records, and return how many.

    ``batches`` are lists of JSON texts, one an object keyed by field name; records are numbered
    from 1 in their order.  The table is not indexed yet, and nobody looks at it before the end.
    ``streams`` is the number of connections to fill it over; within a transaction of the caller,
    and of a single stream, it is the caller's own.

    Raises: ``UnstorableRecord`` when PostgreSQL refuses one.
    """
    if streams > 1 and not connection.in_atomic_block:
        with working(connection, load_id):
            create_table(connection, load_id, language=language)
        count = _fill_by_several(connection.alias, load_id, batches, streams)
        with working(connection, load_id):
            _number_from(connection, load_id, count + 1)
    else:
        count = _fill_alone(connection, load_id, language, batches)
    return count


def _fill_alone(
    connection: BaseDatabaseWrapper, load_id: int, language: str, batches: Iterable[list[str]]
) -> int:
    """
    Fill the table in the transaction that makes it.

    Source: ``COPY … FREEZE`` of PostgreSQL: such rows are written once and for all.
    """
    count = 0
    try:
        with working(connection, load_id), connection.cursor() as cursor:
            create_table(connection, load_id, language=language)
            with cursor.copy(_copy(load_id, freeze=True)) as lines:
                for batch in batches:
                    lines.write(_lines(count + 1, batch))
                    count += len(batch)
            _number_from(connection, load_id, count + 1)
    # COPY goes past Django, which would wrap its errors.
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(row_of(error) or "?") from error
    return count


def _fill_by_several(alias: str, load_id: int, batches: Iterable[list[str]], streams: int) -> int:
    count = 0
    work: Queue[Work] = Queue(streams)
    with ThreadPoolExecutor(streams) as pool:
        running = [pool.submit(_stream, alias, load_id, work) for _number in range(streams)]
        try:
            for batch in batches:
                if not _handed_over((count + 1, batch), work, running):
                    break
                count += len(batch)
        finally:
            for _future in running:
                _handed_over(None, work, running)
    for future in running:
        future.result()
    return count


def _handed_over(piece: Work, work: Queue[Work], running: list[Future[None]]) -> bool:
    """Give a stream something to do, or its end; say whether all of them are still well."""
    while not all(future.done() for future in running):
        try:
            work.put(piece, timeout=_LOOK_AGAIN)
        except Full:
            continue
        break
    return not any(future.done() and future.exception() for future in running)


def _stream(alias: str, load_id: int, work: Queue[Work]) -> None:
    """Copy what comes, over a connection of its own, until there is no more."""
    firsts: list[tuple[int, int]] = []
    try:
        with (
            another_connection(alias) as connection,
            working(connection, load_id),
            connection.cursor() as cursor,
            cursor.copy(_copy(load_id, freeze=False)) as lines,
        ):
            while piece := work.get():
                first, batch = piece
                firsts.append((first, len(batch)))
                lines.write(_lines(first, batch))
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(_row_among(firsts, row_of(error))) from error


def _copy(load_id: int, *, freeze: bool) -> sql.Composable:
    return sql.SQL("COPY {table} (_id, data) FROM STDIN ({options}{freeze})").format(
        table=record_table(load_id),
        options=sql.SQL(_OPTIONS),
        freeze=sql.SQL(", FREEZE" if freeze else ""),
    )


def _lines(first: int, batch: list[str]) -> str:
    return "".join(f"{number}\x02{text}\n" for number, text in enumerate(batch, first))


def row_of(error: psycopg.Error) -> int | None:
    """Read from PostgreSQL's report at which row a COPY ended."""
    found = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    return int(found[1]) if found else None


def _row_among(firsts: list[tuple[int, int]], line: int | None) -> int | str:
    """Find the row that a stream's line was: ``firsts`` are its batches, by number and length."""
    for first, length in firsts:
        if line is not None and line <= length:
            return first + line - 1
        line = line and line - length
    return "?"


def _number_from(connection: BaseDatabaseWrapper, load_id: int, number: int) -> None:
    """Let the table number its next record so."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("ALTER TABLE {table} ALTER COLUMN _id RESTART WITH {number}").format(
                table=record_table(load_id), number=sql.Literal(number)
            )
        )
