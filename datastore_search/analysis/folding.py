"""Texts without diacritics, as search vectors have them beside the words as written."""

from __future__ import annotations

import re
import unicodedata
from typing import LiteralString

#: Letters whose strokes and dots are no marks of their own, and what they become.
_STROKED, _PLAIN = "đĐłŁøØħĦŧŦı", "dDlLoOhHtTi"
_STROKES = str.maketrans(_STROKED, _PLAIN)

#: Diacritics: those of Latin, Greek and Cyrillic letters.  Marks of other scripts may be vowels.
_MARKS: LiteralString = r"[\u0300-\u036f]"
_MARKS_PATTERN = re.compile(_MARKS)

#: The SQL of ``fold``, over a text.
FOLDED: LiteralString = (
    "normalize(translate(regexp_replace(normalize({}, NFD),"
    f" '{_MARKS}', '', 'g'), '{_STROKED}', '{_PLAIN}'), NFC)"
)


def fold(text: str) -> str:
    """Remove the diacritics of a text."""
    if text.isascii():
        return text
    plain = _MARKS_PATTERN.sub("", unicodedata.normalize("NFD", text)).translate(_STROKES)
    return unicodedata.normalize("NFC", plain)
