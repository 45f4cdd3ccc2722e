"""A file from elsewhere: the body of a response, block by block, and the file's name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path, PurePath
from time import monotonic
from urllib.parse import unquote

from ..conf import conf
from ..messages.failures import LoadFailed
from .addresses import Address

_BLOCK_BYTES = 2**16

#: Content encodings: none, or gzip, which is unpacked as a file of its own is.
_ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip"))

_MAX_NAME_LENGTH = 200
_MAX_SUFFIX_LENGTH = 20

#: Called with the bytes so far and all of them, None while that is not known; may raise.
ReportProgress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """
    A file that can be read.

    ``name`` is its own name, a hint at its format; ``checksum`` is its SHA-256 in hexadecimal.
    """

    path: Path
    name: str
    checksum: str


def get_header(response: HTTPResponse, name: str) -> str:
    """Return a header, as UTF-8 if it is: ``http.client`` decodes all headers as Latin-1."""
    value = response.getheader(name) or ""
    with suppress(UnicodeError):
        return value.encode("latin-1").decode()
    return value


# The body -----------------------------------------------------------------------------------------


def read_body(
    response: HTTPResponse, deadline: float, report_progress: ReportProgress | None
) -> Iterator[bytes]:
    """
    Read a file, block by block; one that the server has packed by gzip stays packed.

    ``deadline`` is the moment of ``time.monotonic`` at which it must be complete.

    Raises: ``LoadFailed`` with ``url.file_too_large``; ``url.broken_response`` when it is not
    complete or the encoding is not known; ``url.web_page``.
    """
    encoding = (response.getheader("Content-Encoding") or "").strip().lower()
    if encoding not in _ENCODINGS:
        raise LoadFailed("url.broken_response")
    return _refuse_web_page(_receive_blocks(response, deadline, report_progress), response)


def write_blocks(blocks: Iterable[bytes], path: Path | None) -> str:
    """Write blocks into a file, if there is one, and return their SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("wb", buffering=0) if path else nullcontext() as file:
        for block in blocks:
            digest.update(block)
            view = memoryview(block)
            try:
                while file and view:
                    view = view[file.write(view) or 0 :]
            except OSError as error:
                raise LoadFailed("load.disk_full") from error
    return digest.hexdigest()


def _receive_blocks(
    response: HTTPResponse, deadline: float, report_progress: ReportProgress | None
) -> Iterator[bytes]:
    """Receive the body."""
    total, done = response.length, 0
    if total is not None and total > conf.MAX_UPLOAD_BYTES:
        raise LoadFailed("url.file_too_large", most=conf.MAX_UPLOAD_BYTES)
    while total is None or done < total:
        block = response.read1(_BLOCK_BYTES)
        done += len(block)
        if done > conf.MAX_UPLOAD_BYTES:
            raise LoadFailed("url.file_too_large", most=conf.MAX_UPLOAD_BYTES)
        # The end of a connection that was shut down looks like the end of a file.
        if monotonic() >= deadline:
            raise TimeoutError
        if report_progress:
            report_progress(done, total)
        if not block:
            break
        yield block
    if total is not None and done < total:
        raise LoadFailed("url.broken_response")


def _refuse_web_page(blocks: Iterable[bytes], response: HTTPResponse) -> Iterator[bytes]:
    """Pass the blocks on, unless they are a page for people: a form to sign in, or an error."""
    media_type = (response.getheader("Content-Type") or "").lower()
    is_first = True
    for block in blocks:
        if is_first and block.strip():
            if "html" in media_type and block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                raise LoadFailed("url.web_page")
            is_first = False
        yield block


# The name -----------------------------------------------------------------------------------------


def find_file_name(address: Address) -> str:
    """Find the name of a file: the last part of its address, or else its server."""
    last_part = unquote(address.target.partition("?")[0]).rstrip("/")
    return _clean_name(last_part) or address.host


def _clean_name(name: str) -> str:
    """Remove folders and control characters from a name, and shorten it."""
    last = re.split(r"[/\\]", name)[-1]
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", last).strip(" .")
    if len(clean) <= _MAX_NAME_LENGTH:
        return clean
    suffix = PurePath(clean).suffix[:_MAX_SUFFIX_LENGTH]
    return clean[: _MAX_NAME_LENGTH - len(suffix)] + suffix
