"""Marks around the words of a full-text query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from django.apps import apps
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from ....filters import remove_operators
from ....filters.words import UNSPACED_LETTERS, has_unspaced_letters, remove_diacritics, split_words
from ....search import ConsistentRead, Query
from ...analysis.highlighting import FieldText, find_matches

#: Letters with their marks (Latin, Hebrew, Arabic, Indic, Thai), in scripts with blanks.
_MARKS = r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e]*"
_WORD = rf"(?:(?![{UNSPACED_LETTERS}])[^\W_]{_MARKS})+"

#: Letters of a beginning that matches; words that PostgreSQL compares, with so many equal letters.
_MIN_PREFIX_LENGTH, _MAX_COMPARED_WORDS, _COMPARED_LENGTH = 3, 500, 2


class Marker:
    """Marks the words of a full-text query in texts, but those that it excludes."""

    def __init__(self, read: ConsistentRead, query: Query, text: str) -> None:
        """Split the query; with ``analysis``, other forms of its words are found in ``text``."""
        words = split_words(_fold(remove_operators(query.q))[0])
        self._token = re.compile("|".join([*filter(has_unspaced_letters, words), _WORD]))
        patterns = [each if len(each) < _MIN_PREFIX_LENGTH else f"{each}.*" for each in words]
        if apps.is_installed("datastore_search.contrib.analysis"):
            starts = "|".join({form[:_COMPARED_LENGTH] for each in words for form in _fold(each)})
            similar = re.compile(rf"(?<![^\W_])(?:{starts or '(?!)'})(?:[^\W_]{_MARKS})*")
            forms = {word for form in {*_fold(text)} for word in similar.findall(form)}
            asked = [FieldText("", each) for each in forms][:_MAX_COMPARED_WORDS]
            spans = find_matches(read, query, asked)
            patterns += [each.text for each, found in zip(asked, spans, strict=True) if found]
        self._words = re.compile("|".join(patterns) or "(?!)")
        self.word_count = len(words)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Find the words that match, in a script without blanks the parts that do."""
        places = [each.start() for each in map(self._words.search, _fold(text)) if each]
        if places:
            start = text.rfind(" ", 0, min(places)) + 1 if text.isascii() else 0
            for token in self._token.finditer(text, start):
                if any(map(self._words.fullmatch, _fold(token[0]))):
                    yield token

    def mark(self, text: str) -> SafeString:
        """Escape a text, with ``<mark>`` around the words that match."""
        html, end = SafeString(), 0
        for found in self.find(text):
            html += escape(text[end : found.start()])
            html += format_html("<mark>{}</mark>", found[0])
            end = found.end()
        return html + escape(text[end:])


def _fold(text: str) -> tuple[str, str]:
    """Fold the case of a text, and then its accents: a word without them finds one with them."""
    written = unicodedata.normalize("NFC", text.casefold())
    return written, remove_diacritics(written).replace("œ", "oe").replace("æ", "ae")
