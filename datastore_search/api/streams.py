"""Answers that are sent block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse


class Blocks(Protocol):
    """Blocks of bytes that are to be closed, whether or not all of them were read."""

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Let go of what the blocks are made of."""


class _AsyncBlocks:
    """Blocks as an ASGI server takes them: each is read in the thread of the request."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.close = blocks.close

    def __aiter__(self) -> _AsyncBlocks:
        return self

    async def __anext__(self) -> bytes:
        block = await sync_to_async(self._next)()
        if not block:
            raise StopAsyncIteration
        return block

    def _next(self) -> bytes:
        return next(self._blocks, b"")


def streamed(request: HttpRequest, blocks: Blocks, content_type: str) -> StreamingHttpResponse:
    """Answer with blocks, none of which is empty, under any kind of server."""
    is_async = hasattr(request, "scope")  # which the requests of ASGI servers have
    return StreamingHttpResponse(
        _AsyncBlocks(blocks) if is_async else blocks, content_type=content_type
    )
