"""Fetching, from real servers."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.messages.failures import LoadCancelled
from datastore_search.contrib.files.sources import fetching
from datastore_search.contrib.files.sources.fetching import fetch_file

from ..failures import fails_with
from .server import AUTHORITY, Server, build_answer, run_server

BODY = b"a,b\n1,2\n"


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
def test_another_status_is_said(server: Server, tmp_path: Path, status: int) -> None:
    server.answers["/f"] = build_answer(b"secret of the server", status=status)

    with fails_with("url.error_status") as caught:
        fetch_file(server.url("/f"), tmp_path)

    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_web_page_is_no_file(server: Server, tmp_path: Path) -> None:
    page = b"\n <!DOCTYPE html><title>Sign in</title>"
    server.answers["/f"] = build_answer(page, "Content-Type: text/html; charset=utf-8")

    with fails_with("url.web_page"):
        fetch_file(server.url("/f"), tmp_path)


# The body -----------------------------------------------------------------------------------------


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
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(fetching, "IDLE_TIMEOUT_SECONDS", 600)
    server.answers["/f"] = answer

    assert fetch_file(server.url("/f"), tmp_path).path.read_bytes() == BODY


@pytest.mark.parametrize(
    "response",
    [
        build_answer(BODY, length=len(BODY) + 1),
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
        "shorter than announced", "chunks broken off", "no chunks", "brotli",
        "twice", "another protocol", "many headers", "a long header", "nothing",
    ],
)  # fmt: skip
def test_what_is_not_whole_or_not_http_is_refused(
    server: Server, tmp_path: Path, response: bytes
) -> None:
    server.answers["/f"] = response

    with fails_with("url.broken_response") as caught:
        fetch_file(server.url("/f"), tmp_path)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("coding", ["Content-Encoding: GZIP", "Content-Type: application/gzip"])
def test_a_packed_file_stays_packed(server: Server, tmp_path: Path, coding: str) -> None:
    server.answers["/f.csv.gz"] = build_answer(gzip.compress(BODY), coding)

    fetched = fetch_file(server.url("/f.csv.gz"), tmp_path)

    assert gzip.decompress(fetched.path.read_bytes()) == BODY
    assert fetched.name == "f.csv.gz"


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
    server: Server, tmp_path: Path, settings: Any, large: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_UPLOAD_BYTES = 10_000
    server.answers["/f"] = large

    with fails_with("url.file_too_large", match="10000 bytes"):
        fetch_file(server.url("/f"), tmp_path)

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10_000


def test_a_full_disk_is_said(server: Server, tmp_path: Path) -> None:
    server.answers["/f"] = build_answer(BODY)
    (tmp_path / "fetched").symlink_to("/dev/full")

    with fails_with("load.disk_full"):
        fetch_file(server.url("/f"), tmp_path)


# Time ---------------------------------------------------------------------------------------------


def send_nothing(connection: socket.socket) -> None:
    connection.recv(1)


def stop_within_body(connection: socket.socket) -> None:
    connection.sendall(build_answer(b"a,b", length=100))
    connection.recv(1)


@pytest.mark.parametrize("slow", [send_nothing, stop_within_body])
def test_a_silent_server_is_not_waited_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: Any
) -> None:
    monkeypatch.setattr(fetching, "IDLE_TIMEOUT_SECONDS", 0.2)
    server.answers["/f"] = slow

    with fails_with("url.server_silent"):
        fetch_file(server.url("/f"), tmp_path)


def build_trickle(start: bytes) -> Any:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    return trickle


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX: ", build_answer(length=None)], ids=["header", "body"]
)
def test_a_server_that_never_ends_is_left_at_the_deadline(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)
    server.answers["/f"] = build_trickle(start)

    with fails_with("url.timeout"):
        fetch_file(server.url("/f"), tmp_path)


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
            raise LoadCancelled

    server.answers["/short"] = build_answer(BODY)
    server.answers["/endless"] = answer_endlessly

    fetch_file(server.url("/short"), tmp_path, report_progress=record_progress)
    with fails_with("load.cancelled"):
        fetch_file(server.url("/endless"), tmp_path, report_progress=record_progress)

    assert progress[0] == (8, 8)
    assert progress[-1][1] is None


# TLS ----------------------------------------------------------------------------------------------


@pytest.fixture
def secure(settings: Any) -> Iterator[Server]:
    with run_server(secure=True) as server:
        settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [server.host, f"localhost:{server.port}"]
        server.answers["/f"] = build_answer(BODY)
        yield server


@pytest.fixture
def trusted_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


def test_a_server_with_a_trusted_certificate_is_fetched_from(
    secure: Server, tmp_path: Path, trusted_authority: None
) -> None:
    assert fetch_file(secure.url("/f"), tmp_path).path.read_bytes() == BODY
    assert f"\r\nHost: {secure.host}\r\n" in secure.requests[0]


def test_a_server_without_a_trusted_certificate_gets_no_request(
    secure: Server, tmp_path: Path
) -> None:
    with fails_with("url.untrusted_server", match=r"127\.0\.0\.1"):
        fetch_file(secure.url("/f"), tmp_path)

    assert secure.requests == []


def test_a_certificate_is_of_the_name_that_was_asked_for(
    secure: Server, tmp_path: Path, trusted_authority: None
) -> None:
    with fails_with("url.untrusted_server", match="localhost"):
        fetch_file(f"https://localhost:{secure.port}/f", tmp_path)


# Redirects ----------------------------------------------------------------------------------------


def build_redirect(location: str, status: int = 302) -> bytes:
    return build_answer(b"secret", f"Location: {location}", status=status)


@pytest.mark.parametrize("status", [301, 308])
def test_a_redirect_is_followed(server: Server, tmp_path: Path, status: int) -> None:
    server.answers |= {
        "/old": build_redirect("new/rivers.csv?x=1", status),
        "/new/rivers.csv": build_answer(BODY),
    }

    fetched = fetch_file(server.url("/old"), tmp_path)

    assert fetched.path.read_bytes() == BODY
    assert fetched.name == "rivers.csv"
    assert "GET /new/rivers.csv?x=1 " in server.requests[1]


def test_five_redirects_are_followed_and_no_more(server: Server, tmp_path: Path) -> None:
    server.answers |= {f"/{n}": build_redirect(f"/{n + 1}") for n in range(6)}
    server.answers["/6"] = build_answer(BODY)

    assert fetch_file(server.url("/1"), tmp_path).path.read_bytes() == BODY
    with fails_with("url.too_many_redirects"):
        fetch_file(server.url("/0"), tmp_path)


def test_a_redirect_is_checked_like_any_address(server: Server, tmp_path: Path) -> None:
    with run_server() as inner:
        server.answers["/f"] = build_redirect(inner.url("/secret"))

        with fails_with("url.unknown_server") as caught:
            fetch_file(server.url("/f"), tmp_path)

        assert inner.requests == []
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "failure"),
    [
        ("file:///etc/passwd", "url.invalid"),
        ("ftp://example.org/f", "url.invalid"),
        ("http://user:password@example.org/f", "url.has_credentials"),
        ("http://[::ffff:127.0.0.1]/f", "url.unknown_server"),
    ],
)
def test_a_redirect_leads_to_the_web_alone(
    server: Server, tmp_path: Path, location: str, failure: str
) -> None:
    server.answers["/f"] = build_redirect(location)

    with fails_with(failure):
        fetch_file(server.url("/f"), tmp_path)


# Proxies ------------------------------------------------------------------------------------------


def test_proxies_of_the_environment_are_not_used(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["/f"] = build_answer(BODY)
    with run_server() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url("/"))

        assert fetch_file(server.url("/f"), tmp_path).path.read_bytes() == BODY
        assert proxy.requests == []


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/t%C3%AAn.csv", "tên.csv"),
        ("/data/", "data"),
        ("/", "127.0.0.1"),
        ("/..%2F..%2Fetc%2Fx.csv", "x.csv"),
        ("/a%00%0Ab.csv", "ab.csv"),
        (f"/{'x' * 300}.csv", f"{'x' * 196}.csv"),
    ],
)
def test_a_file_has_the_name_in_its_address(
    server: Server, tmp_path: Path, path: str, name: str
) -> None:
    server.answers[path] = build_answer(BODY, 'Content-Disposition: attachment; filename="y.csv"')

    fetched = fetch_file(server.url(path), tmp_path)

    assert fetched.name == name
    assert [path.name for path in tmp_path.iterdir()] == ["fetched"]
