"""The benchmark of requests: each part is measured; the figures are not tested."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from benchmarks.__main__ import build_parser
from benchmarks.cursors import SEARCHES, SHARES
from benchmarks.requests import build_requests
from datastore_search.database.statements import execute

from ..processes import PROJECT
from .programs import run_benchmark

PAGE = PROJECT / "docs" / "explanation" / "performance.md"


# The client ---------------------------------------------------------------------------------------


class AnsweringHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("If-None-Match") == '"1"':
            self._send_answer(304, b"")
        else:
            self._send_answer(200, b'{"result": {"total": 7}}')

    do_GET = do_POST  # noqa: N815 - the server's names

    def _send_answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), AnsweringHandler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


# The page -----------------------------------------------------------------------------------------


def test_the_page_names_every_request_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    options = {option for action in build_parser()._actions for option in action.option_strings}

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [
        *(request.name for request in build_requests(1)),
        *SEARCHES,
    ]
    assert set(re.findall(r"`(--[a-z-]+)`", text)) == options - {"-h", "--help"}


# Whole runs ---------------------------------------------------------------------------------------


@pytest.fixture
def database_url(transactional_db: None) -> Iterator[str]:
    """An empty database on the server of the tests."""
    name = f"benchmark_{os.getpid()}"
    parameters = {key: str(value) for key, value in connection.get_connection_params().items()}
    template = connection.settings_dict["TEST"]["TEMPLATE"]
    execute(connection, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    account = ":".join(quote(parameters.get(key, ""), safe="") for key in ("user", "password"))
    host = quote(parameters.get("host", ""), safe="")
    address = f"{host}:{parameters.get('port', '')}".rstrip(":")
    yield f"postgres://{account}@{address}/{name}"
    execute(connection, f'DROP DATABASE "{name}"')


@pytest.mark.slow
def test_a_run_times_requests_beside_ckan_and_leaves_no_server(
    database_url: str, tmp_path: Path, address: str
) -> None:
    out = tmp_path / "out.json"
    names = ["a_limit5", "t_repeated", "v_private", "w_dump"]
    searches = ["cursor", "cursor_q_and_filter"]

    process = run_benchmark(
        *("benchmarks", "--rows", 300, "--only", *names, *searches, "--workers", 1),
        *("--rounds", 1, "--seconds", 0),
        *("--out", out, "--ckan", f"http://{address}", "--ckan-resource", "the-id"),
        database_url=database_url,
    )

    figures = json.loads(out.read_text())
    assert [cost["rows"] for cost in figures["load"]] == [300]
    assert list(figures["requests"]) == names
    assert list(figures["cursors"]) == searches
    assert [len(pages) for pages in figures["cursors"].values()] == [len(SHARES)] * 2
    for name in ("a_limit5", "v_private"):
        measured = figures["requests"][name]
        assert measured["portal"]["together"]["median_ms"] > 0
        assert measured["floor"]["median_ms"] > 0
        assert (measured["ckan"] is None) == (name == "v_private")
    assert figures["ckan_records"] == 7
    assert "\n| a_limit5 " in process.stdout
    assert "\n| cursor_q_and_filter " in process.stdout
    with psycopg.connect(database_url, autocommit=True) as other_connection:
        others = other_connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert others.fetchone() == (0,)
