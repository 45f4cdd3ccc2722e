"""Texts and numbers as people read them."""

from __future__ import annotations

from django.utils.formats import get_format

#: Embeddings, overrides and isolates: with them a name or a value reads as another one.
BIDI_CONTROLS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

_MARKS = {code: f"‹U+{code:04X}›" for code in BIDI_CONTROLS}

_GROUP_LENGTH = 3


def show_bidi_controls(text: str) -> str:
    """Replace each invisible control character of the direction by its code: ``‹U+202E›``."""
    return text if text.isascii() else text.translate(_MARKS)


def shorten(text: str, max_length: int) -> str:
    """Cut a text after some letters, its invisible controls shown."""
    shown = show_bidi_controls(text)
    return shown if len(shown) <= max_length else f"{shown[:max_length]}…"


def format_count(number: int | str) -> str:
    """
    Write a whole number in groups of three digits, with the separator of the language.

    Django's ``number_format`` groups no digits in languages whose formats name a separator but no
    length of groups, such as Arabic and Vietnamese.
    """
    text = str(number)
    digits = text.removeprefix("-")
    start = len(digits) % _GROUP_LENGTH
    groups = [digits[i : i + _GROUP_LENGTH] for i in range(start, len(digits), _GROUP_LENGTH)]
    written = str(get_format("THOUSAND_SEPARATOR")).join(filter(None, [digits[:start], *groups]))
    return written if digits == text else f"-{written}"
