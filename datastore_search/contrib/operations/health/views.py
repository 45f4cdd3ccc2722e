"""The views of ``health/live``, ``health/ready`` and ``health/operations``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, ClassVar

from django.apps import apps
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from health_check.base import HealthCheck
from health_check.views import HealthCheckView

from ....guards.cache import BriefCache
from ....models.base import exclude_from_atomic_requests
from .checks import Database, Disk, Migrations

logger = logging.getLogger(__name__)


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


if apps.is_installed("datastore_search.contrib.files"):
    from ..loads import Worker

    _OF_LOADS: list[type[HealthCheck]] = [Worker]
else:
    _OF_LOADS = []


class OperationsView(ReadyView):
    """Whether the portal also runs loads and has room, for monitoring and not for balancers."""

    checks: ClassVar[list[type[HealthCheck]]] = [
        Database,
        Migrations,
        *_OF_LOADS,
        Disk,
    ]
