"""What a session of the database is set to while a block of statements runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import psycopg
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

#: Changes a setting until the end of the transaction.
_SET = "SELECT set_config(%s, %s, true)"


@contextmanager
def snapshot(connection: BaseDatabaseWrapper, limit: timedelta) -> Iterator[None]:
    """
    Let all statements of the block see one moment, and end each that runs longer than ``limit``.

    Within a transaction of the caller the moment is that transaction's business.

    Source: PostgreSQL's isolation level ``REPEATABLE READ``.
    """
    with ExitStack() as stack:
        is_ours = not connection.in_atomic_block
        if is_ours:
            connection.ensure_connection()
            stack.enter_context(_isolated(connection))
        stack.enter_context(transaction.atomic(using=connection.alias))
        cursor = stack.enter_context(connection.cursor())
        if is_ours:  # the setting ends with the transaction
            cursor.execute(_SET, ["statement_timeout", milliseconds(limit)])
        else:
            stack.enter_context(setting(cursor, "statement_timeout", milliseconds(limit)))
        yield


@contextmanager
def _isolated(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Begin the next transaction as ``REPEATABLE READ``, without a statement of its own."""
    driver = connection.connection
    before = driver.isolation_level
    driver.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        yield
    finally:
        if not driver.closed:
            driver.isolation_level = before


@contextmanager
def setting(cursor: CursorWrapper, name: str, value: str) -> Iterator[None]:
    """Change a setting of PostgreSQL within the current transaction, then change it back."""
    cursor.execute("SELECT current_setting(%s), set_config(%s, %s, true)", [name, name, value])
    before, _ = cursor.fetchone()
    yield
    cursor.execute(_SET, [name, before])


def milliseconds(duration: timedelta) -> str:
    """Write a duration as PostgreSQL reads it."""
    return str(duration // timedelta(milliseconds=1))
