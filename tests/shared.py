"""Data that the tests of a module share: made once, and restored after each test."""

from __future__ import annotations

from typing import ClassVar, Self

import pytest
from django.db import connection, transaction

from datastore_search.database.statements import execute
from datastore_search.models import Resource

from .builders import get_record_table

#: For all sessions of the database: a write that is refused closes its connection.
_ALTER = (
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I {} default_transaction_read_only {}',"
    " current_database()); END $$"
)
MAKE_READ_ONLY = [_ALTER.format("SET", "= on"), "SET default_transaction_read_only = on"]
MAKE_WRITABLE = ["SET default_transaction_read_only = off", _ALTER.format("RESET", "")]


class ModuleTransaction:
    """
    A transaction around the tests of a module, which is rolled back at the end.

    A test that does not commit runs in a savepoint of it.  A test that commits ends it: the shared
    data is gone.
    """

    _current: ClassVar[ModuleTransaction | None] = None

    def __enter__(self) -> Self:
        self._atomic = transaction.atomic()
        self._atomic.__enter__()
        ModuleTransaction._current = self
        return self

    def __exit__(self, *_error: object) -> None:
        if ModuleTransaction._current is self:
            self.end_current()

    @classmethod
    def end_if_broken(cls) -> None:
        """End the transaction if its connection is closed, which no later test could use."""
        if cls._current and (connection.connection is None or connection.connection.closed):
            cls.end_current()

    @classmethod
    def end_current(cls) -> None:
        if cls._current:
            transaction.set_rollback(True)
            cls._current._atomic.__exit__(None, None, None)
            cls._current = None


def commits(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("django_db")
    is_marked = marker is not None and marker.kwargs.get("transaction", False)
    return is_marked or not {"transactional_db", "live_server"}.isdisjoint(request.fixturenames)


def restore_shared_resource(resource: Resource) -> Resource | None:
    """
    Read the shared resource of a module again; return None after a test that committed.

    The sequence is reset, so that the next record gets the ``_id`` after the last one.
    """
    found = Resource.objects.filter(pk=resource.pk).first()
    if found:
        table = get_record_table(found)
        restart = f"SELECT setval(pg_get_serial_sequence(%s, '_id'), max(_id)) FROM {table}"
        execute(connection, restart, [table])
    return found
