"""Purges of caches that are gone, in bursts, and of forked processes; they are sent to sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest

from benchmarks.server import find_free_port
from datastore_search.contrib.scale import purging
from datastore_search.contrib.scale.purging import flush, purge

from .servers import wait_until


@pytest.fixture(autouse=True)
def _own_purgers() -> Iterator[None]:
    yield
    flush()  # no thread may write to the log of a later test
    purging._purgers.clear()


@pytest.fixture
def received(settings: Any) -> Iterator[list[str]]:
    """The keys of the purges that have arrived at the cache, each in one text."""
    keys: list[str] = []

    def answer(server: socket.socket) -> None:
        while True:
            try:
                connection, _client = server.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65536).decode()
                keys.append(request.partition("Surrogate-Key: ")[2].partition("\r")[0])
                connection.sendall(b"HTTP/1.1 200 Purged\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=answer, args=[server], daemon=True).start()
        settings.DATASTORE_SEARCH_CACHE_ADDRESSES = [build_address(server)]
        yield keys


def build_address(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("replicas", "keys", "purges"),
    [
        ([], {"a"}, ["a"] * 2),
        (["default"], {"a"}, ["a"] * 3),
        ([], {*map(str, range(1_000))}, [".*"] * 2),
    ],
    ids=["now and again", "once more where replicas lag", "more keys than a header takes"],
)
def test_each_change_is_purged_now_and_again(
    received: list[str], settings: Any, replicas: list[str], keys: set[str], purges: list[str]
) -> None:
    settings.DATASTORE_SEARCH_REPLICAS = replicas
    settings.DATASTORE_SEARCH_MAX_REPLICA_LAG = timedelta(0)

    purge(keys=keys)
    wait_until(lambda: received == purges[:1])
    flush()

    assert received == purges


def test_a_cache_that_is_gone_delays_no_other_and_is_logged(
    received: list[str], settings: Any, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "_RETRY_SECONDS", (0.1, 0.1))
    gone = f"http://127.0.0.1:{find_free_port()}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = build_address(server)
        addresses = [silent, gone, *settings.DATASTORE_SEARCH_CACHE_ADDRESSES]
        settings.DATASTORE_SEARCH_CACHE_ADDRESSES = addresses
        purge(keys={"a"})
        wait_until(lambda: "a" in received)
        assert f"The purge of 1 keys at {silent[7:]}" not in caplog.text
        wait_until(lambda: f"The purge of 1 keys at {gone[7:]} is lost." in caplog.text)


def test_of_too_many_changes_the_rest_is_logged(
    settings: Any, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "_MAX_WAITING", 3)
    monkeypatch.setattr(purging, "_RETRY_SECONDS", ())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.DATASTORE_SEARCH_CACHE_ADDRESSES = [build_address(silent)]
        for number in range(5):
            purge(keys={str(number)})

    assert "is lost." in caplog.text


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_purges_what_it_changes(received: list[str]) -> None:
    purge(keys={"parent"})
    if not (child := os.fork()):
        purge(keys={"child"})
        flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    flush()

    assert sorted(received) == ["child", "child", "parent", "parent"]


def test_a_thread_that_cannot_start_ends_no_purges(
    received: list[str], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail(_thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(Thread, "start", fail)
        purge(keys={"a"})
        flush()
        assert "wait until a thread can start" in caplog.text
        assert "are lost" in caplog.text
    purge(keys={"b"})
    wait_until(lambda: {"a", "b"} <= set(" ".join(received).split()))
    flush()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_has_died_ends_no_purges(
    received: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(purging, "sleep", lambda: None)  # which ends the thread
        purge(keys={"a"})
        flush()
    purge(keys={"b"})
    wait_until(lambda: "b" in " ".join(received).split())
    flush()
