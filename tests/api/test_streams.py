"""Streams: clients that take them too slowly, and what is sent of one that breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpRequest
from django.test import AsyncRequestFactory, RequestFactory

from datastore_search.api import streams
from datastore_search.api.streams import WINDOW_SECONDS, stream_response
from datastore_search.exceptions.availability import ClientTooSlow

BLOCK = b"x" * 2**16


class Endless:
    """Blocks without an end, each of which takes some time to be made."""

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
    """A clock that goes when somebody turns it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(streams, "monotonic", found)
    return found


def sent(blocks: Any, **options: Any) -> Iterator[bytes]:
    request: HttpRequest = RequestFactory().get("/")
    response: Any = stream_response(request, blocks, "text/plain", **options)
    return iter(response.streaming_content)


def taken(blocks: Iterator[bytes], clock: Clock, *, every: float, most: int = 1_000) -> int:
    """Take blocks, one every so many seconds, and return how many there are."""
    for count in range(most):
        try:
            next(blocks)
        except ClientTooSlow:
            return count
        clock.now += every
    return most


def test_a_client_that_takes_its_time_is_cut_off(clock: Clock) -> None:
    blocks = Endless()

    count = taken(sent(blocks), clock, every=5)  # 13 KB a second

    assert count == WINDOW_SECONDS / 5
    assert blocks.is_closed


def test_a_client_that_stops_is_cut_off_when_it_goes_on(clock: Clock) -> None:
    blocks = Endless()
    stream = sent(blocks)
    assert taken(stream, clock, every=0, most=100) == 100

    clock.now += 1_000

    with pytest.raises(ClientTooSlow):
        next(stream)
    assert blocks.is_closed


def test_a_client_that_is_just_fast_enough_gets_everything(clock: Clock) -> None:
    assert taken(sent(Endless()), clock, every=3.9) == 1_000  # 16.8 KB a second


def test_the_time_that_a_block_takes_to_be_made_is_not_the_client_s(clock: Clock) -> None:
    assert taken(sent(Endless(clock, seconds=100)), clock, every=0.1) == 1_000


def test_the_rate_can_be_chosen(clock: Clock, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MIN_STREAM_BYTES_PER_SECOND = 2**20
    assert taken(sent(Endless()), clock, every=1) == WINDOW_SECONDS

    settings.DATASTORE_SEARCH_MIN_STREAM_BYTES_PER_SECOND = 0
    assert taken(sent(Endless()), clock, every=10_000) == 1_000


def test_what_breaks_off_says_so_before_it_fails(clock: Clock) -> None:
    stream = sent(Endless(), truncation_mark=b"broken")
    next(stream)
    clock.now += 1_000

    assert next(stream) == b"broken"
    with pytest.raises(ClientTooSlow):
        next(stream)


def test_what_ends_says_nothing_of_an_end(clock: Clock) -> None:
    blocks = Endless()
    stream = sent(blocks, truncation_mark=b"broken")
    next(stream)

    blocks.close()

    assert list(stream) == []


def test_an_asgi_client_that_takes_nothing_holds_nothing(
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
