"""The servers from which files may be fetched."""

from __future__ import annotations

import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.sources.fetching import (
    Address,
    fetch_file,
    parse_address,
    resolve_endpoints,
)

from ..builders import fails_with
from .server import build_answer, run_server


@pytest.mark.parametrize(
    ("url", "address", "authority"),
    [
        ("http://example.org", ("http", "example.org", 80, "/"), "example.org"),
        (" HTTPS://Example.ORG/a?b=c#d ", ("https", "example.org", 443, "/a?b=c"), "example.org"),
        ("http://example.org:81/a b", ("http", "example.org", 81, "/a%20b"), "example.org:81"),
        ("http://example.org/a%20b", ("http", "example.org", 80, "/a%20b"), "example.org"),
        ("https://example.org:80/", ("https", "example.org", 80, "/"), "example.org:80"),
        ("http://sông.vn/nó?q=ồ", ("http", "xn--sng-kna.vn", 80, "/n%C3%B3?q=%E1%BB%93"),
         "xn--sng-kna.vn"),
        ("http://[2001:DB8::1]:81/", ("http", "2001:db8::1", 81, "/"), "[2001:db8::1]:81"),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart(url: str, address: tuple[Any, ...], authority: str) -> None:
    parsed = parse_address(url)

    assert parsed == Address(*address)
    assert parsed.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "", "rivers.csv", "/etc/passwd", "file:///etc/passwd", "ftp://example.org/f",
        "gopher://example.org:70/f", "ftp://example.org:21/f", "data:text/csv,a",
        "//example.org/f", "http:///f", "http://",
        "http://example.org:port/", "http://example.org:99999/", "http://[::1/",
        "http://a\0b/", "http://a b/", "http://exa\\mple.org/", "http://a..b/",
        f"http://{'a' * 64}.org/", "http://ﬀ℀.org/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with fails_with("url.invalid"):
        parse_address(url)


@pytest.mark.parametrize("url", ["http://ann:secret@example.org/", "http://ann@example.org/f"])
def test_an_address_holds_no_password_and_the_message_neither(url: str) -> None:
    with fails_with("url.has_credentials") as caught:
        parse_address(url)

    assert "ann" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "0",
        "127.0.0.1.", "１２７.0.0.1", "localhost", "LOCALHOST", "localhost.",
        "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
        "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "203.0.113.1", "224.0.0.1",
        "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:a00:1]",
        "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]",
        "[2002:7f00:1::1]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
        "[fc00::1]", "[fd12::1]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]",
        "no-such-name.invalid",
    ],
)  # fmt: skip
def test_what_is_not_public_is_unknown_however_it_is_spelt(host: str) -> None:
    with fails_with("url.unknown_server"):
        resolve_endpoints(parse_address(f"http://{host}/"))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("93.184.215.14", "93.184.215.14"),
        ("[2606:2800:21f::1]", "2606:2800:21f::1"),
        ("[64:ff9b::5db8:d70e]", "64:ff9b::5db8:d70e"),
    ],
)
def test_what_is_public_is_allowed(host: str, address: str) -> None:
    ((_, endpoint),) = resolve_endpoints(parse_address(f"http://{host}/"))

    assert endpoint[:2] == (address, 80)


def patch_resolver(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[object]:
    requests: list[object] = []
    rest = iter(answers)

    def resolve(host: object, port: int, **options: Any) -> list[Any]:
        requests.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in next(rest)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return requests


def test_a_name_with_any_private_address_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_resolver(monkeypatch, ["93.184.215.14", "10.0.0.1"])

    with fails_with("url.unknown_server"):
        resolve_endpoints(parse_address("http://example.org/"))


def test_the_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connected: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    with run_server() as inner, monkeypatch.context() as patch:
        requests = patch_resolver(patch, ["93.184.215.14"], ["127.0.0.1"], ["127.0.0.1"])
        patch.setattr(socket.socket, "connect", connect)

        with fails_with("url.unknown_server"):
            fetch_file(f"http://rebinding.example:{inner.port}/", tmp_path)
        assert requests == ["rebinding.example"]
        assert connected == [("93.184.215.14", inner.port)]
        assert inner.requests == []


def test_the_next_address_is_tried_where_one_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    with run_server() as server, monkeypatch.context() as patch:
        settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = ["files.internal"]
        patch_resolver(patch, ["127.0.0.77", "127.0.0.1"])
        server.answers["/f"] = build_answer(b"a\n")

        fetched = fetch_file(f"http://files.internal:{server.port}/f", tmp_path)

    assert fetched.path.read_bytes() == b"a\n"


@pytest.mark.parametrize(
    ("allowed", "url", "is_allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080/", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8081/", False),
        ("127.0.0.1:80", "http://127.0.0.1/", True),
        ("LocalHost", "http://localhost/", True),
        ("localhost", "http://127.0.0.1/", False),
        ("[::1]:80", "http://[::1]/", True),
        ("::1", "http://[::1]/", True),
    ],
)
def test_the_portal_allows_private_servers_by_name_and_port(
    settings: Any, allowed: str, url: str, is_allowed: bool
) -> None:
    settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [allowed]

    with nullcontext() if is_allowed else fails_with("url.unknown_server"):
        assert resolve_endpoints(parse_address(url))
