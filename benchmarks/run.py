"""A run: load missing resources, serve the portal, time the chosen parts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command

from datastore_search.models import Resource

from .addresses import Ckan, Portal
from .breakdown import REQUESTS, break_down
from .comparison import Comparison
from .credentials import issue_reading_token
from .data import Source
from .environment import describe_environment
from .failures import BenchmarkError
from .floor import connect_for_floor
from .growth import measure_growth
from .loads.files import load_files, load_small_files
from .options import Options
from .report import format_number, write_tables_into
from .requests import Request, build_requests
from .resources import LoadedResource, load_resource, load_small_resources
from .results import Results
from .server import serve_portal
from .spread import measure_spread
from .timed_calls import Pace


@dataclass(frozen=True, slots=True)
class LoadedResources:
    """The loaded resources: by their number of records, and small ones."""

    by_rows: Mapping[int, LoadedResource]
    small: Sequence[Resource]


def run(options: Options) -> None:
    """
    Measure, print the tables, and save them as the options say.

    Raises: ``BenchmarkError`` when a measurement is not possible.
    """
    check_names(options)
    call_command("migrate", verbosity=0)
    results = Results(describe_environment(options))
    resources = _load_resources(options)
    results.load = list({target.id: target.cost for target in resources.by_rows.values()}.values())
    try:
        if options.has_requests:
            server = serve_portal(options.workers, options.threads)
            with issue_reading_token() as token, server as address:
                _measure(options, resources, Portal(address, token), results)
        _measure_loads(options, results)
    finally:  # an interrupted run saves its results so far
        _save_results(options, results)


def _save_results(options: Options, results: Results) -> None:
    tables = results.build_tables()
    for name, table in tables.items():
        print(f"\n# {name}\n\n{table.as_text()}")
    if options.out:
        results.save(options.out)
    if options.report:
        write_tables_into(options.report, tables)


def check_names(options: Options) -> None:
    """
    Check the names of requests.

    Raises: ``BenchmarkError`` for an unknown name.
    """
    names = [request.name for request in build_requests(options.rows)]
    if unknown := set(options.only) - set(names):
        raise BenchmarkError(f"There is no {', '.join(unknown)}, only {', '.join(names)}.")


# The requests -------------------------------------------------------------------------------------


def _load_resources(options: Options) -> LoadedResources:
    with _open_source(options) as source:
        return LoadedResources(
            by_rows={
                rows: load_resource(
                    source, source.count_available_rows(rows), reload=options.reload
                )
                for rows in options.sizes
            },
            small=load_small_resources(source, options.resources),
        )


@contextmanager
def _open_source(options: Options) -> Iterator[Source]:
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
        yield Source(options.data, options.csv)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Source(Path(folder), options.csv)


# The parts ----------------------------------------------------------------------------------------


def _measure(
    options: Options, resources: LoadedResources, portal: Portal, results: Results
) -> None:
    if options.requests:
        _measure_requests(options, resources.by_rows[options.rows], portal, results)
    if options.growth:
        _measure_growth(
            options, [resources.by_rows[rows] for rows in sorted(options.growth)], portal, results
        )
    if options.resources:
        results.resources_number = len(resources.small)
        results.resources = measure_spread(_build_pace(options), resources.small, portal)
    if options.breakdown:
        _measure_breakdown(options, resources.by_rows[options.rows], portal, results)


def _measure_requests(
    options: Options, target: LoadedResource, portal: Portal, results: Results
) -> None:
    ckan = Ckan(options.ckan, options.ckan_resource) if options.ckan else None
    results.records = target.rows
    results.ckan_records = ckan.count_records() if ckan else None
    with connect_for_floor() as floor:
        comparison = Comparison(_build_pace(options), portal, floor, ckan)
        for request in _choose_requests(options, target):
            figures = comparison.measure_request(request, target)
            results.requests[request.name] = figures
            _print_medians(request.name, figures.portal.alone.median_ms if figures else None)


def _measure_growth(
    options: Options, targets: Sequence[LoadedResource], portal: Portal, results: Results
) -> None:
    results.growth_sizes = [target.rows for target in targets]
    for requests in zip(*(_choose_requests(options, target) for target in targets), strict=True):
        timings = measure_growth(
            _build_pace(options), list(zip(requests, targets, strict=True)), portal
        )
        name = requests[0].name
        results.growth[name] = timings
        _print_medians(name, *([timing.median_ms for timing in timings] if timings else [None]))


def _measure_breakdown(
    options: Options, target: LoadedResource, portal: Portal, results: Results
) -> None:
    results.records = target.rows
    for request in REQUESTS:
        for private in (False, True):
            shares = break_down(_build_pace(options), request, target, portal, private=private)
            name = f"{request.name}, {'private' if private else 'public'}"
            results.breakdown[name] = shares
            _print_medians(name, shares.total_ms)


def _measure_loads(options: Options, results: Results) -> None:
    with _open_source(options) as source:
        for figures in load_files(source, options.loads, options.rounds, options.ckan_load):
            results.loads.append(figures)
            print(f"{figures.rows:,} records loaded", file=sys.stderr, flush=True)
        if options.small_loads:
            results.small_loads.append(load_small_files(source, options.small_loads))


def _choose_requests(options: Options, target: LoadedResource) -> list[Request]:
    requests = build_requests(target.rows)
    return [request for request in requests if not options.only or request.name in options.only]


def _build_pace(options: Options) -> Pace:
    return Pace(options.rounds, options.seconds)


def _print_medians(name: str, *medians: float | None) -> None:
    print(f"{name}: {', '.join(map(format_number, medians))} ms", file=sys.stderr, flush=True)
