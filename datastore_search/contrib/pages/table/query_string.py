"""
The question of a page as the parameters of its address, from which links leave some out.

A link repeats the question.  A page that asks a long one has a form with the question in its place,
``question``, and a button of that form wherever it would have a link (``Change``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self
from urllib.parse import parse_qsl, urlencode

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

Pair = tuple[str, str]

#: Of a question that links repeat.
MAX_REPEATED_LENGTH: Final = 300

#: The parameter of a button of the form ``question``.
CHANGE: Final = "change"

#: The positions of the parameters to leave out, a position within ``filters``, and what is added.
_CHANGE = re.compile(r"((?:[0-9]{1,5}\.)*)(?:f([0-9]{1,5}))?&(.*)", re.DOTALL)


class Link(str):
    """A relative address; ``start`` and ``end`` are what a template writes around its text."""

    __slots__ = ()

    end: ClassVar[SafeString] = SafeString("</a>")

    @property
    def start(self) -> SafeString:
        """The start of its tag, without the last bracket."""
        return SafeString(f'<a href="{escape(self)}"')

    def write(self, text: str) -> SafeString:
        """Write the whole link, with a text."""
        return SafeString(f"{self.start}>{escape(text)}{self.end}")


class Change(Link):
    """A button of the form ``question``: it sends one more parameter, perhaps to another page."""

    end: ClassVar[SafeString] = SafeString("</button>")
    name: str
    page: str

    def __new__(cls, value: str, name: str = CHANGE, page: str = "") -> Self:
        """Keep what the button sends."""
        self = super().__new__(cls, value)
        self.name, self.page = name, page
        return self

    @property
    def start(self) -> SafeString:
        """The start of its tag, without the last bracket."""
        action = format_html(' formaction="{}"', self.page) if self.page else ""
        template = '<button form="question" name="{}" value="{}"{}'
        return format_html(template, self.name, str(self), action)


@dataclass(frozen=True, slots=True)
class QueryString:
    """
    Names and values of parameters, in the order of the address; none is empty.

    ``whole`` is the question of the page, where links do not repeat it.
    """

    pairs: tuple[Pair, ...] = ()
    whole: tuple[Pair, ...] | None = None

    def as_whole(self) -> QueryString:
        """Let links not repeat it, if it is long."""
        is_long = len(self.query) > MAX_REPEATED_LENGTH
        return QueryString(self.pairs, self.pairs) if is_long else self

    def remove(self, *names: str) -> QueryString:
        """Leave out all parameters of some names."""
        return QueryString(tuple(pair for pair in self.pairs if pair[0] not in names), self.whole)

    def remove_pairs(self, *pairs: Pair) -> QueryString:
        """Leave out some parameters."""
        return QueryString(tuple(pair for pair in self.pairs if pair not in pairs), self.whole)

    def replace(self, name: str, *values: str) -> QueryString:
        """Give a parameter other values, at the end."""
        others = self.remove(name).pairs
        return QueryString((*others, *((name, value) for value in values)), self.whole)

    def add(self, name: str, value: str) -> QueryString:
        """Add a value, unless it is there."""
        pair = name, value
        return self if pair in self.pairs else QueryString((*self.pairs, pair), self.whole)

    @property
    def query(self) -> str:
        """The end of an address: empty, or a question mark with the parameters."""
        return f"?{urlencode(self.pairs)}" if self.pairs else ""

    @property
    def link(self) -> Link:
        """A link, relative to a page at a path that ends with a slash."""
        if self.whole is None:
            return Link(self.query or "./")
        added, removed = list(self.pairs), []
        for position, pair in enumerate(self.whole):
            if added and added[0] == pair:
                added.pop(0)
            else:
                removed.append(position)
        return Change(f"{''.join(f'{each}.' for each in removed)}&{urlencode(added)}")

    def link_without_filter(self, position: int, rest: str) -> Link:
        """Link to the question without one of its ``filters``; ``rest`` are the others."""
        if self.whole is None:
            return self.replace("filters", *([rest] if rest else [])).link
        return Change(f"f{position}&")

    def link_record(self, page: str, name: str, value: str) -> Link:
        """Link to the page of a record, with one more parameter."""
        if self.whole is None:
            return Link(f"{page}{self.replace(name, value).link}")
        return Change(value, name, page)


def read_change(pairs: Sequence[Pair], change: str) -> tuple[list[Pair], int | None]:
    """
    Read what a button has sent: the changed question, and the position of a filter to leave out.

    What is not a change is left out.
    """
    match = _CHANGE.fullmatch(change)
    if match is None:
        return list(pairs), None
    removed = {int(each) for each in match[1].split(".") if each}
    kept = [pair for position, pair in enumerate(pairs) if position not in removed]
    return [*kept, *parse_qsl(match[3])], int(match[2]) if match[2] else None
