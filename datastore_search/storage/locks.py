"""
Who is at work: advisory locks, and the sessions that work for a load.

A lock of a session, and the session's name, end with its process, however that ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

#: The first number of the advisory locks that mark a running load; the second is the load's.
_LOAD_LOCK = 0x64735F6C

#: The first number of those that let only one load of a resource run; the second is made of its id.
_RESOURCE_LOCK = 0x64735F72

#: What a portal may limit for its requests, and no load should meet.
_UNLIMITED = {"statement_timeout": "0", "lock_timeout": "0"}

#: How often a server that works for a load looks whether the load's process is still there.
_CLIENT_LOOKED_FOR = "client_connection_check_interval"
_LOOK_FOR_CLIENT = "2s"

#: The advisory lock of whoever changes aliases.
_ALIAS_LOCK = 0x64735F616C696173


@contextmanager
def load_at_work(connection: BaseDatabaseWrapper, load_id: int) -> Iterator[None]:
    """Mark a load as running for as long as this block, and this connection, live."""
    with _named(connection, load_id), _locked(connection, _LOAD_LOCK, _lock_number(load_id)):
        yield


@contextmanager
def resource_at_work(
    connection: BaseDatabaseWrapper, resource_id: uuid.UUID | str
) -> Iterator[None]:
    """
    Let only one load of a resource run at a time: wait until it is this one's turn.

    PostgreSQL lets those who wait in by the order in which they came.  Within a transaction of the
    caller the resource is locked until its end.
    """
    number = uuid.UUID(str(resource_id)).int % 2**31  # new objects may have a text
    if connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_RESOURCE_LOCK, number])
        yield
        return
    with _locked(connection, _RESOURCE_LOCK, number):
        yield


@contextmanager
def _locked(connection: BaseDatabaseWrapper, kind: int, number: int) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [kind, number])
    try:
        yield
    finally:
        if connection.is_usable():  # one that is gone has no lock either
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [kind, number])


def is_at_work(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Tell whether some process is running this load."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND classid = %s::bigint::oid AND objid = %s::bigint::oid AND objsubid = 2)",
            [_LOAD_LOCK, _lock_number(load_id)],
        )
        (found,) = cursor.fetchone()
    return bool(found)


def _lock_number(load_id: int) -> int:
    return load_id % 2**31


# The sessions of a load ---------------------------------------------------------------------------


@contextmanager
def another_session(alias: str, load_id: int) -> Iterator[BaseDatabaseWrapper]:
    """Open one more connection that works for a load; it is closed in the end."""
    connection = connections.create_connection(alias)
    try:
        with _named(connection, load_id):
            yield connection
    finally:
        connection.close()


def cancel_statements(connection: BaseDatabaseWrapper, load_id: int) -> None:
    """Cancel what PostgreSQL is doing for a load, over all of its connections."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user"
            " AND application_name = %s AND state = 'active' AND pid <> pg_backend_pid()",
            [_session_name(load_id)],
        )


@contextmanager
def _named(connection: BaseDatabaseWrapper, load_id: int) -> Iterator[None]:
    """Name the session after its load; within a transaction of the caller nobody looks for it."""
    if connection.in_atomic_block:
        yield
        return
    _name(connection, load_id)
    try:
        yield
    finally:
        if connection.is_usable():  # and may be somebody else's next
            with connection.cursor() as cursor:
                for setting in (
                    "application_name",
                    "client_connection_check_interval",
                    *_UNLIMITED,
                ):
                    cursor.execute(sql.SQL("RESET {}").format(sql.Identifier(setting)))


def _name(connection: BaseDatabaseWrapper, load_id: int) -> None:
    with connection.cursor() as cursor:
        for setting, value in {"application_name": _session_name(load_id), **_UNLIMITED}.items():
            cursor.execute("SELECT set_config(%s, %s, false)", [setting, value])
    # Else an index would be made to its end, and its locks held, for a process that was killed.
    # Not every operating system can tell PostgreSQL that a client is gone.
    with suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, false)", [_CLIENT_LOOKED_FOR, _LOOK_FOR_CLIENT])


def _session_name(load_id: int) -> str:
    return f"datastore_search load {load_id}"


# Aliases ------------------------------------------------------------------------------------------


def lock_aliases(connection: BaseDatabaseWrapper) -> None:
    """Let only one transaction at a time change aliases."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ALIAS_LOCK])
