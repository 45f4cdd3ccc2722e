"""
Reading all that a query finds, row by row, from one snapshot that stays open meanwhile.

``Stream`` holds the snapshot and a connection of its own; within it a ``Reading`` copies the rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import Any, Never, Self, TypeVar
from weakref import finalize

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Copy, sql

from .. import storage
from ..clients import Client
from ..conf import conf
from ..exceptions import RecordsIncomplete, TooManyStreams
from ..filters import Clause
from ..models import Load, Resource
from ..spooling import Spool
from ..stream_slots import StreamSlot
from .consistency import (
    ConsistentRead,
    MissingTable,
    raise_if_current,
    retry_if_stale,
    translate_database_errors,
    within_time_of,
)
from .copying import ONE_TEXT, copied
from .plan import statements_of, total_of, way_to
from .query import Query, RecordsFormat
from .relations import Relation
from .sql import Way

Row = TypeVar("Row")

_CSV = "FORMAT csv, DELIMITER {}"
_CELLS = "FORMAT text"


class Reading:
    """
    The records that a query finds, to be read in one of several forms.

    Each form is a context: its end, early or not, ends the statement too.  It may raise
    ``InvalidFullTextQuery``, ``QueryTooSlow`` and ``StaleVersion``.

    Source: PostgreSQL's ``COPY … TO STDOUT``, which sends rows as it finds them.
    """

    def __init__(self, look: ConsistentRead, relation: Relation, query: Query) -> None:
        """
        Fit the query to the relation, and read nothing yet.

        Raises: ``InvalidParameters``, everything that does not fit.
        """
        self._look = look
        self._relation = relation
        self._query = replace(query, records_format=RecordsFormat.LISTS)
        self._statements = statements_of(look.connection, relation, self._query)

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the cells, in order."""
        return self._statements.fields

    @contextmanager
    def csv(self, delimiter: str) -> Iterator[Iterator[bytes]]:
        """Read rows of cells as CSV, in the manner of PostgreSQL, each with its line's end."""
        options = sql.SQL(_CSV).format(sql.Literal(delimiter))
        with self._copied(self._statements.cells(self._way()), options) as copy:
            yield self._whole(copy, map(bytes, copy))

    @contextmanager
    def lists(self) -> Iterator[Iterator[bytes]]:
        """Read rows as the JSON texts of lists, each with its line's end."""
        with self._copied(self._statements.page(self._way()), sql.SQL(ONE_TEXT)) as copy:
            yield self._whole(copy, map(bytes, copy))

    @contextmanager
    def cells(self) -> Iterator[Iterator[tuple[str | None, ...]]]:
        """Read rows of cells as they would stand in CSV, None for null."""
        with self._copied(self._statements.cells(self._way()), sql.SQL(_CELLS)) as copy:
            yield self._whole(copy, copy.rows())

    def _whole(self, copy: Copy, rows: Iterator[Row]) -> Iterator[Row]:
        """
        Pass the rows of a copy on; where their number is known, make sure that none is missing.

        Raises: ``RecordsIncomplete``.
        """
        known = self._statements.known_total
        if known is None:
            return rows
        promised = max(0, known - self._query.offset)
        limit = self._query.limit
        promised = promised if limit is None else min(promised, limit)
        return chain(rows, _check_number(copy, promised))

    def _way(self) -> Way:
        """Count the matches when only some are wanted; without a limit PostgreSQL plans well."""
        if self._query.limit is None or not self._statements.is_walkable:
            return Way.WALKED
        with translate_database_errors(plain=self._query.plain):
            total = total_of(self._look, self._statements)
        return way_to(total, self._relation, self._statements, self._query)

    @contextmanager
    def _copied(self, statement: Clause, options: sql.Composable) -> Iterator[Copy]:
        with (
            translate_database_errors(plain=self._query.plain),
            copied(self._look.connection, statement, options) as rows,
        ):
            yield rows


