"""
The top matches of full-text queries that were ranked last, kept in the process.

Ranking a common word reads all its matches.  Their order is the same until the resource has
another version, so the ids and ranks of the first matches and the number of all are kept: other
pages, and the same question of others, then read only their own records (``docs/decisions/0027``).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from psycopg import sql

from ..guards.cache import BoundedCache
from .binding import BoundQuery
from .reads import ConsistentRead, VersionKey

#: The ids that are kept of a question: ten pages.
MAX_TOP_IDS: Final = 1_000

#: Kept questions, with at most 8 kB of ids and 8 kB of each rank.
_MAX_QUESTIONS = 5_000
_MAX_BYTES = 20_000_000

#: The conditions of a kept question, in letters: a filter may have thousands of values.
_MAX_KEY_LENGTH = 2_000


class TopMatchesKey(NamedTuple):
    """A version of a resource, and the conditions of a question in SQL."""

    version: VersionKey
    where: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopMatches:
    """
    The first ``MAX_TOP_IDS`` ids by rank, and their ranks, a list for each rank.

    ``total`` is None where matches were not counted.
    """

    ids: Sequence[int]
    ranks: Sequence[Sequence[float]]
    total: int | None

    def take(self, part: slice) -> TopMatches:
        """Take a part of the ids, and their ranks."""
        return TopMatches(self.ids[part], [each[part] for each in self.ranks], self.total)


top_matches_cache: BoundedCache[TopMatchesKey, TopMatches] = BoundedCache(
    "top_matches",
    _MAX_QUESTIONS,
    max_size=_MAX_BYTES,
    max_value_size=_MAX_BYTES,
    measure=lambda top: 8 * len(top.ids) * (1 + len(top.ranks)),
)


def build_top_matches_key(read: ConsistentRead, bound: BoundQuery) -> TopMatchesKey | None:
    """Build the key of a ranked query whose page may be kept; None for any other."""
    version, query = read.version_key, bound.query
    is_within = bound.end is not None and bound.end <= MAX_TOP_IDS
    if version is None or not is_within or query.is_copied:
        return None
    where = bound.where.text.as_string()
    parameters = tuple([sql.Literal(each).as_string() for each in bound.where.parameters])
    is_short = len(where) + sum(map(len, parameters)) <= _MAX_KEY_LENGTH
    return TopMatchesKey(version, where, parameters) if is_short else None


def get_top_matches(key: TopMatchesKey, *, is_counted: bool) -> TopMatches | None:
    """Get the kept top matches of a query; None without them, or without a count that is needed."""
    top = top_matches_cache.get(key)
    return None if top is None or (is_counted and top.total is None) else top


def keep_top_matches(key: TopMatchesKey, head: Sequence[bytes | None], *, is_counted: bool) -> None:
    """Keep a ranking's number of matches and arrays of ids and ranks; none without a match."""
    total, ids, *ranks = head
    if ids is not None:
        numbers = array("q", map(int, ids[1:-1].split(b",")))
        values = [array("d", map(float, (each or b"")[1:-1].split(b","))) for each in ranks]
        is_all = len(numbers) < MAX_TOP_IDS
        known = len(numbers) if is_all else int(total or 0) if is_counted else None
        top_matches_cache.add(key, TopMatches(numbers, values, known))
