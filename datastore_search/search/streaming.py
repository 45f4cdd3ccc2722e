"""
Streams: all records that a query finds, row by row, from one snapshot that stays open meanwhile.

``Stream`` holds the snapshot and a connection of its own; in it ``RecordCopy`` copies the rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import chain
from time import monotonic
from typing import Any, Never, Self, TypeVar
from weakref import finalize

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Copy, sql

from ..conf import conf
from ..database.sessions import open_snapshot
from ..filters import Clause, compose
from ..guards import clients
from ..guards.clients import Client, StreamSlot
from ..guards.watchdog import Watched
from ..messages.access import RecordsIncomplete
from ..messages.availability import ClientDisconnected, TemporarilyUnavailable
from ..messages.downloads import FileTooSlow
from ..models import Resource
from .binding import bind_query
from .consistency import raise_if_table_lost, retry_if_stale, with_client_timeout
from .pages import count_matches
from .plan import choose_stream_plan
from .query import Query, build_relation
from .reads import (
    JSON_LINES,
    ConsistentRead,
    MissingTable,
    VersionKey,
    compose_csv_options,
    translate_database_errors,
)
from .spool import Spool

Row = TypeVar("Row")

#: Records of more fields are long enough to be stored compressed.
_MAX_PACKED_FIELDS = 64

#: The time for a file that must be whole before it is sent, which is a workbook of Excel.
FILE_TIMEOUT = timedelta(minutes=1)

#: The blocks that are read before any is sent.
_BLOCKS_AHEAD = 2

_CELLS = sql.SQL("FORMAT text")


class RecordCopy:
    """
    The records that a query finds, copied out in one of several forms.

    Each form is a context: its end, early or not, ends the statement.  It may raise
    ``InvalidFullTextQuery``, ``QueryTooSlow`` and ``StaleVersion``.

    Source: PostgreSQL's ``COPY … TO STDOUT``, which sends rows as it finds them.
    """

    def __init__(self, read: ConsistentRead, query: Query) -> None:
        """Check the query, whose ``records_format`` is a format of texts, and read nothing yet."""
        self._read = read
        self._bound = bind_query(read, query)

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the cells, in order."""
        return self._bound.fields

    @property
    def whole_version(self) -> VersionKey | None:
        """The version for caches; None where not all records match, or nothing must be kept."""
        read = self._read
        if not (self._bound.is_unfiltered and read.session.has_own_snapshot):
            return None
        return VersionKey(read.connection.alias, read.resource.pk, read.resource.version)

    @contextmanager
    def open_csv(self, delimiter: str) -> Iterator[Iterator[bytes]]:
        """Copy rows of cells as PostgreSQL's CSV, each with its line's end."""
        with self._copy(compose_csv_options(delimiter)) as copy:
            yield self._check_rows(copy, map(bytes, copy))

    @contextmanager
    def open_texts(self) -> Iterator[Iterator[bytes]]:
        """Copy records as the JSON texts of objects or lists, each with its line's end."""
        with self._copy(JSON_LINES, as_texts=True) as copy:
            yield self._check_rows(copy, map(bytes, copy))

    @contextmanager
    def open_cells(self) -> Iterator[Iterator[tuple[str | None, ...]]]:
        """Copy rows of cells as they are in CSV, None for null."""
        with self._copy(_CELLS) as copy:
            yield self._check_rows(copy, copy.rows())

    def count_rows(self, most: int) -> int:
        """Count the rows; where they cannot be more than ``most``, nothing is read."""
        bound, total = self._bound, self._bound.known_total
        if total is None:
            records = self._read.relation.record_count
            if records is not None and bound.count_page(records) < most:
                return bound.count_page(records)
            with translate_database_errors(plain=self._bound.query.plain):
                total = count_matches(self._read, bound)
        return bound.count_page(total)

    def fetch_of_matches(self, columns: Clause) -> list[tuple[Any, ...]]:
        """Fetch aggregates over all matches, not only the page; ``data`` is a record."""
        statement = self._bound.select(columns)
        if len(self.fields) > _MAX_PACKED_FIELDS:
            # Stored compressed, it would be decompressed once for each of its fields.
            unpacked = self._bound.select(Clause(sql.SQL("data || '{}' AS data")))
            statement = compose("SELECT {} FROM ({} OFFSET 0) AS record", columns, unpacked)
        with translate_database_errors(plain=self._bound.query.plain):
            return self._read.fetch_rows(statement)

    def _check_rows(self, copy: Copy, rows: Iterator[Row]) -> Iterator[Row]:
        """Pass on the rows of a copy; where their number is known, check that none is missing."""
        known_total = self._bound.known_total
        if known_total is None:
            return rows
        return chain(rows, _check_number(copy, self._bound.count_page(known_total)))

    @contextmanager
    def _copy(self, options: sql.Composable, *, as_texts: bool = False) -> Iterator[Copy]:
        """Copy the cells of the records, or their JSON texts."""
        read, bound = self._read, self._bound
        with translate_database_errors(plain=bound.query.plain):
            plan = choose_stream_plan(bound, lambda: count_matches(read, bound))
            statement = plan.select_texts() if as_texts else plan.select_cells()
            with read.copy(statement, options) as copy:
                yield copy