class Stream(Iterator[bytes]):
    """
    Blocks of bytes that are made of a resource's records within one snapshot.

    The first two blocks are read at once, so that what has no more holds nothing open.  The
    snapshot ends with the last block, or when the stream is closed, by the thread that opened it.

    A stream has a connection of its own, for nobody else can use the one that it reads from.  Only
    within a transaction of the caller it is a part of that, and then reads everything at once, into
    a spool.

    What has more than two blocks has a slot of the streams until its end.
    """

    def __init__(
        self,
        name: uuid.UUID | str,
        begin: Callable[[ConsistentRead], Generator[bytes]],
        client: Client | None = None,
        limit: timedelta | None = None,
    ) -> None:
        """
        Describe a resource, by its id or an alias, and begin.

        ``begin`` takes a look at the resource and makes at least one block, within ``limit``.
        ``client`` is who asks; None is the program itself.

        Raises: ``UnknownResource``; ``StaleVersion``; ``QueryTooSlow``; ``TooManySlowSearches``;
        ``TooManyStreams``; ``ReadBlocked``; whatever ``begin`` raises.
        """
        self._alias = router.db_for_read(Load)
        shared = connections[self._alias]
        self._own = None if shared.in_atomic_block else connections.create_connection(self._alias)
        steps = _steps(self._alias, name, begin)
        if client is not None:
            steps = _watched(steps, self._own or shared, client.without_request(), limit)
        self._source = _Source(self._alias, self._own, steps if self._own else _spooled(steps))
        # Also of a response that somebody threw away.  The source knows neither the stream nor the
        # response, so it is whole when they go.
        end: Any = finalize(self, self._source.close)
        # At the end of the process a thread may still read: what it holds ends with the process.
        end.atexit = False
        self._end: Callable[[], object] = end
        self._ahead: list[bytes] = []
        self.resource, first = self._step()
        self._ahead.append(first)
        with suppress(StopIteration):
            self._ahead.append(self._step()[1])
            self._take_slot()

    @classmethod
    def opened(
        cls,
        name: uuid.UUID | str,
        begin: Callable[[ConsistentRead], Generator[bytes]],
        client: Client | None = None,
    ) -> Self:
        """
        Open a stream, anew when the records are replaced before its first blocks are read.

        Raises: ``TooManyRetries``; ``TooManySlowSearches`` in a flood, too; otherwise as the
        stream itself.
        """
        with nullcontext() if client is None else storage.admitted():
            return within_time_of(
                client,
                lambda limit: retry_if_stale(lambda: cls(name, begin, client, limit)),
                conf.DUMP_TIMEOUT,
            )

    def __next__(self) -> bytes:
        return self._ahead.pop(0) if self._ahead else self._step()[1]

    def close(self) -> None:
        """End the stream, and the snapshot with it."""
        self._ahead.clear()
        self._end()

    def _take_slot(self) -> None:
        if not self._own:  # a spool sees to its slot itself
            return
        try:
            self._source.slot = StreamSlot()
        except TooManyStreams:
            self._end()
            raise

    def _step(self) -> tuple[Resource, bytes]:
        try:
            return self._source.step()
        except BaseException:
            self._end()
            raise


class _Source:
    """What a stream reads from, and what it holds until its end."""

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

    def step(self) -> tuple[Resource, bytes]:
        with self._in_place():
            return next(self._steps)

    def close(self) -> None:
        """End it, in whichever thread; a stream sees to it that this happens once."""
        try:
            with self._in_place():
                self._steps.close()
        finally:
            if self._own:
                self._own.close()
            if self.slot:
                self.slot.release()

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Let this thread read by the stream's connection."""
        if not self._own:
            yield
            return
        shared = connections[self._alias]
        connections[self._alias] = self._own
        try:
            yield
        finally:
            connections[self._alias] = shared


def _steps(
    alias: str, name: uuid.UUID | str, begin: Callable[[ConsistentRead], Generator[bytes]]
) -> Generator[tuple[Resource, bytes]]:
    connection: BaseDatabaseWrapper = connections[alias]
    timeout, memory = conf.DUMP_TIMEOUT, conf.SEARCH_MEMORY_BYTES
    resource: Resource | None = None
    try:
        with translate_database_errors(), storage.snapshot(connection, timeout, memory) as session:
            resource = Resource.objects.using(alias).described(name)
            begun = begin(ConsistentRead(session, resource))
            del begin  # it may know the response, which would keep the stream alive, and itself
            with closing(begun) as blocks:
                for block in blocks:
                    yield resource, block
    except MissingTable as error:
        if resource:
            raise_if_current(connection, str(name), resource, error)
        raise


def _check_number(copy: Copy, promised: int) -> Iterator[Never]:
    """
    Give nothing, after the last row of a copy.

    Raises: ``RecordsIncomplete``.
    """
    if copy.cursor.rowcount < promised:
        raise RecordsIncomplete
    yield from ()


def _watched(
    steps: Generator[tuple[Resource, bytes]],
    connection: BaseDatabaseWrapper,
    client: Client,
    limit: timedelta | None,
) -> Generator[tuple[Resource, bytes]]:
    """Let the first block keep to a limit, and need a slot if it is slow; the rest is promised."""
    with closing(steps):
        is_first = True
        while True:
            with storage.Watched(
                connection, client, needs_slot=is_first, limit=limit if is_first else None
            ):
                step = next(steps, None)
            if step is None:
                return
            yield step
            is_first = False


def _spooled(steps: Generator[tuple[Resource, bytes]]) -> Generator[tuple[Resource, bytes]]:
    with closing(steps):
        resource, first = next(steps)
        blocks = Spool(first, (block for _resource, block in steps), b"")
    with closing(blocks):
        read = iter(blocks)
        yield resource, next(read, first)  # which is empty where there is no more
        for block in read:
            yield resource, block
