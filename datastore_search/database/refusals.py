"""Errors that are due to the state of the database, or to how the portal is connected to it."""

from __future__ import annotations

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError, Error, InterfaceError
from psycopg import errors

from ..messages.availability import (
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    PrivilegeMissing,
    TemporarilyUnavailable,
)


def explain_refusal(error: BaseException) -> TemporarilyUnavailable | None:
    """
    Explain an error of a database that is read-only or full, or of a role without the privilege.

    None when something else is wrong.  A standby, ``default_transaction_read_only``, a full disk
    and a role without privileges are not errors of the request.
    """
    cause = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(cause, errors.ReadOnlySqlTransaction):
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()  # the next one finds the server that is the primary by then
        return DatabaseReadOnly()
    if isinstance(cause, errors.InsufficientPrivilege):
        return PrivilegeMissing()
    if isinstance(cause, errors.DiskFull):
        return DatabaseFull()
    if isinstance(cause, psycopg.InternalError) and is_connection_lost(error):
        return DatabaseUnreachable()
    return None


def is_connection_lost(error: BaseException) -> bool:
    """
    Return whether the connection to PostgreSQL is lost: the server or its session has ended.

    Source: PostgreSQL's error codes, of which class 08 is a broken connection and 57P an ended one.
    psycopg raises an ``InternalError`` without a code where PgBouncer sends an error after another.
    """
    cause = error.__cause__ if isinstance(error, Error) else error
    if isinstance(error, InterfaceError | DatabaseUnreachable | psycopg.InterfaceError):
        return True
    if not isinstance(cause, psycopg.OperationalError | psycopg.InternalError):
        return isinstance(cause, psycopg.InterfaceError)
    state = cause.sqlstate
    if isinstance(cause, psycopg.errors.InternalError_):  # Citus gives a lost worker no code
        return "connection marked as essential" in str(cause)
    return state is None or state.startswith(("57P", "08"))


def is_worker_lost(connection: BaseDatabaseWrapper, error: BaseException) -> bool:
    """Return whether a worker of Citus is lost, but not the connection to the coordinator."""
    driver = connection.connection
    return is_connection_lost(error) and driver is not None and not driver.closed
