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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import django

from ..addresses import Portal
from ..calls import send_call
from ..report import Table, format_number, format_ratio
from ..requests import build_requests
from ..throwaway_postgres import run_throwaway_server
from ..timing import TimedCalls

if TYPE_CHECKING:  # models can be imported only after django.setup()
    from ..resources import LoadedResource

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


def measure(options: argparse.Namespace, folder: Path) -> dict[int, dict[str, float]]:
    """Load a table of each size, then time each request in turn; return figures by rows."""
    from django.core.management import call_command

    from ..credentials import issue_reading_token
    from ..resources import load_resource
    from ..server import serve_portal

    call_command("migrate", verbosity=0)
    figures, targets = {}, []
    for rows in sorted(options.rows):
        target = load_resource(folder, rows, reload=False)
        (folder / f"packages-{rows}.csv").unlink(missing_ok=True)
        targets.append(target)
        figures[rows] = {
            "load, s": target.cost.seconds,
            "table, GiB": target.cost.table_bytes / _GIBIBYTE,
            "indexes, GiB": target.cost.indexes_bytes / _GIBIBYTE,
        }
        print(rows, figures[rows], file=sys.stderr, flush=True)
    with issue_reading_token() as token, serve_portal(1, _THREADS) as address:
        for name in [request.name for request in build_requests(1) if not request.repeated]:
            _time_request(name, targets, Portal(address, token), options, figures)
    return figures


def _time_request(
    name: str,
    targets: Sequence[LoadedResource],
    portal: Portal,
    options: argparse.Namespace,
    figures: dict[int, dict[str, float]],
) -> None:
    """Time a request to each table in turn: the first of the process, and later ones."""
    from ..credentials import set_visibility

    timed: dict[int, TimedCalls] = {}
    for turn in range(1 + options.rounds):
        for target in targets:
            (request,) = (each for each in build_requests(target.rows) if each.name == name)
            with set_visibility(target.resource, private=request.private):
                call = portal.build_call(request, target.id)
                if turn:
                    if target.rows not in timed:
                        timed[target.rows] = TimedCalls([call])
                    timed[target.rows].time(1, options.seconds)
                else:
                    figures[target.rows][f"{name}, first"] = send_call(call).seconds * 1000
    for rows, calls in timed.items():
        figures[rows][name] = calls.alone.median_ms
    medians = [format_number(figures[rows][name]) for rows in timed]
    print(name, *medians, file=sys.stderr, flush=True)


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
    add("--rounds", type=int, default=3, help="in which all are timed in turn (%(default)s)")
    add("--seconds", type=float, default=1.0, help="of each request in a round (%(default)s)")
    add("--folder", type=Path, help="keep the server in this folder, and use what is there")
    add("--out", type=Path, metavar="FILE.json", help="save the figures")
    options = parser.parse_args()
    with run_throwaway_server("growth_", options.folder) as (folder, server):
        environment = {
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "DATABASE_URL": server.url,
            "MEDIA_ROOT": str(folder / "media"),
            "THROTTLE": "0",
        }
        os.environ.update(environment)
        django.setup()
        figures = measure(options, folder)
        if options.out:
            options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(build_table(figures).as_text())


if __name__ == "__main__":
    main()
