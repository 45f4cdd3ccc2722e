"""The PostgreSQL server: versions, search languages, casts of texts, and locks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from .statements import execute, explain_refusal, fetch_column, fetch_value

#: Locks of pg_dump beside those of tables: it reads the catalogue.
_LOCKS_OF_A_DUMP = 200


def read_sql_file(name: str, package: str = "datastore_search.database") -> str:
    return files(package).joinpath("sql", name).read_text(encoding="utf-8")


def cast_texts(
    connection: BaseDatabaseWrapper, kind: str, texts: Sequence[str]
) -> Sequence[str | None]:
    """Cast texts to a type by PostgreSQL: canonical JSON, or None where it refuses."""
    return fetch_column(
        connection,
        "SELECT datastore_search_cast(value, %s)::text"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS given (value, position) ORDER BY position",
        [kind, list(texts)],
    )


def list_search_languages(connection: BaseDatabaseWrapper) -> list[str]:
    return fetch_column(connection, "SELECT cfgname FROM pg_ts_config ORDER BY cfgname")


def has_version(connection: BaseDatabaseWrapper, version: int) -> bool:
    statement = "SELECT current_setting('server_version_num')::int / 10000 >= %s"
    return bool(fetch_value(connection, statement, [version]))


def can_fold_case(connection: BaseDatabaseWrapper) -> bool:
    return bool(fetch_value(connection, "SELECT lower('ĐÀ') = 'đà'"))


def measure_locks(connection: BaseDatabaseWrapper) -> tuple[int, int, int]:
    """
    Return the locks that a dump takes, those that there are, and what they should be for each.

    The last is ``max_locks_per_transaction`` with half as many tables again.

    Source: PostgreSQL, which has that number for each connection and prepared transaction; and
    ``pg_dump``, which locks every table, and looks at its sequence, index and catalogue.
    """
    ((tables, locks, sessions),) = execute(
        connection,
        "SELECT count(*), current_setting('max_locks_per_transaction')::int,"
        " current_setting('max_connections')::int"
        " + current_setting('max_prepared_transactions')::int"
        " FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')"
        " AND relnamespace <> ALL (ARRAY['pg_catalog', 'pg_toast']::regnamespace[])",
    )
    needed = tables + _LOCKS_OF_A_DUMP
    return needed, locks * sessions, math.ceil((needed + tables / 2) / sessions)


@contextmanager
def report_refusal() -> Iterator[None]:
    """Report as ``CommandError`` that the database is read-only or full, or lacks a privilege."""
    try:
        yield
    except DatabaseError as error:
        refusal = explain_refusal(error)
        if refusal is None:
            raise
        raise CommandError(str(refusal)) from error


def refuse_old_database(*, using: str, **_options: Any) -> None:
    """
    Refuse to migrate a database of a version before 1.0; a receiver of ``pre_migrate``.

    Raises: ``CommandError``.
    """
    connection = connections[using]
    if connection.vendor != "postgresql" or not router.allow_migrate(using, "datastore_search"):
        return
    # Migrations of those versions have the same names as those of today.
    if fetch_value(connection, "SELECT to_regclass('datastore_search_load') IS NOT NULL"):
        raise CommandError(
            f"The database “{using}” has tables of datastore_search before version 1.0, which"
            " cannot be upgraded. Nothing was changed. With the old version, save what you need"
            " (datastore/dump, or pg_dump), and run “migrate datastore_search zero”, or use a new"
            " database. Then migrate with this version, and load the resources again."
        )
