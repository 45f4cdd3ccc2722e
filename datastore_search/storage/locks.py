"""Advisory locks: which loads are at work, who changes aliases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper

#: The first number of the advisory locks that mark a running load; the second is the load's.
_LOAD_LOCK = 0x64735F6C

#: The advisory lock of whoever changes aliases.
_ALIAS_LOCK = 0x64735F616C696173


@contextmanager
def load_at_work(connection: BaseDatabaseWrapper, load_id: int) -> Iterator[None]:
    """Mark a load as running for as long as this block, and this connection, live."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [_LOAD_LOCK, _lock_number(load_id)])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_advisory_unlock(%s, %s)", [_LOAD_LOCK, _lock_number(load_id)]
                )


def is_at_work(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Tell whether some process is running this load."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND classid = %s::bigint::oid AND objid = %s::bigint::oid AND objsubid = 2)",
            [_LOAD_LOCK, _lock_number(load_id)],
        )
        (found,) = cursor.fetchone()
    return bool(found)


def _lock_number(load_id: int) -> int:
    return load_id % 2**31


def lock_aliases(connection: BaseDatabaseWrapper) -> None:
    """Let only one transaction at a time change aliases."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ALIAS_LOCK])
