"""Sessions that read records under limits and in batches; settings of PostgreSQL for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from itertools import repeat
from types import SimpleNamespace
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error, InterfaceError, OperationalError
from psycopg import capabilities, errors, generators, pq

from ..guards import shares
from ..guards.shares import Client
from ..guards.watchdog import Watched
from .statements import Clause, close_if_lost, execute, to_milliseconds

#: Settings of statements that read: random access costs hardly more than sequential access, because
#: the pages are in memory; JIT compilation takes longer than it saves; notices are not read.
_READ_SETTINGS = {"random_page_cost": "1.1", "jit": "off", "client_min_messages": "warning"}

#: Settings of statements that may scan half a table: random access then costs about three times as
#: much, because it evicts the buffers of other tables, and a sequential scan reuses a few buffers.
#: Of each record only a key and a rank are passed on, so parallel workers pass it on for little.
_SCAN_SETTINGS = {"random_page_cost": "4", "parallel_tuple_cost": "0.01"}

#: Settings of statements while other clients need the processors.
_NO_WORKERS = {"max_parallel_workers_per_gather": "0"}

#: How long a reader waits for a lock: longer than ``tables.LOCK_TIMEOUT``, the time for which new
#: readers wait behind a writer that waits for the old ones.  Not much longer, because each waiting
#: reader holds a thread.
_READ_LOCK_TIMEOUT = timedelta(seconds=5)

#: The limits hardly ever change, so the settings and the statements that set them are cached.
_MAX_CACHED_SETTINGS = 100

#: Changes settings until the end of the transaction, and reads what they were before.
_CHANGE = (
    "SELECT name, current_setting(name), set_config(name, value, true)"
    " FROM unnest(%s::text[], %s::text[]) AS setting (name, value)"
)


class Session:
    """
    A connection that reads records, each statement within its time and its memory.

    Outside a transaction the settings travel in one message with the statement, which PostgreSQL
    runs as one transaction: one round trip.  Such a statement is sent once more when the
    connection is dead, so no health check is needed.
    """

    def __init__(
        self,
        connection: BaseDatabaseWrapper,
        settings: Mapping[str, str],
        client: Client | None = None,
        *,
        has_own_snapshot: bool = False,
    ) -> None:
        """
        Wrap a connection; within a transaction of the caller the settings are left as they are.

        Statements for a ``client`` are watched; None is the program itself.  A session
        ``has_own_snapshot`` if all its statements see one state that is committed.
        """
        self.connection = connection
        self.has_own_snapshot = has_own_snapshot
        self._settings = {} if connection.in_atomic_block else settings
        self.timeout_ms = int(settings.get("statement_timeout", 0))
        self.client = client

    def fetch_rows(
        self, statement: Clause, *, limit: timedelta = timedelta(0)
    ) -> list[tuple[Any, ...]]:
        """
        Run a statement and return its rows.

        It may have a shorter time ``limit`` than the others; one that exceeds it leaves the session
        usable, even in a transaction.
        """
        settings: dict[str, str] = {}
        if limit:
            limit_ms = max(1, limit // timedelta(milliseconds=1))
            settings["statement_timeout"] = str(min(limit_ms, self.timeout_ms or limit_ms))
        rows: list[tuple[Any, ...]] = self._run(statement, settings)
        return rows

    def fetch_texts(
        self,
        statement: Clause,
        read_batches: BatchReader[Result],
        *,
        batch_rows: int | None = None,
        is_scan: bool = False,
    ) -> Result:
        """
        Run a statement whose rows differ in the last column alone, and return what is read.

        ``read_batches`` gets the rows in batches of ``batch_rows``, or all of them in one, and so
        decides how many of them are in memory at once; there is at least one batch.  ``is_scan`` is
        for a statement that may scan half a table.
        """
        settings = _SCAN_SETTINGS if is_scan else {}
        result: Result = self._run(statement, settings, (read_batches, batch_rows))
        return result

    def hold_slot(self) -> AbstractContextManager[None]:
        """
        Hold a slot for work that may be slow, as ``guards.shares`` gives it to the client.

        Raises: ``ShareExceeded``; ``ServerFull``; ``ClientDisconnected``.
        """
        return shares.process_shares.hold(self.client, timedelta(milliseconds=self.timeout_ms))

    def contain_failure(self) -> AbstractContextManager[None]:
        """Run a part of a read without which it can go on: a failure leaves the session usable."""
        return (
            _open_savepoint(self.connection) if self.connection.in_atomic_block else nullcontext()
        )

    def watch_statements(self, limit: timedelta | None = None) -> AbstractContextManager[None]:
        """Watch the connection during a block, as if the session ran its statements."""
        if self.client is None:
            return nullcontext()
        return Watched(self.connection, self.client, limit=limit)

    def _run(self, *statement: Any) -> Any:
        try:
            return self._send(*statement)
        except (InterfaceError, OperationalError):
            opened = self.connection.connection
            is_dead = opened is None or opened.closed
            if self.connection.in_atomic_block or not is_dead:
                raise
            self.connection.close()
            return self._send(*statement)

    def _send(
        self,
        statement: Clause,
        settings: Mapping[str, str],
        batches: tuple[BatchReader[Any], int | None] | None = None,
    ) -> Any:
        """Send a statement; return its rows, or what is read of them in ``batches``."""
        connection, before = self.connection, 0
        connection.ensure_connection()
        with ExitStack() as stack:
            if not self._settings and settings:
                stack.enter_context(_open_savepoint(connection))
                stack.enter_context(_restore_settings_after(connection, settings))
            with connection.wrap_database_errors:  # of a connection that is closed
                message = statement.text.as_bytes(connection.connection)
            if self._settings:  # a statement before this one sets them
                workers = _NO_WORKERS if shares.process_shares.is_needed_by_others else {}
                all_settings = {**self._settings, **settings, **workers}
                message = f"{_render_settings(tuple(all_settings.items()))}; ".encode() + message
                before = 1
            # It merges parameters itself, so that a message can hold two statements.
            cursor: psycopg.ClientCursor[Any]
            if batches is None:
                cursor = psycopg.ClientCursor(connection.connection)
            else:
                stack.callback(close_if_lost, connection)
                cursor = BatchCursor(connection.connection)
                cursor.statements_before = before
                cursor.read_result, cursor.batch_rows = batches
            is_logged = connection.queries_logged
            wrap: Any = connection.make_debug_cursor if is_logged else connection.make_cursor
            wrapped = stack.enter_context(wrap(cursor))
            with nullcontext() if self.client is None else Watched(connection, self.client):
                wrapped.execute(message, statement.parameters)
            if isinstance(cursor, BatchCursor):
                return cursor.result
            if before:
                wrapped.nextset()
            return wrapped.fetchall()


@lru_cache(maxsize=_MAX_CACHED_SETTINGS)
def _render_settings(settings: tuple[tuple[str, str], ...]) -> str:
    """Render the statement that sets them; names and values hold no quotes."""
    each = (f"set_config('{name}', '{value}', true)" for name, value in settings)
    return f"SELECT {', '.join(each)}"


@contextmanager
def open_session(
    connection: BaseDatabaseWrapper,
    limit: timedelta,
    memory_bytes: int,
    client: Client | None = None,
    *,
    as_snapshot: bool = False,
) -> Iterator[Session]:
    """
    Read within ``limit`` for each statement, and ``memory_bytes`` for each sort of it.

    Statements see the moment at which each of them begins, or ``as_snapshot`` all one; within a
    transaction of the caller its isolation level decides.  Those for a ``client`` are watched.

    Source: PostgreSQL's isolation level ``REPEATABLE READ``.
    """
    settings = _build_settings(limit, memory_bytes)
    with ExitStack() as stack:
        is_ours = not connection.in_atomic_block
        if not is_ours:  # a failure must leave the caller's transaction usable
            stack.enter_context(_open_savepoint(connection))
            stack.enter_context(_restore_settings_after(connection, settings))
        elif as_snapshot:
            # Before the transaction, so that the check cannot replace the connection in it.
            connection.close_if_health_check_failed()
            close_if_lost(connection)
            connection.ensure_connection()
            stack.enter_context(_begin_repeatable_read(connection))
            # The settings end with the transaction.
            execute(connection, _render_settings(tuple(settings.items())))
        yield Session(connection, settings, client, has_own_snapshot=is_ours and as_snapshot)


@lru_cache(maxsize=_MAX_CACHED_SETTINGS)
def _build_settings(limit: timedelta, memory_bytes: int) -> Mapping[str, str]:
    return {
        **_READ_SETTINGS,
        "statement_timeout": to_milliseconds(limit),
        "lock_timeout": to_milliseconds(_READ_LOCK_TIMEOUT),
        "work_mem": f"{memory_bytes // 1024}kB",
    }


@contextmanager
def _begin_repeatable_read(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """
    Run a transaction of ``REPEATABLE READ``, begun without a statement of its own.

    Source: Django's ``atomic``, which knows the connections of ``connections`` alone: a stream has
    one of its own.
    """
    driver, is_done = connection.connection, False
    before = driver.isolation_level
    driver.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        connection.in_atomic_block, connection.needs_rollback = True, False
        yield
        is_done = True
    finally:
        is_committed = is_done and not connection.needs_rollback
        connection.in_atomic_block = connection.needs_rollback = False
        if connection.closed_in_transaction:
            connection.connection = None
        else:
            try:
                # What reads a token may have noted when.
                (connection.commit if is_committed else connection.rollback)()
                connection.set_autocommit(True)
                driver.isolation_level = before
            except Error:
                connection.close()
                if is_committed:
                    raise


@contextmanager
def _open_savepoint(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Run a part of a transaction, which a failure leaves usable, over any connection."""
    savepoint: Any = connection.savepoint()
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not connection.closed_in_transaction:
            is_kept = is_done and not connection.needs_rollback
            connection.needs_rollback = False
            try:
                if not is_kept:
                    connection.savepoint_rollback(savepoint)
                connection.savepoint_commit(savepoint)
            except Error:
                connection.needs_rollback = True
                if is_done:
                    raise


