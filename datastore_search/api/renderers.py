"""The bytes of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import BaseRenderer

from ..spooling import MAX_MEMORY_BYTES, Spool
from .streams import stream_response

#: Decimal digits before the point that every double has room for.
_DOUBLE_DIGITS = 308


@dataclass(frozen=True, slots=True)
class RawJson:
    """A text that is JSON already, in UTF-8, in blocks: they are written as they are."""

    blocks: Sequence[bytes]


class EnvelopeRenderer(BaseRenderer):
    """
    Write the envelope as JSON.

    A member of ``result`` may be ``RawJson``, the text that PostgreSQL wrote: it is spliced in
    behind the other members and never parsed.
    """

    media_type = "application/json"
    format = "json"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Give the answer's bytes; of no data, none."""
        if data is None:
            return b""
        result = data.get("result")
        if not isinstance(result, Mapping):
            return _dumped(data)
        raw = {name: value for name, value in result.items() if isinstance(value, RawJson)}
        if not raw:
            return _dumped(data)
        rest = {name: value for name, value in result.items() if name not in raw}
        blocks = [_opened(data, rest)]
        for name, value in raw.items():
            blocks += [b", "] if len(blocks) > 1 else []
            blocks += [f"{json.dumps(name)}: ".encode(), *value.blocks]
        return b"".join([*blocks, _END])


_END = b"}}"


class SpooledEnvelope:
    """An envelope whose ``result`` ends with a spool, in blocks."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Take an envelope; one member of its ``result`` is a ``Spool``."""
        result = data["result"]
        (name,) = (name for name, value in result.items() if isinstance(value, Spool))
        self._spool: Spool = result[name]
        rest = {other: value for other, value in result.items() if other != name}
        self._begin = _opened(data, rest) + f"{json.dumps(name)}: ".encode()
        self._blocks = chain([self._begin], self._spool, [_END])

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            block: bytes = next(self._blocks)
        except StopIteration:
            self.close()  # before the server does
            raise
        return block

    def response(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request with it: at once, if that needs little memory."""
        kind = f"{EnvelopeRenderer.media_type}; charset={EnvelopeRenderer.charset}"
        if self._spool.size_bytes <= MAX_MEMORY_BYTES:
            with closing(self):
                return HttpResponse(b"".join(self), content_type=kind)
        response = stream_response(request, self, kind)
        response["Content-Length"] = str(len(self._begin) + self._spool.size_bytes + len(_END))
        return response

    def close(self) -> None:
        """Throw the spool away."""
        self._spool.close()


def _opened(data: Mapping[str, Any], rest: Mapping[str, Any]) -> bytes:
    """Write an envelope with the first members of its result, up to where the next one begins."""
    body = _dumped({**data, "result": rest})  # ends with the two braces of result and envelope
    return body[:-2] + (b", " if rest else b"")


def _dumped(data: object) -> bytes:
    return _ENCODER.encode(data).encode()


def _plain(value: object) -> object:
    """Write what JSON does not know: an exact number as the nearest double, all else as text."""
    if isinstance(value, Decimal) and value.adjusted() < _DOUBLE_DIGITS:
        return float(value)
    return str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_plain)
