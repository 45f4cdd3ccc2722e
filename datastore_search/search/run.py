"""
Run a query: read a page of records, or stream all of them.

Of a page, the statements of its plans are run until one of them has found it.  A stream copies
records row by row from one snapshot, which stays open meanwhile: ``Stream`` holds the snapshot and
a connection of its own; in it ``RecordCopy`` copies the rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import chain
from time import monotonic
from typing import Any, Never, Self, TypeVar
from weakref import finalize

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Copy, sql

from ..conf import conf
from ..database.sessions import open_session
from ..filters import Clause, compose
from ..filters.names import ID
from ..guards import shares
from ..guards.shares import Client, StreamSlot
from ..guards.watchdog import Watched
from ..messages.access import RecordsIncomplete
from ..messages.availability import ClientDisconnected, TemporarilyUnavailable
from ..messages.search import FileTooSlow
from ..models import Resource
from .plan import (
    PageLookup,
    Plan,
    RankSort,
    choose_plans,
    choose_stream_plan,
    find_page,
    find_top_matches,
    keep_top_matches,
    report_wanted_orders,
)
from .query import BoundQuery, Query, RecordsFormat, bind_query
from .reads import (
    JSON_LINES,
    ConsistentRead,
    Description,
    MissingTable,
    StaleVersion,
    VersionKey,
    describe,
    descriptions,
    raise_if_table_lost,
    retry_if_stale,
    translate_database_errors,
    with_client_timeout,
)
from .records import FoundRecords, RawJson, Spool

Row = TypeVar("Row")

#: Records of more fields are long enough to be stored compressed.
_MAX_UNCOMPRESSED_FIELDS = 64

_DELIMITERS = {RecordsFormat.CSV: ",", RecordsFormat.TSV: "\t"}

# A page -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """
    What a query finds; ``total`` is the number of matches, ``record_count`` that of the records.

    ``records`` is JSON: an array, or a text of CSV rows.  It is a spool where it may have more than
    a few megabytes.  ``fields`` are the names and types of the records' members, in order.
    ``next_page`` are the filters that the records after this page meet.
    """

    records: RawJson | Spool
    total: int | None
    fields: tuple[tuple[str, str], ...]
    next_page: Mapping[str, Mapping[str, int]] | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    record_count: int = 0

    @property
    def text(self) -> bytes:
        return b"".join(self.records)

    @property
    def texts(self) -> Iterator[bytes]:
        """The text of each record, unless they are rows of CSV."""
        return self.records.read_members()

    def close(self) -> None:
        self.records.close()


def read_answer(read: ConsistentRead, query: Query) -> SearchAnswer:
    """
    Read the records that match a query, from the top matches or to keep them.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``; ``RecordsIncomplete``;
    ``StaleVersion`` when the resource must be read again.
    """
    slot = nullcontext() if query.is_light else read.session.hold_slot()
    with slot, translate_database_errors(plain=query.plain):
        bound = bind_query(read, query)
        key, top = find_top_matches(read, bound)
        known_total = total = bound.known_total if top is None else top.total
        if query.sort or query.filters or query.distinct:
            report_wanted_orders(read, bound)
        page = None if query.q else find_page(read, bound, total)
        if page is None and total is None and query.include_total and not bound.counts_matches:
            total = count_matches(read, bound)
            page = find_page(read, bound, total, is_counted=True)
        total = page.total if page and total is None else total
        next_page = None
        if query.limit == 0 or (total is not None and query.offset >= total):
            found = FoundRecords(RawJson([b'""'] if query.is_text else [b"[", b"]"]), 0, 0)
            if known_total:
                check_has_records(read)
        else:
            plans = choose_plans(bound, total, top, lists_top=key is not None and top is None)
            plans = plans if page is None else [PageLookup(bound, ids=page.ids)]
            for plan in plans:
                found = _run_plan(read, plan)
                if plan is plans[-1] or plan.is_complete(found):
                    break
                found.records.close()
            if known_total is not None and found.count < bound.count_page(known_total):
                found.records.close()
                raise RecordsIncomplete
            total = found.total if plan.counts_matches else total
            if key is not None and isinstance(plan, RankSort):
                keep_top_matches(key, found.head, is_counted=plan.counts_matches)
            if query.include_next_page and bound.is_by_id:
                ((last_id,),) = read.fetch_rows(plan.select_last_id())
                operator = "lt" if bound.is_descending else "gt"
                next_page = None if last_id is None else {ID: {operator: int(last_id)}}
        return SearchAnswer(
            records=found.records,
            total=total if query.include_total else None,
            fields=bound.fields,
            next_page=next_page,
            members={each.name: each.read(read, bound, found) for each in query.members},
            record_count=found.count,
        )


def _run_plan(read: ConsistentRead, plan: Plan) -> FoundRecords:
    """Run a plan; what is copied needs a snapshot."""
    query, sizes = plan.bound.query, plan.bound.relation.sizes
    if query.is_copied:
        statement = plan.select_cells() if query.is_text else plan.select_texts(begin=",")
        return copy_records(read, statement, query.records_format)
    found = read.fetch_texts(
        plan.select_texts(),
        batch_rows=sizes.choose_batch_rows(query.limit),
        # Ranking without counting may scan half the table (``docs/decisions/0004``).
        is_scan=isinstance(plan, RankSort) and not plan.counts_matches,
    )
    sizes.note_size(found.count, found.size_bytes)
    return found


def count_matches(read: ConsistentRead, bound: BoundQuery) -> int:
    ((total,),) = read.fetch_rows(bound.select_count())
    return int(total)


def copy_records(
    read: ConsistentRead, statement: Clause, records_format: RecordsFormat
) -> FoundRecords:
    """Copy cells into a spool, or texts each after a comma; the session must show one snapshot."""
    delimiter = _DELIMITERS.get(records_format)
    options = JSON_LINES if delimiter is None else _compose_csv_options(delimiter)
    build = Spool.from_list_lines if delimiter is None else Spool.from_text_lines
    with read.session.watch_statements(), read.copy(statement, options) as copy:
        spool = build(map(bytes, copy))
        return FoundRecords(spool, copy.cursor.rowcount, spool.size_bytes)


def _compose_csv_options(delimiter: str) -> sql.Composable:
    return sql.SQL("FORMAT csv, DELIMITER {}").format(sql.Literal(delimiter))


def check_has_records(read: ConsistentRead) -> None:
    """Raise ``RecordsIncomplete`` if a table that should have records has none."""
    if not read.fetch_rows(compose("SELECT 1 FROM {} LIMIT 1", read.relation.source)):
        raise RecordsIncomplete


# All records --------------------------------------------------------------------------------------


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
        return self._bound.fields

    @property
    def whole_version(self) -> VersionKey | None:
        """The version for caches; None where not all records match, or nothing must be kept."""
        read = self._read
        if not (self._bound.is_unfiltered and read.session.has_own_snapshot):
            return None
        return VersionKey(read.connection.alias, read.resource.pk, read.resource.version)

    def open_csv(self, delimiter: str) -> AbstractContextManager[Iterator[bytes]]:
        """Copy rows of cells as PostgreSQL's CSV, each with its line's end."""
        return self._copy(_compose_csv_options(delimiter), partial(map, bytes))

    def open_texts(self) -> AbstractContextManager[Iterator[bytes]]:
        """Copy records as the JSON texts of objects or lists, each with its line's end."""
        return self._copy(JSON_LINES, partial(map, bytes), as_texts=True)

    def open_cells(self) -> AbstractContextManager[Iterator[tuple[str | None, ...]]]:
        """Copy rows of cells as they are in CSV, None for null."""
        return self._copy(sql.SQL("FORMAT text"), Copy.rows)

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
        if len(self.fields) > _MAX_UNCOMPRESSED_FIELDS:
            # Stored compressed, as it is long, it would be decompressed once for each field.
            unpacked = self._bound.select(Clause(sql.SQL("data || '{}' AS data")))
            statement = compose("SELECT {} FROM ({} OFFSET 0) AS record", columns, unpacked)
        with translate_database_errors(plain=self._bound.query.plain):
            return self._read.fetch_rows(statement)

    @contextmanager
    def _copy(
        self,
        options: sql.Composable,
        read_rows: Callable[[Copy], Iterator[Row]],
        *,
        as_texts: bool = False,
    ) -> Iterator[Iterator[Row]]:
        """Copy cells or JSON texts; where their number is known, check that none is missing."""
        read, bound = self._read, self._bound
        with translate_database_errors(plain=bound.query.plain):
            plan = choose_stream_plan(bound, lambda: count_matches(read, bound))
            statement = plan.select_texts() if as_texts else plan.select_cells()
            with read.copy(statement, options) as copy:
                rows, known_total = read_rows(copy), bound.known_total
                if known_total is not None:
                    rows = chain(rows, _check_number(copy, bound.count_page(known_total)))
                yield rows


