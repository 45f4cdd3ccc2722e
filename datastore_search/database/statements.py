"""
Pieces of SQL, single statements over a connection of Django's, and the errors of any.

Without parameters, ``%`` in a statement means itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, LiteralString

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError, Error, InterfaceError
from psycopg import errors, sql

from ..messages.availability import (
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    PrivilegeMissing,
    TemporarilyUnavailable,
)

# Pieces -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of SQL and its parameters, in order."""

    text: sql.Composable
    parameters: list[Any] = field(default_factory=list)


FALSE = Clause(sql.SQL("false"))
TRUE = Clause(sql.SQL("true"))


def compose(template: LiteralString, *clauses: Clause) -> Clause:
    """Fill the placeholders of a template with clauses, in order."""
    return Clause(
        sql.SQL(template).format(*[clause.text for clause in clauses]),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def join_with_commas(clauses: Iterable[Clause]) -> Clause:
    """Join clauses with commas between them."""
    clauses = list(clauses)
    return Clause(
        sql.SQL(", ").join([clause.text for clause in clauses]),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def join_clauses(clauses: Sequence[Clause], operator: Literal["AND", "OR", "&&", "||"]) -> Clause:
    """Join clauses by AND, which is true of none, by another operator, or by OR: false of none."""
    if len(clauses) == 1:
        return clauses[0]
    if not clauses:
        return TRUE if operator == "AND" else FALSE
    return Clause(
        sql.SQL("({})").format(sql.SQL(f" {operator} ").join([each.text for each in clauses])),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


# Statements ---------------------------------------------------------------------------------------

Statement = str | sql.Composable
Parameters = Sequence[Any] | None


def execute(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def fetch_column(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> list[Any]:
    """Run a statement whose rows have one value each, and return these."""
    return [value for (value,) in execute(connection, statement, parameters)]


def fetch_value(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> Any:
    """Run a statement that gives one value, and return it."""
    (value,) = fetch_column(connection, statement, parameters)
    return value


def write_rows(
    connection: BaseDatabaseWrapper, statement: Statement, parameters: Parameters = None
) -> int:
    """Run a statement, and return how many rows it has written."""
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
