"""The body of an answer, block by block: whole, not too large, not too slow, and a file."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from time import monotonic

from ...conf import conf
from ...exceptions.loads import LoadFailed

_BLOCK_BYTES = 2**16

GZIP = "gzip"

#: Called with the bytes received so far and all of them, None while nobody knows; may raise.
Watch = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """When a file must be there, and who is told how much of it is."""

    deadline: float
    watch: Watch | None

    def advances(self, done: int, total: int | None) -> None:
        """
        Tell of what has been received.

        Raises: ``TimeoutError`` after the deadline: the end of a connection that was shut down
        looks like that of a file.
        """
        if monotonic() >= self.deadline:
            raise TimeoutError
        if self.watch:
            self.watch(done, total)


def body_of(response: HTTPResponse, pace: Pace) -> Iterator[bytes]:
    """
    Give a file, block by block, without the coding that it is sent in.

    Raises: ``LoadFailed`` with ``url.file_too_large``; ``url.broken_response`` when it is not whole
    or the coding is not known; ``url.web_page``.
    """
    coding = coding_of(response)
    blocks = _limited(_received(response, pace))
    if coding == GZIP:
        blocks = _limited(_unzipped(blocks))
    elif coding:
        raise LoadFailed("url.broken_response")
    return _no_web_page(blocks, response)


def coding_of(response: HTTPResponse) -> str:
    """Say what a body is coded in; nothing if it is sent as it is."""
    coding = (response.getheader("Content-Encoding") or "").strip().lower()
    return {"identity": "", "x-gzip": GZIP}.get(coding, coding)


def write(blocks: Iterable[bytes], path: Path) -> None:
    """
    Write blocks into a file.

    Raises: ``LoadFailed`` with ``load.disk_full`` when the disk is full.
    """
    with path.open("wb", buffering=0) as file:
        for block in blocks:
            view = memoryview(block)
            try:
                while view:
                    view = view[file.write(view) or 0 :]
            except OSError as error:
                raise LoadFailed("load.disk_full") from error


def _received(response: HTTPResponse, pace: Pace) -> Iterator[bytes]:
    """
    Give the body as it comes.

    Raises: ``LoadFailed`` with ``url.broken_response`` when it ends before the length that the
    server has announced.
    """
    total, done = response.length, 0
    if total is not None and total > conf.FETCH_MAX_BYTES:
        raise LoadFailed("url.file_too_large", most=conf.FETCH_MAX_BYTES)
    while total is None or done < total:
        block = response.read1(_BLOCK_BYTES)
        done += len(block)
        pace.advances(done, total)
        if not block:
            break
        yield block
    if total is not None and done < total:
        raise LoadFailed("url.broken_response")


def _limited(blocks: Iterable[bytes]) -> Iterator[bytes]:
    done = 0
    for block in blocks:
        done += len(block)
        if done > conf.FETCH_MAX_BYTES:
            raise LoadFailed("url.file_too_large", most=conf.FETCH_MAX_BYTES)
        yield block


def _unzipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """
    Undo the content encoding gzip, a block at a time.

    Raises: ``LoadFailed`` with ``url.broken_response``.
    """
    unzip = zlib.decompressobj(wbits=31)
    try:
        for block in blocks:
            rest = block
            while rest:
                yield unzip.decompress(rest, _BLOCK_BYTES)
                rest = unzip.unconsumed_tail
                if unzip.eof and unzip.unused_data:
                    rest, unzip = unzip.unused_data, zlib.decompressobj(wbits=31)
        yield unzip.flush()
    except zlib.error as error:
        raise LoadFailed("url.broken_response") from error
    if not unzip.eof:
        raise LoadFailed("url.broken_response")


def _no_web_page(blocks: Iterable[bytes], response: HTTPResponse) -> Iterator[bytes]:
    """
    Let the blocks pass, unless they are a page for people: a form to sign in, or an error.

    Raises: ``LoadFailed`` with ``url.web_page``.
    """
    kind = (response.getheader("Content-Type") or "").lower()
    is_first = True
    for block in blocks:
        if is_first and block.strip():
            if "html" in kind and block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                raise LoadFailed("url.web_page")
            is_first = False
        yield block
