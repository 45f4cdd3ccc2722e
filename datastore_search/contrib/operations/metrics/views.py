"""The view of the metrics."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import generate_latest

from ....guards.cache import BriefCache
from ....models.base import exclude_from_atomic_requests
from .counters import build_registry

#: Prometheus' own text format, which every version of it reads.
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

answer_cache: BriefCache[bytes] = BriefCache()


@exclude_from_atomic_requests
@require_safe
@never_cache
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Show the metrics of all processes, as they were within the last second."""
    with answer_cache.refresh() as is_due:
        if is_due:
            answer_cache.set(generate_latest(build_registry()))
    return HttpResponse(answer_cache.value, content_type=_CONTENT_TYPE)
