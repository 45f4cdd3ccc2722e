"""The benchmark of requests: each part is measured; the figures are not tested."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection, transaction
from knox.models import get_token_model

from benchmarks import data, packages
from benchmarks.addresses import Portal
from benchmarks.calls import Call, build_conditional_call, send_call
from benchmarks.credentials import issue_reading_token, set_visibility
from benchmarks.data import FIELDS, HEADER, Source
from benchmarks.failures import BenchmarkError
from benchmarks.floor import Floor, connect_for_floor
from benchmarks.load_generators import threads, wrk
from benchmarks.options import PAGE, _build_parser
from benchmarks.requests import Request, build_requests
from benchmarks.resources import load_resource
from benchmarks.statements import (
    Statement,
    _build_statement,
    _observe_statements,
    is_reading,
    record_statements,
    time_statements,
)
from datastore_search.models import Resource

ROOT = Path(__file__).resolve().parents[2]

BASE = [
    packages.Package(
        *("nginx", "1.22-9", "httpd", "optional", "amd64", "1300", "500000"),
        *("Some Team <team@example.org>", "nginx", "https://nginx.example.org", "A server"),
    ),
    packages.Package(
        *("zsh", "5.9-4", "shells", "optional", "amd64", "", "900000"),
        *("Some Team <team@example.org>", "zsh", "", "A shell"),
    ),
]


@pytest.fixture
def few_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "read_packages", lambda: BASE)


# The data -----------------------------------------------------------------------------------------


def test_the_same_packages_make_the_same_table(tmp_path: Path, few_packages: None) -> None:
    tables = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        tables.append(Source(tmp_path / name).get_table(50).read_bytes())

    assert tables[0] == tables[1]
    assert tables[0].decode().splitlines()[0] == ",".join(HEADER)


def test_a_given_file_is_taken_as_it_is_or_its_first_rows(
    tmp_path: Path, few_packages: None
) -> None:
    (tmp_path / "made").mkdir()
    given = Source(tmp_path).get_table(10)
    source = Source(tmp_path / "made", given)

    assert source.count_available_rows(5) == 5
    assert source.count_available_rows(5_000) == 10
    assert source.get_table(10) == given
    assert source.get_table(5).read_text() == "".join(given.read_text().splitlines(True)[:6])
    assert len(list(islice(source.generate_rows(), 25))) == 25


def test_a_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")

    with pytest.raises(BenchmarkError, match=r"other\.csv must have the columns Package, Version"):
        Source(tmp_path, path).count_available_rows(1)


# The packages -------------------------------------------------------------------------------------

DUMP = """\
Package: zsh
Version: 5.9-4
Source: zsh-source (5.9)
Section: shells
Priority: optional
Architecture: amd64
Size: 900
Maintainer: Some Team <team@example.org>
Description: A shell
Description-md5: abc
Filename: pool/z.deb

Package: by-hand
Version: 1
Architecture: all
Size: 1
Description: Installed by hand
"""
LONG = """\
Package: zsh
Description-md5: abc
Description-en: A shell
 It has
 .
 two paragraphs.
