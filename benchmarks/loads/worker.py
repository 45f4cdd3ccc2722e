"""
The process that loads: ``python -m benchmarks.loads.worker``.

It prints its measurements as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django

_KIBIBYTE = 2**10


def main(name: str, path: str) -> None:
    """Load one file, with types and options inferred."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from datastore_search.contrib.files.jobs import LoadOptions, load_file
    from datastore_search.models import Resource

    target, _ = Resource.objects.get_or_create(name=name)
    before = _measure_peak_bytes()
    with _record_states() as entered:
        started_at = time.perf_counter()
        load_file(target, Path(path), options=LoadOptions(force=True))
        ended_at = time.perf_counter()
    entered_at = [*entered.items(), ("", ended_at)]
    states = {state: later - moment for (state, moment), (_, later) in pairwise(entered_at)}
    measured = {
        "seconds": ended_at - started_at,
        "states": states,
        "before_bytes": before,
        "peak_bytes": _measure_peak_bytes(),
    }
    print(json.dumps(measured))


@contextmanager
def _record_states() -> Iterator[dict[str, float]]:
    """Record when a load enters each of its states."""
    from datastore_search.contrib.files.jobs.runner import JobMonitor

    entered: dict[str, float] = {}
    enter_state = JobMonitor.enter_state

    def record_state(monitor: JobMonitor, state: Any) -> None:
        enter_state(monitor, state)
        entered[str(state.value)] = time.perf_counter()

    with patch.object(JobMonitor, "enter_state", record_state):
        yield entered


def _measure_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE


if __name__ == "__main__":
    main(*sys.argv[1:])
