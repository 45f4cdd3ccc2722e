"""
Single statements over a connection of Django's, and the errors of any.

Without parameters, ``%`` in a statement means itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import sql

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
    *translations: tuple[type[psycopg.Error], Exception | type[Exception]],
) -> Iterator[None]:
    """Raise the second of a pair in place of an error of PostgreSQL that is of the first."""
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # Django does not wrap errors of a COPY
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        for kind, translation in translations:
            if isinstance(cause, kind):
                raise translation from error
        raise
