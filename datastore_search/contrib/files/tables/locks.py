"""
The locks of a running load, and the statements that run for it.

A pooler in transaction mode gives a client another session of PostgreSQL for each transaction.  A
lock or a setting of the session would stay there, and affect other clients.  So everything here
belongs to a transaction, and ends with it or with its connection.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Lock

from django.db import Error, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors

from ....database.sessions import override_settings
from ....database.statements import begin_transaction, execute, fetch_value, to_milliseconds
from ..messages import LoadFailed

#: The first number of the advisory locks that mark a running load; the second is the load's.
_LOAD_LOCK = 0x64735F6C

#: The first number of those that let only one load of a resource run; the second is made of its id.
_RESOURCE_LOCK = 0x64735F72

#: The process that holds an advisory lock of two numbers.
_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid = %s::bigint::oid AND objid = %s::bigint::oid AND objsubid = 2"
)

#: Loads that run within a transaction of their caller, by the alias of the database.
_within_transactions: set[tuple[str, int]] = set()


class JobLock:
    """
    The locks of a running load, held by a transaction that stays open meanwhile.

    Nothing is read or written in it, so it does not delay vacuum.
    """

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._is_free = Lock()

    def wait_for_turn(self, resource_id: uuid.UUID | str, timeout: timedelta) -> None:
        """
        Wait until no other load of the resource runs, and then hold its lock.

        PostgreSQL grants the lock in the order of the requests.

        Raises: ``LoadFailed`` with ``load.lock_timeout`` after ``timeout``.
        """
        numbers = [_RESOURCE_LOCK, uuid.UUID(str(resource_id)).int % 2**31]  # may be a text
        with self._is_free, self._connection.cursor() as cursor:
            try:
                with (
                    self._connection.connection.transaction(),  # a savepoint: the other lock stays
                    override_settings(cursor.db, lock_timeout=to_milliseconds(timeout)),
                ):
                    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", numbers)
            except OperationalError as error:
                if not isinstance(error.__cause__, errors.LockNotAvailable):
                    raise
                cursor.execute(_HOLDERS, numbers)
                sessions = ", ".join(str(pid) for (pid,) in cursor.fetchall()) or "–"
                minutes = max(1, timeout // timedelta(minutes=1))
                raise LoadFailed("load.lock_timeout", minutes=minutes, sessions=sessions) from error

    def verify(self) -> None:
        """
        Make sure that the locks are still held; that also keeps the connection in use.

        Raises: Django's ``OperationalError`` or ``InterfaceError`` when the connection is gone.
        """
        if not self._is_free.acquire(blocking=False):  # the load is waiting for its turn
            return
        try:
            execute(self._connection, "SELECT 1")
        finally:
            self._is_free.release()


@contextmanager
def hold_job_lock(connection: BaseDatabaseWrapper, load_id: int) -> Iterator[JobLock | None]:
    """
    Mark a load as running for the time of the block; None when another process is running it.

    The mark ends with the process, too.  Within a transaction of the caller only this process needs
    to know it, because no other process can see the load.
    """
    if connection.in_atomic_block:
        mark = (connection.alias, load_id)
        _within_transactions.add(mark)
        try:
            yield JobLock(connection)
        finally:
            _within_transactions.discard(mark)
        return
    own = connections.create_connection(connection.alias)
    own.inc_thread_sharing()  # the monitor's thread verifies its locks
    try:
        own.set_autocommit(False)
        _prepare_transaction(own, load_id)
        numbers = [_LOAD_LOCK, load_id % 2**31]
        is_held = fetch_value(own, "SELECT pg_try_advisory_xact_lock(%s, %s)", numbers)
        yield JobLock(own) if is_held else None
    finally:
        with suppress(Error):  # a connection that is gone has no lock either
            own.rollback()
        own.close()


def is_running(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    if (connection.alias, load_id) in _within_transactions:
        return True
    return bool(execute(connection, _HOLDERS, [_LOAD_LOCK, load_id % 2**31]))


# The statements of a load -------------------------------------------------------------------------


@contextmanager
def begin_load_transaction(connection: BaseDatabaseWrapper, load_id: int) -> Iterator[None]:
    """
    Run a transaction of a load, without the portal's time limits and named after the load.

    Within a transaction of the caller it is a part of it, and does not change its settings.
    """
    is_ours = not connection.in_atomic_block
    with begin_transaction(connection):
        if is_ours:
            _prepare_transaction(connection, load_id)
        yield


def cancel_statements(connection: BaseDatabaseWrapper, load_id: int) -> None:
    """Cancel what PostgreSQL is doing for a load, over all of its connections."""
    # Only the role that has logged in may cancel: a portal may set another one for its statements.
    with override_settings(connection, role="none"):
        execute(
            connection,
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user"
            " AND (application_name = %s OR starts_with(query, %s))"
            " AND state = 'active' AND pid <> pg_backend_pid()",
            [_build_application_name(load_id), build_statement_comment(load_id)],
        )


def build_statement_comment(load_id: int) -> str:
    """Return the comment by which a statement belongs to a load that cannot be in a transaction."""
    return f"/* {_build_application_name(load_id)} */"


def _build_application_name(load_id: int) -> str:
    return f"datastore_search load {load_id}"


def _prepare_transaction(connection: BaseDatabaseWrapper, load_id: int) -> None:
    """
    Name the transaction after its load, and lift the time limits that a portal has for requests.

    The server checks whether the load's process still runs: otherwise it would complete an index,
    and hold its locks, after the process was killed.  Only Linux supports this check.
    """
    execute(
        connection,
        "SELECT set_config(name, '0', true) FROM unnest(ARRAY['statement_timeout', 'lock_timeout',"
        " 'idle_in_transaction_session_timeout', 'transaction_timeout']) AS name"
        " WHERE current_setting(name, true) IS NOT NULL"
        " UNION ALL SELECT set_config('application_name', %s, true)"
        " UNION ALL SELECT set_config('client_connection_check_interval',"
        " CASE WHEN version() LIKE '%%linux%%' THEN '2s' ELSE '0' END, true)",
        [_build_application_name(load_id)],
    )
