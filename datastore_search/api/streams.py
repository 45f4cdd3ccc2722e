"""
Answers that are sent block by block, to clients that take them fast enough.

A client that takes its time holds a file or a snapshot, and under WSGI a thread.  What is measured
is the time between two blocks, which is the client's and the network's: that of PostgreSQL does not
count.  Under WSGI nothing runs here while the server waits for a client that takes nothing at all;
the server in front ends that (``docs/how-to/deploy.md``).  Under ASGI a timer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Protocol

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse

from ..conf import conf
from ..exceptions import ClientTooSlow

#: Seconds of waiting for a client, after each of which it is seen how much it has taken.
WINDOW_SECONDS = 30.0


class Blocks(Protocol):
    """Blocks of bytes that are to be closed, whether or not all of them were read."""

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Let go of what the blocks are made of."""


class PacedBlocks:
    """
    Blocks that end with a failure when the client takes them too slowly.

    ``broken`` is sent before any failure: some servers (granian, as WSGI) end a response that fails
    as one that is complete, so what has no length of its own must show that its end is missing.
    """

    def __init__(self, blocks: Blocks, broken: bytes = b"") -> None:
        """Begin with the first block, for which nobody has waited."""
        self._blocks = blocks
        self._broken = broken
        self._failure: Exception | None = None
        self._given_at: float | None = None
        self._waited = 0.0
        self._taken = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._failure:
            raise self._failure
        try:
            return self._read()
        except StopIteration:
            raise
        except Exception as failure:
            if not self._broken:
                raise
            self._failure = failure
            return self._broken

    def _read(self) -> bytes:
        self._check_pace()
        block = next(self._blocks)
        self._taken += len(block)
        self._given_at = monotonic()
        return block

    def _check_pace(self) -> None:
        if self._given_at is None:
            return
        self._waited += monotonic() - self._given_at
        self._given_at = None
        if self._waited < WINDOW_SECONDS:
            return
        least = conf.STREAM_MIN_BYTES_PER_SECOND
        if self._taken < self._waited * least:
            self.close()
            raise ClientTooSlow(least=least)
        self._waited, self._taken = 0.0, 0

    def close(self) -> None:
        """Let go of what the blocks are made of."""
        self._blocks.close()


class _AsyncBlocks:
    """
    Blocks as an ASGI server takes them: each is read in the thread of the request.

    When the server does not ask for the next one in time, they are closed without it.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> _AsyncBlocks:
        return self

    async def __anext__(self) -> bytes:
        self._stop_timer()
        if self._closing:
            raise ClientTooSlow(least=conf.STREAM_MIN_BYTES_PER_SECOND)
        block = await sync_to_async(self._next)()
        if not block:
            raise StopAsyncIteration
        if conf.STREAM_MIN_BYTES_PER_SECOND:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WINDOW_SECONDS, self._give_up)
        return block

    def _next(self) -> bytes:
        return next(self._blocks, b"")

    def _give_up(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(sync_to_async(self._blocks.close)())

    def close(self) -> None:
        """Let go of what the blocks are made of."""
        self._stop_timer()
        self._blocks.close()

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()


def stream_response(
    request: HttpRequest, blocks: Blocks, content_type: str, *, broken: bytes = b""
) -> StreamingHttpResponse:
    """
    Answer with blocks, none of which is empty, under any kind of server.

    ``broken`` is what is sent before a failure.
    """
    paced = PacedBlocks(blocks, broken)
    is_async = hasattr(request, "scope")  # which the requests of ASGI servers have
    return StreamingHttpResponse(
        _AsyncBlocks(paced) if is_async else paced, content_type=content_type
    )
