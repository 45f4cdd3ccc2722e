"""
Ask two portals the same requests in turn.

    python -m benchmarks.scale.compare citus|replica ROWS [REQUEST …]

The first reads from one server.  The second reads from workers of Citus (``CITUS_BIN``; both
servers are of that build), or from a hot standby of the first one.  For each request: the median of
the first in milliseconds, and the median of the ratios of two answers that follow each other.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..addresses import Portal
from ..calls import Caller, build_conditional_call
from ..data import get_table
from ..failures import BenchmarkError
from ..requests import Request, build_requests
from ..server import serve_portal
from ..throwaway_postgres import ThrowawayServer
from .citus import find_programs, run_cluster, run_node
from .standbys import run_standby

_SECONDS_PER_REQUEST = 10
_MIN_PAIRS = 5

#: In a process of each portal: migrate, load, and print the id, a token and the seconds.
_PREPARE = """
import sys, time, django
django.setup()
from pathlib import Path
from django.core.management import call_command
from benchmarks.data import FIELDS
from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token
from django.contrib.auth import get_user_model
call_command("migrate", verbosity=0)
user = get_user_model().objects.create_superuser("benchmark")
resource = Resource.objects.create(name="benchmark")
started_at = time.perf_counter()
load_file(resource, Path(sys.argv[1]), options=LoadOptions(types=FIELDS))
print(resource.pk, issue_token(user), time.perf_counter() - started_at)
"""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A served portal, its resource, and the seconds of its load."""

    portal: Portal
    resource_id: str
    load_seconds: float


def _prepare(path: Path, environment: Mapping[str, str]) -> tuple[str, str, float]:
    """Load a file into a new portal; return the id of the resource, a token, and the seconds."""
    prepare = [sys.executable, "-c", _PREPARE, str(path)]
    printed = subprocess.run(
        prepare, env=os.environ | environment, check=True, capture_output=True, text=True
    )
    resource_id, token, seconds = printed.stdout.split()[-3:]
    return resource_id, token, float(seconds)


@contextmanager
def _arrange_citus(path: Path, _folder: Path) -> Iterator[tuple[Arrangement, Arrangement]]:
    programs = find_programs()
    if programs is None:
        raise BenchmarkError("CITUS_BIN names no build of Citus.")
    with ExitStack() as stack:
        single = stack.enter_context(run_node(programs))
        single.create_database("single")
        url = stack.enter_context(run_cluster(programs)).create_database("placed")
        arrangements = []
        for added in (
            {"DATABASE_URL": single.build_url("single")},
            {"DATABASE_URL": url, "PLACEMENT": "citus"},
        ):
            environment = _build_environment("benchmarks.served_settings", **added)
            resource_id, token, seconds = _prepare(path, environment)
            address = stack.enter_context(serve_portal(2, 4, environment))
            arrangements.append(Arrangement(Portal(address, token), resource_id, seconds))
        yield arrangements[0], arrangements[1]


@contextmanager
def _arrange_replica(path: Path, folder: Path) -> Iterator[tuple[Arrangement, Arrangement]]:
    primary = ThrowawayServer(folder / "primary")
    try:
        with run_standby(primary, hot_standby_feedback="on") as standby, ExitStack() as stack:
            single = _build_environment("benchmarks.served_settings", DATABASE_URL=primary.url)
            resource_id, token, seconds = _prepare(path, single)
            standby.catch_up(primary)
            replica = _build_environment(
                "benchmarks.scale.replica_settings", DATABASE_URL=primary.url,
                REPLICAS=standby.url, CACHE=str(folder / "cache"),
            )  # fmt: skip
            addresses = [
                stack.enter_context(serve_portal(2, 4, each)) for each in (single, replica)
            ]
            first, second = (
                Arrangement(Portal(address, token), resource_id, seconds) for address in addresses
            )
            yield first, second
    finally:
        primary.stop_immediately()


def _build_environment(settings: str, **added: str) -> dict[str, str]:
    return {"DJANGO_SETTINGS_MODULE": settings, "THROTTLE": "0", **added}


_ARRANGEMENTS = {"citus": _arrange_citus, "replica": _arrange_replica}


def compare(first: Arrangement, second: Arrangement, request: Request) -> tuple[float, float, int]:
    """Return the milliseconds of the first, the ratio of the second to it, and the pairs."""
    calls = [each.portal.build_call(request, each.resource_id) for each in (first, second)]
    if request.repeated:
        calls = [build_conditional_call(call) or call for call in calls]
    with ExitStack() as stack:
        callers = [stack.enter_context(closing(Caller(call.server))) for call in calls]
        for caller, call in zip(callers, calls, strict=True):
            caller.send(call)
            caller.send(call)
        seconds: list[list[float]] = [[], []]
        deadline = time.monotonic() + _SECONDS_PER_REQUEST
        while time.monotonic() < deadline or len(seconds[0]) < _MIN_PAIRS:
            turn = (0, 1) if len(seconds[0]) % 2 else (1, 0)
            for index in turn:
                seconds[index].append(callers[index].send(calls[index]).seconds)
    ratios = [other / one for one, other in zip(*seconds, strict=True)]
    return statistics.median(seconds[0]) * 1000, statistics.median(ratios), len(ratios)


def main() -> None:
    """Start both arrangements, and print a line for each request."""
    name, rows, chosen = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a server of root is another user
        path = get_table(Path(folder), rows)
        with _ARRANGEMENTS[name](path, Path(folder)) as (first, second):
            ratio = second.load_seconds / first.load_seconds
            print(f"load: {first.load_seconds:.1f} s, ratio {ratio:.2f}", flush=True)
            for request in build_requests(rows):
                if chosen and request.name not in chosen:
                    continue
                try:
                    milliseconds, ratio, pairs = compare(first, second, request)
                except BenchmarkError as error:
                    print(f"{request.name}: {error}", flush=True)
                else:
                    figures = f"{milliseconds:.1f} ms, ratio {ratio:.2f} ({pairs} pairs)"
                    print(f"{request.name}: {figures}", flush=True)


if __name__ == "__main__":
    main()
