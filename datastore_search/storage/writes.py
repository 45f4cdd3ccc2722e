"""Transactions that write, with a limit for the wait for locks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import OperationalError
from psycopg import errors, sql

from ..exceptions.availability import WriteBlocked
from .sessions import to_milliseconds

_LIMIT = sql.SQL(
    "SELECT current_setting('lock_timeout'), set_config('lock_timeout', {limit}, true)"
)


@dataclass(frozen=True, slots=True)
class RowToLock:
    """A row of a table, by the value of its ``id``."""

    table: str
    id: object


@contextmanager
def begin_write_transaction(
    connection: BaseDatabaseWrapper, lock_timeout: timedelta, row: RowToLock | None = None
) -> Iterator[bool]:
    """
    Run a transaction that waits for each lock no longer than ``lock_timeout``.

    If there is a ``row`` it is locked first, by the same message, against all other writers;
    the block receives whether it was found.  Within a transaction of the caller the former limit is
    restored at the end.

    Raises: ``WriteBlocked``.
    """
    is_ours = not connection.in_atomic_block
    with refuse_if_blocked(), transaction.atomic(using=connection.alias):
        before, now, is_found = _begin(connection, lock_timeout, row)
        yield is_found
        # A rollback restores it.
        if before != now and not is_ours and not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])


@contextmanager
def refuse_if_blocked() -> Iterator[None]:
    """
    Translate the error of statements that have waited too long for a lock.

    Raises: ``WriteBlocked``.
    """
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, errors.LockNotAvailable):
            raise WriteBlocked from error
        raise


def _begin(
    connection: BaseDatabaseWrapper, lock_timeout: timedelta, row: RowToLock | None
) -> tuple[str, str, bool]:
    """Limit the waits and lock the row; return the limits before and now, and if it was found."""
    statement: sql.Composable = _LIMIT.format(limit=sql.Literal(to_milliseconds(lock_timeout)))
    if row is not None:
        lock = sql.SQL("SELECT FROM {table} WHERE id = {id} FOR NO KEY UPDATE").format(
            table=sql.Identifier(row.table), id=sql.Literal(row.id)
        )
        statement = sql.SQL("; ").join([statement, lock])
    with connection.cursor() as cursor:
        cursor.execute(statement)
        before, now = cursor.fetchone()
        is_found = bool(row and cursor.nextset() and cursor.fetchone() is not None)
        return before, now, is_found
