"""Loading one file of each size: the portal, COPY and CKAN in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from psycopg import Connection

from benchmarks.data import Source, write_table
from benchmarks.failures import BenchmarkError
from benchmarks.floor import connect_for_floor
from benchmarks.resources import choose_small_size
from datastore_search.models import Resource

from .ckan import connect_to_ckan, load_into_ckan
from .floors import copy_json, copy_typed, export_json

_PREFIX = "benchmark-load-"

#: Kinds of objects that a load may leave behind.
LEFTOVER_KINDS = ("connections", "folders", "tables", "files")

#: Number of resources for the small files, in turn.
_TARGETS = 20


@dataclass(slots=True)
class LoadFigures:
    """
    Times of loading a file, in seconds, round by round.

    ``states`` are the portal's, with the time of each; ``base_bytes`` is the memory of its process
    before a load, ``peak_bytes`` the maximum.
    """

    rows: int
    portal: list[float] = field(default_factory=list)
    states: list[dict[str, float]] = field(default_factory=list)
    base_bytes: int = 0
    peak_bytes: int = 0
    typed: list[float] = field(default_factory=list)
    json: list[float] = field(default_factory=list)
    ckan: list[float] = field(default_factory=list)

    def compute_median_seconds(self, name: str) -> float:
        """Return the typical time of loads in a state."""
        return statistics.median(states.get(name, 0.0) for states in self.states)


@dataclass(frozen=True, slots=True)
class SmallFilesFigures:
    """Times of loading small files, and what was left behind, by kind."""

    files: int
    seconds: float
    left: dict[str, int]
    peak_bytes: int


def load_files(
    source: Source, sizes: Sequence[int], rounds: int, ckan_address: str
) -> Iterator[LoadFigures]:
    """
    Load files of each size, some rounds of each.

    Raises: ``BenchmarkError``.
    """
    with connect_for_floor() as floor, connect_to_ckan(ckan_address) as ckan:
        floor.autocommit = True
        for rows in sorted(sizes):
            path = source.get_table(source.count_available_rows(rows))
            yield _load_file(path, rows, rounds, floor, ckan)


def _load_file(
    path: Path, rows: int, rounds: int, floor: Connection[Any], ckan: Connection[Any] | None
) -> LoadFigures:
    figures = LoadFigures(rows)
    records = path.with_suffix(f".{rows}.records")
    try:
        with _delete_resource_afterwards(f"{_PREFIX}{rows}") as name:
            for _ in range(rounds):
                measured = run_worker("one", name, str(path))
                _add_measurement(figures, measured)
                if not records.exists():
                    export_json(floor, measured["table"], records)
                figures.typed.append(copy_typed(floor, path))
                figures.json.append(copy_json(floor, records))
                if ckan:
                    figures.ckan.append(load_into_ckan(ckan, path))
    finally:
        records.unlink(missing_ok=True)
    return figures


def _add_measurement(figures: LoadFigures, measured: dict[str, Any]) -> None:
    figures.rows = measured["rows"]
    figures.portal.append(measured["seconds"])
    figures.states.append(measured["states"])
    figures.base_bytes = max(figures.base_bytes, measured["before_bytes"])
    figures.peak_bytes = max(figures.peak_bytes, measured["peak_bytes"])


@contextmanager
def _delete_resource_afterwards(name: str) -> Iterator[str]:
    """Yield the name of a resource, and delete the resource at the end."""
    try:
        yield name
    finally:
        Resource.objects.filter(name=name).delete()


def load_small_files(source: Source, count: int) -> SmallFilesFigures:
    """
    Load small files one after the other, by one process, into some resources in turn.

    Raises: ``BenchmarkError``.
    """
    prefix = f"{_PREFIX}small-"
    rows = source.generate_rows()
    try:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{number}.csv" for number in range(count)]
            for number, path in enumerate(paths):
                write_table(path, islice(rows, choose_small_size(number)))
            return SmallFilesFigures(**run_worker("many", prefix, str(_TARGETS), *map(str, paths)))
    finally:
        Resource.objects.filter(name__startswith=prefix).delete()


def run_worker(*arguments: str) -> dict[str, Any]:
    """
    Load in a separate process, and return its measurements.

    Raises: ``BenchmarkError`` when it fails.
    """
    with tempfile.TemporaryDirectory() as folder:  # for its temporary files only
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.loads.worker", *arguments],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        raise BenchmarkError(f"The load failed: {process.stderr.strip()[-2_000:]}")
    measured: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return measured
