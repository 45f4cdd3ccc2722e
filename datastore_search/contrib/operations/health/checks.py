"""
What a portal needs to answer: its database, its migrations, a worker that runs loads, and room.

A message never has the text of a driver, because the address may be open to the public.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from django.utils.translation import gettext as _
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable

from datastore_search.contrib.files.models import RUNNING, Load, LoadState

#: A load whose process has reported within this time is running.
_MAX_HEARTBEAT_AGE = timedelta(minutes=1)


@dataclass(repr=False)
class _Check(HealthCheck):
    """A check that the answer names like its class."""

    def __repr__(self) -> str:
        return type(self).__name__.lower()


class Database(_Check):
    """Ask the database that the app writes to."""

    def run(self) -> None:
        """Send a statement."""
        with _open_connection() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")


class Migrations(_Check):
    """Compare the migrations of the code with the applied ones."""

    def run(self) -> None:
        """Require the app's last migration."""
        with _open_connection() as connection:
            applied = MigrationRecorder(connection).applied_migrations().keys()
        if not _list_last_migrations() <= applied:
            raise ServiceUnavailable(_("Migrations are not applied."))


@dataclass(repr=False)
class Worker(_Check):
    """Find out whether a worker takes loads: none waits for long while no other load is running."""

    max_wait: timedelta = timedelta(minutes=5)

    def run(self) -> None:
        """Look for a load that waits."""
        now = timezone.now()
        with _open_connection() as connection:
            loads = Load.objects.using(connection.alias)
            waiting = loads.filter(
                state=LoadState.QUEUED, started_at=None, queued_at__lt=now - self.max_wait
            )
            running = loads.filter(state__in=RUNNING, heartbeat_at__gt=now - _MAX_HEARTBEAT_AGE)
            is_idle = waiting.exists() and not running.exists()
        if is_idle:
            raise ServiceUnavailable(_("Loads are waiting, and no worker runs them."))


@dataclass(repr=False)
class Disk(_Check):
    """Measure the room for the files of large answers and of loads."""

    min_free_bytes: int = 1 * 2**30

    def run(self) -> None:
        """Measure the free room."""
        if shutil.disk_usage(tempfile.gettempdir()).free < self.min_free_bytes:
            raise ServiceUnavailable(_("The disk for temporary files is almost full."))


@contextmanager
def _open_connection() -> Iterator[BaseDatabaseWrapper]:
    """Open a connection of this thread, which ends after the check."""
    connection: BaseDatabaseWrapper = connections[router.db_for_write(Load)]
    try:
        yield connection
    except Error as error:
        raise ServiceUnavailable(_("The database does not answer.")) from error
    finally:
        connection.close()


@cache
def _list_last_migrations() -> frozenset[tuple[str, str]]:
    """List the app's last migrations, which do not change while the process runs."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes("datastore_search"))