def _check_number(copy: Copy, promised: int) -> Iterator[Never]:
    """Raise ``RecordsIncomplete`` after the last row of a copy, if rows are missing."""
    if copy.cursor.rowcount < promised:
        raise RecordsIncomplete
    yield from ()


class Stream(Iterator[bytes]):
    """
    Blocks of bytes that are made of a resource's records within one snapshot.

    The first two blocks are read at once, so that a stream of at most two holds nothing open.  The
    snapshot ends with the last block, or when the stream is closed, by the thread that opened it.

    An empty block is not sent.  It reports that work goes on for a file that must be whole before
    its first byte: such a stream needs a slot already, and ends when its client is gone or when the
    file takes too long.

    A stream has a connection of its own: no other statement can use it meanwhile.  Only within a
    transaction of the caller it uses the caller's, and then reads everything at once, into a spool.

    A stream of more than two blocks holds one of the streams' slots until its end.
    """

    def __init__(
        self,
        name: uuid.UUID | str,
        begin: Callable[[ConsistentRead], Generator[bytes]],
        client: Client | None = None,
        timeout: timedelta | None = None,
    ) -> None:
        """
        Describe a resource, by its id, alias or name, and begin.

        ``begin`` reads the resource and makes its first block within ``timeout``.  ``client``
        is the sender of the request; None is the program itself.

        Raises: ``UnknownResource``; ``StaleVersion``; ``QueryTooSlow``; ``ShareExceeded``;
        ``ServerFull``; ``TooManyStreams``; ``FileTooSlow``; ``ReadBlocked``; whatever ``begin``
        raises.
        """
        self._alias = router.db_for_read(Resource)
        shared = connections[self._alias]
        self._own = None if shared.in_atomic_block else connections.create_connection(self._alias)
        reader = client and client.without_request()
        steps = _read_blocks(self._alias, name, begin, reader)
        if reader is not None:
            steps = _watch_steps(steps, self._own or shared, reader, timeout)
        self._source = _Source(self._alias, self._own, steps if self._own else _spool_blocks(steps))
        # This also ends the stream of a response that was never sent.  The source refers to neither
        # the stream nor the response, so it is whole when they go.
        end: Any = finalize(self, self._source.close)
        # At the end of the process a thread may still read; its connection ends with the process.
        end.atexit = False
        self._end: Callable[[], object] = end
        self._ahead: list[bytes] = []
        self.size_bytes: int | None = None  # if everything has been read already
        try:
            self._read_ahead(client)
        except StopIteration:
            self.size_bytes = sum(map(len, self._ahead))

    @classmethod
    def open(
        cls,
        name: uuid.UUID | str,
        begin: Callable[[ConsistentRead], Generator[bytes]],
        client: Client | None = None,
    ) -> Self:
        """Open a stream, and again if the records are replaced before its first blocks are read."""
        with clients.process_shares.hold(client, conf.STATEMENT_TIMEOUT):
            return with_client_timeout(
                client,
                lambda timeout: retry_if_stale(lambda: cls(name, begin, client, timeout)),
                conf.DUMP_TIMEOUT,
            )

    def __next__(self) -> bytes:
        return self._ahead.pop(0) if self._ahead else self._read_next()[1]

    def close(self) -> None:
        """End the stream, and the snapshot with it."""
        self._ahead.clear()
        self._end()

    def _read_ahead(self, client: Client | None) -> None:
        """Read the first two blocks, and acquire a slot unless these are all."""
        deadline = monotonic() + FILE_TIMEOUT.total_seconds()
        while len(self._ahead) < _BLOCKS_AHEAD:
            self.resource, block = self._read_next()
            if block:
                self._ahead.append(block)
                continue
            self._acquire_slot()
            if client is not None and client.is_gone():
                self._end()
                raise ClientDisconnected
            if monotonic() > deadline:
                self._end()
                raise FileTooSlow(seconds=int(FILE_TIMEOUT.total_seconds()))
        self._acquire_slot()

    def _acquire_slot(self) -> None:
        if self._source.slot or not self._own:  # a spool acquires a slot itself
            return
        try:
            self._source.slot = StreamSlot()
        except TemporarilyUnavailable:
            self._end()
            raise

    def _read_next(self) -> tuple[Resource, bytes]:
        try:
            return self._source.read_next()
        except BaseException:
            self._end()
            raise


