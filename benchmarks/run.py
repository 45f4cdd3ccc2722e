"""A run: load missing resources, serve the portal, time the requests or loads."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connections, router

from datastore_search.contrib.files.models import Load

from .addresses import Ckan, Portal
from .comparison import Comparison, Figures
from .credentials import issue_reading_token
from .cursors import SEARCHES, SHARES, measure_pages
from .failures import BenchmarkError
from .floor import connect_for_floor
from .loads.files import LoadFigures, load_files
from .report import Table, format_number
from .requests import Request, build_requests
from .resources import Cost, load_resource
from .server import serve_portal
from .tables import build_cursors_table, build_load_table, build_loads_table, build_requests_table
from .timing import Pace, Timing


@dataclass(slots=True)
class Results:
    """
    All measurements; ``setting`` describes the machine.

    A request that was not possible has None in place of its figures.
    """

    setting: str
    load: list[Cost] = field(default_factory=list)
    requests: dict[str, Figures | None] = field(default_factory=dict)
    cursors: dict[str, Sequence[Timing]] = field(default_factory=dict)
    ckan_records: int | None = None
    loads: list[LoadFigures] = field(default_factory=list)

    def build_tables(self) -> dict[str, Table]:
        """Make a table of each measured part, by the part's name."""
        ckan = "" if self.ckan_records is None else f"CKAN: {self.ckan_records:,} records; "
        tables = {
            "load": build_load_table(self.setting, self.load),
            "requests": build_requests_table(ckan + self.setting, self.requests),
            "cursors": build_cursors_table(self.setting, self.cursors),
            "loads": build_loads_table(self.setting, self.loads),
        }
        return {name: table for name, table in tables.items() if table.rows}


def run(options: Namespace) -> None:
    """
    Measure, print the tables, and save them as the options say.

    Raises: ``BenchmarkError`` when a measurement is not possible.
    """
    requests = choose_requests(options)
    call_command("migrate", verbosity=0)
    results = Results(_describe_environment(options))
    try:
        with _open_folder(options.data) as folder:
            if options.loads:
                _measure_loads(options, folder, results)
            else:
                _measure_requests(options, folder, requests, results)
    finally:  # an interrupted run saves its results so far
        for name, table in results.build_tables().items():
            print(f"\n# {name}\n\n{table.as_text()}")
        if options.out:
            options.out.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")


def choose_requests(options: Namespace) -> list[Request]:
    """
    List the requests of the options.

    Raises: ``BenchmarkError`` for an unknown name.
    """
    requests = {request.name: request for request in build_requests(options.rows)}
    names = [*requests, *SEARCHES]
    if unknown := set(options.only) - set(names):
        raise BenchmarkError(f"There is no {', '.join(unknown)}, only {', '.join(names)}.")
    return [requests[name] for name in requests if not options.only or name in options.only]


def _describe_environment(options: Namespace) -> str:
    """Name the versions, the cores, the workers and threads, and the day."""
    release, patch = connections[router.db_for_read(Load)].get_database_version()
    return (
        f"PostgreSQL {release}.{patch}; Python {platform.python_version()};"
        f" Django {django.get_version()}; workers: {options.workers};"
        f" threads of each: {options.threads}; cores: {os.cpu_count()};"
        f" {datetime.now(UTC):%Y-%m-%d}."
    )


@contextmanager
def _open_folder(folder: Path | None) -> Iterator[Path]:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    else:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)


def _measure_requests(
    options: Namespace, folder: Path, requests: list[Request], results: Results
) -> None:
    target = load_resource(folder, options.rows, reload=options.reload)
    results.load.append(target.cost)
    ckan = Ckan(options.ckan, options.ckan_resource) if options.ckan else None
    results.ckan_records = ckan.count_records() if ckan else None
    with (
        issue_reading_token() as token,
        serve_portal(options.workers, options.threads) as address,
        connect_for_floor() as floor,
    ):
        pace = Pace(options.rounds, options.seconds)
        comparison = Comparison(pace, Portal(address, token), floor, ckan)
        for request in requests:
            figures = comparison.measure_request(request, target)
            results.requests[request.name] = figures
            median = format_number(figures.portal.alone.median_ms if figures else None)
            print(f"{request.name}: {median} ms", file=sys.stderr, flush=True)
        for name in SEARCHES:
            if not options.only or name in options.only:
                results.cursors[name] = measure_pages(comparison.portal, name, target, pace)
                print(f"{name}: {len(SHARES)} pages", file=sys.stderr, flush=True)


def _measure_loads(options: Namespace, folder: Path, results: Results) -> None:
    for figures in load_files(folder, options.loads, options.rounds):
        results.loads.append(figures)
        print(f"{figures.rows:,} records loaded", file=sys.stderr, flush=True)
