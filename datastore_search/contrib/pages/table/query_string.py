"""The question of a page as the parameters of its address, which every link repeats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

Pair = tuple[str, str]


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

    def remove_pairs(self, *pairs: Pair) -> QueryString:
        """Leave out some parameters."""
        return QueryString(tuple(pair for pair in self.pairs if pair not in pairs))

    def replace(self, name: str, *values: str) -> QueryString:
        """Give a parameter other values, at the end."""
        return QueryString((*self.remove(name).pairs, *((name, value) for value in values)))

    def add(self, name: str, value: str) -> QueryString:
        """Add a value, unless it is there."""
        pair = name, value
        return self if pair in self.pairs else QueryString((*self.pairs, pair))

    @property
    def query(self) -> str:
        """The end of an address: empty, or a question mark with the parameters."""
        return f"?{'&'.join(map(_encode, self.pairs))}" if self.pairs else ""

    @property
    def link(self) -> str:
        """A link, relative to a page at a path that ends with a slash."""
        return self.query or "./"
