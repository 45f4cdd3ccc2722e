"""
“Did you mean”: words of a table instead of words of a full-text query that no or few records have.

A query is suggested only if it finds records, and many more than the one that was asked
(``docs/decisions/0025``).
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby, islice
from sys import getsizeof
from time import monotonic
from typing import Any, LiteralString, NamedTuple

from psycopg import sql

from ...filters import Clause, compose, join_with_commas
from ...filters.words import has_unspaced_letters, is_part_of_word, remove_diacritics
from ...guards.cache import BoundedCache
from ...messages.availability import QueryTooSlow
from ...search import (
    BoundQuery,
    ConsistentRead,
    Query,
    Relation,
    VersionKey,
    bind_query,
    translate_database_errors,
)
from .conf import conf

#: The time limits that PostgreSQL takes; zero would be none.
_MIN_TIMEOUT_SECONDS, _MAX_TIMEOUT_SECONDS = 0.001, 86_400

#: Words of a table at most, and their lengths.  Shorter ones are like too many others.
MAX_WORDS = 50_000
MIN_WORD_LENGTH, MAX_WORD_LENGTH = 3, 40

#: The part of a table that is sampled, in bytes.
MAX_SAMPLE_BYTES = 4 * 2**20

#: Vocabularies of all tables in the memory of a process.
_MAX_VOCABULARIES = 200
_MAX_VOCABULARY_BYTES = 4_000_000
_MAX_BYTES = 16_000_000


class _Words(NamedTuple):
    """Words of one length in one text, which saves memory, with the mask and rank of each."""

    masks: array[int]
    ranks: array[int]
    text: str


#: Words by their length without diacritics; the most common one has the first rank.
Vocabulary = Mapping[int, _Words]


def find_similar(vocabulary: Vocabulary, word: str, max_distance: int) -> list[tuple[int, str]]:
    """
    Find words at a distance of at most ``max_distance``, with their distances.

    The nearest come first, and among these the most common ones.  Diacritics do not count.
    """
    folded = remove_diacritics(word)
    mask, size = _build_mask(folded), len(folded)
    near: list[tuple[int, int, str]] = []
    for length in range(size - max_distance, size + max_distance + 1):
        masks, ranks, text = vocabulary.get(length) or ((), (), "")
        for other_mask, rank, other in zip(masks, ranks, text.split(), strict=True):
            # An edit changes two bits at most.
            if (other_mask ^ mask).bit_count() <= 2 * max_distance:
                distance = measure_distance(folded, remove_diacritics(other), max_distance)
                if distance <= max_distance:
                    near.append((distance, rank, other))
    return [(distance, other) for distance, _rank, other in sorted(near)]


def _build_mask(word: str) -> int:
    """Build a set of letters as bits: different letters may share one."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


