"""Locks of migrations: they give way to all other statements, and name who holds them up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.core.management import CommandError
from django.db import connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.fields import FieldOperation
from django.db.migrations.operations.models import ModelOperation

from datastore_search.database import migration_locks
from datastore_search.database.migration_locks import LockTables

from ...deployment.servers import wait_until

TABLES = ("datastore_search_resource", "datastore_search_field")


def lock_tables() -> None:
    """Lock the tables as a migration does."""
    with connection.schema_editor() as editor:
        LockTables(*TABLES).database_forwards("datastore_search", editor, None, None)


@contextmanager
def hold_a_read() -> Iterator[int]:
    """Keep a read of the resources open, as a dump does; yield the process id of its session."""
    connection.ensure_connection()
    other = connections.create_connection("default")
    other.inc_thread_sharing()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() FROM (SELECT FROM datastore_search_resource)")
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        yield pid
    finally:
        other.rollback()
        other.close()


def is_migration_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted")
        return cursor.fetchone() is not None


@pytest.mark.django_db(transaction=True)
def test_a_migration_behind_a_long_read_lets_all_others_pass() -> None:
    def lock() -> None:
        try:
            lock_tables()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with hold_a_read():
            migration = pool.submit(lock)
            for _attempt in range(2):
                wait_until(is_migration_waiting)
                with transaction.atomic(), connection.cursor() as cursor:
                    # A second, as the page on upgrades promises.
                    cursor.execute("SET LOCAL lock_timeout = '1s'")
                    cursor.execute("SELECT FROM datastore_search_resource")
            assert not migration.done()
        migration.result(60)


@pytest.mark.django_db(transaction=True)
def test_a_migration_that_cannot_lock_its_tables_says_who_uses_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(migration_locks, "_MAX_ATTEMPTS", 2)

    with hold_a_read() as pid, pytest.raises(CommandError, match=rf"Other sessions \({pid}\) use"):
        lock_tables()

    lock_tables()


@pytest.mark.django_db
def test_sqlmigrate_shows_the_lock() -> None:
    with connection.schema_editor(collect_sql=True) as editor:
        LockTables(*TABLES).database_forwards("datastore_search", editor, None, None)

    assert editor.collected_sql == [
        'LOCK TABLE "datastore_search_resource", "datastore_search_field" IN ACCESS EXCLUSIVE MODE;'
    ]


@pytest.mark.django_db
def test_every_migration_that_changes_models_locks_their_tables_first() -> None:
    for (app, name), migration in MigrationLoader(connection).disk_migrations.items():
        changes = any(isinstance(e, ModelOperation | FieldOperation) for e in migration.operations)
        if app == "datastore_search" and name != "0001_initial" and changes:
            first, *_others, last = migration.operations
            assert isinstance(first, LockTables), migration
            assert isinstance(last, LockTables), migration
            assert first.tables == last.tables
