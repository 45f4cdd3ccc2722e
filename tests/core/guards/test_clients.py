"""Clients that close their connection, under real servers: their statement is cancelled."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from datastore_search.database.statements import fetch_value
from datastore_search.guards.shares import Client
from datastore_search.models import Resource

from ...builders import make_slow
from ...processes import (
    PROJECT,
    build_database_url,
    build_environment,
    find_free_port,
    has_answer,
    wait_until,
)

WSGI, ASGI = "example_project.wsgi:application", "example_project.asgi:application"

#: The command that starts each server that reports closed connections.
SERVERS = {
    "gunicorn": ["gunicorn", "--threads=4", "--bind=127.0.0.1:{port}", WSGI],
    "waitress": ["waitress", "--channel-request-lookahead=1", "--listen=127.0.0.1:{port}", WSGI],
    "granian": [
        "granian", "--interface=asgi", "--no-ws", "--workers-kill-timeout=1",
        "--host=127.0.0.1", "--port={port}", ASGI,
    ],
}  # fmt: skip


@contextmanager
def serve(name: str, uploads: Path) -> Iterator[int]:
    """Serve the example portal with this server, and yield its port."""
    port = find_free_port()
    command = [part.format(port=port) for part in SERVERS[name]]
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=PROJECT, env=build_environment(build_database_url(), uploads),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            wait_until(lambda: has_answer(port), "an answer", alive=lambda: process.poll() is None)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def count_running_searches() -> int:
    statement = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND state = 'active' AND query LIKE '%datastore_search_record_%'"
        " AND pid <> pg_backend_pid()"
    )
    return int(fetch_value(connection, statement))


def send_request(port: int, path: str) -> socket.socket:
    """Send a request, without waiting for the answer."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_a_statement_ends_when_its_client_closes_the_connection(
    committed: Resource, uploads: Path, name: str
) -> None:
    make_slow(committed)  # half a minute
    with serve(name, uploads) as port:
        for path in (
            f"/en/api/action/datastore_search?resource_id={committed.pk}",
            f"/en/datastore/{committed.pk}/",
            f"/en/datastore/dump/{committed.pk}?limit=9",  # the whole is made for all
        ):
            client = send_request(port, path)
            wait_until(count_running_searches, "the search", alive=lambda: True)
            time.sleep(2)
            assert count_running_searches() == 1  # as long as the client waits

            client.close()

            started_at = time.monotonic()
            while count_running_searches():
                assert time.monotonic() - started_at < 8, path  # its limit is 15 seconds
                time.sleep(0.05)
        assert has_answer(port)


def test_a_socket_says_whether_its_client_is_gone() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        client = Client({"gunicorn.socket": ours})
        assert not client.is_gone()
        theirs.close()
        assert client.is_gone()
