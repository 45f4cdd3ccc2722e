"""
The languages of texts on a page: texts in another language than the page have ``lang``.

A text of the portal is in the language of its resource, of a translation, or in an unknown
one, which is empty.  Every text whose language is not the page's has ``lang``, on its own element
or on one around it.  In a sentence of the page only the text is marked: the sentence is a
``Phrase``.  An attribute and the title of a drawing cannot mark a part: they have the language of
the first text in them, and are in the page's if words of the page are around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import bidirectional

from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language_bidi

from ...web.languages import is_foreign, write_attributes

#: The classes of letters that run from the right to the left.
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text as a whole, and as HTML whose parts in other languages say so."""

    text: str
    html: SafeString

    def __str__(self) -> str:
        """Return the text, for attributes and titles."""
        return self.text


def mark_text(text: str, language: str = "") -> Phrase:
    """
    Mark a text that is in another language than the page.

    A text that may run in another direction than the page is isolated from what is beside it.
    """
    attributes = write_attributes(language)
    if attributes or get_language_bidi() or not _RIGHT_TO_LEFT.isdisjoint(map(bidirectional, text)):
        return Phrase(text, format_html("<bdi{}>{}</bdi>", attributes, text))
    return Phrase(text, conditional_escape(text))


def compose_phrase(template: str, **parts: Phrase | str) -> Phrase:
    """Put parts into a translated text with placeholders (``%(name)s``)."""
    texts = {name: str(part) for name, part in parts.items()}
    html = {
        name: part.html if isinstance(part, Phrase) else conditional_escape(part)
        for name, part in parts.items()
    }
    return Phrase(template % texts, SafeString(conditional_escape(template) % html))


def join_phrases(separator: str, phrases: Sequence[Phrase]) -> Phrase:
    html = format_html_join(separator, "{}", ((each.html,) for each in phrases))
    return Phrase(separator.join(each.text for each in phrases), html)


def capitalize_phrase(phrase: Phrase) -> Phrase:
    """Begin a phrase with a capital letter, unless it begins with a marked text."""
    if phrase.html.startswith("<"):
        return phrase
    return Phrase(capfirst(phrase.text), SafeString(capfirst(phrase.html)))


def write_language(language: str) -> SafeString:
    """Write ``lang`` alone, for the elements of tables and drawings, which have a direction."""
    return format_html(' lang="{}"', language) if is_foreign(language) else SafeString("")