@contextmanager
def _restore_settings_after(
    connection: BaseDatabaseWrapper, settings: Mapping[str, str]
) -> Iterator[None]:
    """Change settings of PostgreSQL within the current transaction, then change them back."""
    rows = execute(connection, _CHANGE, [list(settings), list(settings.values())])
    before = {name: value for name, value, _changed in rows}
    yield
    execute(connection, _CHANGE, [list(before), list(before.values())])


@contextmanager
def override_settings(connection: BaseDatabaseWrapper, **settings: str) -> Iterator[None]:
    """
    Change settings of PostgreSQL for the block, which is a transaction, then change them back.

    Within a transaction the block is a part of it.
    """
    is_alone = connection.get_autocommit()
    with (
        transaction.atomic(connection.alias) if is_alone else nullcontext(),
        _restore_settings_after(connection, settings),
    ):
        yield


# Batches ------------------------------------------------------------------------------------------

#: How long PostgreSQL has to accept the cancellation of a statement that is no longer read.
_CANCEL_TIMEOUT_SECONDS = 5.0

Result = TypeVar("Result")


class TextBatch(NamedTuple):
    """
    Some rows of a statement, as the texts that PostgreSQL sends, in UTF-8; None for SQL's null.

    ``last`` holds the last column of these rows.  ``head`` holds the other columns of the
    statement's first row, if there is one; the values of other rows are not read.
    """

    head: tuple[bytes | None, ...]
    last: list[bytes | None]


