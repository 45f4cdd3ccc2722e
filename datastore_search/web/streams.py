"""
Streamed answers: blocks are sent to a client that reads them fast enough.

A slow client holds a file or a snapshot, and under WSGI a thread.  The pace is measured between two
blocks, so the time of PostgreSQL does not count.  Under WSGI no code runs here while the server
waits for a client that reads nothing; the proxy in front closes such a connection
(``docs/how-to/deploy.md``).  Under ASGI a timer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Protocol

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse

from ..messages.availability import ClientTooSlow

#: The pace is checked each time the client has let the server wait this long in all.
WINDOW_SECONDS = 30.0

#: The speed at which a client must read within each window; the time of PostgreSQL does not count.
MIN_BYTES_PER_SECOND = 16 * 2**10


class Blocks(Protocol):
    """Blocks of bytes, closed at the end even if not all were read."""

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Free the file, snapshot or thread behind the blocks."""


class PacedBlocks:
    """
    Blocks that fail when the client reads them too slowly.

    ``truncation_mark`` is sent before any failure: some servers (granian under WSGI) end a failed
    response like a complete one, and a response without a length must show that it is truncated.
    """

    def __init__(self, blocks: Blocks, truncation_mark: bytes = b"") -> None:
        self._blocks = blocks
        self._truncation_mark = truncation_mark
        self._failure: Exception | None = None
        self._sent_at: float | None = None
        self._waited_seconds = 0.0
        self._sent_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._failure:
            raise self._failure
        try:
            self._check_pace()
            block = next(self._blocks)
        except StopIteration:
            raise
        except Exception as failure:
            if not self._truncation_mark:
                raise
            self._failure = failure
            return self._truncation_mark
        self._sent_bytes += len(block)
        self._sent_at = monotonic()
        return block

    def _check_pace(self) -> None:
        if self._sent_at is None:
            return
        self._waited_seconds += monotonic() - self._sent_at
        self._sent_at = None
        if self._waited_seconds < WINDOW_SECONDS:
            return
        if self._sent_bytes < self._waited_seconds * MIN_BYTES_PER_SECOND:
            self.close()
            raise ClientTooSlow(least=MIN_BYTES_PER_SECOND)
        self._waited_seconds, self._sent_bytes = 0.0, 0

    def close(self) -> None:
        self._blocks.close()


class _AsyncBlocks:
    """Blocks for ASGI, read in the request's thread; a timer closes them if the server is slow."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> _AsyncBlocks:
        return self

    async def __anext__(self) -> bytes:
        self._stop_timer()
        if self._closing:
            raise ClientTooSlow(least=MIN_BYTES_PER_SECOND)
        block = await sync_to_async(lambda: next(self._blocks, b""))()
        if not block:
            raise StopAsyncIteration
        self._timer = asyncio.get_running_loop().call_later(WINDOW_SECONDS, self._start_closing)
        return block

    def _start_closing(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(sync_to_async(self._blocks.close)())

    def close(self) -> None:
        self._stop_timer()
        self._blocks.close()

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()


def stream_response(
    request: HttpRequest, blocks: Blocks, content_type: str, *, truncation_mark: bytes = b""
) -> StreamingHttpResponse:
    """Build a response of nonempty blocks; ``truncation_mark`` is sent before a failure."""
    paced = PacedBlocks(blocks, truncation_mark)
    is_async = hasattr(request, "scope")  # a request of an ASGI server
    return StreamingHttpResponse(
        _AsyncBlocks(paced) if is_async else paced, content_type=content_type
    )
