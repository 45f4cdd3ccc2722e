"""
What a portal needs to answer, and the views that say whether it has it.

A message never has the text of a driver, because the address may be open to the public.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar

from django.apps import apps
from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable
from health_check.views import HealthCheckView

from ....database.statements import execute
from ....guards.cache import BriefCache
from ....models import Resource
from ....models.base import exclude_from_atomic_requests

logger = logging.getLogger(__name__)

#: A load whose process has reported within this time is running.
_MAX_HEARTBEAT_AGE = timedelta(minutes=1)


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


@dataclass(repr=False)
class NamedCheck(HealthCheck):
    """A check whose name in the answer is that of its class."""

    def __repr__(self) -> str:
        return type(self).__name__.lower()


class Database(NamedCheck):
    def run(self) -> None:
        with open_connection() as connection:
            execute(connection, "SELECT 1")


class Migrations(NamedCheck):
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


@dataclass(repr=False)
class Worker(NamedCheck):
    """Whether a worker takes loads: none waits for long while no other load is running."""

    max_wait: timedelta = timedelta(minutes=5)

    def run(self) -> None:
        from ...files.models import RUNNING, Load, LoadState  # noqa: PLC0415 - may be missing

        now = timezone.now()
        with open_connection() as connection:
            loads = Load.objects.using(connection.alias)
            waiting = loads.filter(
                state=LoadState.QUEUED, started_at=None, queued_at__lt=now - self.max_wait
            )
            running = loads.filter(state__in=RUNNING, heartbeat_at__gt=now - _MAX_HEARTBEAT_AGE)
            is_idle = waiting.exists() and not running.exists()
        if is_idle:
            raise ServiceUnavailable(_("Loads are waiting, and no worker runs them."))


@exclude_from_atomic_requests
@require_safe
@never_cache
def show_live(request: HttpRequest) -> HttpResponse:
    """Answer, without the database: a process that does not answer should be restarted."""
    return HttpResponse("OK\n", content_type="text/plain; charset=utf-8")


class ReadyView(HealthCheckView):
    """Whether requests should be sent to this process: 200, or 503 with what is wrong; JSON."""

    http_method_names: ClassVar[list[str]] = ["get", "head", "options"]
    checks: ClassVar[list[type[HealthCheck]]] = [Database, Migrations]

    #: The status and the body.
    answer_cache: ClassVar[BriefCache[tuple[int, bytes]]] = BriefCache()

    def __init_subclass__(cls) -> None:
        cls.answer_cache = BriefCache()

    @exclude_from_atomic_requests
    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer outside of a transaction, which no view that is async may have."""
        response: HttpResponse = await super().dispatch(request, *args, **kwargs)
        return response

    async def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer as within the last second, or as before while another request runs the checks."""
        with self.answer_cache.refresh() as is_due:
            if is_due:
                request.GET = QueryDict("format=json")
                response: HttpResponse = await super().get(request)
                status = response.status_code
                if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                    status = HTTPStatus.SERVICE_UNAVAILABLE
                    failed = {
                        str(each.check): str(each.error) for each in self.results if each.error
                    }
                    logger.warning("A health check failed: %s", failed, extra={"checks": failed})
                self.answer_cache.set((status, response.content))
        status, body = self.answer_cache.value
        return HttpResponse(body, content_type="application/json", status=status)

    @contextmanager
    def get_executor(self) -> Iterator[Executor]:
        """Run the checks one after the other; a check that hangs does not delay the answer."""
        pool = ThreadPoolExecutor(max_workers=1)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class OperationsView(ReadyView):
    """Whether the portal also runs loads and has room, for monitoring and not for balancers."""

    checks: ClassVar[list[type[HealthCheck]]] = [
        Database,
        Migrations,
        *([Worker] if apps.is_installed("datastore_search.contrib.files") else []),
        Disk,
    ]
