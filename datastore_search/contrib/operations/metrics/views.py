"""
What a process counts, and what is counted in the database when the metrics are read.

Labels have few values: names of actions and pages, statuses, states, names of caches.  With
``PROMETHEUS_MULTIPROC_DIR``, the counters of all processes are added up.

Source: prometheus_client, which reads that variable when it is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import Error, router
from django.db.models import Count
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from ....guards.cache import BoundedCache, BriefCache
from ....models.base import exclude_from_atomic_requests
from ....signals import request_answered

_REQUESTS = Counter(
    "datastore_search_requests", "Requests that were answered.", ["action", "status"]
)
_DATABASES = Counter(
    "datastore_search_reads", "Requests that read, by the database that answered.", ["database"]
)
_SECONDS = Histogram(
    "datastore_search_request_seconds",
    "Time of a request in the process; of a dump, until its first block.",
    ["action"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_RECORDS = Counter(
    "datastore_search_records_returned", "Records in answers of the API.", ["action"]
)
_LOOKUPS = Counter(
    "datastore_search_cache_lookups",
    "Look-ups in a cache of the process; the result is hit or miss.",
    ["cache", "result"],
)


@receiver(request_answered)
def count_request(
    sender: type, name: str, status: int, seconds: float, record_count: int, **more: Any
) -> None:
    _REQUESTS.labels(name, status).inc()
    if "database" in more:
        _DATABASES.labels(more["database"]).inc()
    _SECONDS.labels(name).observe(seconds)
    if record_count:
        _RECORDS.labels(name).inc(record_count)
    count_lookups()


def count_lookups() -> None:
    for cache in list(BoundedCache.caches):
        for result, count in zip(("miss", "hit"), cache.take_lookups(), strict=True):
            if count:
                _LOOKUPS.labels(cache.name, result).inc(count)


class LoadCollector(Collector):
    """The loads by their state; nothing while the database does not answer."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from ...files.models import Load, LoadState  # noqa: PLC0415 - may be missing

        states = GaugeMetricFamily("datastore_search_loads", "Loads by state.", labels=["state"])
        loads = Load.objects.using(router.db_for_write(Load)).order_by()
        try:
            counts = dict(loads.values_list("state").annotate(count=Count("pk")))
        except Error:
            return
        for state in LoadState.values:
            states.add_metric([state], counts.get(state, 0))
        yield states
        yield GaugeMetricFamily(
            "datastore_search_queue_length",
            "Loads that wait for a worker.",
            value=counts.get(LoadState.QUEUED, 0),
        )


def build_registry() -> CollectorRegistry:
    """Build the registry of all that is shown: the counters of all processes, and the loads."""
    count_lookups()
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # prometheus_client's
    else:
        registry.register(REGISTRY)
    if apps.is_installed("datastore_search.contrib.files"):
        registry.register(LoadCollector())
    return registry


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
