"""The configuration of nginx in the documentation, run by nginx."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks.nginx import CONFIGURATION, serve_nginx
from benchmarks.scale.standbys import wait_until
from benchmarks.server import find_free_port, serve_portal, wait_for_server
from datastore_search.models import Resource
from example_project.management.commands.serve import DEFAULT_THREADS

from ..builders import make_resource
from ..processes import build_database_url, build_environment

ACTION = "/en_GB/api/3/action/datastore_search"
TAIL = "/api/3/action/help_show?name=datastore_search"


def run_portal(uploads: Path) -> AbstractContextManager[str]:
    """Run the portal like ``serve``, with two workers; yield host and port."""
    settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.abuse.served_settings", "ABUSE_NGINX": "1"}
    environment = build_environment(build_database_url(), uploads) | settings
    return serve_portal(2, DEFAULT_THREADS, environment)


@pytest.fixture
def large(transactional_db: None) -> Iterator[Resource]:
    rows = "\n".join(f"{number},{str(number) * 100}" for number in range(10_000, 40_000))
    yield make_resource(f"a,b\n{rows}\n")
    Resource.objects.all().delete()


def send(
    server: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(server, timeout=60)
    try:
        connection.request(method, path, body or None, dict(headers or {}))
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def read_error_envelope(exchange: tuple[http.client.HTTPResponse, bytes], status: int) -> Any:
    """Check that an answer is a complete envelope of a failure, and return it."""
    answer, body = exchange
    envelope = json.loads(body)
    assert answer.status == status
    assert answer.getheader("Content-Type") == "application/json; charset=utf-8"
    assert answer.getheader("Access-Control-Allow-Origin") == "*"
    assert sorted(envelope) == ["error", "help", "success"]
    assert envelope["success"] is False
    assert envelope["help"].startswith("http://portal.example.org/")
    return envelope


def read_error_page(exchange: tuple[http.client.HTTPResponse, bytes], status: int) -> str:
    """Check that an answer is a page that no cache stores, and return it."""
    answer, body = exchange
    assert answer.status == status
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"
    assert answer.getheader("Cache-Control") == "no-store"
    return body.decode()


def connect(server: str, client: str, **options: int) -> socket.socket:
    host, port = server.split(":")
    connection = socket.socket()
    for name, value in options.items():
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    connection.settimeout(60)
    connection.bind((client, 0))
    connection.connect((host, int(port)))
    return connection


def send_from(
    server: str, client: str, path: str = ACTION, method: str = "GET", *headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    lines = [f"{method} {path} HTTP/1.1", "Host: a", "Connection: close", *headers]
    with connect(server, client) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer, answer.read()


def start_body(server: str, client: str) -> socket.socket:
    """Send a request with only the first byte of its body."""
    connection = connect(server, client)
    connection.sendall(
        f"POST {ACTION} HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/json\r\n"
        "Content-Length: 9\r\n\r\n{".encode()
    )
    return connection


def start_dump(server: str, client: str, resource: Resource) -> socket.socket:
    """Request a dump, and read only its first bytes; a process sends at most four dumps at once."""
    connection = connect(server, client, SO_RCVBUF=4096)
    connection.sendall(
        f"GET /en/datastore/dump/{resource.pk} HTTP/1.1\r\nHost: {server}\r\n\r\n".encode()
    )
    assert connection.recv(12) in {b"HTTP/1.1 200", b"HTTP/1.1 429", b"HTTP/1.1 503"}
    return connection


@pytest.mark.slow
def test_slow_bodies_and_slow_readers_delay_no_other_request(
    large: Resource, uploads: Path
) -> None:
    query = json.dumps({"resource_id": str(large.pk), "limit": 5}).encode()
    with run_portal(uploads) as behind, serve_nginx(behind) as server, ExitStack() as stack:
        for number in range(8):
            stack.enter_context(start_body(server, f"127.0.1.{number + 1}"))
            stack.enter_context(start_dump(server, f"127.0.2.{number + 1}", large))

        answers = [send(server, "POST", ACTION, query) for _ in range(16)]

    assert [answer.status for answer, _body in answers] == [200] * 16
    assert all(len(json.loads(body)["result"]["records"]) == 5 for _answer, body in answers)


class EchoHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = {
            "path": self.path,
            "bytes": len(self.rfile.read(length)),
            "port": self.client_address[1],
            "server": "{}:{}".format(*self.request.getsockname()),
            **self.headers,
        }
        text = json.dumps(body).encode() + b" " * 2000
        self.send_response(413 if "refused" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serve_echo() -> Iterator[str]:
    """Run a server that answers with the request."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EchoHandler) as echo:
        Thread(target=echo.serve_forever).start()
        yield f"127.0.0.1:{echo.server_address[1]}"
        echo.shutdown()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serve_echo() as echo, serve_nginx(echo) as address:
        yield address


MB = 2**20


