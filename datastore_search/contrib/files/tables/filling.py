"""
Fill a table with records.

Computing the search vectors takes most of the time.  So a load fills its table over several
connections (``docs/decisions/0013``), and builds most vectors itself, in a process of their own
(``docs/decisions/0046``).
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from queue import Full, Queue
from typing import Any, LiteralString, NamedTuple

import psycopg
from django.db import DataError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ....database.statements import execute
from ....database.tables import (
    LOCK_TIMEOUT,
    create_table,
    drop_table,
    list_numbers,
    maintain_vectors,
    quote_record_table,
)
from ..messages.failures import UnstorableRecord
from .lexicon import DatabaseLexicon, can_build_vectors
from .locks import begin_load_transaction
from .vectors.process import VectorProcess, start_vector_process

#: JSON texts and vectors hold no control characters, so CSV with these needs no escaping.
_COPY_OPTIONS = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"

#: How often failures of threads are looked for, while all threads are busy.
_CHECK_INTERVAL_SECONDS = 1.0

#: Up to this number, a load builds vectors as fast as its connections copy them.
_MAX_CONNECTIONS_WITH_VECTORS = 2

#: This number of records is handed to a connection at once.
_ROWS_PER_PIECE = 500

#: Pieces whose vectors are being built: the process has the next one when it has ended one.
_MAX_EXPECTED_PIECES = 2


class Batch(NamedTuple):
    """
    Some records as JSON texts, each an object keyed by field name.

    ``texts`` has the text of each record as ``datastore_search_values`` would make it; None where
    that is not known.
    """

    records: list[str]
    texts: list[str] | None = None


class _Piece(NamedTuple):
    """Records to copy, with their numbers; without ``vectors`` PostgreSQL computes these."""

    numbers: Sequence[int]
    records: Sequence[str]
    vectors: Sequence[str] | None = None


#: The pieces that wait for a connection; None ends the stream of one.
_Work = Queue[_Piece | None]


@dataclass(frozen=True, slots=True)
class _Target:
    """A table to fill, in a database; ``has_vectors`` unless PostgreSQL generates those itself."""

    alias: str
    table: NewTable
    language: str
    has_vectors: bool


def create_records(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    *,
    language: str,
    batches: Iterable[Batch],
    max_connections: int = 1,
) -> int:
    """
    Create a record table, fill it with records, and return how many.

    Records are numbered from 1 in the order of the ``batches``.  The table has no index yet, and is
    not read before it is published.  ``max_connections`` fill it at once; within a transaction of
    the caller, only the caller's own connection does.

    Raises: ``UnstorableRecord`` when PostgreSQL refuses one.
    """
    if max_connections == 1 or connection.in_atomic_block:
        return _fill_by_one(connection, table, language, batches)
    batches = iter(batches)
    first = next(batches, Batch([]))
    batches = itertools.chain([first], batches)
    has_vectors = first.texts is not None and can_build_vectors(
        connection, language, first.records, first.texts
    )
    target, work = _Target(connection.alias, table, language, has_vectors), _Work(max_connections)
    with begin_load_transaction(connection, table.load_id):
        create_table(connection, table.id, language=language, is_generated=not has_vectors)
    if has_vectors:
        with _start_vector_process(connection, language) as process:
            count = _fill_by_several(target, _build_pieces(process, batches, work), work)
    else:
        pieces = (piece for piece, _texts in _split_batches(batches))
        count = _fill_by_several(target, pieces, work)
    with begin_load_transaction(connection, table.load_id):
        if has_vectors:
            maintain_vectors(connection, table.id, language=language)
        _set_next_id(connection, table.id, count + 1)
    return count


def _fill_by_one(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    language: str,
    batches: Iterable[Batch],
) -> int:
    """Fill the table in the transaction that makes it: ``COPY … FREEZE`` writes the rows once."""
    count = 0
    try:
        with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
            create_table(connection, table.id, language=language)
            copying = build_copy(quote_record_table(table.id), "_id, data", ", FREEZE")
            with cursor.copy(copying) as lines:
                for batch in batches:
                    lines.write(_render_lines(itertools.count(count + 1), batch.records))
                    count += len(batch.records)
            _set_next_id(connection, table.id, count + 1)
    # Django does not wrap the errors of COPY.
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(parse_copy_line(error) or "?") from error
    return count


# Over several connections -------------------------------------------------------------------------


def _fill_by_several(target: _Target, pieces: Iterable[_Piece], work: _Work) -> int:
    count, max_connections = 0, work.maxsize
    with ThreadPoolExecutor(max_connections) as pool:
        running = [pool.submit(_copy_work, target, work) for _number in range(max_connections)]
        try:
            for piece in pieces:
                if not _put_piece(piece, work, running):
                    break
                count += len(piece.numbers)
        finally:
            for _future in running:
                _put_piece(None, work, running)
    for future in running:
        future.result()
    return count


def _put_piece(piece: _Piece | None, work: _Work, running: list[Future[None]]) -> bool:
    """Queue a piece, or the end of a stream; return whether no thread has failed."""
    while not all(future.done() for future in running):
        try:
            work.put(piece, timeout=_CHECK_INTERVAL_SECONDS)
        except Full:
            continue
        break
    return not any(future.done() and future.exception() for future in running)


def _copy_work(target: _Target, work: _Work) -> None:
    """Copy pieces over a connection of this thread, until the end."""
    piece: _Piece | None = None
    with closing(connections[target.alias]) as connection:
        try:
            with begin_load_transaction(connection, target.table.load_id):
                while piece := work.get():
                    _write_piece(connection.connection, target, piece)
        except (psycopg.DataError, errors.StatementTooComplex) as error:
            raise UnstorableRecord(_find_refused(connection, target, piece, error)) from error


def _write_piece(driver: psycopg.Connection[Any], target: _Target, piece: _Piece) -> None:
    table = quote_record_table(target.table.id)
    columns: LiteralString = "_id, data"
    records = piece.records
    if piece.vectors is not None:
        columns = "_id, data, search"
        records = list(map("\x02".join, zip(records, piece.vectors, strict=True)))
    elif target.has_vectors:
        inserting = sql.SQL(
            "INSERT INTO {table} (_id, data, search)"
            " SELECT number, data, datastore_search_vector(data, {language}::regconfig)"
            " FROM (SELECT number, record::jsonb AS data FROM"
            " unnest(%s::bigint[], %s::text[]) AS given (number, record) OFFSET 0) AS records"
        ).format(table=table, language=sql.Literal(target.language))
        driver.execute(inserting, [list(piece.numbers), list(records)])
        return
    with driver.cursor() as cursor, cursor.copy(build_copy(table, columns)) as lines:
        lines.write(_render_lines(piece.numbers, records))


def _find_refused(
    connection: BaseDatabaseWrapper, target: _Target, piece: _Piece | None, error: psycopg.Error
) -> int | str:
    """Find the record that PostgreSQL has refused; of an INSERT, by asking for each."""
    if piece is None:
        return "?"
    line = parse_copy_line(error)
    if line is not None and line <= len(piece.numbers):
        return piece.numbers[line - 1]
    if piece.vectors is not None or not target.has_vectors:
        return "?"
    statement = "SELECT datastore_search_vector(%s::jsonb, %s::regconfig)"
    for number, record in zip(piece.numbers, piece.records, strict=True):
        try:
            execute(connection, statement, [record, target.language])
        except (DataError, OperationalError):
            return number
    return "?"


def build_copy(
    table: sql.Identifier, columns: LiteralString, more_options: LiteralString = ""
) -> sql.Composed:
    """Build a COPY of lines whose cells, which hold no control characters, are not escaped."""
    return sql.SQL("COPY {table} ({columns}) FROM STDIN ({options})").format(
        table=table,
        columns=sql.SQL(columns),
        options=sql.SQL(_COPY_OPTIONS + more_options),
    )


def _render_lines(numbers: Iterable[int], records: Sequence[str]) -> str:
    return "".join(f"{number}\x02{text}\n" for number, text in zip(numbers, records, strict=False))


def parse_copy_line(error: psycopg.Error) -> int | None:
    """Read from PostgreSQL's report at which row a COPY ended."""
    match = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    return int(match[1]) if match else None


