"""Texts that a spreadsheet may calculate.  Source: OWASP's page on CSV injection."""

from __future__ import annotations

import re

#: The place before a sign that a spreadsheet may calculate from, at the beginning of a cell under
#: any separator; it passes over blanks, controls, invisible characters and quotation marks.
_FORMULA_START = re.compile(
    r"(?:^|[,;\t\r\n])"
    r"[ \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f"
    r'\u205f-\u206f\u3000\ufeff"]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])'
)


def disarm(text: str) -> str:
    """Put an apostrophe before each part of a text that a spreadsheet may calculate."""
    return _FORMULA_START.sub(r"\g<0>'", text)


def begins_like_formula(text: str) -> bool:
    """Return whether a spreadsheet may calculate a text that is typed into a cell."""
    return _FORMULA_START.match(text) is not None