def _check_number(copy: Copy, promised: int) -> Iterator[Never]:
    if copy.cursor.rowcount < promised:
        raise RecordsIncomplete
    yield from ()


# A stream -----------------------------------------------------------------------------------------

#: The blocks that are read before any is sent.
_BLOCKS_AHEAD = 2

#: The time for a file that must be whole before it is sent, which is a workbook of Excel.
FILE_TIMEOUT = timedelta(minutes=1)


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
        alias = router.db_for_read(Resource)
        shared = connections[alias]
        # What this holds until its end refers neither to the stream nor to its response, so it is
        # whole when they go: this also ends the stream of a response that was never sent.
        self._held = held = ExitStack()
        self._own = None if shared.in_atomic_block else connections.create_connection(alias)
        if self._own:
            held.callback(self._own.close)
        reader = client and client.without_request()
        self._blocks = _read_blocks(self._own or shared, name, begin, reader)
        if reader is not None:
            self._blocks = _watch_blocks(self._blocks, self._own or shared, reader, timeout)
        if not self._own:
            self._blocks = _spool_blocks(self._blocks)
        held.callback(self._blocks.close)
        end: Any = finalize(self, held.close)
        # At the end of the process a thread may still read; its connection ends with the process.
        end.atexit = False
        self._end: Callable[[], object] = end
        self._has_slot = False
        self._ahead: list[bytes] = []
        self.size_bytes: int | None = None  # if everything has been read already
        deadline = monotonic() + FILE_TIMEOUT.total_seconds()
        try:
            while len(self._ahead) < _BLOCKS_AHEAD:
                if block := self._read_next():
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
        with shares.process_shares.hold(client, conf.STATEMENT_TIMEOUT):
            return with_client_timeout(
                client,
                lambda timeout: retry_if_stale(lambda: cls(name, begin, client, timeout)),
                conf.DUMP_TIMEOUT,
            )

    def __next__(self) -> bytes:
        return self._ahead.pop(0) if self._ahead else self._read_next()

    def close(self) -> None:
        """End the stream, and the snapshot with it."""
        self._ahead.clear()
        self._end()

    def _acquire_slot(self) -> None:
        if self._has_slot or not self._own:  # a spool acquires a slot itself
            return
        try:
            self._held.callback(StreamSlot().release)
        except TemporarilyUnavailable:
            self._end()
            raise
        self._has_slot = True

    def _read_next(self) -> bytes:
        try:
            return next(self._blocks)
        except BaseException:
            self._end()
            raise


