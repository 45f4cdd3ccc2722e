"""Observations of the workers of the attacked server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

_INTERVAL_SECONDS = 0.25


@dataclass(slots=True)
class ServerMaxima:
    """The most memory of all workers together, and the ids of all workers that there were."""

    workers_rss_bytes: int = 0
    workers: set[int] = field(default_factory=set)


@contextmanager
def monitor_server(portal: psutil.Process) -> Iterator[ServerMaxima]:
    """Observe the workers of a portal at intervals."""
    maxima, ended = ServerMaxima(), threading.Event()

    def watch() -> None:
        while not ended.wait(_INTERVAL_SECONDS):
            _observe(portal, maxima)

    _observe(portal, maxima)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield maxima
    finally:
        ended.set()
        thread.join()


def _observe(portal: psutil.Process, maxima: ServerMaxima) -> None:
    workers = find_workers(portal)
    maxima.workers |= {worker.pid for worker in workers}
    memory = sum(map(_measure_rss_bytes, workers))
    maxima.workers_rss_bytes = max(maxima.workers_rss_bytes, memory)


def find_workers(portal: psutil.Process) -> list[psutil.Process]:
    """Find the workers of the web server."""
    with suppress(psutil.NoSuchProcess):
        return [
            worker
            for server in portal.children()
            if "granian" in server.cmdline()
            for worker in server.children()
        ]
    return []


def _measure_rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
