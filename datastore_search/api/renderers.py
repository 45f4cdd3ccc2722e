"""The bytes of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rest_framework.renderers import BaseRenderer

#: Decimal digits before the point that every double has room for.
_DOUBLE_DIGITS = 308


class RawJson(str):
    """A text that is JSON already: it is written into the answer as it is."""

    __slots__ = ()


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
        raw = {name: text for name, text in result.items() if isinstance(text, RawJson)}
        rest = {name: value for name, value in result.items() if name not in raw}
        body = _dumped({**data, "result": rest})  # ends with the two braces of result and envelope
        spliced = [f"{json.dumps(name)}: {text}" for name, text in raw.items()]
        if not spliced:
            return body
        comma = ", " if rest else ""
        return b"%b%b}}" % (body[:-2], f"{comma}{', '.join(spliced)}".encode())


def _dumped(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    """Write what JSON does not know: an exact number as the nearest double, all else as text."""
    if isinstance(value, Decimal) and value.adjusted() < _DOUBLE_DIGITS:
        return float(value)
    return str(value)
