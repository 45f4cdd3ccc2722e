"""Draw as PNG, by resvg-py (the extra ``png``), which fetches nothing, and the server's fonts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

from django.utils.module_loading import import_string

#: Larger drawings are not offered, such as a map with many lines.
MAX_SVG_LENGTH = 1_000_000

#: The first font. Letters that it lacks are taken from other fonts of the server.
_FONT = "DejaVu Sans"

#: Four bytes each. A small drawing has two pixels for each of its units.
_MAX_PIXELS = 8_000_000
_MAX_ZOOM = 2.0

_BOX = re.compile(r'viewBox="0 0 ([0-9]+) ([0-9]+)"')
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><text y="15">{}</text></svg>'


def can_draw_png(svg: str) -> bool:
    """Return whether an SVG can be drawn as PNG, with its texts."""
    return len(svg) <= MAX_SVG_LENGTH and _has_texts(_FONT)


def draw_png(svg: str) -> bytes:
    """Draw an SVG of the app as PNG, on white."""
    found = _BOX.search(svg)
    width, height = map(int, found.groups()) if found else (1, 1)
    zoom = min(_MAX_ZOOM, math.sqrt(_MAX_PIXELS / (width * height)))
    return _render(svg, _FONT, zoom)


def _render(svg: str, font: str, zoom: float) -> bytes:
    render: Callable[..., bytes] = import_string("resvg_py.svg_to_bytes")
    return bytes(
        render(
            svg_string=svg,
            background="white",
            zoom=zoom,
            font_family=font,
            sans_serif_family=font,
        )
    )


@cache
def _has_texts(font: str) -> bool:
    """Return whether texts are drawn: without any font, only lines and bars are."""
    try:
        return _render(_PROBE.format("A"), font, 1) != _render(_PROBE.format(""), font, 1)
    except ImportError:
        return False
