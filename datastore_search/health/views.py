"""The views of ``health/live`` and ``health/ready``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from health_check.base import HealthCheck
from health_check.views import HealthCheckView

from .checks import Database, Disk, Migrations, Worker


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
    checks: ClassVar[list[type[HealthCheck]]] = [Database, Migrations, Worker, Disk]

    async def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Run the checks."""
        request.GET = QueryDict("format=json")
        response: HttpResponse = await super().get(request, *args, **kwargs)
        if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        return response

    @contextmanager
    def get_executor(self) -> Iterator[Executor]:
        """Run the checks one after the other; the answer does not wait for one that hangs."""
        pool = ThreadPoolExecutor(max_workers=1)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