# With vectors -------------------------------------------------------------------------------------


@contextmanager
def _start_vector_process(
    connection: BaseDatabaseWrapper, language: str
) -> Iterator[VectorProcess]:
    """Lend the connection to the thread that answers the process; no other uses it meanwhile."""
    connection.inc_thread_sharing()
    try:
        with start_vector_process(DatabaseLexicon(connection, language)) as process:
            yield process
    finally:
        connection.dec_thread_sharing()


def _build_pieces(
    process: VectorProcess, batches: Iterable[Batch], work: _Work
) -> Iterator[_Piece]:
    """Build search vectors; records that are left to PostgreSQL come in pieces of their own."""
    should_share = work.maxsize > _MAX_CONNECTIONS_WITH_VECTORS
    expected: deque[_Piece] = deque()
    for piece, texts in _split_batches(batches):
        is_busy = len(expected) == _MAX_EXPECTED_PIECES and not process.is_ready
        if texts is None or (should_share and is_busy and work.empty()):
            yield piece
            continue
        if len(expected) == _MAX_EXPECTED_PIECES:
            yield from _split_piece(expected.popleft(), process.receive())
        process.send(texts)
        expected.append(piece)
    for piece in expected:
        yield from _split_piece(piece, process.receive())


def _split_batches(batches: Iterable[Batch]) -> Iterator[tuple[_Piece, list[str] | None]]:
    """Split batches into pieces without vectors, each with its texts, and number the records."""
    first = 1
    for records, texts in batches:
        numbers = range(first, first + len(records))
        for start in range(0, len(numbers), _ROWS_PER_PIECE):
            part = slice(start, start + _ROWS_PER_PIECE)
            yield _Piece(numbers[part], records[part]), texts[part] if texts else None
        first = numbers.stop


