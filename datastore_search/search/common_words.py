"""Which words of a table are common; rare ones' ranks are not kept (``docs/decisions/0027``)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from psycopg import sql

from ..bounded_cache import BoundedCache
from ..filters import Clause
from ..words import split_words
from .consistency import ConsistentRead, VersionKey
from .query import Query

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
    if count < limit:
        return True
    words = [
        word
        for text in (query.q, *query.q_fields.values())
        for word in split_words(text.lower())
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