#: Takes the rows of a statement in batches, while PostgreSQL sends them.
BatchReader = Callable[[Iterator[TextBatch]], Result]


class BatchCursor(psycopg.ClientCursor[Any]):
    """
    A cursor that passes rows on in batches while PostgreSQL sends them, and stores none.

    Each batch costs some microseconds, and more while other threads wait for Python's lock.

    ``psycopg`` has this as ``stream``, by a protocol that takes only one statement in a message.

    Source: libpq, "Retrieving Query Results in Chunks".
    """

    #: The statements of a message before the one that is read.
    statements_before = 0
    #: What reads the rows, ``batch_rows`` of which are in memory at once; None for all rows.
    read_result: BatchReader[Any]
    batch_rows: int | None

    result: Any = None
    _query: Any

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Run a message, and read the rows of its last statement."""
        connection = self.connection
        is_idle = connection.pgconn.transaction_status == pq.TransactionStatus.IDLE
        if is_idle and not connection.autocommit:
            super().execute(b"")  # begins the transaction
        message = self.mogrify(query, params).encode()  # Django sets UTF-8
        self._query = SimpleNamespace(query=message)  # where Django's log of statements looks
        driver = connection.pgconn
        with connection.lock:
            try:
                driver.send_query(message)
                if self.batch_rows is not None:
                    if capabilities.has_stream_chunked():
                        driver.set_chunked_rows_mode(self.batch_rows)
                    else:  # a libpq before 17: row by row
                        driver.set_single_row_mode()
                    connection.wait(generators.send(driver))
                self.result = self.read_result(self._read_batches())
            finally:
                if driver.transaction_status == pq.TransactionStatus.ACTIVE:
                    # The statement still runs, and the connection shall be ready for another one.
                    try:
                        connection.cancel_safe(timeout=_CANCEL_TIMEOUT_SECONDS)
                        while connection.wait(generators.fetch(driver)) is not None:
                            pass
                    except psycopg.Error:
                        connection.close()
        return self

    def _read_batches(self) -> Iterator[TextBatch]:
        before, head = self.statements_before, None
        results: Iterable[pq.abc.PGresult]
        if self.batch_rows is None:  # all at once
            results = self.connection.wait(generators.execute(self.connection.pgconn))
        else:
            results = _fetch_results(self.connection)
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise errors.error_from_result(result)
            if before:
                before -= result.status == pq.ExecStatus.TUPLES_OK  # the end of its rows
                continue
            rows, last = result.ntuples, result.nfields - 1
            if head is None:
                head = tuple(map(result.get_value, repeat(0), range(last if rows else 0)))
            elif not rows:
                continue
            yield TextBatch(head, list(map(result.get_value, range(rows), repeat(last))))


def _fetch_results(connection: psycopg.Connection[Any]) -> Iterator[pq.abc.PGresult]:
    """Read the results of a message to its end; those that have arrived need no waiting."""
    driver = connection.pgconn
    failure: pq.abc.PGresult | None = None
    while True:
        is_there = not driver.is_busy()
        result = driver.get_result() if is_there else connection.wait(generators.fetch(driver))
        if result is None:
            break
        if result.status == pq.ExecStatus.FATAL_ERROR:
            failure = result
        elif failure is None:
            yield result
    if failure is not None:
        yield failure