def measure_distance(word: str, other: str, max_distance: int) -> int:
    """
    Count the letters to insert, delete, replace, or swap with the next; stop above a maximum.

    Source: the optimal string alignment distance.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word):
        above, row = row, [i + 1]
        for j, other_letter in enumerate(other):
            cost = min(above[j + 1] + 1, row[j] + 1, above[j] + (letter != other_letter))
            if i and j and letter == other[j - 1] and word[i - 1] == other_letter:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        if min(row) > max_distance:
            return max_distance + 1
        before = above
    return row[-1]


def is_word(text: str) -> bool:
    return (
        MIN_WORD_LENGTH <= len(text) <= MAX_WORD_LENGTH
        and text[0].isalpha()
        and not any(letter.isdigit() for letter in text)
        and not has_unspaced_letters(text)
    )


def build_vocabulary(words: Iterable[str]) -> Vocabulary:
    """Build a vocabulary of words, of which the most common ones come first."""
    by_length: dict[int, list[tuple[int, str]]] = {}
    for rank, word in enumerate(filter(is_word, words)):
        by_length.setdefault(len(remove_diacritics(word)), []).append((rank, word))
    return {
        length: _Words(
            array("Q", [_build_mask(remove_diacritics(word)) for _rank, word in each]),
            array("I", [rank for rank, _word in each]),
            " ".join(word for _rank, word in each),
        )
        for length, each in by_length.items()
    }


# The words of a table -----------------------------------------------------------------------------


vocabulary_cache: BoundedCache[VersionKey, Vocabulary] = BoundedCache(
    "vocabularies",
    _MAX_VOCABULARIES,
    max_size=_MAX_BYTES,
    max_value_size=_MAX_VOCABULARY_BYTES,
    measure=lambda kept: sum(getsizeof(each) for words in kept.values() for each in words),
)


#: The words of a sample as one text, the most common ones first.
_COMMON_WORDS: LiteralString = (
    "SELECT coalesce(string_agg(word, ' ' ORDER BY ndoc DESC, word), '') FROM (SELECT word,"
    " ndoc FROM (SELECT tableoid AS table FROM {table} LIMIT 1) AS records,"
    " ts_stat(format('SELECT search FROM %%s TABLESAMPLE SYSTEM (%%s)"
    " REPEATABLE (0)', records.table::regclass, least(100, 100.0 * {bytes} / greatest(1,"
    " pg_table_size(records.table)))), 'abcd')"
    " WHERE char_length(word) BETWEEN {shortest} AND {longest}"
    " AND translate(word, '0123456789', '') = word"
    " ORDER BY ndoc DESC LIMIT {words}) AS common"
)

#: Words of a query that are compared with the table's words, and suggestions for each.
_MAX_COMPARED_WORDS = 10
MAX_SUGGESTED_WORDS = 5

#: Queries that are suggested, of those that are tried.
MAX_SUGGESTED_QUERIES = 3
_MAX_TRIED_QUERIES = 6

#: The records with a word are counted up to this number.
MAX_COUNTED_RECORDS = 1_000

#: A query that finds more records is not corrected; nor is a word, unless one that differs in one
#: letter is so many times as frequent.
MAX_RARE_RECORDS = 20
_MIN_FREQUENCY_RATIO = 20

#: From this length on, two letters may differ.
_MIN_LONG_WORD = 6


@dataclass(frozen=True, slots=True)
class SimilarWord:
    """A word of the table, how many letters differ, and how many records it finds up to a limit."""

    word: str
    distance: int
    count: int


@dataclass(frozen=True, slots=True)
class SuggestedQuery:
    q: str
    total: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """
    The words of a query that no or few records have, with similar words, and queries with these.

    ``is_complete`` is false if the time was too short.
    """

    words: Mapping[str, Sequence[SimilarWord]]
    queries: Sequence[SuggestedQuery]
    is_complete: bool = True


NO_SUGGESTIONS = Suggestions({}, ())


def suggest_queries(
    read: ConsistentRead, query: Query, timeout: timedelta = timedelta.max
) -> Suggestions:
    """
    Suggest queries in place of one that finds no or few records; nothing for any other.

    Only ``q`` is read, as plain words over all fields.  ``timeout`` is the time of all statements,
    if it is shorter than the setting.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    with translate_database_errors(plain=query.plain):
        bound = bind_query(read, query)
        if not query.q or query.q_fields or not query.plain:
            return NO_SUGGESTIONS
        with read.session.hold_slot():
            seconds = min(conf.SUGGESTIONS_TIMEOUT, timeout).total_seconds()
            return _Speller(read, query, monotonic() + seconds).suggest(bound)


