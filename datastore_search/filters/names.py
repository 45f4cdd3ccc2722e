"""
Field names and sort keys in the texts of parameters.

Source: CKAN ``datastore_search``, sections 4 and 9 of its semantics.  Each text is scanned once, so
parsing takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from ..messages.search import InvalidSort

#: The key of every record.
ID = "_id"

_QUOTE = '"'
_PLAIN_NAME = re.compile(r"[\w.-]+")

#: A part of a list: a quoted name, and what follows it up to a comma; a quote that is not closed is
#: a character.
_PART = re.compile(r'(?:^|,)\s*((?:"(?:[^"]|"")*+")?[^,]*)')


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order; ``nulls_first`` is None where the direction decides."""

    field: str
    descending: bool = False
    nulls_first: bool | None = None


def split_names(text: str, max_names: int | None = None) -> list[str]:
    """
    Split a text at its commas, except those within a part that begins with a double quote.

    An empty text has no names; between two commas is a name, even an empty one.  At most
    ``max_names`` are returned.
    """
    found = islice(_PART.finditer(text), max_names) if text.strip() else ()
    return [part[1].strip() for part in found]


def unquote_name(name: str) -> str:
    """Remove the double quotes around a name; within it, two stand for one."""
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] == _QUOTE:
        return name[1:-1].replace(_QUOTE * 2, _QUOTE)
    return name


def quote_name(name: str) -> str:
    """Write a name so that it is one in a list of names or in a sort key."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return f"{_QUOTE}{name.replace(_QUOTE, _QUOTE * 2)}{_QUOTE}"


def format_sort_key(key: SortKey) -> str:
    """Write a sort key as ``parse_sort_key`` reads it."""
    nulls = {None: "", True: " nulls first", False: " nulls last"}[key.nulls_first]
    direction = " desc" if key.descending else ""
    return f"{quote_name(key.field)}{direction}{nulls}"


def parse_sort_key(text: str) -> SortKey:
    """
    Parse a sort key: a name, then ``asc`` or ``desc``, then ``nulls first`` or ``nulls last``.

    Raises: ``InvalidSort`` for an empty one.
    """
    rest, descending, nulls_first = text.strip(), False, None
    match rest.rsplit(None, 2):
        case [before, word, last] if word.lower() == "nulls" and last.lower() in ("first", "last"):
            rest, nulls_first = before, last.lower() == "first"
    match rest.rsplit(None, 1):
        case [before, last] if last.lower() in ("asc", "desc"):
            rest, descending = before, last.lower() == "desc"
    if not rest:
        raise InvalidSort(key=text[:100])
    return SortKey(unquote_name(rest), descending, nulls_first)
