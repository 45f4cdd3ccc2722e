"""Renderers: the envelope as JSON, with records that PostgreSQL has written as JSON."""

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

from ..search.spool import MAX_MEMORY_BYTES, Spool
from ..web.streams import stream_response

#: Decimal digits before the point of any double.
_MAX_DOUBLE_DIGITS = 308


@dataclass(frozen=True, slots=True)
class RawJson:
    """JSON text in UTF-8, as blocks that the renderer writes unchanged."""

    blocks: Sequence[bytes]


def wrap_records(records: Sequence[bytes] | Spool) -> RawJson | Spool:
    """Prepare the records of a page for the renderer."""
    return records if isinstance(records, Spool) else RawJson(records)


def join_json(members: Sequence[bytes]) -> RawJson:
    """Join JSON texts to a list for the renderer."""
    return RawJson([b"[", b", ".join(members), b"]"])


#: Longer numbers stay texts: Python refuses to convert them.
_MAX_INTEGER_DIGITS = 4_000


def _parse_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=_parse_integer)


def parse_raw_json(value: RawJson | Spool) -> Any:
    """Parse what PostgreSQL has written as JSON, and close a spool; decimals keep their digits."""
    if isinstance(value, RawJson):
        return _DECODER.decode(b"".join(value.blocks).decode())
    with closing(value):
        return _DECODER.decode(b"".join(value).decode())


class EnvelopeRenderer(BaseRenderer):
    """Write the envelope as JSON, its ``RawJson`` members last and unparsed."""

    media_type = "application/json"
    format = "json"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Write the answer; without data it is empty."""
        if data is None:
            return b""
        result = data.get("result")
        if not isinstance(result, Mapping):
            return _ENCODER.encode(data).encode()
        raw = {name: value for name, value in result.items() if isinstance(value, RawJson)}
        if not raw:
            return _ENCODER.encode(data).encode()
        rest = {name: value for name, value in result.items() if name not in raw}
        blocks = [_encode_start(data, rest)]
        for name, value in raw.items():
            blocks += [b", "] if len(blocks) > 1 else []
            blocks += [f"{json.dumps(name)}: ".encode(), *value.blocks]
        return b"".join([*blocks, _END])


_END = b"}}"


class SpooledEnvelope:
    """An envelope whose ``result`` ends with the content of a spool, as blocks."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Prepare an envelope whose ``result`` contains a ``Spool``."""
        result = data["result"]
        (name,) = (name for name, value in result.items() if isinstance(value, Spool))
        self._spool: Spool = result[name]
        rest = {other: value for other, value in result.items() if other != name}
        self._start = _encode_start(data, rest) + f"{json.dumps(name)}: ".encode()
        self._blocks = chain([self._start], self._spool, [_END])

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            block: bytes = next(self._blocks)
        except StopIteration:
            self.close()  # frees the spool before the server does
            raise
        return block

    def build_response(self, request: HttpRequest) -> HttpResponseBase:
        """Build the response: empty for HEAD, whole if it needs little memory, else streamed."""
        kind = f"{EnvelopeRenderer.media_type}; charset={EnvelopeRenderer.charset}"
        length = str(len(self._start) + self._spool.size_bytes + len(_END))
        if request.method == "HEAD":
            self.close()
            return HttpResponse(content_type=kind, headers={"Content-Length": length})
        if self._spool.size_bytes <= MAX_MEMORY_BYTES:
            with closing(self):
                return HttpResponse(b"".join(self), content_type=kind)
        response = stream_response(request, self, kind)
        response["Content-Length"] = length
        return response

    def close(self) -> None:
        """Delete the spool."""
        self._spool.close()


def _encode_start(data: Mapping[str, Any], rest: Mapping[str, Any]) -> bytes:
    """Encode an envelope up to the end of the members ``rest`` of its result."""
    text = _ENCODER.encode({**data, "result": rest})  # ends with the braces of result and envelope
    return text[:-2].encode() + (b", " if rest else b"")


def _convert(value: object) -> object:
    """Convert what JSON lacks: a decimal to the nearest double, any other value to text."""
    if isinstance(value, Decimal) and value.adjusted() < _MAX_DOUBLE_DIGITS:
        return float(value)
    return str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_convert)