@dataclass(frozen=True)
class _Speller:
    _read: ConsistentRead
    _query: Query
    _deadline: float

    def suggest(self, bound: BoundQuery) -> Suggestions:
        similar, queries = dict[str, list[SimilarWord]](), list[SuggestedQuery]()
        try:
            count = self._fetch_value(_count_up_to_maximum(bound.relation, bound.where))
            words: list[str] = []
            if count <= MAX_RARE_RECORDS:
                parts = dict.fromkeys(part.lower() for part in _split_query(self._query.q))
                words = list(islice(filter(is_word, parts), _MAX_COMPARED_WORDS))
            counts = self._count_records(words)
            rare = {word: number for word, number in counts.items() if number <= MAX_RARE_RECORDS}
            if not rare:
                return NO_SUGGESTIONS
            similar = self._find_similar(rare, self._read_vocabulary())
            nearest = None
            for distance, q in _list_corrected_queries(self._query.q, similar):
                if nearest not in {None, distance} or len(queries) == MAX_SUGGESTED_QUERIES:
                    break
                corrected = bind_query(self._read, replace(self._query, q=q))
                total = self._fetch_value(corrected.select_count())
                if total > count:  # the others must be equally near
                    nearest = distance
                    queries.append(SuggestedQuery(q, total))
        except QueryTooSlow:
            return Suggestions(similar, queries, is_complete=False)
        return Suggestions(similar, queries)

    def _fetch_value(self, statement: Clause) -> Any:
        """Fetch a value in the time that is left.  Raises: as ``ConsistentRead.fetch_rows``."""
        seconds = self._deadline - monotonic()
        if seconds < _MIN_TIMEOUT_SECONDS:
            raise QueryTooSlow
        limit = timedelta(seconds=min(seconds, _MAX_TIMEOUT_SECONDS))
        with translate_database_errors():
            ((value,),) = self._read.fetch_rows(statement, limit=limit)
        return value

    def _read_vocabulary(self) -> Vocabulary:
        """Read the words of the resource, once in a process until it changes."""
        key = self._read.version_key
        vocabulary = vocabulary_cache.get(key) if key else None
        if vocabulary is None:
            statement = sql.SQL(_COMMON_WORDS).format(
                table=self._read.relation.source.text,
                bytes=sql.Literal(MAX_SAMPLE_BYTES),
                shortest=sql.Literal(MIN_WORD_LENGTH),
                longest=sql.Literal(MAX_WORD_LENGTH),
                words=sql.Literal(MAX_WORDS),
            )
            vocabulary = build_vocabulary(self._fetch_value(Clause(statement)).split())
            if key:
                vocabulary_cache.add(key, vocabulary)
        return vocabulary

    def _find_similar(
        self, rare: Mapping[str, int], vocabulary: Vocabulary
    ) -> dict[str, list[SimilarWord]]:
        """
        Find words similar to rare ones, that many more records have.

        A word that some records have is left out if there is none.
        """
        near = {}
        for word, number in rare.items():
            max_distance = 2 if len(word) >= _MIN_LONG_WORD and not number else 1
            found = find_similar(vocabulary, word, max_distance)
            near[word] = [each for each in found if each[1] != word][:MAX_SUGGESTED_WORDS]
        counts = self._count_records([each for words in near.values() for _, each in words])
        similar = {
            word: [
                SimilarWord(each, distance, counts[each])
                for distance, each in words
                if counts[each] >= max(1, rare[word] * _MIN_FREQUENCY_RATIO)
            ]
            for word, words in near.items()
        }
        return {word: words for word, words in similar.items() if words or not rare[word]}

    def _count_records(self, words: Iterable[str]) -> dict[str, int]:
        """Count the records with each word, up to a maximum."""
        words = list(dict.fromkeys(words))
        if not words:
            return {}
        relation = self._read.relation
        language = self._query.language or relation.language
        is_found = sql.SQL("search @@ datastore_search_tsquery(%s, %s::regconfig)")
        counts = [
            compose("({})", _count_up_to_maximum(relation, Clause(is_found, [word, language])))
            for word in words
        ]
        found = self._fetch_value(compose("SELECT ARRAY[{}]", join_with_commas(counts)))
        return dict(zip(words, found, strict=True))


def _count_up_to_maximum(relation: Relation, where: Clause) -> Clause:
    """Count up to a maximum; for less, PostgreSQL reads the table in hope of an early match."""
    counted = "SELECT count(*) FROM (SELECT FROM {} WHERE {} LIMIT {}) AS found"
    return compose(counted, relation.source, where, Clause(sql.Literal(MAX_COUNTED_RECORDS)))


def _split_query(q: str) -> list[str]:
    composed = unicodedata.normalize("NFC", q)
    return ["".join(letters) for _is_word, letters in groupby(composed, is_part_of_word)]


def _list_corrected_queries(
    q: str, similar: Mapping[str, Sequence[SimilarWord]]
) -> list[tuple[int, str]]:
    """List queries with similar words for missing ones, after their distance, nearest first."""
    if not similar or not all(similar.values()):
        return []
    best = {word: candidates[0] for word, candidates in similar.items()}
    others = [
        {**best, word: each} for word, candidates in similar.items() for each in candidates[1:]
    ]
    parts = _split_query(q)
    queries = [
        (
            sum(each.distance for each in words.values()),
            "".join(words[part.lower()].word if part.lower() in words else part for part in parts),
        )
        for words in [best, *others]
    ]
    return sorted(queries, key=lambda each: each[0])[:_MAX_TRIED_QUERIES]
