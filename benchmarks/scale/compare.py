"""
Ask two portals the same requests in turn: ``python -m benchmarks.scale.compare ROWS``.

The first is on one server, the second on a coordinator of Citus with two workers, of the same build
(``CITUS_BIN``).  Both load the same file.  For each request: the median of the first in
milliseconds, and the median of the ratios of two answers that follow each other.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from example_project.management.commands.serve import build_web_server_command

from ..addresses import Portal
from ..calls import Caller, build_conditional_call
from ..data import get_table
from ..failures import BenchmarkError
from ..requests import Request, build_requests
from ..server import find_free_port, wait_for_server
from .citus import find_programs, run_cluster, run_node

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


@contextmanager
def serve(url: str, path: Path, **environment: str) -> Iterator[Arrangement]:
    """Load a file into a new portal on a database, and serve it."""
    port = find_free_port()
    settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.served_settings", "THROTTLE": "0"}
    changed = {**os.environ, **settings, "DATABASE_URL": url, **environment}
    prepare = [sys.executable, "-c", _PREPARE, str(path)]
    printed = subprocess.run(prepare, env=changed, check=True, capture_output=True, text=True)
    resource_id, token, seconds = printed.stdout.split()[-3:]
    server = subprocess.Popen(build_web_server_command(port, 2, 4), env=changed)
    try:
        wait_for_server(f"127.0.0.1:{port}", server)
        yield Arrangement(Portal(f"127.0.0.1:{port}", token), resource_id, float(seconds))
    finally:
        server.terminate()
        server.wait()


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
    rows = int(sys.argv[1])
    programs = find_programs()
    if programs is None:
        raise BenchmarkError("CITUS_BIN names no build of Citus.")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = get_table(Path(folder), rows)
        single = stack.enter_context(run_node(programs))
        single.create_database("single")
        cluster = stack.enter_context(run_cluster(programs))
        first = stack.enter_context(serve(single.build_url("single"), path))
        url = cluster.create_database("placed")
        second = stack.enter_context(serve(url, path, PLACEMENT="citus"))
        ratio = second.load_seconds / first.load_seconds
        print(f"load: {first.load_seconds:.1f} s, ratio {ratio:.2f}", flush=True)
        for request in build_requests(rows):
            try:
                milliseconds, ratio, pairs = compare(first, second, request)
            except BenchmarkError as error:
                print(f"{request.name}: {error}", flush=True)
            else:
                line = f"{request.name}: {milliseconds:.1f} ms, ratio {ratio:.2f} ({pairs} pairs)"
                print(line, flush=True)


if __name__ == "__main__":
    main()