def _read_blocks(
    connection: BaseDatabaseWrapper,
    name: uuid.UUID | str,
    begin: Callable[[ConsistentRead], Generator[bytes]],
    client: Client | None,
) -> Generator[bytes]:
    key = connection.alias, str(name)
    described: Description | None = None
    limits = conf.DUMP_TIMEOUT, conf.SEARCH_MEMORY_BYTES
    try:
        with (
            translate_database_errors(),
            open_session(connection, *limits, as_snapshot=True) as session,
        ):
            # Over the connection of this thread, for models are read by no other.
            limit = conf.STATEMENT_TIMEOUT
            with open_session(connections[key[0]], limit, limits[1], client) as own:
                described = describe(key, own, limit)
            read = ConsistentRead(session, *described, client=client)
            read.verify()
            begun = begin(read)
            del begin  # it may refer to the response, which would keep the stream alive, and itself
            with closing(begun) as blocks:
                yield from blocks
    except StaleVersion as error:
        descriptions.remove(key)
        if described and isinstance(error, MissingTable):
            raise_if_table_lost(connection, str(name), described.resource, error)
        raise


def _watch_blocks(
    blocks: Generator[bytes],
    connection: BaseDatabaseWrapper,
    client: Client,
    timeout: timedelta | None,
) -> Generator[bytes]:
    """Limit the time of the first block; it counts as a search."""
    with closing(blocks):
        is_first = True
        while True:
            with Watched(connection, client, limit=timeout if is_first else None):
                block = next(blocks, None)
            if block is None:
                return
            yield block
            is_first = False


def _spool_blocks(blocks: Generator[bytes]) -> Generator[bytes]:
    with closing(blocks):
        spool = Spool(b"", blocks, b"")
    with closing(spool):
        yield from spool
