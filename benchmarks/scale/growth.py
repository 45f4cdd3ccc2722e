"""
Load tables of several sizes, ask the requests of the benchmark, and extrapolate.

The time of each request is fitted to ``a + b · records`` without the largest table, and compared
with what that needs.  Then it is fitted to all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import django

from ..failures import BenchmarkError
from ..report import Table, format_number, format_ratio
from ..throwaway_postgres import ThrowawayServer

#: What is extrapolated to.
TARGETS = (100_000_000, 1_000_000_000)

#: Times that differ less are taken for equal: a machine with other work is no clock.
_LEVEL = 1.5

_GIBIBYTE = 2**30
_THREADS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A line: ``a + b · x``."""

    a: float
    b: float

    @classmethod
    def fit(cls, points: Mapping[int, float]) -> Line:
        """Fit a line by least squares of the relative errors; what hardly rises is level."""
        if max(points.values()) < _LEVEL * min(points.values()):
            return cls(statistics.median(points.values()), 0.0)
        weights = {x: 1 / y**2 for x, y in points.items()}
        total = sum(weights.values())
        mean_x = sum(weights[x] * x for x in points) / total
        mean_y = sum(weights[x] * y for x, y in points.items()) / total
        spread = sum(weights[x] * (x - mean_x) ** 2 for x in points)
        product = sum(weights[x] * (x - mean_x) * (y - mean_y) for x, y in points.items())
        b = max(0.0, product / spread) if spread else 0.0
        return cls(mean_y - b * mean_x, b)

    def at(self, x: float) -> float:
        """Compute the value at a point."""
        return self.a + self.b * x


def measure(rows: Sequence[int], seconds: float, folder: Path) -> dict[int, dict[str, float]]:
    """Load a table of each size and time its requests; return the figures by rows and name."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    figures = {}
    for number in rows:
        figures[number] = _measure_table(number, seconds, folder)
        print(number, json.dumps(figures[number]), file=sys.stderr, flush=True)
    return figures


def _measure_table(rows: int, seconds: float, folder: Path) -> dict[str, float]:
    from django.db import connection

    from ..addresses import Portal
    from ..calls import send_call
    from ..credentials import issue_reading_token, set_visibility
    from ..requests import build_requests
    from ..resources import load_resource
    from ..server import serve_portal
    from ..timing import TimedCalls

    target = load_resource(folder, rows, reload=False)
    (folder / f"packages-{rows}.csv").unlink(missing_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    cost = target.cost
    figures = {
        "load, s": cost.seconds,
        "table, GiB": cost.table_bytes / _GIBIBYTE,
        "indexes, GiB": cost.indexes_bytes / _GIBIBYTE,
    }
    with issue_reading_token() as token, serve_portal(1, _THREADS) as address:
        portal = Portal(address, token)
        for request in build_requests(rows):
            if request.repeated:
                continue
            with set_visibility(target.resource, private=request.private):
                call = portal.build_call(request, target.id)
                try:
                    # What a process keeps belongs to the first version that it has read.
                    figures[f"{request.name}, first"] = send_call(call).seconds * 1000
                    timing = TimedCalls([call]).time(1, seconds)
                    figures[request.name] = timing.median_ms
                except BenchmarkError as failure:
                    print(request.name, str(failure)[:200], file=sys.stderr)
    return figures


def build_table(figures: Mapping[int, Mapping[str, float]]) -> Table:
    """Compare the largest table with its prediction, and extrapolate."""
    *smaller, largest = sorted(figures)
    names = [name for name in figures[smaller[0]] if all(name in each for each in figures.values())]
    header = [*(f"{rows:,}" for rows in (*smaller, largest)), "predicted ÷ measured"]
    header += [f"{rows // 1_000_000:,} million" for rows in TARGETS]
    lines = []
    for name in names:
        points = {rows: figures[rows][name] for rows in (*smaller, largest)}
        predicted = Line.fit({rows: points[rows] for rows in smaller}).at(largest)
        line = Line.fit(points)
        lines.append(
            (
                name,
                *map(format_number, points.values()),
                format_ratio(predicted, points[largest]),
                *(format_number(line.at(rows)) for rows in TARGETS),
            )
        )
    caption = "Requests in ms: median, and the first one of a process; computed in the last columns"
    return Table(caption, ["request", *header], lines)


def main() -> None:
    """Read the options, start a server, measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.growth",
        description="Load tables of several sizes, time their requests, and extrapolate.",
    )
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 9_000_000])
    add("--seconds", type=float, default=2.0, help="of each request (%(default)s)")
    add("--folder", type=Path, help="keep the server in this folder, and use what is there")
    add("--out", type=Path, metavar="FILE.json", help="save the figures")
    options = parser.parse_args()
    with ExitStack() as stack:
        kept = options.folder
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="growth_")))
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # PostgreSQL does not run as root, and enters it as another user
        server = ThrowawayServer(folder / "postgres")
        stack.callback(server.stop_immediately)
        server.superuser_execute("GRANT pg_checkpoint TO portal")
        environment = {
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "DATABASE_URL": server.url,
            "MEDIA_ROOT": str(folder / "media"),
            "THROTTLE": "0",
        }
        os.environ.update(environment)
        django.setup()
        figures = measure(sorted(options.rows), options.seconds, folder)
        if options.out:
            options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(build_table(figures).as_text())


if __name__ == "__main__":
    main()
