"""The portal under gunicorn, as ``make serve`` runs it, for as long as a block."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_SECONDS = 30


@contextmanager
def serving() -> Iterator[int]:
    """Serve on a free port of this machine, and give the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    server = subprocess.Popen(  # noqa: S603 - our own arguments
        [
            *(sys.executable, "-m", "gunicorn", "example_project.wsgi"),
            *("--bind", f"127.0.0.1:{port}", "--workers", "1", "--timeout", "300"),
            *("--log-level", "warning"),
        ]
    )
    try:
        _wait_for(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
