"""What is damaged in the database: functions, triggers, columns, indexes and statistics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from .server import read_sql_file
from .sessions import override_setting, to_milliseconds
from .tables import LOCK_TIMEOUT, name_record_table

#: The columns of a record table, with their types.
_COLUMNS: Final = {"_id": "bigint", "data": "jsonb", "search": "tsvector"}

_FUNCTION_FILES: Final = ("functions.sql", "casts.sql", "versions.sql")
_TRIGGER: Final = re.compile(r"^CREATE OR REPLACE TRIGGER (\w+)\s[^;]*?\bON (\w+)", re.MULTILINE)

_DEFINITIONS = (
    "SELECT oid::regprocedure::text, pg_get_functiondef(oid) FROM pg_proc"
    " WHERE pronamespace = current_schema()::regnamespace"
    " AND starts_with(proname, 'datastore_search_')"
)


def list_damaged_functions(connection: BaseDatabaseWrapper) -> list[str]:
    """
    List the functions that are missing or differ from those of this version of the app.

    They are created in a transaction that is rolled back, so that PostgreSQL itself compares.

    Raises: Django's ``Error`` when the role may not replace them.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(_DEFINITIONS)
        before = dict(cursor.fetchall())
        for name in _FUNCTION_FILES:
            cursor.execute(_read_functions(name))
        cursor.execute(_DEFINITIONS)
        transaction.set_rollback(True, using=connection.alias)
        return sorted(name for name, text in cursor.fetchall() if before.get(name) != text)


def restore_functions(connection: BaseDatabaseWrapper) -> None:
    """Create the functions of this version of the app."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for name in _FUNCTION_FILES:
            cursor.execute(_read_functions(name))


def _read_functions(name: str) -> str:
    """Read the functions of a file, without the triggers after them, which lock tables."""
    return read_sql_file(name).partition("CREATE OR REPLACE TRIGGER")[0]


def list_damaged_triggers(connection: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    """List the triggers that are missing or disabled, each with its table."""
    expected = set(_TRIGGER.findall(read_sql_file("versions.sql")))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE relnamespace = current_schema()::regnamespace AND tgenabled IN ('O', 'A')"
        )
        return sorted(expected - set(cursor.fetchall()))


def restore_triggers(connection: BaseDatabaseWrapper) -> None:
    """
    Create the triggers that keep the versions of resources, and enable them.

    Raises: Django's ``OperationalError`` while a table is written to for longer than
    ``LOCK_TIMEOUT``.
    """
    text = read_sql_file("versions.sql")
    with (
        transaction.atomic(using=connection.alias),
        connection.cursor() as cursor,
        override_setting(cursor, "lock_timeout", to_milliseconds(LOCK_TIMEOUT)),
    ):
        cursor.execute(text)
        for trigger, table in sorted(set(_TRIGGER.findall(text))):
            cursor.execute(
                sql.SQL("ALTER TABLE {} ENABLE TRIGGER {}").format(
                    sql.Identifier(table), sql.Identifier(trigger)
                )
            )


@dataclass(frozen=True, slots=True)
class TableDiagnosis:
    """What is damaged in a record table."""

    has_columns: bool
    has_primary_key: bool
    invalid_indexes: list[str]
    has_statistics: bool


def diagnose_record_table(connection: BaseDatabaseWrapper, table_id: int) -> TableDiagnosis:
    """Inspect a record table that exists, without reading its records."""
    name = name_record_table(table_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            [name],
        )
        columns = dict(cursor.fetchall())
        cursor.execute(
            "SELECT indexrelid::regclass::text, indisprimary, indisvalid AND indisready"
            " FROM pg_index WHERE indrelid = %s::regclass",
            [name],
        )
        indexes = cursor.fetchall()
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_statistic WHERE starelid = %s::regclass)", [name]
        )
        (has_statistics,) = cursor.fetchone()
    return TableDiagnosis(
        has_columns=columns == _COLUMNS,
        has_primary_key=any(is_primary for _name, is_primary, _is_valid in indexes),
        invalid_indexes=sorted(name for name, _is_primary, is_valid in indexes if not is_valid),
        has_statistics=has_statistics,
    )


def rebuild_index(connection: BaseDatabaseWrapper, name: str) -> None:
    """
    Rebuild an index of a record table, while the table is read and written.

    Raises: Django's ``Error``, as in a transaction of the caller.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
