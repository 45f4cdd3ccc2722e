"""Locks of migrations: they give way to all other statements, and name who holds them up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.fields import FieldOperation
from django.db.migrations.operations.models import CreateModel, ModelOperation
from django.db.migrations.operations.special import RunSQL
from django.db.migrations.state import ProjectState

from benchmarks.scale.standbys import wait_until
from datastore_search.database.migration_statements import lock_tables
from datastore_search.database.statements import execute

TABLES = ("datastore_search_resource", "datastore_search_field")


def lock(attempts: int = 75) -> None:
    with connection.schema_editor() as editor:
        operation = lock_tables(*TABLES, attempts=attempts)
        operation.database_forwards("datastore_search", editor, ProjectState(), ProjectState())


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
    waiting = (
        "SELECT pid FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return bool(execute(connection, waiting))


@pytest.mark.django_db(transaction=True)
def test_a_migration_behind_a_long_read_lets_all_others_pass() -> None:
    def migrate() -> None:
        try:
            lock()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with hold_a_read():
            migration = pool.submit(migrate)
            for _attempt in range(2):
                wait_until(is_migration_waiting)
                with transaction.atomic(), connection.cursor() as cursor:
                    # A second, as the page on upgrades promises.
                    cursor.execute("SET LOCAL lock_timeout = '1s'")
                    cursor.execute("SELECT FROM datastore_search_resource")
            assert not migration.done()
        migration.result(60)


@pytest.mark.django_db(transaction=True)
def test_a_migration_that_cannot_lock_its_tables_says_who_uses_them() -> None:
    sessions = r"Other sessions \({}\) use"
    with hold_a_read() as pid, pytest.raises(OperationalError, match=sessions.format(pid)):
        lock(attempts=2)

    lock()


@pytest.mark.django_db
def test_every_migration_that_changes_models_locks_their_tables_first() -> None:
    for (app, name), migration in MigrationLoader(connection).disk_migrations.items():
        changes = any(
            isinstance(e, ModelOperation | FieldOperation)
            and not (isinstance(e, CreateModel) and e.options.get("proxy"))  # it has no table
            for e in migration.operations
        )
        if app == "datastore_search" and name != "0001_initial" and changes:
            first, *_others, last = migration.operations
            assert isinstance(first, RunSQL), migration
            assert "LOCK TABLE" in first.sql
            assert first is last
