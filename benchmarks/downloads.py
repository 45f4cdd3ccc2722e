"""
``python -m benchmarks.downloads``: the formats of the dump, in turn, through one worker.

Prints a JSON line for each file: seconds, bytes, and by how many MiB the worker's resident memory
was above that before the first file, at its peak.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import psutil

from .failures import BenchmarkError

_FORMATS = ("csv", "parquet", "xlsx")
_SAMPLE_SECONDS = 0.02
_READ_BYTES = 2**20
_MIB = 2**20


def main() -> None:
    """Load the table, serve the portal with one worker, and ask for each format in each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--data", type=Path, help="keep the generated table in this folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", nargs="+", default=_FORMATS)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from .resources import prepare_resource
    from .server import serve_portal

    try:
        path = f"/en/datastore/dump/{prepare_resource(options.rows, options.data).id}"
        with serve_portal(1, 2) as address:
            _fetch(address, f"{path}?limit=1000")  # what the first request imports
            worker = _find_worker()
            idle_bytes = worker.memory_info().rss
            for number in range(options.rounds):
                for name in options.formats:
                    file = _fetch_measured(worker, address, f"{path}?format={name}")
                    _print_file({"round": number + 1, "format": name}, file, idle_bytes)
    except BenchmarkError as failure:
        sys.exit(str(failure))


@dataclass(frozen=True, slots=True)
class _File:
    """What a file has taken; ``peak_bytes`` is the worker's resident memory."""

    seconds: float
    size_bytes: int
    peak_bytes: int


def _fetch_measured(worker: psutil.Process, address: str, path: str) -> _File:
    with _watch_memory(worker) as samples:
        began = time.perf_counter()
        size = _fetch(address, path)
        seconds = time.perf_counter() - began
    return _File(seconds, size, max(samples))


def _print_file(what: dict[str, Any], file: _File, idle_bytes: int) -> None:
    above_idle = round((file.peak_bytes - idle_bytes) / _MIB)
    figures = {"seconds": round(file.seconds, 2), "bytes": file.size_bytes}
    print(json.dumps({**what, **figures, "mib_above_idle": above_idle}), flush=True)


def _fetch(address: str, path: str) -> int:
    """
    Read a file and drop it; return its size.

    Raises: ``BenchmarkError`` for any status but 200.
    """
    connection = http.client.HTTPConnection(address, timeout=600)
    connection.request("GET", path)
    response = connection.getresponse()
    if response.status != http.client.OK:
        raise BenchmarkError(response.read(1_000).decode())
    size = 0
    while block := response.read(_READ_BYTES):
        size += len(block)
    connection.close()
    return size


@contextmanager
def _watch_memory(worker: psutil.Process) -> Iterator[list[int]]:
    samples, ended = [worker.memory_info().rss], threading.Event()

    def watch() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            samples.append(worker.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def _find_worker() -> psutil.Process:
    """Find the worker, the largest of the server's processes."""
    processes = psutil.Process().children(recursive=True)
    return max(
        (each for each in processes if "postgres" not in each.name()),
        key=lambda each: int(each.memory_info().rss),
    )


if __name__ == "__main__":
    main()
