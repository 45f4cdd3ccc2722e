"""The portal under granian, as ``make serve`` runs it, during a block."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from example_project.management.commands.serve import build_web_server_command

from .failures import BenchmarkError

_TIMEOUT_SECONDS = 60


@contextmanager
def serve_portal(workers: int, threads: int) -> Iterator[str]:
    """
    Serve on a free port of this machine; yield host and port.

    Raises: ``BenchmarkError`` when the server does not start.
    """
    port = find_free_port()
    address = f"127.0.0.1:{port}"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchmarks.served_settings"}
    server = subprocess.Popen(build_web_server_command(port, workers, threads), env=environment)
    try:
        wait_for_server(address, server)
        yield address
    finally:
        server.terminate()
        server.wait()


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
    deadline = time.monotonic() + _TIMEOUT_SECONDS
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
