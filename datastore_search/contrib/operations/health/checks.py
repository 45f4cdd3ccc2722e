"""
What a portal needs to answer: its database, its migrations, and room.

A message never has the text of a driver, because the address may be open to the public.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable

from ....database.statements import execute
from ....models import Resource


@dataclass(repr=False)
class NamedCheck(HealthCheck):
    """A check whose name in the answer is that of its class."""

    def __repr__(self) -> str:
        return type(self).__name__.lower()


class Database(NamedCheck):
    """Ask the database that the app writes to."""

    def run(self) -> None:
        with open_connection() as connection:
            execute(connection, "SELECT 1")


class Migrations(NamedCheck):
    """Compare the migrations of the code with the applied ones."""

    def run(self) -> None:
        with open_connection() as connection:
            applied = MigrationRecorder(connection).applied_migrations().keys()
        if not _list_last_migrations() <= applied:
            raise ServiceUnavailable(_("Migrations are not applied."))


@dataclass(repr=False)
class Disk(NamedCheck):
    """Measure the room for the files of large answers and of loads."""

    min_free_bytes: int = 1 * 2**30

    def run(self) -> None:
        if shutil.disk_usage(tempfile.gettempdir()).free < self.min_free_bytes:
            raise ServiceUnavailable(_("The disk for temporary files is almost full."))


@contextmanager
def open_connection() -> Iterator[BaseDatabaseWrapper]:
    """Open a connection of this thread, which ends after the check."""
    connection: BaseDatabaseWrapper = connections[router.db_for_write(Resource)]
    try:
        yield connection
    except Error as error:
        raise ServiceUnavailable(_("The database does not answer.")) from error
    finally:
        connection.close()


@cache
def _list_last_migrations() -> frozenset[tuple[str, str]]:
    """List the last migrations of our apps, which do not change while the process runs."""
    leaves = MigrationLoader(None).graph.leaf_nodes()
    return frozenset(leaf for leaf in leaves if leaf[0].startswith("datastore_search"))
