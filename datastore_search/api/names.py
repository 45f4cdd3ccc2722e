"""
Names of fields in a text: lists of them, and sort keys.

Source: CKAN ``datastore_search``, sections 4 and 9 of its semantics.  Every text is read once, from
one end to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..exceptions import InvalidSort
from ..search import SortKey

_QUOTE = '"'


def split_names(text: str, most: int | None = None) -> list[str]:
    """
    Cut a text at its commas, except at those within double quotes that begin a part.

    An empty text has no parts; what is between two commas is one, even when it is empty.  The rest
    behind ``most`` parts is left.
    """
    return list(islice(_cut_at_commas(text), most)) if text.strip() else []


def _cut_at_commas(text: str) -> Iterator[str]:
    start = 0
    while True:
        end = text.find(",", _skip_quoted(text, start))
        if end < 0:
            yield text[start:].strip()
            return
        yield text[start:end].strip()
        start = end + 1


def _skip_quoted(text: str, start: int) -> int:
    """Find where a quoted beginning ends; the beginning itself if nothing is quoted."""
    first = start
    while first < len(text) and text[first].isspace():
        first += 1
    if not text.startswith(_QUOTE, first):
        return start
    end = text.find(_QUOTE, first + 1)
    while text.startswith(_QUOTE * 2, end) and end >= 0:
        end = text.find(_QUOTE, end + 2)
    return end + 1 if end >= 0 else start


def unquote_name(name: str) -> str:
    """Take the double quotes off a name; doubled ones within it are single ones."""
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] == _QUOTE:
        return name[1:-1].replace(_QUOTE * 2, _QUOTE)
    return name


def parse_sort_key(text: str) -> SortKey:
    """
    Read a sort key: a name, then ``asc`` or ``desc``, then ``nulls first`` or ``nulls last``.

    Raises: ``InvalidSort`` for an empty one.
    """
    rest, nulls_first = _cut_nulls(text.strip())
    rest, descending = _cut_direction(rest)
    if not rest:
        raise InvalidSort(key=text[:100])
    return SortKey(unquote_name(rest), descending, nulls_first)


def _cut_nulls(text: str) -> tuple[str, bool | None]:
    rest, last = _cut_last_word(text)
    before, nulls = _cut_last_word(rest)
    if before and nulls.lower() == "nulls" and last.lower() in ("first", "last"):
        return before, last.lower() == "first"
    return text, None


def _cut_direction(text: str) -> tuple[str, bool]:
    rest, last = _cut_last_word(text)
    if rest and last.lower() in ("asc", "desc"):
        return rest, last.lower() == "desc"
    return text, False


def _cut_last_word(text: str) -> tuple[str, str]:
    """Cut the last word off a text."""
    parts = text.rsplit(None, 1)
    if len(parts) < 2:  # noqa: PLR2004 - a text of one word has no other
        return "", text
    return parts[0].rstrip(), parts[1]
