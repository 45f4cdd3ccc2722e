"""Observations of the attacked server: its memory, its connections, its statements."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil
import psycopg
from django.db import connections, router

from datastore_search.models import Load

_INTERVAL_SECONDS = 0.25

_COUNTS = """
SELECT count(*), count(*) FILTER (WHERE state = 'active')
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@dataclass(slots=True)
class ServerMaxima:
    """The observed maxima."""

    workers_rss_bytes: int = 0
    worker_rss_bytes: int = 0
    connections: int = 0
    statements: int = 0
    workers: set[int] = field(default_factory=set)


@contextmanager
def monitor_server(portal: psutil.Process) -> Iterator[ServerMaxima]:
    """Observe the workers of a portal and its database at intervals."""
    maxima, ended = ServerMaxima(), threading.Event()
    with connect_to_database() as connection:

        def watch() -> None:
            while not ended.wait(_INTERVAL_SECONDS):
                _observe(portal, connection, maxima)

        _observe(portal, connection, maxima)
        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield maxima
        finally:
            ended.set()
            thread.join()


@contextmanager
def connect_to_database() -> Iterator[psycopg.Connection]:
    """Connect to the portal's database, outside of Django."""
    django = connections[router.db_for_read(Load)]
    parameters = {
        **django.get_connection_params(),
        "cursor_factory": psycopg.Cursor,
        "context": None,
    }
    with psycopg.connect(**parameters, autocommit=True) as connection:
        yield connection


def count_connections(connection: psycopg.Connection) -> tuple[int, int]:
    """Count the other connections to the database, and the statements that they run."""
    row = connection.execute(_COUNTS).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _observe(portal: psutil.Process, connection: psycopg.Connection, maxima: ServerMaxima) -> None:
    memory = [rss_bytes for rss_bytes in map(_measure_rss_bytes, find_workers(portal)) if rss_bytes]
    maxima.workers |= {worker.pid for worker in find_workers(portal)}
    maxima.workers_rss_bytes = max(maxima.workers_rss_bytes, sum(memory))
    maxima.worker_rss_bytes = max(maxima.worker_rss_bytes, *memory, 0)
    open_connections, running = count_connections(connection)
    maxima.connections = max(maxima.connections, open_connections)
    maxima.statements = max(maxima.statements, running)


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
