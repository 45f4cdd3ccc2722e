"""The views of ``health/live``, ``health/ready`` and ``health/operations``."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from health_check.base import HealthCheck
from health_check.views import HealthCheckView

from .checks import Database, Disk, Migrations, Worker

logger = logging.getLogger(__name__)

#: The answer of a view to all requests within this time.
_MAX_AGE_SECONDS = 1.0


@require_safe
@never_cache
def show_live(request: HttpRequest) -> HttpResponse:
    """Answer, without the database: a process that does not answer should be restarted."""
    return HttpResponse("OK\n", content_type="text/plain; charset=utf-8")


class ReadyView(HealthCheckView):
    """
    Whether requests should be sent to this process: 200, or 503 with what is wrong.

    The answer is JSON, whatever the client accepts.
    """

    http_method_names: ClassVar[list[str]] = ["get", "head", "options"]
    checks: ClassVar[list[type[HealthCheck]]] = [Database, Migrations]

    _answer: ClassVar[tuple[float, int, bytes] | None] = None
    _lock: ClassVar[Lock] = Lock()

    def __init_subclass__(cls) -> None:
        """Give each view an answer and a lock of its own."""
        cls._answer, cls._lock = None, Lock()

    async def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer as within the last second, or as before while another request runs the checks."""
        cls = type(self)
        answer = cls._answer
        is_fresh = answer is not None and time.monotonic() - answer[0] < _MAX_AGE_SECONDS
        if answer is None or not is_fresh:
            is_prober = cls._lock.acquire(blocking=False)
            if answer is None or is_prober:
                try:
                    answer = cls._answer = await self._run_checks(request)
                finally:
                    if is_prober:
                        cls._lock.release()
        return HttpResponse(answer[2], content_type="application/json", status=answer[1])

    async def _run_checks(self, request: HttpRequest) -> tuple[float, int, bytes]:
        request.GET = QueryDict("format=json")
        response: HttpResponse = await super().get(request)
        status = response.status_code
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            failures = {
                str(result.check): str(result.error) for result in self.results if result.error
            }
            logger.warning("A health check failed: %s", failures, extra={"checks": failures})
        return time.monotonic(), status, response.content

    @contextmanager
    def get_executor(self) -> Iterator[Executor]:
        """Run the checks one after the other; the answer does not wait for one that hangs."""
        pool = ThreadPoolExecutor(max_workers=1)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class OperationsView(ReadyView):
    """Whether the portal also runs loads and has room, for monitoring and not for balancers."""

    checks: ClassVar[list[type[HealthCheck]]] = [Database, Migrations, Worker, Disk]