class _Source:
    """What a stream reads from, and holds until its end."""

    def __init__(
        self,
        alias: str,
        own: BaseDatabaseWrapper | None,
        steps: Generator[tuple[Resource, bytes]],
    ) -> None:
        self._alias = alias
        self._own = own
        self._steps = steps
        self.slot: StreamSlot | None = None

    def read_next(self) -> tuple[Resource, bytes]:
        with self._use_own_connection():
            return next(self._steps)

    def close(self) -> None:
        """End it, in any thread; a stream does this once."""
        try:
            with self._use_own_connection():
                self._steps.close()
        finally:
            if self._own:
                self._own.close()
            if self.slot:
                self.slot.release()

    @contextmanager
    def _use_own_connection(self) -> Iterator[None]:
        """Make the stream's connection the default one of this thread during the block."""
        if not self._own:
            yield
            return
        shared = connections[self._alias]
        connections[self._alias] = self._own
        try:
            yield
        finally:
            connections[self._alias] = shared


def _read_blocks(
    alias: str,
    name: uuid.UUID | str,
    begin: Callable[[ConsistentRead], Generator[bytes]],
    client: Client | None,
) -> Generator[tuple[Resource, bytes]]:
    connection: BaseDatabaseWrapper = connections[alias]
    timeout, memory_bytes = conf.DUMP_TIMEOUT, conf.SEARCH_MEMORY_BYTES
    resource: Resource | None = None
    try:
        with (
            translate_database_errors(),
            open_snapshot(connection, timeout, memory_bytes) as session,
        ):
            resource = Resource.objects.using(alias).described(name)
            relation = build_relation(resource)
            begun = begin(ConsistentRead(session, relation, resource, client=client))
            del begin  # it may refer to the response, which would keep the stream alive, and itself
            has_block = False
            with closing(begun) as blocks:
                for block in blocks:
                    has_block = True
                    yield resource, block
            if not has_block:  # a file without a byte: no record, a line each
                yield resource, b""
    except MissingTable as error:
        if resource:
            raise_if_table_lost(connection, str(name), resource, error)
        raise


def _watch_steps(
    steps: Generator[tuple[Resource, bytes]],
    connection: BaseDatabaseWrapper,
    client: Client,
    timeout: timedelta | None,
) -> Generator[tuple[Resource, bytes]]:
    """Limit the time of the first block; it counts as a search."""
    with closing(steps):
        is_first = True
        while True:
            with Watched(connection, client, limit=timeout if is_first else None):
                step = next(steps, None)
            if step is None:
                return
            yield step
            is_first = False


def _spool_blocks(steps: Generator[tuple[Resource, bytes]]) -> Generator[tuple[Resource, bytes]]:
    with closing(steps):
        resource, first = next(steps)
        blocks = Spool(first, (block for _resource, block in steps), b"")
    with closing(blocks):
        read = iter(blocks)
        yield resource, next(read, first)  # which is empty if the spool is
        for block in read:
            yield resource, block
