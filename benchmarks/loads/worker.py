"""
The process that loads: ``python -m benchmarks.loads.worker``.

It prints its measurements as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django

_KIBIBYTE = 2**10


def main(what: str, *arguments: str) -> None:
    """Prepare Django, load, print."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    print(json.dumps((load_one_file if what == "one" else load_small_files)(*arguments)))


def load_one_file(name: str, path: str) -> dict[str, Any]:
    """Load one file, with types and options inferred."""
    from datastore_search.loading.jobs import LoadOptions, load_file
    from datastore_search.models import Resource

    target, _ = Resource.objects.get_or_create(name=name)
    before = _measure_peak_bytes()
    with _record_states() as entered:
        started_at = time.perf_counter()
        load = load_file(target, Path(path), options=LoadOptions(force=True))
        ended_at = time.perf_counter()
    entered_at = [*entered.items(), ("", ended_at)]
    return {
        "table": load.table_versions.get().pk,
        "rows": load.record_count,
        "seconds": ended_at - started_at,
        "states": {state: later - moment for (state, moment), (_, later) in pairwise(entered_at)},
        "before_bytes": before,
        "peak_bytes": _measure_peak_bytes(),
    }


def load_small_files(prefix: str, targets: str, *paths: str) -> dict[str, Any]:
    """Load files into ``targets`` resources in turn; count what they leave behind."""
    from datastore_search.loading.jobs import LoadOptions, load_file
    from datastore_search.models import Resource

    resources = [
        Resource.objects.get_or_create(name=f"{prefix}{number}")[0]
        for number in range(int(targets))
    ]
    options = LoadOptions(drop_missing_fields=True, force=True)
    load_file(resources[0], Path(paths[0]), options=options)  # work that is done only once
    before = _count_left_objects()
    started_at = time.perf_counter()
    for number, path in enumerate(paths):
        load_file(resources[number % len(resources)], Path(path), options=options)
    seconds = time.perf_counter() - started_at
    after = _count_left_objects()
    return {
        "files": len(paths),
        "seconds": seconds,
        "left": {name: after[name] - before[name] for name in after},
        "peak_bytes": _measure_peak_bytes(),
    }


@contextmanager
def _record_states() -> Iterator[dict[str, float]]:
    """Record when a load enters each of its states."""
    from datastore_search.loading.jobs.monitor import JobMonitor

    entered: dict[str, float] = {}
    enter_state = JobMonitor.enter_state

    def record_state(monitor: JobMonitor, state: Any) -> None:
        enter_state(monitor, state)
        entered[str(state.value)] = time.perf_counter()

    with patch.object(JobMonitor, "enter_state", record_state):
        yield entered


def _measure_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE


def _count_left_objects() -> dict[str, int]:
    """Count what a load may leave behind."""
    from django.db import connections, router

    from datastore_search import storage
    from datastore_search.models import Load, Resource

    gc.collect()
    connection = connections[router.db_for_read(Load)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        (clients,) = cursor.fetchone()
    served = Resource.objects.exclude(table_version=None).count()
    return {
        "connections": clients,
        "folders": len(list(Path(tempfile.gettempdir()).glob("datastore_search_*"))),
        "tables": len(storage.list_record_tables(connection)) - served,
        "files": len(list(Path("/proc/self/fd").iterdir())),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
