"""Loading one file of each size: the portal, and COPY in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg import Connection, sql

from benchmarks.data import FIELDS, get_table
from benchmarks.failures import BenchmarkError
from benchmarks.floor import connect_for_floor
from datastore_search.models import Resource

_BLOCK_BYTES = 2**20
_TABLE = sql.Identifier("benchmark_copied")
_COLUMNS = sql.SQL(", ").join(
    sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(type_)) for name, type_ in FIELDS.items()
)


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
    copy: list[float] = field(default_factory=list)

    def compute_median_seconds(self, name: str) -> float:
        """Return the typical time of loads in a state."""
        return statistics.median(states.get(name, 0.0) for states in self.states)


def load_files(folder: Path, sizes: Sequence[int], rounds: int) -> Iterator[LoadFigures]:
    """
    Load files of each size, some rounds of each.

    Raises: ``BenchmarkError``.
    """
    with connect_for_floor() as floor:
        floor.autocommit = True
        for rows in sorted(sizes):
            yield _load_file(get_table(folder, rows), rows, rounds, floor)


def _load_file(path: Path, rows: int, rounds: int, floor: Connection[Any]) -> LoadFigures:
    figures = LoadFigures(rows)
    name = f"benchmark-load-{rows}"
    try:
        for _ in range(rounds):
            measured = run_worker(name, path)
            figures.portal.append(measured["seconds"])
            figures.states.append(measured["states"])
            figures.base_bytes = max(figures.base_bytes, measured["before_bytes"])
            figures.peak_bytes = max(figures.peak_bytes, measured["peak_bytes"])
            figures.copy.append(copy_rows(floor, path))
    finally:
        Resource.objects.filter(name=name).delete()
    return figures


def run_worker(name: str, path: Path) -> dict[str, Any]:
    """
    Load in a separate process, to measure the memory of one load; return its measurements.

    Raises: ``BenchmarkError`` when it fails.
    """
    with tempfile.TemporaryDirectory() as folder:  # for its temporary files only
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.loads.worker", name, str(path)],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        raise BenchmarkError(f"The load failed: {process.stderr.strip()[-2_000:]}")
    measured: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return measured


def copy_rows(connection: Connection[Any], path: Path) -> float:
    """Copy a CSV file into typed columns, without an index or a check; return the seconds."""
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_TABLE))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(_TABLE, _COLUMNS))
    statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv, HEADER)").format(_TABLE)
    started_at = time.perf_counter()
    with path.open("rb") as file, connection.cursor() as cursor, cursor.copy(statement) as copy:
        while block := file.read(_BLOCK_BYTES):
            copy.write(block)
    seconds = time.perf_counter() - started_at
    connection.execute(sql.SQL("DROP TABLE {}").format(_TABLE))
    return seconds
