"""Rows as PostgreSQL's COPY sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import ClientCursor, Copy, sql

from ..filters import Clause

#: The options of a COPY of JSON texts, which hold none of these characters: a text is a line.
ONE_TEXT = "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'"


@contextmanager
def copied(
    connection: BaseDatabaseWrapper, statement: Clause, options: sql.Composable
) -> Iterator[Copy]:
    """
    Copy the rows of a statement out; the end of the block, early or not, ends the statement too.

    COPY takes no parameters, so they are merged into its text.  psycopg would do that too, but only
    where there are some: without any it would leave each ``%%`` as it is.
    """
    copy = sql.SQL("COPY ({}) TO STDOUT ({})").format(statement.text, options)
    with connection.wrap_database_errors, connection.cursor() as cursor:
        merged = ClientCursor(connection.connection).mogrify(copy, statement.parameters)
        with cursor.cursor.copy(merged.encode()) as rows:
            yield rows
