"""
Pieces of SQL, statements over a connection of Django's, their errors, and transactions that write.

Without parameters, ``%`` in a statement means itself.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from string import Formatter
from threading import Lock
from typing import Any, Final, Literal, LiteralString, cast

import psycopg
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError, Error, InterfaceError
from psycopg import errors, sql

from ..conf import conf
from ..guards.shares import Client, process_shares
from ..guards.watchdog import Watched
from ..messages.availability import (
    CommitUnconfirmed,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    PrivilegeMissing,
    StandbyMissing,
    TemporarilyUnavailable,
    WriteBlocked,
    WriteTooSlow,
)

# Pieces -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of SQL and its parameters, in order."""

    text: sql.Composable
    parameters: list[Any] = field(default_factory=list)


FALSE = Clause(sql.SQL("false"))
TRUE = Clause(sql.SQL("true"))


def compose(template: LiteralString, *clauses: Clause, **named: Clause) -> Clause:
    """Put clauses into a template; one that has a name or a number there may occur repeatedly."""
    placed: Iterable[Clause] = clauses
    if named or "{0}" in template:
        places = [
            place for _text, place, *_more in Formatter().parse(template) if place is not None
        ]
        given = iter(clauses)  # in order where a place has neither
        placed = [
            named[each] if each in named else clauses[int(each)] if each else next(given)
            for each in places
        ]
    texts = {name: clause.text for name, clause in named.items()}
    return Clause(
        sql.SQL(template).format(*[clause.text for clause in clauses], **texts),
        [parameter for clause in placed for parameter in clause.parameters],
    )


def join_with_commas(clauses: Iterable[Clause]) -> Clause:
    clauses = list(clauses)
    return compose(", ".join(["{}"] * len(clauses)), *clauses)


def join_clauses(clauses: Sequence[Clause], operator: Literal["AND", "OR", "&&", "||"]) -> Clause:
    """Join clauses by AND, which is true of none, by another operator, or by OR: false of none."""
    if len(clauses) == 1:
        return clauses[0]
    if not clauses:
        return TRUE if operator == "AND" else FALSE
    places = f" {operator} ".join(["{}"] * len(clauses))
    return compose(f"({places})", *clauses)


# Statements ---------------------------------------------------------------------------------------

Statement = str | sql.Composable
Parameters = Sequence[Any] | None


def execute(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def fetch_column(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> list[Any]:
    return [value for (value,) in execute(connection, statement, parameters)]


def fetch_value(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> Any:
    (value,) = fetch_column(connection, statement, parameters)
    return value


def write_rows(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


@contextmanager
def translate_errors(
    *translations: tuple[type[psycopg.Error], Exception | Callable[[], Exception]],
) -> Iterator[None]:
    """Raise the second of a pair in place of an error of PostgreSQL that is of the first."""
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # Django does not wrap errors of a COPY
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        for kind, translation in translations:
            if isinstance(cause, kind):
                raise (translation() if callable(translation) else translation) from error
        raise


# Errors that are due to the state of the database, or to how the portal is connected to it --------


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

    Source: PostgreSQL's error codes, of which class 08 is a broken connection, 57P an ended one,
    and 25P03 and 25P04 are one that was idle in a transaction, or in one, for too long.
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
    return state is None or state.startswith(("57P", "08", "25P03", "25P04"))


def is_worker_lost(connection: BaseDatabaseWrapper, error: BaseException) -> bool:
    """Return whether a worker of Citus is lost, but not the connection to the coordinator."""
    driver = connection.connection
    return is_connection_lost(error) and driver is not None and not driver.closed


def close_if_lost(connection: BaseDatabaseWrapper) -> None:
    """Let Django connect anew if its connection was closed below it, unless in a transaction."""
    if getattr(connection.connection, "closed", False) and not connection.in_atomic_block:
        connection.close()


def close_lost_connections(**_signal: object) -> None:
    """Let a request begin without connections that were closed below Django."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and connection.connection.closed:
            close_if_lost(connection)


# Transactions that write -------------------------------------------------------------------------


def to_milliseconds(duration: timedelta) -> str:
    """Write a duration as PostgreSQL reads it."""
    return str(duration // timedelta(milliseconds=1))


#: A shorter time limit of the portal's own holds.
_LIMITS = sql.SQL(
    "SELECT current_setting('lock_timeout'), set_config('lock_timeout', {lock_ms}, true),"
    " current_setting('statement_timeout'), set_config('statement_timeout', least({ms}::bigint,"
    " nullif(extract(epoch FROM current_setting('statement_timeout')::interval), 0) * 1000"
    ")::bigint::text, true)"
)

#: The time that a write waits for another change of the same resource.  Loads wait without limit.
WRITE_LOCK_TIMEOUT: Final = timedelta(seconds=10)

#: The advisory lock of a transaction that changes aliases.
_ALIAS_LOCK = 0x64735F616C696173

#: One that writes, and one that waits.
_MAX_WRITERS: Final = 2


#: For ``translate_errors``: of statements that have waited too long for a lock, or run too long.
BLOCKED: Final = (errors.LockNotAvailable, WriteBlocked), (errors.QueryCanceled, WriteTooSlow)


@dataclass(frozen=True, slots=True)
class RowToLock:
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
    statement: sql.Composable = _build_limits(WRITE_LOCK_TIMEOUT, conf.WRITE_TIMEOUT)
    if row is not None:
        lock = sql.SQL("SELECT FROM {table} WHERE id = {id} FOR NO KEY UPDATE").format(
            table=sql.Identifier(row.table), id=sql.Literal(row.id)
        )
        statement = sql.SQL("; ").join([statement, lock])
    with turn, translate_errors(*BLOCKED), begin_transaction(connection):
        with connection.cursor() as cursor:
            cursor.execute(statement)
            lock_before, _lock, before, _now = cursor.fetchone()
            is_found = bool(row and cursor.nextset() and cursor.fetchone() is not None)
        yield is_found
        if not is_ours and not connection.needs_rollback:  # which restores the limits
            restore = (
                "SELECT set_config('lock_timeout', %s, true),"
                " set_config('statement_timeout', %s, true)"
            )
            execute(connection, restore, [lock_before, before])


@lru_cache
def _build_limits(lock_timeout: timedelta, timeout: timedelta) -> sql.Composed:
    lock_ms, ms = to_milliseconds(lock_timeout), to_milliseconds(timeout)
    return _LIMITS.format(lock_ms=sql.Literal(lock_ms), ms=sql.Literal(ms))


class Call(partial[Any]):
    """A call that has the name of its function, which Django logs where a robust one fails."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)


class Report(Call):
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


def keep_modified_at(connection: BaseDatabaseWrapper) -> None:
    """Let changes of this transaction give resources a version, and no time of a change."""
    execute(connection, "SELECT set_config('datastore_search.keeps_modified_at', 'on', true)")


def renew_versions(connection: BaseDatabaseWrapper, resource_id: uuid.UUID | None = None) -> None:
    """
    Give a resource, or each, a version: its records may have changed without one.

    It is not known when, so its ``modified_at`` stays.
    """
    renew = "UPDATE datastore_search_resource SET version = version WHERE id = coalesce(%s, id)"
    with transaction.atomic(using=connection.alias):
        keep_modified_at(connection)
        execute(connection, renew, [resource_id])


def lock_aliases(connection: BaseDatabaseWrapper) -> None:
    """Lock the names of resources and datasets, which one transaction changes at a time."""
    execute(connection, "SELECT pg_advisory_xact_lock(%s)", [_ALIAS_LOCK])
