"""
What a process counts, and what is counted in the database when the metrics are read.

Labels have few values: names of actions and pages, statuses, states, names of caches.  With
``PROMETHEUS_MULTIPROC_DIR``, the counters of all processes are added up.

Source: prometheus_client, which reads that variable when it is imported.
"""

from __future__ import annotations

import os
from typing import Any

from django.apps import apps
from django.dispatch import receiver
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from ....guards.cache import BoundedCache
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
    """Count the look-ups in caches since the last call."""
    for cache in list(BoundedCache.caches):
        for result, count in zip(("miss", "hit"), cache.take_lookups(), strict=True):
            if count:
                _LOOKUPS.labels(cache.name, result).inc(count)


def build_registry() -> CollectorRegistry:
    """Build the registry of all that is shown: the counters of all processes, and the loads."""
    count_lookups()
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # prometheus_client's
    else:
        registry.register(REGISTRY)
    if apps.is_installed("datastore_search.contrib.files"):
        from ..loads import LoadCollector  # noqa: PLC0415 - only where it is installed

        registry.register(LoadCollector())
    return registry