@pytest.mark.parametrize(
    ("path", "max_bytes"),
    [
        ("/api/action/datastore_search", MB),
        ("/vi/api/3/action/datastore_info", MB),
        ("/vi/api/3/action/datastore_upsert", 100 * MB),
        ("/api/action/datastore_records_delete", 100 * MB),
        ("/en/datastore/", MB),
        ("/en/admin/datastore_search/resource/1/change/", 10 * MB),
        ("/pt_BR/admin/datastore_search/resource/1/load/", 1025 * MB),
        ("/pt_BR/admin/login/", MB // 16),
    ],
)
def test_a_body_may_be_as_large_as_its_address_allows(
    server: str, path: str, max_bytes: int
) -> None:
    body_bytes = min(max_bytes, 11 * MB)  # of the largest ones, only the header is tested
    answer, body = send(server, "POST", path, bytes(body_bytes))
    assert answer.status == 200
    assert json.loads(body)["bytes"] == body_bytes

    with connect(server, "127.0.0.1") as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {max_bytes + 1}\r\n\r\n".encode()
        )
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_a_body_that_is_too_large_is_refused_in_the_envelope(server: str) -> None:
    envelope = read_error_envelope(send(server, "POST", ACTION, bytes(MB + 1)), 413)

    assert envelope["error"] == {"__type": "Request Too Large", "message": "Request too large"}
    assert envelope["help"] == f"http://portal.example.org/en_GB{TAIL}"


@pytest.mark.parametrize("locale", ["", "/vi", "/zh_Hans_CN"])
def test_a_portal_that_is_down_is_reported_in_the_envelope(locale: str) -> None:
    with serve_nginx(f"127.0.0.1:{find_free_port()}") as server:
        exchange = send(server, "POST", f"{locale}/api/action/datastore_search", b"{}")
        dump = send(server, "GET", f"{locale}/datastore/dump/1")
        pages = [
            send(server, "GET", f"{locale}/datastore/dump/1", headers={"Accept": "text/html,*/*"}),
            send(server, "GET", f"{locale}/datastore/"),
            send(server, "GET", f"{locale}/admin/login/"),
        ]

    envelope = read_error_envelope(exchange, 503)
    assert envelope["help"] == f"http://portal.example.org{locale}{TAIL}"
    assert envelope["error"] == {
        "__type": "Service Unavailable",
        "message": "The portal cannot be reached. Try again in a moment.",
    }
    read_error_envelope(dump, 503)
    for page in pages:
        assert '<p role="alert">The portal cannot be reached.' in read_error_page(page, 503)
    assert {answer.getheader("Retry-After") for answer, _ in (exchange, dump, *pages)} == {"5"}


def test_a_portal_that_takes_too_long_is_reported_in_the_envelope_and_on_pages() -> None:
    with socket.socket() as behind:
        behind.bind(("127.0.0.1", 0))
        behind.listen()  # and never answers
        address = f"127.0.0.1:{behind.getsockname()[1]}"
        with serve_nginx(address, {"proxy_read_timeout 250s;": "proxy_read_timeout 1s;"}) as server:
            exchange = send(server, "POST", ACTION, b"{}")
            page = send(server, "GET", "/en/datastore/")

    assert read_error_envelope(exchange, 504)["error"]["__type"] == "Gateway Timeout"
    assert "The answer takes too long." in read_error_page(page, 504)
    assert exchange[0].getheader("Retry-After") == page[0].getheader("Retry-After") == "30"


def test_one_address_is_answered_twenty_requests_at_once(server: str) -> None:
    with ExitStack() as stack:
        for _ in range(19):
            stack.enter_context(start_body(server, "127.0.3.1"))
        assert send_from(server, "127.0.3.1")[0].status == 200
        # nginx may still count the request before, and its processes begin requests in no order.
        for _ in range(2):
            stack.enter_context(start_body(server, "127.0.3.1"))
        wait_until(lambda: send_from(server, "127.0.3.1")[0].status == 429)
        refused = send_from(server, "127.0.3.1")
        other = send(server, "GET", ACTION)

    envelope = read_error_envelope(refused, 429)
    assert envelope["error"]["__type"] == "Too Many Requests"
    assert refused[0].getheader("Retry-After") == "1"
    assert other[0].status == 200


def test_the_portal_gets_the_address_and_scheme_of_nginx_not_those_that_the_client_claims(
    server: str,
) -> None:
    claims = {
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "evil.example",
        "Authorization": "a token",
    }
    _answer, body = send(server, "GET", ACTION, headers=claims)
    received = json.loads(body)

    assert received["X-Forwarded-For"] == "127.0.0.1"
    assert received["X-Forwarded-Proto"] == "http"
    assert "X-Forwarded-Host" not in received
    assert received["Host"] == server
    assert received["Authorization"] == "a token"


