"""
The top matches of full-text queries that were ranked last, kept in the process.

Ranking a common word reads all its matches.  Their order is the same until the resource has
another version, so the ids and ranks of the first matches and the number of all are kept: other
pages, and the same question of others, then read only their own records (``docs/decisions/0027``).

Rare words are ranked in no time, so what has a rare word is not kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from psycopg import sql

from ..filters import Clause
from ..filters.words import split_words
from ..guards.cache import BoundedCache
from .binding import BoundQuery
from .query import Query
from .reads import ConsistentRead, VersionKey

#: The ids that are kept of a question: ten pages.  With fewer matches, ranking is fast.
MAX_TOP_IDS: Final = 1_000

#: Kept questions, with 8 kB of ids and 8 kB of each rank.
_MAX_QUESTIONS = 1_000
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
    if has_rare_word(read, query, limit=MAX_TOP_IDS):
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
    """Keep a ranking's number of matches and arrays of ids and ranks; one without is not kept."""
    total, ids, *ranks = head
    if ids is not None:
        numbers = array("q", map(int, ids[1:-1].split(b",")))
        values = [array("d", map(float, (each or b"")[1:-1].split(b","))) for each in ranks]
        top = TopMatches(numbers, values, int(total or 0) if is_counted else None)
        top_matches_cache.add(key, top)


# Rare words ---------------------------------------------------------------------------------------

#: Words that begin alike count together: a query finds forms of a word, too.
_BEGINNING_LENGTH = 4

#: Shorter words begin too many others that the statistics may not have.
_MIN_WORD_LENGTH = 5

#: Tables whose common words a process keeps; PostgreSQL has at most a thousand of each by default.
_MAX_TABLES = 100

#: The share of the records that have a word, by the words in order.
_Shares = Sequence[tuple[str, float]]

common_words_cache: BoundedCache[VersionKey, _Shares] = BoundedCache("common_words", _MAX_TABLES)


def has_rare_word(read: ConsistentRead, query: Query, *, limit: int) -> bool:
    """
    Return whether probably fewer than ``limit`` records match a query, for one of its words.

    A word counts in plain queries, of ASCII letters and digits.
    """
    count, version = read.relation.record_count, read.version_key
    if count is None or version is None or not query.plain or query.substrings:
        return False
    if query.websearch and " OR " in " ".join([query.q, *query.q_fields.values()]):
        return False
    if count < limit:
        return True
    words = [
        word
        for text in (query.q, *query.q_fields.values())
        for term in text.lower().split()
        if not (query.websearch and term.startswith("-"))
        for word in split_words(term)
        if word.isascii() and len(word) >= _MIN_WORD_LENGTH
    ]
    if not words:
        return False
    shares = common_words_cache.get(version)
    if shares is None:
        shares = _read_shares(read)
        common_words_cache.add(version, shares)
    return bool(shares) and any(_sum_shares(shares, word) * count < limit for word in words)


def _sum_shares(shares: _Shares, word: str) -> float:
    """Sum the shares of the words that begin as a word does, and of a short stem: “run”."""
    beginning = word[:_BEGINNING_LENGTH]
    total = 0.0
    for position in range(bisect_left(shares, (beginning,)), len(shares)):
        other, share = shares[position]
        if not other.startswith(beginning):
            break
        total += share
    stem = beginning[:-1]
    position = bisect_left(shares, (stem,))
    if position < len(shares) and shares[position][0] == stem:
        total += shares[position][1]
    return total


def _read_shares(read: ConsistentRead) -> _Shares:
    """Read the shares of the most common words; none before PostgreSQL has analyzed the table."""
    statement = Clause(
        sql.SQL(
            "SELECT word, share FROM pg_class JOIN pg_stats ON tablename = relname"
            " AND schemaname = relnamespace::regnamespace::text, unnest("
            "most_common_elems::text::text[], most_common_elem_freqs) AS common (word, share)"
            " WHERE pg_class.oid = {}::regclass AND attname = 'search' AND word IS NOT NULL"
        ).format(sql.Literal(read.relation.source.text.as_string()))
    )
    return sorted((word, float(share)) for word, share in read.fetch_rows(statement))
