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
from .credentials import reading_token
from .data import Source
from .environment import setting
from .failures import BenchmarkError
from .floor import floor_connection
from .growth import grow
from .loads.files import load_files, load_many
from .options import Options
from .report import number, write_into
from .requests import Request, requests_of
from .resources import Loaded, loaded, small_resources
from .results import Results
from .server import serving
from .spread import spread
from .timed_calls import Pace


@dataclass(frozen=True, slots=True)
class Stock:
    """The loaded resources: by their number of records, and small ones."""

    by_rows: Mapping[int, Loaded]
    small: Sequence[Resource]


def run(options: Options) -> None:
    """
    Measure, print the tables, and save them as the options say.

    Raises: ``BenchmarkError`` when a measurement is not possible.
    """
    check_names(options)
    call_command("migrate", verbosity=0)
    results = Results(setting(options))
    stock = _stock(options)
    results.load = list({target.id: target.cost for target in stock.by_rows.values()}.values())
    try:
        if options.is_asking:
            server = serving(options.workers, options.threads)
            with reading_token() as token, server as address:
                _measure(options, stock, Portal(address, token), results)
        _loads(options, results)
    finally:  # an interrupted run saves its results so far
        _keep(options, results)


def _keep(options: Options, results: Results) -> None:
    tables = results.tables()
    for name, table in tables.items():
        print(f"\n# {name}\n\n{table.as_text()}")
    if options.out:
        results.save(options.out)
    if options.report:
        write_into(options.report, tables)


def check_names(options: Options) -> None:
    """
    Check the names of requests.

    Raises: ``BenchmarkError`` for an unknown name.
    """
    names = [request.name for request in requests_of(options.rows)]
    if unknown := set(options.only) - set(names):
        raise BenchmarkError(f"There is no {', '.join(unknown)}, only {', '.join(names)}.")


# The requests -------------------------------------------------------------------------------------


def _stock(options: Options) -> Stock:
    with _source(options) as source:
        return Stock(
            by_rows={
                rows: loaded(source, source.available(rows), reload=options.reload)
                for rows in options.sizes
            },
            small=small_resources(source, options.resources),
        )


@contextmanager
def _source(options: Options) -> Iterator[Source]:
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
        yield Source(options.data, options.csv)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Source(Path(folder), options.csv)


# The parts ----------------------------------------------------------------------------------------


def _measure(options: Options, stock: Stock, portal: Portal, results: Results) -> None:
    if options.requests:
        _requests(options, stock.by_rows[options.rows], portal, results)
    if options.growth:
        _growth(options, [stock.by_rows[rows] for rows in sorted(options.growth)], portal, results)
    if options.resources:
        results.resources_number = len(stock.small)
        results.resources = spread(_pace(options), stock.small, portal)
    if options.breakdown:
        _breakdown(options, stock.by_rows[options.rows], portal, results)


def _requests(options: Options, target: Loaded, portal: Portal, results: Results) -> None:
    ckan = Ckan(options.ckan, options.ckan_resource) if options.ckan else None
    results.records = target.rows
    results.ckan_records = ckan.records() if ckan else None
    with floor_connection() as floor:
        comparison = Comparison(_pace(options), portal, floor, ckan)
        for request in _chosen(options, target):
            taken = comparison.figures(request, target)
            results.requests[request.name] = taken
            _say(request.name, taken.portal.alone.median_ms if taken else None)


def _growth(options: Options, targets: Sequence[Loaded], portal: Portal, results: Results) -> None:
    results.growth_sizes = [target.rows for target in targets]
    for requests in zip(*(_chosen(options, target) for target in targets), strict=True):
        timings = grow(_pace(options), list(zip(requests, targets, strict=True)), portal)
        name = requests[0].name
        results.growth[name] = timings
        _say(name, *([timing.median_ms for timing in timings] if timings else [None]))


def _breakdown(options: Options, target: Loaded, portal: Portal, results: Results) -> None:
    results.records = target.rows
    for request in REQUESTS:
        for private in (False, True):
            shares = break_down(_pace(options), request, target, portal, private=private)
            name = f"{request.name}, {'private' if private else 'public'}"
            results.breakdown[name] = shares
            _say(name, shares.total_ms)


def _loads(options: Options, results: Results) -> None:
    with _source(options) as source:
        for figures in load_files(source, options.loads, options.rounds, options.ckan_load):
            results.loads.append(figures)
            print(f"{figures.rows:,} records loaded", file=sys.stderr, flush=True)
        if options.small_loads:
            results.small_loads.append(load_many(source, options.small_loads))


def _chosen(options: Options, target: Loaded) -> list[Request]:
    requests = requests_of(target.rows)
    return [request for request in requests if not options.only or request.name in options.only]


def _pace(options: Options) -> Pace:
    return Pace(options.rounds, options.seconds)


def _say(name: str, *medians: float | None) -> None:
    print(f"{name}: {', '.join(map(number, medians))} ms", file=sys.stderr, flush=True)
