"""Transactions that write, with limits for the wait for locks and for each statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import Any, Final, cast

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error
from psycopg import errors, sql

from ..conf import conf
from ..guards.clients import Client
from ..guards.shares import process_shares
from ..guards.watchdog import Watched
from ..messages.availability import (
    CommitUnconfirmed,
    StandbyMissing,
    WriteBlocked,
    WriteTooSlow,
)
from .sessions import to_milliseconds
from .statements import execute, is_connection_lost, translate_errors

#: A shorter time limit of the portal's own holds.
_LIMITS = sql.SQL(
    "SELECT current_setting('lock_timeout'), set_config('lock_timeout', {lock_ms}, true),"
    " current_setting('statement_timeout'), set_config('statement_timeout', least({ms}::bigint,"
    " nullif(extract(epoch FROM current_setting('statement_timeout')::interval), 0) * 1000"
    ")::bigint::text, true)"
)

#: Puts the limits back.
_RESTORE = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"


#: The time that a write waits for another change of the same resource.  Loads wait without limit.
WRITE_LOCK_TIMEOUT: Final = timedelta(seconds=10)

#: The advisory lock of a transaction that changes aliases.
_ALIAS_LOCK = 0x64735F616C696173

#: One that writes, and one that waits.
_MAX_WRITERS: Final = 2


@dataclass(frozen=True, slots=True)
class RowToLock:
    """A row of a table, by the value of its ``id``."""

    table: str
    id: object


#: How many threads of this process write to a row, or wait for another one that does.
_writers: Counter[RowToLock] = Counter()
_lock = Lock()


@contextmanager
def begin_write_transaction(
    connection: BaseDatabaseWrapper, row: RowToLock | None = None
) -> Iterator[bool]:
    """
    Run a transaction that waits for each lock no longer than ``WRITE_LOCK_TIMEOUT``.

    Each statement has the time limit of ``conf.WRITE_TIMEOUT``.  If there is a ``row`` it is locked
    first, by the same message, against all other writers; the block receives whether it was found.
    One thread of a process waits for a row, and holds its connection meanwhile; others are refused.
    Within a transaction of the caller the former limits are restored at the end.

    Raises: ``WriteBlocked``; ``WriteTooSlow``; ``CommitUnconfirmed``.
    """
    is_ours = not connection.in_atomic_block
    turn = _take_turn(row) if row and is_ours else nullcontext()
    with turn, refuse_if_blocked(), begin_transaction(connection):
        before, is_found = _begin(connection, row)
        yield is_found
        if not is_ours and not connection.needs_rollback:  # which restores them
            execute(connection, _RESTORE, before)


class Report(partial[Any]):
    """What ``transaction.on_commit`` calls also after a COMMIT of which no answer has arrived."""


@contextmanager
def begin_transaction(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """
    Run a transaction, or a part of one; a change that may be committed is reported.

    A COMMIT waits for standbys that must confirm it no longer than ``WRITE_LOCK_TIMEOUT``, and
    without a slot.

    Raises: ``CommitUnconfirmed``; ``StandbyMissing``.
    """
    is_ours, waiting = not connection.in_atomic_block, None
    watched = Watched(connection, Client({}), limit=WRITE_LOCK_TIMEOUT)
    end_watch = partial(watched.__exit__, None, None, None)
    try:
        with transaction.atomic(using=connection.alias):
            yield
            if is_ours and not connection.needs_rollback:
                waiting = cast("list[Any]", connection.run_on_commit)
                waiting.insert(0, (set(), end_watch, True))
                process_shares.release()
                watched.__enter__()
        if watched._reason:  # noqa: SLF001 - of its cancellation, after which a COMMIT succeeds
            raise StandbyMissing
    except Error as error:
        if waiting is None or not is_connection_lost(error):
            raise
        for report in (each[1] for each in waiting if isinstance(each[1], Report)):
            report()
        raise CommitUnconfirmed from error
    finally:
        end_watch()


def refuse_if_blocked() -> AbstractContextManager[None]:
    """
    Translate the errors of statements that have waited too long for a lock, or run too long.

    Raises: ``WriteBlocked``; ``WriteTooSlow``.
    """
    return translate_errors(
        (errors.LockNotAvailable, WriteBlocked), (errors.QueryCanceled, WriteTooSlow)
    )


def _begin(connection: BaseDatabaseWrapper, row: RowToLock | None) -> tuple[tuple[str, str], bool]:
    """Set the limits and lock the row; return the limits before, and whether it was found."""
    statement: sql.Composable = _LIMITS.format(
        lock_ms=sql.Literal(to_milliseconds(WRITE_LOCK_TIMEOUT)),
        ms=sql.Literal(to_milliseconds(conf.WRITE_TIMEOUT)),
    )
    if row is not None:
        lock = sql.SQL("SELECT FROM {table} WHERE id = {id} FOR NO KEY UPDATE").format(
            table=sql.Identifier(row.table), id=sql.Literal(row.id)
        )
        statement = sql.SQL("; ").join([statement, lock])
    with connection.cursor() as cursor:
        cursor.execute(statement)
        lock_before, _lock, before, _now = cursor.fetchone()
        is_found = bool(row and cursor.nextset() and cursor.fetchone() is not None)
        return (lock_before, before), is_found


@contextmanager
def _take_turn(row: RowToLock) -> Iterator[None]:
    """Write to a row during the block, or wait for the thread of this process that does."""
    with _lock:
        if _writers[row] == _MAX_WRITERS:
            raise WriteBlocked
        _writers[row] += 1
    try:
        yield
    finally:
        with _lock:
            _writers[row] -= 1
            if not _writers[row]:
                del _writers[row]


def lock_aliases(connection: BaseDatabaseWrapper) -> None:
    """Lock the names of resources and datasets, which one transaction changes at a time."""
    execute(connection, "SELECT pg_advisory_xact_lock(%s)", [_ALIAS_LOCK])
