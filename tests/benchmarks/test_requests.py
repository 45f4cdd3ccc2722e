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
from django.db import connection, transaction
from knox.models import get_token_model

from benchmarks import data
from benchmarks.__main__ import build_parser
from benchmarks.addresses import Portal
from benchmarks.calls import Call, build_conditional_call, send_call
from benchmarks.credentials import issue_reading_token, set_visibility
from benchmarks.data import FIELDS
from benchmarks.failures import BenchmarkError
from benchmarks.floor import Floor, connect_for_floor
from benchmarks.requests import Request, build_requests
from benchmarks.resources import load_resource
from benchmarks.statements import (
    Statement,
    _build_statement,
    _observe_statements,
    record_statements,
)
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


def test_a_repeated_request_is_answered_without_a_body(address: str) -> None:
    call = build_conditional_call(Call(address, "GET", "/tagged"))

    assert call is not None
    assert (call.headers["If-None-Match"], call.expects) == ('"1"', 304)
    assert send_call(call).body_bytes == 0


# The floor ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_statements_of_a_request_are_those_that_were_sent_for_it(resource: Resource) -> None:
    call = Portal("127.0.0.1:80", "").build_call(
        Request("", {"filters": {"title": "100% sure; or"}}), str(resource.pk)
    )

    statements = record_statements(call)

    assert any("100% sure; or" in statement.text for statement in statements)
    assert all("%s" not in statement.text for statement in statements)


@pytest.mark.django_db
def test_a_failed_request_raises_the_reason(db: None) -> None:
    call = Portal("127.0.0.1:80", "").build_call(Request("", {"limit": "much"}), "none")

    with pytest.raises(BenchmarkError, match=r"answered with 409, not with 200: .*limit"):
        record_statements(call)


#: Fails unless the setting of the statement before is in effect.
NEEDS_SETTING = "SELECT 1 / (current_setting('work_mem') = '12MB')::int, '100%'"


@pytest.mark.parametrize(
    "statements",
    [
        [Statement(f"SELECT set_config('work_mem', '12MB', true); {NEEDS_SETTING}")],
        [
            Statement("SET LOCAL work_mem = '12MB'", transacted=True),
            Statement(NEEDS_SETTING, transacted=True),
            Statement(f"COPY ({NEEDS_SETTING}) TO STDOUT", copies=True, transacted=True),
        ],
    ],
    ids=["one text", "transaction"],
)
@pytest.mark.django_db
def test_the_floor_sends_statements_as_they_were_sent(
    statements: list[Statement],
) -> None:
    with connect_for_floor() as bare:
        floor = Floor(bare, statements)
        floor.replay(0)

    assert floor.timing is not None
    assert floor.timing.count == 3


@pytest.mark.django_db(transaction=True)
def test_a_statement_records_whether_it_was_in_a_transaction() -> None:
    statements: list[Statement] = []
    connection.ensure_connection()  # which sets the time zone
    with (
        _observe_statements(lambda *given: statements.append(_build_statement(*given))),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT %s", ["alone"])
        with transaction.atomic():
            cursor.execute("SELECT %s", ["within"])

    assert statements == [
        Statement("SELECT 'alone'"),
        Statement("SELECT 'within'", transacted=True),
    ]


# The data -----------------------------------------------------------------------------------------


def test_the_rows_are_the_same_on_every_machine(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    tables = [data.get_table(tmp_path / name, 50).read_text() for name in ("first", "second")]

    assert tables[0] == tables[1]
    assert tables[0].splitlines()[0] == ",".join(FIELDS)


# Resources and tokens -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.django_db
def test_a_resource_is_loaded_once_with_the_types_of_its_fields(
    tmp_path: Path,
) -> None:
    first = load_resource(tmp_path, 30, reload=False)
    second = load_resource(tmp_path, 30, reload=False)
    third = load_resource(tmp_path, 30, reload=True)

    described = Resource.objects.described(first.id)
    assert {field.name: field.type for field in described.schema} == FIELDS
    assert first.rows == 30
    assert first.cost.table_bytes > 0 < first.cost.indexes_bytes
    assert first.resource.table_version_id == second.resource.table_version_id
    assert first.resource.table_version_id != third.resource.table_version_id


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


@pytest.mark.slow
def test_a_run_loads_beside_copy_and_leaves_nothing(database_url: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    process = run(database_url, "--loads", 100, 50, "--rounds", 2, "--out", out)

    assert process.returncode == 0, process.stderr
    figures = json.loads(out.read_text())
    assert [load_figures["rows"] for load_figures in figures["loads"]] == [50, 100]
    for load_figures in figures["loads"]:
        for part in ("portal", "copy"):
            assert len(load_figures[part]) == 2
            assert min(load_figures[part]) > 0
        assert {"reading", "copying", "indexing"} <= set(load_figures["states"][0])
        assert load_figures["peak_bytes"] >= load_figures["base_bytes"] > 0
    assert "\n| 50 " in process.stdout
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE tablename ~ '^(benchmark|datastore_search_rec)'"
        )
        assert tables.fetchall() == []


@pytest.mark.slow
def test_a_failed_run_prints_the_reason(database_url: str, address: str) -> None:
    process = run(
        database_url,
        *("--rows", 20, "--seconds", 0, "--only", "a_limit5"),
        *("--ckan", f"http://{address}/broken", "--ckan-resource", "the-id"),
    )

    assert process.returncode == 1
    assert "was answered with 500" in process.stderr
    assert "It is broken." in process.stderr
