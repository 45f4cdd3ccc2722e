"""Streams: clients that read too slowly, and streams that break off."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.http import HttpRequest
from django.test import AsyncRequestFactory, RequestFactory

from datastore_search.messages.availability import ClientTooSlow
from datastore_search.models import Resource
from datastore_search.web import streams
from datastore_search.web.streams import WINDOW_SECONDS, stream_response

from ...processes import wait_until
from ..guards.test_clients import serve

BLOCK = b"x" * 2**16

#: Of curl, where an answer ends before its end.
CURLE_PARTIAL_FILE = 18


class Endless:
    """An endless iterator of blocks, each of which may take some time."""

    def __init__(self, clock: Clock | None = None, seconds: float = 0) -> None:
        self._clock, self._seconds = clock, seconds
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self.is_closed:
            raise StopIteration
        if self._clock:
            self._clock.now += self._seconds
        return BLOCK

    def close(self) -> None:
        self.is_closed = True


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(streams, "monotonic", clock)
    return clock


def stream_blocks(blocks: Any, **options: Any) -> Iterator[bytes]:
    request: HttpRequest = RequestFactory().get("/")
    response: Any = stream_response(request, blocks, "text/plain", **options)
    return iter(response.streaming_content)


def read_blocks(
    blocks: Iterator[bytes], clock: Clock, *, interval_seconds: float, max_blocks: int = 1_000
) -> int:
    """Read a block per interval until the client is cut off, and return the number of blocks."""
    for count in range(max_blocks):
        try:
            next(blocks)
        except ClientTooSlow:
            return count
        clock.now += interval_seconds
    return max_blocks


def test_a_slow_client_is_cut_off(clock: Clock) -> None:
    blocks = Endless()

    count = read_blocks(stream_blocks(blocks), clock, interval_seconds=5)  # 13 KB a second

    assert count == WINDOW_SECONDS / 5
    assert blocks.is_closed


def test_a_client_that_stops_is_cut_off_when_it_goes_on(clock: Clock) -> None:
    blocks = Endless()
    stream = stream_blocks(blocks)
    assert read_blocks(stream, clock, interval_seconds=0, max_blocks=100) == 100

    clock.now += 1_000

    with pytest.raises(ClientTooSlow):
        next(stream)
    assert blocks.is_closed


def test_a_client_that_is_just_fast_enough_gets_everything(clock: Clock) -> None:
    assert (
        read_blocks(stream_blocks(Endless()), clock, interval_seconds=3.9) == 1_000
    )  # 16.8 KB a second


def test_the_time_to_make_a_block_does_not_count(clock: Clock) -> None:
    assert (
        read_blocks(stream_blocks(Endless(clock, seconds=100)), clock, interval_seconds=0.1)
        == 1_000
    )


def test_a_stream_that_breaks_off_ends_with_the_truncation_mark(clock: Clock) -> None:
    stream = stream_blocks(Endless(), truncation_mark=b"broken")
    next(stream)
    clock.now += 1_000

    assert next(stream) == b"broken"
    with pytest.raises(ClientTooSlow):
        next(stream)


def test_a_complete_stream_has_no_truncation_mark(clock: Clock) -> None:
    blocks = Endless()
    stream = stream_blocks(blocks, truncation_mark=b"broken")
    next(stream)

    blocks.close()

    assert list(stream) == []


def test_an_asgi_client_that_reads_nothing_holds_no_resources(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(streams, "WINDOW_SECONDS", 0.1)
    blocks = Endless()

    async def stall() -> None:
        response = stream_response(AsyncRequestFactory().get("/"), blocks, "text/plain")
        stream = aiter(response)
        assert await anext(stream) == BLOCK
        for _wait in range(100):
            await asyncio.sleep(0.1)
            if blocks.is_closed:
                break
        assert blocks.is_closed
        with pytest.raises(ClientTooSlow):
            await anext(stream)

    async_to_sync(stall)()


def test_an_asgi_client_that_goes_on_in_time_is_not_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "WINDOW_SECONDS", 3_600)
    blocks = Endless()

    async def ask() -> list[bytes]:
        response = stream_response(AsyncRequestFactory().get("/"), blocks, "text/plain")
        stream = aiter(response)
        found = [await anext(stream) for _block in range(5)]
        response.close()
        return found

    assert async_to_sync(ask)() == [BLOCK] * 5
    assert blocks.is_closed


# Under real servers -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gunicorn", "waitress", "granian"])
def test_a_download_whose_database_goes_away_ends_as_broken(
    large: Resource, uploads: Path, name: str
) -> None:
    with serve(name, uploads) as port:
        address = f"http://127.0.0.1:{port}/en/datastore/dump/{large.pk}?format=json"
        got = uploads.with_name("answer")
        with subprocess.Popen(
            ["curl", "-s", "--limit-rate", "2M", "--max-time", "120", "-o", str(got), address]
        ) as curl:
            # Before the first byte the answer is a whole one, of the status 503.
            wait_until(
                lambda: got.exists() and got.stat().st_size and end_dumps(),
                "the dump",
                alive=lambda: curl.poll() is None,
            )

    assert curl.returncode == CURLE_PARTIAL_FILE


def end_dumps() -> bool:
    """End the connections over which records are read for a file; return whether there were any."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state = 'active' AND query LIKE 'COPY %'"
        )
        (count,) = cursor.fetchone()
    return bool(count)
