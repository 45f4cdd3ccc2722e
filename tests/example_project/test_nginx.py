"""The configuration of nginx that the documentation has, run by a real nginx."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks.nginx import serve_nginx
from benchmarks.server import find_free_port, wait_for_server
from datastore_search.models import Resource
from example_project.management.commands.serve import build_web_server_command

from ..builders import make_resource
from ..deployment.servers import wait
from ..loading.jobs.workers import PROJECT, database_url, environment

ACTION = "/en_GB/api/3/action/datastore_search"
TAIL = "/api/3/action/help_show?name=datastore_search"


@contextmanager
def portal(uploads: Path) -> Iterator[str]:
    """The portal as ``serve`` runs it, with two workers of four threads: host and port."""
    port = find_free_port()
    server = subprocess.Popen(
        build_web_server_command(port, 2, 4), cwd=PROJECT, env=environment(database_url(), uploads)
    )
    try:
        wait_for_server(f"127.0.0.1:{port}", server)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def large(transactional_db: None) -> Iterator[Resource]:
    """A resource of 16 MB."""
    rows = "\n".join(f"{number},{str(number) * 100}" for number in range(10_000, 40_000))
    yield make_resource(f"a,b\n{rows}\n")
    Resource.objects.all().delete()


def send(
    server: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    called = http.client.HTTPConnection(server, timeout=60)
    try:
        called.request(method, path, body or None, dict(headers or {}))
        answer = called.getresponse()
        return answer, answer.read()
    finally:
        called.close()


def envelope(answered: tuple[http.client.HTTPResponse, bytes], status: int) -> Any:
    """What is wrong, out of an answer that is an envelope in full."""
    answer, body = answered
    found = json.loads(body)
    assert answer.status == status
    assert answer.getheader("Content-Type") == "application/json; charset=utf-8"
    assert answer.getheader("Access-Control-Allow-Origin") == "*"
    assert sorted(found) == ["error", "help", "success"]
    assert found["success"] is False
    assert found["help"].startswith("http://portal.example.org/")
    return found


def connect(server: str, client: str, **options: int) -> socket.socket:
    """Connect from an address of its own."""
    host, port = server.split(":")
    made = socket.socket()
    for name, value in options.items():
        made.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    made.settimeout(60)
    made.bind((client, 0))
    made.connect((host, int(port)))
    return made


def get(server: str, client: str) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request from an address of its own."""
    with connect(server, client) as made:
        made.sendall(f"GET {ACTION} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        answer = http.client.HTTPResponse(made)
        answer.begin()
        return answer, answer.read()


def begin_body(server: str, client: str) -> socket.socket:
    """Send a request of whose body only the first byte comes."""
    made = connect(server, client)
    made.sendall(
        f"POST {ACTION} HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/json\r\n"
        "Content-Length: 9\r\n\r\n{".encode()
    )
    return made


def begin_dump(server: str, client: str, resource: Resource) -> socket.socket:
    """Ask for a dump, and read no more than its first bytes; a process sends two at once."""
    made = connect(server, client, SO_RCVBUF=4096)
    made.sendall(
        f"GET /en/datastore/dump/{resource.pk} HTTP/1.1\r\nHost: {server}\r\n\r\n".encode()
    )
    assert made.recv(12) in {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    return made


def test_slow_bodies_and_slow_readers_keep_nobody_waiting(large: Resource, uploads: Path) -> None:
    asked = json.dumps({"resource_id": str(large.pk), "limit": 5}).encode()
    with portal(uploads) as behind, serve_nginx(behind) as server, ExitStack() as held:
        for number in range(8):
            held.enter_context(begin_body(server, f"127.0.1.{number + 1}"))
            held.enter_context(begin_dump(server, f"127.0.2.{number + 1}", large))

        answers = [send(server, "POST", ACTION, asked) for _ in range(16)]

    assert [answer.status for answer, _body in answers] == [200] * 16
    assert all(len(json.loads(body)["result"]["records"]) == 5 for _answer, body in answers)


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = {
            "path": self.path,
            "bytes": len(self.rfile.read(length)),
            "port": self.client_address[1],
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


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Nginx before a server that says what it was sent."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as echo:
        Thread(target=echo.serve_forever).start()
        with serve_nginx(f"127.0.0.1:{echo.server_address[1]}") as address:
            yield address
        echo.shutdown()


MB = 2**20


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/api/action/datastore_search", MB),
        ("/vi/api/3/action/datastore_info", MB),
        ("/vi/api/3/action/datastore_upsert", 100 * MB),
        ("/api/action/datastore_records_delete", 100 * MB),
        ("/en/datastore/", MB),
        ("/en/admin/datastore_search/resource/1/change/", 10 * MB),
        ("/pt_BR/admin/datastore_search/resource/1/load/", 1025 * MB),
    ],
)
def test_a_body_may_be_as_large_as_its_address_allows(server: str, path: str, most: int) -> None:
    sent = min(most, 11 * MB)  # of the largest ones only the announcement is tried
    answer, body = send(server, "POST", path, bytes(sent))
    assert answer.status == 200
    assert json.loads(body)["bytes"] == sent

    with connect(server, "127.0.0.1") as made:
        made.sendall(
            f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {most + 1}\r\n\r\n".encode()
        )
        assert made.recv(12) == b"HTTP/1.1 413"


def test_a_body_that_is_too_large_is_refused_in_the_envelope(server: str) -> None:
    found = envelope(send(server, "POST", ACTION, bytes(MB + 1)), 413)

    assert found["error"] == {"__type": "Request Too Large", "message": "Request too large"}
    assert found["help"] == f"http://portal.example.org/en_GB{TAIL}"


def test_what_the_portal_refuses_stays_as_it_says_it(server: str) -> None:
    answer, body = send(server, "GET", "/api/action/refused")

    assert answer.status == 413
    assert json.loads(body)["path"] == "/api/action/refused"


@pytest.mark.parametrize("locale", ["", "/vi", "/zh_Hans_CN"])
def test_a_portal_that_is_down_is_said_in_the_envelope(locale: str) -> None:
    with serve_nginx(f"127.0.0.1:{find_free_port()}") as server:
        answered = send(server, "POST", f"{locale}/api/action/datastore_search", b"{}")
        dump, _body = send(server, "GET", f"{locale}/datastore/dump/1")
        page, html = send(server, "GET", f"{locale}/datastore/")

    found = envelope(answered, 503)
    assert found["help"] == f"http://portal.example.org{locale}{TAIL}"
    assert found["error"] == {
        "__type": "Service Unavailable",
        "message": "The portal cannot be reached. Try again in a moment.",
    }
    assert answered[0].getheader("Retry-After") == dump.getheader("Retry-After") == "5"
    assert (page.status, html[:6]) == (502, b"<html>")


def test_one_address_is_answered_twenty_requests_at_once(server: str) -> None:
    with ExitStack() as held:
        for _ in range(19):
            held.enter_context(begin_body(server, "127.0.3.1"))
        assert get(server, "127.0.3.1")[0].status == 200
        # nginx may still count the request before, and its processes begin requests in no order.
        for _ in range(2):
            held.enter_context(begin_body(server, "127.0.3.1"))
        wait(lambda: get(server, "127.0.3.1")[0].status == 429)
        refused = get(server, "127.0.3.1")
        other = send(server, "GET", ACTION)

    found = envelope(refused, 429)
    assert found["error"]["__type"] == "Too Many Requests"
    assert refused[0].getheader("Retry-After") == "1"
    assert other[0].status == 200


def test_the_portal_hears_who_asks_and_how_whatever_the_client_claims(server: str) -> None:
    claims = {
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "evil.example",
        "Authorization": "a token",
    }
    _answer, body = send(server, "GET", ACTION, headers=claims)
    heard = json.loads(body)

    assert heard["X-Forwarded-For"] == "127.0.0.1"
    assert heard["X-Forwarded-Proto"] == "http"
    assert "X-Forwarded-Host" not in heard
    assert heard["Host"] == server
    assert heard["Authorization"] == "a token"


def test_answers_are_compressed_for_who_takes_them_so(server: str) -> None:
    packed, body = send(server, "GET", ACTION, headers={"Accept-Encoding": "gzip"})
    plain, text = send(server, "GET", ACTION)

    assert packed.getheader("Content-Encoding") == "gzip"
    assert plain.getheader("Content-Encoding") is None
    assert len(body) < 1000 < len(text)


def test_connections_to_the_portal_are_used_again(server: str) -> None:
    processes = os.cpu_count() or 1  # of nginx, each with connections of its own
    requests = range(5 * processes)
    ports = {json.loads(send(server, "GET", ACTION)[1])["port"] for _ in requests}

    assert len(ports) <= processes