"""


def test_packages_are_read_from_apt_with_their_long_descriptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = {"apt-cache": DUMP, "apt-get": "a-list\n", str(packages._HELPER): LONG}
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        packages, "_read_lines", lambda *command: outputs[command[0]].splitlines(True)
    )

    assert packages.read_packages() == [
        packages.Package(
            *("zsh", "5.9-4", "shells", "optional", "amd64", "", "900"),
            *("Some Team <team@example.org>", "zsh-source", ""),
            "A shell\nIt has\n\ntwo paragraphs.",
        )
    ]


# Load generators ----------------------------------------------------------------------------------


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


@contextmanager
def serve_answers() -> Iterator[str]:
    RecordingHandler.requests.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), RecordingHandler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def address() -> Iterator[str]:
    with serve_answers() as address:
        yield address


needs_wrk = pytest.mark.skipif(not wrk.is_installed(), reason="wrk is not installed")
DRIVERS = [
    pytest.param(threads.drive, 0, id="threads"),
    pytest.param(wrk.drive, 1, id="wrk", marks=needs_wrk),
]


@pytest.mark.parametrize(("drive", "seconds"), DRIVERS)
def test_calls_are_sent_in_turn_and_timed(address: str, drive: Any, seconds: float) -> None:
    calls = [
        Call(address, "POST", f"/{n}", {"Content-Type": "text/plain"}, f"[==[ {n}\n".encode())
        for n in range(3)
    ]

    timing = drive(calls, connections=3, seconds=seconds)

    assert timing.count >= 3
    assert 0 < timing.median_ms <= timing.p95_ms
    assert timing.per_second > 0
    assert set(RecordingHandler.requests) == {("POST", call.path, call.body) for call in calls}


@pytest.mark.parametrize(("drive", "seconds"), DRIVERS)
def test_an_unexpected_answer_ends_the_run_with_its_text(
    address: str, drive: Any, seconds: float
) -> None:
    calls = [Call(address, "GET", "/fine"), Call(address, "GET", "/broken")]

    with pytest.raises(BenchmarkError, match=r"/broken was answered with 500.*It is broken\."):
        drive(calls, connections=1, seconds=seconds)


@pytest.mark.parametrize(("drive", "seconds"), DRIVERS)
def test_a_repeated_request_is_answered_without_a_body(
    address: str, drive: Any, seconds: float
) -> None:
    call = build_conditional_call(Call(address, "GET", "/tagged"))

    assert call is not None
    assert (call.headers["If-None-Match"], call.expects) == ('"1"', 304)
    assert send_call(call).body_bytes == 0
    assert drive([call], connections=1, seconds=seconds).count >= 3


# The floor ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "queries"),
    [
        (Statement("SELECT 1"), ["SELECT 1"]),
        (Statement("with a as (select 1) select 'x;y' ;"), ["with a as (select 1) select 'x;y'"]),
        (Statement("SELECT set_config('a', 'b; c', true); SELECT 2"), ["SELECT 2"]),
        (
            Statement("SELECT 'O''Brien; no', \"a;b\"; SELECT 3"),
            ["SELECT 'O''Brien; no', \"a;b\"", "SELECT 3"],
        ),
        (Statement("SET LOCAL work_mem = '1MB'"), []),
        (Statement("COPY (SELECT (1)) TO STDOUT (FORMAT csv)", copies=True), ["SELECT (1)"]),
    ],
)
def test_the_commands_that_read_are_explained(statement: Statement, queries: list[str]) -> None:
    assert [command for command in statement.commands if is_reading(command)] == queries


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
def test_the_floor_sends_and_explains_statements_as_they_were_sent(
    statements: list[Statement],
) -> None:
    with connect_for_floor() as bare:
        floor = Floor(bare, statements)
        floor.replay(0)
        floor.explain()

    assert floor.timing is not None
    assert floor.timing.count == 3
    assert floor.postgresql_ms is not None
    assert floor.postgresql_ms > 0


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


@pytest.mark.django_db
def test_statements_are_counted_and_timed_past_django_too() -> None:
    with time_statements() as watch, connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")
        cursor.cursor.execute("SELECT 1")
        with cursor.cursor.copy("COPY (SELECT 1) TO STDOUT") as rows:
            assert len(list(rows)) == 1

    assert watch.statements == 3
    assert watch.seconds >= 0.01


# Resources and tokens -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_resource_is_loaded_once_with_the_types_of_its_fields(
    tmp_path: Path, few_packages: None
) -> None:
    source = Source(tmp_path)

    first = load_resource(source, 30, reload=False)
    second = load_resource(source, 30, reload=False)
    third = load_resource(source, 30, reload=True)

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
    options = {option for action in _build_parser()._actions for option in action.option_strings}

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [
        request.name for request in build_requests(1)
    ]
    assert set(re.findall(r"`(--[a-z-]+)`", text)) == options - {"-h", "--help"}


# A whole run --------------------------------------------------------------------------------------


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


def test_a_run_measures_every_part_and_leaves_no_server(
    database_url: str, tmp_path: Path, address: str
) -> None:
    page, out, given = tmp_path / "page.md", tmp_path / "out.json", tmp_path / "given.csv"
    page.write_text(PAGE.read_text(encoding="utf-8"))
    data.write_table(given, islice(data.vary_rows(packages.make_up_packages()), 300))

    process = run(
        database_url,
        *("--csv", given, "--data", tmp_path, "--rows", 300, "--growth", 200, 100),
        *("--requests", "--resources", 3, "--breakdown", "--workers", 1),
        *("--rounds", 1, "--seconds", 0, "--out", out, "--report", page),
        *("--ckan", f"http://{address}", "--ckan-resource", "the-id"),
    )

    assert process.returncode == 0, process.stderr
    figures = json.loads(out.read_text())
    names = [request.name for request in build_requests(300)]
    assert [cost["rows"] for cost in figures["load"]] == [100, 200, 300]
    assert list(figures["requests"]) == list(figures["growth"]) == names
    for name in ("a_limit5", "h_sort_size", "v_private"):
        measured = figures["requests"][name]
        assert measured["portal"]["together"]["median_ms"] > 0
        assert measured["floor"]["median_ms"] > 0 < measured["postgresql_ms"]
        assert (measured["ckan"] is None) == (name == "v_private")
        assert len(figures["growth"][name]) == 2
    assert figures["growth_sizes"] == [100, 200]
    assert figures["ckan_records"] == 7
    assert set(figures["resources"]) == {"limit 5", "one filter"}
    assert len(figures["breakdown"]) == 8
    text = page.read_text()
    assert "Not measured yet" not in text
    for row in ("| 300 | ", "| a_limit5 | ", "| limit 5 | all | ", "| rare q, private | "):
        assert f"\n{row}" in text
    assert "300 records; CKAN: 7; PostgreSQL " in text
    assert "\n# breakdown\n" in process.stdout
    with psycopg.connect(database_url, autocommit=True) as other_connection:
        others = other_connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert others.fetchone() == (0,)


def test_a_failed_run_prints_the_reason(database_url: str, address: str, tmp_path: Path) -> None:
    data.write_table(tmp_path / "given.csv", islice(data.vary_rows(BASE), 20))

    process = run(
        database_url,
        *("--csv", tmp_path / "given.csv", "--seconds", 0, "--only", "a_limit5"),
        *("--ckan", f"http://{address}/broken", "--ckan-resource", "the-id"),
    )

    assert process.returncode == 1
    assert "was answered with 500" in process.stderr
    assert "It is broken." in process.stderr
