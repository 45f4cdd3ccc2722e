"""The question of a page as the parameters of its address, which every link repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict

from ....filters.names import quote_name

Pair = tuple[str, str]

#: The parameter of a button: other values of some parameters, as a query string.
CHANGE = "set"


@lru_cache(maxsize=1_024)
def _encode(pair: Pair) -> str:
    """Write a parameter, which hundreds of links of a page may repeat."""
    return urlencode([pair])


@dataclass(frozen=True, slots=True)
class QueryString:
    """Names and values of parameters, in the order of the address; none is empty."""

    pairs: tuple[Pair, ...] = ()

    def remove(self, *names: str) -> QueryString:
        """Leave out all parameters of some names."""
        return QueryString(tuple(pair for pair in self.pairs if pair[0] not in names))

    def replace(self, name: str, *values: str) -> QueryString:
        """Give a parameter other values, at the end."""
        return QueryString((*self.remove(name).pairs, *((name, value) for value in values)))

    @property
    def query(self) -> str:
        """The end of an address: empty, or a question mark with the parameters."""
        return f"?{'&'.join(map(_encode, self.pairs))}" if self.pairs else ""

    @property
    def link(self) -> str:
        """A link, relative to a page at a path that ends with a slash."""
        return self.query or "./"


def write_change(name: str, *values: str) -> str:
    """Write what a button changes: new values; or the parameter, or a value of "-name", goes."""
    return urlencode([(name, value) for value in values or ("",)])


def apply_change(sent: QueryDict, names: Sequence[str]) -> list[Pair]:
    """
    List the parameters that a button asks for, in the form that has those of its page.

    Of the ``names`` of columns, some may be checked: the fewer of the shown and hidden are listed.
    """
    change = parse_qsl(sent.get(CHANGE, ""), keep_blank_values=True)
    if checked := set(sent.getlist("shown")):
        shown = [("fields", quote_name(name)) for name in names if name in checked]
        hidden = [("hide", name) for name in names if name not in checked]
        change += hidden if len(hidden) < len(shown) else shown
    given, replaced = {*change}, {CHANGE, "shown", *(name for name, _value in change)}
    pairs = [(name, value) for name in sent if name not in replaced for value in sent.getlist(name)]
    kept = [(name, value) for name, value in pairs if (f"-{name}", value) not in given]
    return [*kept, *(pair for pair in change if pair[1] and not pair[0].startswith("-"))]
