"""
The top matches of full-text queries that were ranked last, kept in the process.

Ranking a common word reads all its matches.  Their order is the same until the resource has
another version, so the ids of the first matches and the number of all are kept: other pages, and
the same question of others, then read only their own records (``docs/decisions/0027``).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from psycopg import sql

from ..bounded_cache import BoundedCache
from .common_words import has_rare_word
from .consistency import ConsistentRead, VersionKey
from .query import Query
from .sql import BoundQuery

#: The ids that are kept of a question: ten pages.  With fewer matches, ranking is fast.
MAX_TOP_IDS: Final = 1_000

#: Kept questions, with 8 kB of ids each.
_MAX_QUESTIONS = 1_000

#: The conditions of a kept question, in letters: a filter may have thousands of values.
_MAX_KEY_LENGTH = 2_000


class TopMatchesKey(NamedTuple):
    """A version of a resource, and the conditions of a question in SQL."""

    version: VersionKey
    where: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopMatches:
    """The first ``MAX_TOP_IDS`` ids by rank; ``total`` is None where matches were not counted."""

    ids: array[int]
    total: int | None


top_matches_cache: BoundedCache[TopMatchesKey, TopMatches] = BoundedCache(
    "top_matches", _MAX_QUESTIONS
)


def build_top_matches_key(
    read: ConsistentRead, query: Query, bound: BoundQuery
) -> TopMatchesKey | None:
    """Build the key of a query whose page may be kept; None for any other."""
    version = read.version_key
    is_within = bound.end is not None and bound.end <= MAX_TOP_IDS
    if version is None or not is_within or not bound.is_ranked or bound.is_copied:
        return None
    if has_rare_word(read, query, limit=MAX_TOP_IDS):
        return None
    where = bound.where.text.as_string()
    parameters = tuple(sql.Literal(each).as_string() for each in bound.where.parameters)
    is_short = len(where) + sum(map(len, parameters)) <= _MAX_KEY_LENGTH
    return TopMatchesKey(version, where, parameters) if is_short else None


def use_top_matches(key: TopMatchesKey, query: BoundQuery, *, is_counted: bool) -> bool:
    """Add the kept top matches to the query; return False without them, or without a count."""
    top = top_matches_cache.get(key)
    if top is None or (is_counted and top.total is None):
        return False
    query.top_ids, query.known_total = top.ids, top.total
    return True


def keep_top_matches(key: TopMatchesKey, head: Sequence[bytes | None], *, is_counted: bool) -> None:
    """Keep a ranking's number of matches and array of ids; one without ids is not kept."""
    total, ids = head
    if ids is not None:
        numbers = array("q", map(int, ids[1:-1].split(b",")))
        top = TopMatches(numbers, int(total or 0) if is_counted else None)
        top_matches_cache.add(key, top)
