"""Limits of a request, checked before its body is read."""

from __future__ import annotations

import os
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from ..messages.requests import (
    InvalidContentLength,
    QueryStringTooLong,
    RequestTooLarge,
    TooManyParameters,
)

#: ``urlsplit`` caches the last 128 addresses, so longer ones would fill the memory; servers refuse
#: them anyway.
MAX_QUERY_STRING_BYTES: Final = 2**16

#: Of a form or a query string; a list counts once for each of its values.
MAX_PARAMETERS: Final = 10_000


def measure_body(request: HttpRequest) -> int:
    """
    Measure a body that the server has received, or take its declared size.

    No more than the declared size is ever read.

    Raises: ``InvalidContentLength``.
    """
    stream = request._stream  # noqa: SLF001 - Django itself measures a body so
    if stream.seekable():  # from an ASGI server, or already read
        position = stream.tell()
        size: int = stream.seek(0, os.SEEK_END)
        stream.seek(position)
        return size
    declared_bytes = request.META.get("CONTENT_LENGTH") or "0"
    if not (declared_bytes.isascii() and declared_bytes.isdecimal()):
        raise InvalidContentLength
    return int(declared_bytes)


def check_body(request: HttpRequest, max_bytes: int) -> None:
    """Refuse a body larger than ``max_bytes`` or ``DATA_UPLOAD_MAX_MEMORY_SIZE``."""
    portal_max_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if portal_max_bytes is not None:
        max_bytes = min(max_bytes, portal_max_bytes)
    if measure_body(request) > max_bytes:
        raise RequestTooLarge(most=max_bytes)


def check_query_string(request: HttpRequest) -> None:
    """Refuse a query string that is too long, or has too many parameters."""
    text = request.META.get("QUERY_STRING", "")
    if len(text) > MAX_QUERY_STRING_BYTES:
        raise QueryStringTooLong(most=MAX_QUERY_STRING_BYTES)
    check_parameters(text.count("&") + 1)


def check_parameters(count: int) -> None:
    """Refuse more parameters than ``MAX_PARAMETERS`` or ``DATA_UPLOAD_MAX_NUMBER_FIELDS``."""
    portal_max = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    max_count = MAX_PARAMETERS if portal_max is None else min(MAX_PARAMETERS, portal_max)
    if count > max_count:
        raise TooManyParameters(most=max_count)
