"""How much a request holds, found out before any of it is read."""

from __future__ import annotations

import os
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from .exceptions import InvalidContentLength, QueryStringTooLong, RequestTooLarge, TooManyParameters

#: Python keeps the last 128 addresses that it has split (``urlsplit``), so that longer ones would
#: fill the memory; servers refuse them anyway.
MAX_QUERY_STRING_BYTES: Final = 2**16

#: Parameters of a form or a query string: a list repeats its parameter.
MAX_PARAMETERS: Final = 10_000


def measure_body(request: HttpRequest) -> int:
    """
    Give the size of a body: as it was received, where the server has all of it, or as declared.

    Of a body with a declared size nothing beyond that is ever read.

    Raises: ``InvalidContentLength``.
    """
    stream = request._stream  # noqa: SLF001 - Django itself measures a body so
    if stream.seekable():  # of an ASGI server, or read already
        place = stream.tell()
        size: int = stream.seek(0, os.SEEK_END)
        stream.seek(place)
        return size
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if not (declared.isascii() and declared.isdecimal()):
        raise InvalidContentLength
    return int(declared)


def check_body(request: HttpRequest, max_bytes: int) -> None:
    """
    Refuse a body that is too large: for ``max_bytes``, or for Django's own setting.

    Raises: ``RequestTooLarge``; ``InvalidContentLength``.
    """
    portal_max = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    most = max_bytes if portal_max is None else min(max_bytes, portal_max)
    if measure_body(request) > most:
        raise RequestTooLarge(most=most)


def check_query_string(request: HttpRequest) -> None:
    """
    Refuse a query string that is too long, or has too many parameters.

    Raises: ``QueryStringTooLong``; ``TooManyParameters``.
    """
    text = request.META.get("QUERY_STRING", "")
    if len(text) > MAX_QUERY_STRING_BYTES:
        raise QueryStringTooLong(most=MAX_QUERY_STRING_BYTES)
    check_parameters(text.count("&") + 1)


def check_parameters(count: int) -> None:
    """
    Refuse too many parameters: more than are understood here, or than Django reads.

    Raises: ``TooManyParameters``.
    """
    portal_max = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    most = MAX_PARAMETERS if portal_max is None else min(MAX_PARAMETERS, portal_max)
    if count > most:
        raise TooManyParameters(most=most)
