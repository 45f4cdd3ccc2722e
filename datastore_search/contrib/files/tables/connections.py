"""The connections that a load may open."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.backends.base.base import BaseDatabaseWrapper

#: The connections of a load without those that fill its table: for its statements, its locks and
#: its progress.
MIN_LOAD_CONNECTIONS = 3


def get_pool_size(connection: BaseDatabaseWrapper) -> int | None:
    """
    Return how many connections the pool of a database may open; None without a pool.

    Source: ``psycopg_pool.ConnectionPool``, whose size is fixed without ``max_size``.
    """
    pool = connection.settings_dict.get("OPTIONS", {}).get("pool")
    if not pool:
        return None
    options = pool if isinstance(pool, Mapping) else {}
    return int(options.get("max_size") or options.get("min_size", 4))


def count_load_connections(connection: BaseDatabaseWrapper, wanted: int) -> int:
    """Return how many connections may fill a table: those that a pool has room for, at least 1."""
    size = get_pool_size(connection)
    return wanted if size is None else max(1, min(wanted, size - MIN_LOAD_CONNECTIONS))
