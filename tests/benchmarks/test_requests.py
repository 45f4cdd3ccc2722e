"""The benchmark of requests: each part is measured; the figures are not tested."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection
from knox.models import get_token_model

from benchmarks.__main__ import build_parser
from benchmarks.addresses import Portal
from benchmarks.calls import Call
from benchmarks.credentials import issue_reading_token, set_visibility
from benchmarks.failures import BenchmarkError
from benchmarks.requests import Request, build_requests
from benchmarks.timing import drive
from datastore_search.models import Resource

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "performance.md"


# The client ---------------------------------------------------------------------------------------


class RecordingHandler(BaseHTTPRequestHandler):
    """Answers every request, and records it."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.requests.append((self.command, self.path, body))
        if self.path.startswith("/broken"):
            self._send_answer(500, b"It is broken.")
        elif self.headers.get("If-None-Match") == '"1"':
            self._send_answer(304, b"")
        else:
            self._send_answer(200, b'{"result": {"total": 7}}')

    do_GET = do_POST  # noqa: N815 - the server's names

    def _send_answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if self.path != "/tagless":
            self.send_header("ETag", '"1"')
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    RecordingHandler.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), RecordingHandler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_calls_are_sent_in_turn_and_timed(address: str) -> None:
    calls = [
        Call(address, "POST", f"/{n}", {"Content-Type": "text/plain"}, f"[==[ {n}\n".encode())
        for n in range(3)
    ]

    timing = drive(calls, connections=3, seconds=0)

    assert timing.count >= 3
    assert 0 < timing.median_ms <= timing.p95_ms
    assert timing.per_second > 0
    assert set(RecordingHandler.requests) == {("POST", call.path, call.body) for call in calls}


def test_an_unexpected_answer_ends_the_run_with_its_text(address: str) -> None:
    calls = [Call(address, "GET", "/fine"), Call(address, "GET", "/broken")]

    with pytest.raises(BenchmarkError, match=r"/broken was answered with 500.*It is broken\."):
        drive(calls, connections=1, seconds=0)


# Resources and tokens -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_token_reads_and_is_taken_back(resource: Resource, client: Any) -> None:
    with issue_reading_token() as token, set_visibility(resource, private=True):
        call = Portal("testserver", token).build_call(Request("", {"limit": 1}), str(resource.pk))
        answers = [
            client.post(call.path, call.body, content_type="application/json", headers=headers)
            for headers in ({"Authorization": token}, {})
        ]

    assert [answer.status_code for answer in answers] == [200, 403]
    assert not get_token_model().objects.exists()
    assert not Resource.objects.get(pk=resource.pk).private


# The page -----------------------------------------------------------------------------------------


def test_the_page_names_every_request_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    options = {option for action in build_parser()._actions for option in action.option_strings}

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [
        request.name for request in build_requests(1)
    ]
    assert set(re.findall(r"`(--[a-z-]+)`", text)) == options - {"-h", "--help"}


# Whole runs ---------------------------------------------------------------------------------------


@pytest.fixture
def database_url(transactional_db: None) -> Iterator[str]:
    """An empty database on the server of the tests."""
    name = f"benchmark_{os.getpid()}"
    parameters = {key: str(value) for key, value in connection.get_connection_params().items()}
    template = connection.settings_dict["TEST"]["TEMPLATE"]
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    account = ":".join(quote(parameters.get(key, ""), safe="") for key in ("user", "password"))
    host = quote(parameters.get("host", ""), safe="")
    address = f"{host}:{parameters.get('port', '')}".rstrip(":")
    yield f"postgres://{account}@{address}/{name}"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def run(database_url: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )


@pytest.mark.slow
def test_a_run_times_requests_beside_ckan_and_leaves_no_server(
    database_url: str, tmp_path: Path, address: str
) -> None:
    out = tmp_path / "out.json"
    names = ["a_limit5", "t_repeated", "v_private", "w_dump"]

    process = run(
        database_url,
        *("--rows", 300, "--only", *names, "--workers", 1, "--rounds", 1, "--seconds", 0),
        *("--out", out, "--ckan", f"http://{address}", "--ckan-resource", "the-id"),
    )

    assert process.returncode == 0, process.stderr
    figures = json.loads(out.read_text())
    assert [cost["rows"] for cost in figures["load"]] == [300]
    assert list(figures["requests"]) == names
    for name in ("a_limit5", "v_private"):
        measured = figures["requests"][name]
        assert measured["portal"]["together"]["median_ms"] > 0
        assert measured["floor"]["median_ms"] > 0
        assert (measured["ckan"] is None) == (name == "v_private")
    assert figures["ckan_records"] == 7
    assert "\n| a_limit5 " in process.stdout
    with psycopg.connect(database_url, autocommit=True) as other_connection:
        others = other_connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert others.fetchone() == (0,)
