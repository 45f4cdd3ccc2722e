"""Invisible characters that change the direction of text, shown as visible marks."""

from __future__ import annotations

#: Embeddings, overrides and isolates: with them a name or a value reads as another one.
BIDI_CONTROLS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

_MARKS = {code: f"‹U+{code:04X}›" for code in BIDI_CONTROLS}


def show_bidi_controls(text: str) -> str:
    """Replace each control character of the direction by its code: ``‹U+202E›``."""
    return text if text.isascii() else text.translate(_MARKS)
