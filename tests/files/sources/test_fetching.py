"""Fetching, from real servers."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.sources import fetching
from datastore_search.contrib.files.sources.fetching import SourceFile, fetch_file

from ..builders import fails_with
from .server import AUTHORITY, Answer, Server, build_answer, run_server

BODY = b"a,b\n1,2\n"

Fetch = Callable[[Answer], SourceFile]


@pytest.fixture
def fetch(server: Server, tmp_path: Path) -> Fetch:
    """Fetch a file whose server gives an answer."""

    def fetch_answer(answer: Answer) -> SourceFile:
        server.answers["/f"] = answer
        return fetch_file(server.url("/f"), tmp_path)

    return fetch_answer


def test_a_file_is_fetched_with_its_name(server: Server, tmp_path: Path) -> None:
    server.answers["/data/rivers.csv"] = build_answer(BODY)

    fetched = fetch_file(server.url("/data/rivers.csv?v=1"), tmp_path)

    assert fetched.path.read_bytes() == BODY
    assert fetched.path.parent == tmp_path
    assert fetched.name == "rivers.csv"
    assert "GET /data/rivers.csv?v=1 HTTP/1.1\r\n" in server.requests[0]
    assert f"\r\nHost: {server.host}\r\n" in server.requests[0]
    assert "\r\nAccept-Encoding: identity\r\n" in server.requests[0]


@pytest.mark.parametrize("status", [204, 206, 404, 503])
def test_another_status_is_said(fetch: Fetch, tmp_path: Path, status: int) -> None:
    with fails_with("url.error_status", match=str(status)) as caught:
        fetch(build_answer(b"secret of the server", status=status))

    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def answer_and_wait(connection: socket.socket) -> None:
    connection.sendall(build_answer(BODY))
    connection.recv(1)  # until the client hangs up


@pytest.mark.parametrize(
    "answer",
    [
        build_answer(
            b"3\r\na,b\r\n5;x=y\r\n\n1,2\n\r\n0\r\nTrailer: t\r\n\r\n",
            "Transfer-Encoding: chunked",
            length=None,
        ),
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        build_answer(BODY, "Content-Type: text/html"),
        answer_and_wait,
    ],
    ids=["in chunks", "HTTP/1.0", "called a page", "connection kept open"],
)
def test_a_whole_body_is_a_file(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr(fetching, "IDLE_TIMEOUT_SECONDS", 600)

    assert fetch(answer).path.read_bytes() == BODY


@pytest.mark.parametrize(
    "response",
    [
        build_answer(BODY, length=len(BODY) + 1),
        build_answer(BODY, "Content-Length: 3"),
        build_answer(b"3\r\na,b\r\n5\r\n\n1", "Transfer-Encoding: chunked", length=None),
        build_answer(b"no number\r\n", "Transfer-Encoding: chunked", length=None),
        build_answer(BODY, "Content-Encoding: br"),
        build_answer(BODY, "Content-Encoding: gzip, gzip"),
        b"SSH-2.0-OpenSSH_9.2 secret\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"",
    ],
    ids=[
        "shorter than announced", "two lengths", "chunks broken off", "no chunks", "brotli",
        "twice", "another protocol", "many headers", "a long header", "nothing",
    ],
)  # fmt: skip
def test_what_is_not_whole_or_not_http_is_refused(fetch: Fetch, response: bytes) -> None:
    with fails_with("url.broken_response") as caught:
        fetch(response)

    assert "secret" not in str(caught.value)


def test_a_web_page_is_no_file(fetch: Fetch) -> None:
    page = b"\n <!DOCTYPE html><title>Sign in</title>"

    with fails_with("url.web_page"):
        fetch(build_answer(page, "Content-Type: text/html; charset=utf-8"))


@pytest.mark.parametrize("coding", ["Content-Encoding: GZIP", "Content-Type: application/gzip"])
def test_a_packed_file_stays_packed(fetch: Fetch, coding: str) -> None:
    fetched = fetch(build_answer(gzip.compress(BODY), coding))

    assert gzip.decompress(fetched.path.read_bytes()) == BODY


def answer_endlessly(connection: socket.socket) -> None:
    connection.sendall(build_answer(length=None))
    while True:
        connection.sendall(b"x" * 1000)


@pytest.mark.parametrize(
    "large",
    [answer_endlessly, build_answer(b"x", length=10_001), build_answer(b"x" * 10_001, length=None)],
    ids=["endless", "announced", "sent"],
)
def test_a_file_that_is_too_large_is_refused(
    fetch: Fetch, tmp_path: Path, settings: Any, large: Answer
) -> None:
    settings.DATASTORE_SEARCH_MAX_UPLOAD_BYTES = 10_000

    with fails_with("url.file_too_large", match="10000 bytes"):
        fetch(large)

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10_000


def test_a_full_disk_is_said(fetch: Fetch, tmp_path: Path) -> None:
    (tmp_path / "fetched").symlink_to("/dev/full")

    with fails_with("load.disk_full"):
        fetch(build_answer(BODY))


def send_nothing(connection: socket.socket) -> None:
    connection.recv(1)


def stop_within_body(connection: socket.socket) -> None:
    connection.sendall(build_answer(b"a,b", length=100))
    connection.recv(1)


def build_trickle(start: bytes) -> Callable[[socket.socket], None]:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    return trickle


@pytest.mark.parametrize(
    ("limit", "slow", "failure"),
    [
        ("IDLE_TIMEOUT_SECONDS", send_nothing, "url.server_silent"),
        ("IDLE_TIMEOUT_SECONDS", stop_within_body, "url.server_silent"),
        ("TIMEOUT_SECONDS", build_trickle(b"HTTP/1.1 200 OK\r\nX: "), "url.timeout"),
        ("TIMEOUT_SECONDS", build_trickle(build_answer(length=None)), "url.timeout"),
    ],
    ids=["silent", "silent within the body", "endless header", "endless body"],
)
def test_a_slow_server_is_left_at_the_limit(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch, limit: str, slow: Answer, failure: str
) -> None:
    monkeypatch.setattr(fetching, limit, 0.3)

    with fails_with(failure):
        fetch(slow)


def test_the_handshake_of_tls_ends_at_the_deadline(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)
    # The hello is no request of HTTP: the server waits for more and says nothing.

    with fails_with("url.timeout"):
        fetch_file(f"https://{server.host}/f", tmp_path)


def test_a_progress_callback_is_called_and_may_end_the_fetch(
    server: Server, tmp_path: Path
) -> None:
    progress = []

    def record_progress(done: int, total: int | None) -> None:
        progress.append((done, total))
        if done > 1000:
            raise LoadFailed("load.cancelled")

    server.answers |= {"/short": build_answer(BODY), "/endless": answer_endlessly}

    fetch_file(server.url("/short"), tmp_path, report_progress=record_progress)
    with fails_with("load.cancelled"):
        fetch_file(server.url("/endless"), tmp_path, report_progress=record_progress)

    assert progress[0] == (8, 8)
    assert progress[-1][1] is None


def test_a_certificate_must_be_trusted_and_of_the_name_that_was_asked_for(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(str(path))
    with run_server(secure=True) as secure:
        settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [secure.host, f"localhost:{secure.port}"]
        secure.answers["/f"] = build_answer(BODY)
        with fails_with("url.untrusted_server", match=r"127\.0\.0\.1"):
            fetch_file(secure.url("/f"), tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with fails_with("url.untrusted_server", match="localhost"):
            fetch_file(f"https://localhost:{secure.port}/f", tmp_path)
        assert secure.requests == []

        assert fetch_file(secure.url("/f"), tmp_path).path.read_bytes() == BODY
        assert f"\r\nHost: {secure.host}\r\n" in secure.requests[0]


def build_redirect(location: str, status: int = 302) -> bytes:
    return build_answer(b"secret", f"Location: {location}", status=status)


def test_five_redirects_of_any_kind_are_followed_and_no_more(
    server: Server, tmp_path: Path
) -> None:
    for number, status in enumerate((302, 301, 302, 303, 307, 308)):
        server.answers[f"/a/{number}"] = build_redirect(f"{number + 1}?x=1", status)
    server.answers["/a/6"] = build_answer(BODY)

    fetched = fetch_file(server.url("/a/1"), tmp_path)

    assert fetched.path.read_bytes() == BODY
    assert fetched.name == "6"
    assert "GET /a/6?x=1 " in server.requests[-1]
    with fails_with("url.too_many_redirects"):
        fetch_file(server.url("/a/0"), tmp_path)


def test_a_redirect_is_checked_like_any_address(fetch: Fetch) -> None:
    with run_server() as inner:
        with fails_with("url.unknown_server") as caught:
            fetch(build_redirect(inner.url("/secret")))

        assert inner.requests == []
    assert "secret" not in str(caught.value)
    for location, failure in (
        ("file:///etc/passwd", "url.invalid"),
        ("ftp://example.org/f", "url.invalid"),
        ("http://user:password@example.org/f", "url.has_credentials"),
        ("http://[::ffff:127.0.0.1]/f", "url.unknown_server"),
        ("http://[::1/f", "url.invalid"),
    ):
        with fails_with(failure):
            fetch(build_redirect(location))


def test_proxies_of_the_environment_are_not_used(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_server() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url("/"))

        assert fetch(build_answer(BODY)).path.read_bytes() == BODY
        assert proxy.requests == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/t%C3%AAn.csv", "tên.csv"),
        ("/data/", "data"),
        ("/", "127.0.0.1"),
        ("/..%2F..%2Fetc%2Fx.csv", "x.csv"),
        ("/a%00%0Ab.csv", "ab.csv"),
        (f"/{'x' * 300}.csv", f"{'x' * 196}.csv"),
        ("/f.csv.gz", "f.csv.gz"),
    ],
)
def test_a_file_has_the_name_in_its_address(
    server: Server, tmp_path: Path, path: str, name: str
) -> None:
    server.answers[path] = build_answer(BODY, 'Content-Disposition: attachment; filename="y.csv"')

    fetched = fetch_file(server.url(path), tmp_path)

    assert fetched.name == name
    assert [path.name for path in tmp_path.iterdir()] == ["fetched"]
