"""
Downloads that an app has stored: a file of a whole resource, and parts of it.

Source: RFC 9110, sections 13 (conditions) and 14 (ranges).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Protocol, Self

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from rest_framework.request import Request

from ..contributions import Hook
from ..guards import shares
from ..guards.shares import Client, StreamSlot
from ..models import Resource
from ..web.caching import Validators
from ..web.streams import stream_response
from .formats import DumpFormat

#: One part of a file; several are not sent, as a server need not.
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")

_BLOCK_BYTES = 2**18

#: A larger part holds a slot of the streams while it is sent; a proxy takes smaller ones at once.
_MAX_FREE_BYTES = 2 * 2**20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """
    A file that is opened, or what lets another server send it: the name of a header, and its value.

    ``digest`` is of its bytes.
    """

    size_bytes: int
    digest: str
    file: IO[bytes] | None = None
    sent_by: tuple[str, str] = ("", "")


class OpenStored(Protocol):
    def __call__(
        self, resource: Resource, kind: DumpFormat, client: Client, *, is_needed: bool
    ) -> StoredFile | None:
        """
        Open the file of a public resource's version, or make it; None where there is none.

        Where it ``is_needed``, a stream will not do: the client asks for a part or for the size.

        Raises: ``FileBeingMade``, a ``TemporarilyUnavailable``, only if it is needed;
        ``ClientDisconnected`` for a client that does not wait.
        """


open_stored: Hook[OpenStored | None] = Hook("stored downloads", None)


def send_stored(
    request: Request, stored: StoredFile, content_type: str, validators: Validators, client: Client
) -> HttpResponseBase:
    """
    Send a file, a part of it, or what the conditions of the request ask for: 304, 412, 416.

    Raises: ``TemporarilyUnavailable`` when the client has no slot of the streams.
    """
    shares.working_for.client, response = client, None  # whose a slot of the streams is
    try:
        response = _send(request, stored, content_type, validators)
        return response
    finally:
        shares.working_for.client = None
        if stored.file is not None and not (response and response.streaming):
            stored.file.close()


def _send(
    request: Request, stored: StoredFile, content_type: str, validators: Validators
) -> HttpResponseBase:
    modified_at, size, file = validators.last_modified, stored.size_bytes, stored.file
    seconds = None if modified_at is None else int(modified_at.timestamp())
    found: HttpResponseBase | None = get_conditional_response(
        request, etag=validators.etag, last_modified=seconds
    )
    if found is not None:
        return found
    if file is None:
        headers, status = dict([stored.sent_by]), HTTPStatus.OK
        if "Location" in headers and request.method == "HEAD":  # it may be signed for GET alone
            headers = {"Accept-Ranges": "bytes", "Content-Length": str(size)}
        elif "Location" in headers:
            status = HTTPStatus.FOUND
        return HttpResponse(status=status, content_type=content_type, headers=headers)
    wanted, condition = None, request.headers.get("If-Range")
    dates = [] if seconds is None else [http_date(seconds)]
    if request.method == "GET" and condition in {None, validators.etag, *dates}:
        wanted = parse_range(request.headers.get("Range", ""), size)
    part = range(size) if wanted is None else wanted
    if size and not part:  # an empty file has no part, and is sent whole
        headers = {"Content-Range": f"bytes */{size}"}
        return HttpResponse(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    if request.method == "HEAD":
        found = HttpResponse(content_type=content_type)
    else:
        slot = StreamSlot() if len(part) > _MAX_FREE_BYTES else None
        found = stream_response(request, _Part(file, part, slot), content_type)
    if wanted is not None:  # also where it is the whole: polars needs to be told
        found.status_code = HTTPStatus.PARTIAL_CONTENT
        found["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
        found["Content-Encoding"] = "identity"  # a middleware must not compress a part
    found["Accept-Ranges"] = "bytes"
    found["Content-Length"] = str(len(part))
    return found


def parse_range(text: str, size: int) -> range | None:
    """Return the bytes that ``Range`` asks for, if any; none where the file ends before them."""
    match = _RANGE.fullmatch(text.strip())
    first, last = match.groups() if match and size else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return None
    if not first:
        return range(max(size - int(last), 0), size)
    return range(int(first), min(int(last) + 1, size) if last else size)


class _Part:
    """The blocks of a part of a file; ``slot`` is free when it is closed."""

    def __init__(self, file: IO[bytes], part: range, slot: StreamSlot | None) -> None:
        self._file, self._left, self._slot = file, len(part), slot
        file.seek(part.start)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if not self._left:
            self.close()
            raise StopIteration
        block = self._file.read(min(_BLOCK_BYTES, self._left))
        if not block:
            raise EOFError(self._left)  # the answer ends before its length, which clients report
        self._left -= len(block)
        return block

    def close(self) -> None:
        self._file.close()
        self._slot = None