#: An entrance, and the answers without a pause that one client gets there at least.
ENTRANCES = [
    ("GET", ACTION, 60),
    ("POST", "/api/3/action/datastore_upsert", 60),
    ("GET", "/api/docs/", 60),
    ("GET", "/en/datastore/", 60),
    ("GET", "/vi/datastore/1/chart/", 60),
    ("POST", "/en/datastore/mcp", 60),
    ("GET", "/en/admin/", 60),
    ("GET", "/en/admin/login/", 60),
    ("POST", "/de/admin/datastore_search/resource/1/load/", 60),
    ("GET", "/static/none.css", 300),
    ("GET", "/zh_Hans_CN/datastore/dump/1", 20),
    ("GET", "/api/schema/", 10),
    ("GET", "/en-gb/api/schema/?format=json", 10),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "entrance"), list(enumerate(ENTRANCES, 1)))
def test_a_client_that_asks_too_often_is_refused_at_every_entrance_and_no_other(
    server: str, number: int, entrance: tuple[str, str, int]
) -> None:
    method, path, least = entrance
    client = f"127.0.6.{number}"
    answered = 0
    while (exchange := send_from(server, client, path, method))[0].status != 429:
        answered += 1
        assert answered < 20 * least

    assert answered >= least
    assert exchange[0].getheader("Retry-After") == "1"
    if "/api/" in path or "/dump/" in path:
        assert read_error_envelope(exchange, 429)["error"]["__type"] == "Too Many Requests"
    else:
        assert "Too many requests." in read_error_page(exchange, 429)
    assert send_from(server, "127.0.7.1", path, method)[0].status in {200, 404}


def test_an_address_gets_ten_logins_at_once_and_one_in_six_seconds(server: str) -> None:
    path = "/en/admin/login/"

    exchanges = [send_from(server, "127.0.8.1", path, "POST") for _ in range(20)]

    statuses = [answer.status for answer, _body in exchanges]
    assert statuses[:10] == [200] * 10
    assert statuses[-1] == 429
    assert "Too many requests." in read_error_page(exchanges[-1], 429)
    assert exchanges[-1][0].getheader("Retry-After") == "6"
    assert send_from(server, "127.0.8.2", path, "POST")[0].status == 200
    assert send_from(server, "127.0.8.1", path)[0].status == 200
    assert send_from(server, "127.0.8.1", "/vi//%61dmin/login/", "POST")[0].status == 429


def test_an_ipv6_network_of_64_bits_is_one_client(server: str) -> None:
    realip = "server_tokens off; set_real_ip_from 127.0.0.1; real_ip_header X-Address;"
    behind = json.loads(send(server, "GET", ACTION)[1])["server"]

    def log_in(address: str) -> int:
        header = f"X-Address: {address}"
        return send_from(own, "127.0.0.1", "/en/admin/login/", "POST", header)[0].status

    with serve_nginx(behind, {"server_tokens off;": realip}) as own:
        statuses = [log_in(f"2001:db8:0:a::{number:x}") for number in range(20)]
        others = [log_in(f"2001:db8:0:{number:x}::1") for number in range(20, 40)]

    assert (statuses[:10], statuses[-1]) == ([200] * 10, 429)
    assert others == [200] * 20


@pytest.mark.parametrize(
    "path", ["/health/live", "/health/ready", "/health/operations", "/vi/health/live", "/metrics"]
)
def test_health_and_metrics_are_for_this_machine_alone(server: str, path: str) -> None:
    assert send_from(server, "127.0.0.1", path)[0].status == 200
    for spelling in (path, f"/{path}", path.replace("e", "%65"), f"/en/..{path}"):
        forged = send_from(server, "127.0.9.1", spelling, "GET", "X-Forwarded-For: 127.0.0.1")
        assert forged[0].status == 403


GUNICORN = """
def application(environ, start_response):
    start_response("200 OK", [])
    return [environ["QUERY_STRING"].encode()]
"""


@pytest.mark.slow
def test_the_longest_address_of_nginx_is_the_longest_of_gunicorn(tmp_path: Path) -> None:
    page = CONFIGURATION.with_name("deploy.md").read_text(encoding="utf-8")
    (option,) = re.findall(r" (--limit-request-line 8190)\n", page)
    (tmp_path / "application.py").write_text(GUNICORN)
    behind = f"127.0.0.1:{find_free_port()}"
    gunicorn = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "application", "--bind", behind, *option.split()],
        cwd=tmp_path,
    )
    query = "a" * (8190 - len("GET /api/? HTTP/1.1"))
    try:
        wait_for_server(behind, gunicorn)
        with serve_nginx(behind) as server:
            longest, body = send(server, "GET", f"/api/?{query}")
            longer, _body = send(server, "GET", f"/api/?{query}a")
    finally:
        gunicorn.terminate()
        gunicorn.wait(60)

    assert (longest.status, body.decode()) == (200, query)
    assert longer.status == 414