def _split_piece(piece: _Piece, vectors: Sequence[str | None]) -> Iterator[_Piece]:
    """Give the records of a piece their vectors, and separate those without."""
    numbers, records = piece.numbers, piece.records
    is_built = [vector is not None for vector in vectors]
    is_left = [vector is None for vector in vectors]
    if any(is_built):
        yield _Piece(
            list(itertools.compress(numbers, is_built)),
            list(itertools.compress(records, is_built)),
            [vector for vector in vectors if vector is not None],
        )
    if any(is_left):
        yield _Piece(
            list(itertools.compress(numbers, is_left)), list(itertools.compress(records, is_left))
        )


def _set_next_id(connection: BaseDatabaseWrapper, table_id: int, number: int) -> None:
    """Set the ``_id`` of the table's next record."""
    restart = sql.SQL("ALTER TABLE {} ALTER COLUMN _id RESTART WITH {}")
    execute(connection, restart.format(quote_record_table(table_id), sql.Literal(number)))


_PREFIX = "datastore_search_staging_"


def quote_staging_table(load_id: int) -> sql.Identifier:
    """Name the staging table of a load."""
    return sql.Identifier(f"{_PREFIX}{load_id}")


@dataclass(frozen=True, slots=True)
class NewTable:
    """A record table that a load is making."""

    id: int
    load_id: int


def drop_staging_table(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Drop the staging table of a load, if there is one, and return whether it was possible."""
    return drop_table(connection, quote_staging_table(load_id), LOCK_TIMEOUT)


def list_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    """List the loads that have a staging table."""
    return list_numbers(connection, _PREFIX)
