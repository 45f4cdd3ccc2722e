"""The PostgreSQL server: its version, its search languages, and its casts of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper


def read_sql_file(name: str) -> str:
    """Read a file of ``datastore_search/sql``."""
    return files("datastore_search").joinpath("sql", name).read_text(encoding="utf-8")


def cast_texts(
    connection: BaseDatabaseWrapper, kind: str, texts: Sequence[str]
) -> Sequence[str | None]:
    """Cast texts to a type by PostgreSQL: canonical JSON, or None where it refuses."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT datastore_search_cast(value, %s)::text"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS given (value, position) ORDER BY position",
            [kind, list(texts)],
        )
        return [answer for (answer,) in cursor.fetchall()]


def list_search_languages(connection: BaseDatabaseWrapper) -> list[str]:
    """List PostgreSQL's text search configurations."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")
        return [name for (name,) in cursor.fetchall()]


def has_time_zone(connection: BaseDatabaseWrapper, name: str) -> bool:
    """Return whether PostgreSQL knows a time zone by a name."""
    return name.lower() in _list_time_zones(connection.alias)


@lru_cache(maxsize=8)
def _list_time_zones(alias: str) -> frozenset[str]:
    """List the names of PostgreSQL's time zones once: it reads a file for each."""
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT lower(name) FROM pg_timezone_names")
        return frozenset(name for (name,) in cursor.fetchall())


def is_supported(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the server is PostgreSQL 15 or newer."""
    return _has_version(connection, 15)


def can_build_gin_in_parallel(connection: BaseDatabaseWrapper) -> bool:
    """Return whether several processes of the server build a GIN index: from PostgreSQL 18 on."""
    return _has_version(connection, 18)


def _has_version(connection: BaseDatabaseWrapper, version: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int / 10000 >= %s", [version])
        (answer,) = cursor.fetchone()
    return bool(answer)


def can_fold_case(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the database folds the case of letters outside ASCII."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT lower('ĐÀ') = 'đà'")
        (answer,) = cursor.fetchone()
    return bool(answer)
