"""The portal during a block: its web server alone, or all that ``make serve`` runs."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from example_project.management.commands.serve import build_web_server_command

from .failures import BenchmarkError

TIMEOUT_SECONDS = 60


@contextmanager
def serve_portal(
    workers: int, threads: int, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """
    Serve on a free port of this machine; yield host and port.

    ``environment`` is added to that of this process, with ``benchmarks.served_settings``.

    Raises: ``BenchmarkError`` when the server does not start.
    """
    port = find_free_port()
    address = f"127.0.0.1:{port}"
    settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.served_settings", **(environment or {})}
    server = subprocess.Popen(
        build_web_server_command(port, workers, threads), env=os.environ | settings
    )
    try:
        wait_for_server(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(TIMEOUT_SECONDS)


@contextmanager
def serve_whole_portal(
    workers: int, environment: Mapping[str, str], log: Path
) -> Iterator[tuple[str, psutil.Process]]:
    """
    Run ``manage.py serve`` on a free port, with its load worker; yield host and port, and process.

    Raises: ``BenchmarkError`` when the server does not start.
    """
    port = find_free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with log.open("wb") as file:
        portal = subprocess.Popen(
            [*command, "--workers", str(workers)],
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for_server(f"127.0.0.1:{port}", portal)
        yield f"127.0.0.1:{port}", psutil.Process(portal.pid)
    finally:
        portal.terminate()
        portal.wait(TIMEOUT_SECONDS)


def find_workers(portal: psutil.Process) -> list[psutil.Process]:
    """Find the workers of the web server of a whole portal."""
    with suppress(psutil.NoSuchProcess):
        return [
            worker
            for server in portal.children()
            if "granian" in server.cmdline()
            for worker in server.children()
        ]
    return []


class Memory(threading.Thread):
    """A thread that measures the resident bytes of the workers at intervals."""

    def __init__(self, portal: psutil.Process, interval_seconds: float) -> None:
        """Take the portal."""
        super().__init__(name="memory", daemon=True)
        self._portal, self._interval_seconds = portal, interval_seconds
        self._ended = threading.Event()
        self.samples: dict[int, list[int]] = {}
        self.max_bytes = 0  # of all workers together

    def run(self) -> None:
        """Measure until ``end``."""
        while not self._ended.wait(self._interval_seconds):
            sizes: dict[int, int] = {}
            for worker in find_workers(self._portal):
                with suppress(psutil.NoSuchProcess):
                    sizes[worker.pid] = worker.memory_info().rss
            for pid, size in sizes.items():
                self.samples.setdefault(pid, []).append(size)
            self.max_bytes = max(self.max_bytes, sum(sizes.values()))

    def end(self) -> None:
        """End the measurement."""
        self._ended.set()
        self.join(TIMEOUT_SECONDS)


def find_free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for_server(address: str, server: subprocess.Popen[bytes]) -> None:
    """
    Wait until a server accepts connections.

    Raises: ``BenchmarkError`` when it ends, or takes too long.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(address, timeout=5)
        try:
            connection.connect()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()
    raise BenchmarkError("The server did not start.")
