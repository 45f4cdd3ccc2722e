"""Marks the words of a full-text query in shown text, as far as plain words go."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from ....filters.words import remove_diacritics

_WORD = re.compile(r"[^\W_]+")

#: From this length on, a word also matches as the beginning of another.
_MIN_PREFIX_LENGTH = 3

_MAX_WORDS = 20


def split_words(q: str) -> tuple[str, ...]:
    """Split a full-text query into the words to mark."""
    words = _WORD.findall(unicodedata.normalize("NFC", q).casefold())
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


def highlight(text: str, words: Iterable[str]) -> SafeString:
    """Escape a text, with ``<mark>`` around the words that match."""
    html, end = SafeString(), 0
    for found in _WORD.finditer(text):
        if _matches(found[0], words):
            html += escape(text[end : found.start()])
            html += format_html("<mark>{}</mark>", found[0])
            end = found.end()
    return html + escape(text[end:])


def _matches(text: str, words: Iterable[str]) -> bool:
    """Match as the search does: a word without accents finds one that has them."""
    written = text.casefold()
    forms = {written} if written.isascii() else {written, remove_diacritics(written)}
    return any(
        form.startswith(word) if len(word) >= _MIN_PREFIX_LENGTH else form == word
        for word in words
        for form in forms
    )
