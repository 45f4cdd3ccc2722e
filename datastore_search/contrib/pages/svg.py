"""Texts and measures of drawings, as SVG has them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from django.utils.html import escape
from django.utils.safestring import SafeString

#: Widths of letters in DejaVu Sans, a wide font, by the letter, or else by its kind.
_TYPE_SIZE, _LETTER_WIDTH = 12, 0.63
_WIDTHS = dict.fromkeys("ijlI.,:;'|! ", 0.35) | dict.fromkeys("frt()-[]1/", 0.45)
_WIDTHS |= dict.fromkeys("mwMW%@—WF", 0.95) | {"Mn": 0.0, "Lu": 0.72}


def measure_text(text: str) -> float:
    """Measure the width of a text, rather too wide than too narrow."""
    return _TYPE_SIZE * sum(map(_measure_letter, text))


def wrap_text(text: str, width: float) -> list[str]:
    """Break a text into lines, at blanks, or else within a word."""
    lines = []
    while text:
        widths = accumulate(map(_measure_letter, text))
        length = max(1, bisect_right(list(widths), width / _TYPE_SIZE))
        if length < len(text):
            blank = text.rfind(" ", 0, length + 1)
            length = blank if blank > 0 else length
        lines.append(text[:length])
        text = text[length:].lstrip()
    return lines


@lru_cache(maxsize=1024)
def _measure_letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return _WIDTHS.get(letter, _WIDTHS.get(unicodedata.category(letter), _LETTER_WIDTH))


def write_text(x: str, y: float, text: str, anchor: str, attributes: str = "") -> SafeString:
    """Write a text at a point, which is its ``start``, its ``middle`` or its ``end``."""
    place = f'x="{x}" y="{write_coordinate(y)}" text-anchor="{anchor}"'
    return SafeString(f"<text {place}{attributes}>{escape(text)}</text>")


def write_hatching(box: str) -> SafeString:
    attributes = 'fill="url(#datastore-hatch)" pointer-events="none"'
    return SafeString(f'<rect class="hatch" {box} {attributes}/>')


def write_coordinate(number: float) -> str:
    """Write a coordinate with a point, whatever the language."""
    return f"{number:.1f}".removesuffix(".0")


def write_share(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def write_box(x: float, y: float, width: float, height: float) -> str:
    top, size = write_coordinate(y), write_coordinate(height)
    return f'x="{write_share(x)}" y="{top}" width="{write_share(width)}" height="{size}"'
