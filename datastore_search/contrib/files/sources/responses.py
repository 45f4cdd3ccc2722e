"""A file from elsewhere: the body of a response, block by block, and the file's name."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from http.client import HTTPResponse
from mimetypes import guess_extension
from pathlib import Path, PurePath
from time import monotonic
from urllib.parse import unquote

from django.utils.http import parse_header_parameters

from ..conf import conf
from ..messages.failures import LoadFailed
from .addresses import Address

_BLOCK_BYTES = 2**16

GZIP = "gzip"

_MAX_NAME_LENGTH = 200
_MAX_SUFFIX_LENGTH = 20

#: Called with the bytes so far and all of them, None while that is not known; may raise.
ReportProgress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """
    A file that can be read.

    ``name`` is its own name, a hint at its format; ``checksum`` is its SHA-256 in hexadecimal;
    ``http_validators`` come from its server, for a file that was fetched.
    """

    path: Path
    name: str
    checksum: str
    http_validators: Mapping[str, str] = field(default_factory=dict)


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
    Read a file, block by block, without its content encoding.

    ``deadline`` is the moment of ``time.monotonic`` at which it must be complete.

    Raises: ``LoadFailed`` with ``url.file_too_large``; ``url.broken_response`` when it is not
    complete or the encoding is not known; ``url.web_page``.
    """
    encoding = get_content_encoding(response)
    blocks = _limit_size(_receive_blocks(response, deadline, report_progress))
    if encoding == GZIP:
        blocks = _limit_size(_decompress(blocks))
    elif encoding:
        raise LoadFailed("url.broken_response")
    return _refuse_web_page(blocks, response)


def get_content_encoding(response: HTTPResponse) -> str:
    """Return the content encoding of a body, empty if there is none."""
    encoding = (response.getheader("Content-Encoding") or "").strip().lower()
    return {"identity": "", "x-gzip": GZIP}.get(encoding, encoding)


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


def _limit_size(blocks: Iterable[bytes]) -> Iterator[bytes]:
    done = 0
    for block in blocks:
        done += len(block)
        if done > conf.MAX_UPLOAD_BYTES:
            raise LoadFailed("url.file_too_large", most=conf.MAX_UPLOAD_BYTES)
        yield block


def _decompress(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Undo the content encoding gzip, a block at a time."""
    decompressor = zlib.decompressobj(wbits=31)
    try:
        for block in blocks:
            rest = block
            while rest:
                yield decompressor.decompress(rest, _BLOCK_BYTES)
                rest = decompressor.unconsumed_tail
                if decompressor.eof and decompressor.unused_data:
                    rest, decompressor = decompressor.unused_data, zlib.decompressobj(wbits=31)
        yield decompressor.flush()
    except zlib.error as error:
        raise LoadFailed("url.broken_response") from error
    if not decompressor.eof:
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


def find_file_name(address: Address, response: HTTPResponse) -> str:
    """Find the name of a file: that in the response, or else the last part of its address."""
    declared = _parse_disposition(get_header(response, "Content-Disposition"))
    last_part = unquote(address.target.partition("?")[0]).rstrip("/")
    name = _clean_name(declared) or _clean_name(last_part) or address.host
    media_type = (response.getheader("Content-Type") or "").partition(";")[0].strip()
    return name if PurePath(name).suffix else name + (guess_extension(media_type) or "")


def _parse_disposition(value: str) -> str:
    """Return the file name of a header ``Content-Disposition``; ``filename*`` comes first."""
    try:
        return str(parse_header_parameters(value)[1].get("filename", ""))
    except (ValueError, LookupError):
        return ""


def _clean_name(name: str) -> str:
    """Remove folders and control characters from a name, and shorten it."""
    last = re.split(r"[/\\]", name)[-1]
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", last).strip(" .")
    if len(clean) <= _MAX_NAME_LENGTH:
        return clean
    suffix = PurePath(clean).suffix[:_MAX_SUFFIX_LENGTH]
    return clean[: _MAX_NAME_LENGTH - len(suffix)] + suffix
