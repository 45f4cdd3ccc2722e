"""
The words of a table, for suggestions, from a sample of its records.

The search vectors have them, so that nothing is computed when records are loaded.  Only words as
they are written have positions there; stems and words without diacritics are left out
(``docs/decisions/0025``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sys import getsizeof
from typing import NamedTuple

from psycopg import sql

from ...filters import Clause
from ...filters.words import has_unspaced_letters, remove_diacritics
from ...guards.cache import BoundedCache
from ...search import ConsistentRead, VersionKey
from .time_budget import TimeBudget

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


_NO_WORDS = _Words(array("Q"), array("I"), "")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by their length without diacritics; the most common one has the first rank."""

    words: Mapping[int, _Words]

    @property
    def size_bytes(self) -> int:
        """The size in memory."""
        return sum(getsizeof(part) for words in self.words.values() for part in words)

    def find_similar(self, word: str, max_distance: int) -> list[tuple[int, str]]:
        """
        Find words at a distance of at most ``max_distance``, with their distances.

        The nearest come first, and among these the most common ones.  Diacritics do not count.
        """
        folded = remove_diacritics(word)
        mask, size = _build_mask(folded), len(folded)
        near: list[tuple[int, int, str]] = []
        for length in range(size - max_distance, size + max_distance + 1):
            masks, ranks, text = self.words.get(length, _NO_WORDS)
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
    """Return whether a text is a word that may be suggested."""
    return (
        MIN_WORD_LENGTH <= len(text) <= MAX_WORD_LENGTH
        and text[0].isalpha()
        and not any(letter.isdigit() for letter in text)
        and not has_unspaced_letters(text)
    )


def build_vocabulary(words: Iterable[str]) -> Vocabulary:
    """Build a vocabulary of words, the most common ones first."""
    by_length: dict[int, list[tuple[int, str]]] = {}
    for rank, word in enumerate(filter(is_word, words)):
        by_length.setdefault(len(remove_diacritics(word)), []).append((rank, word))
    return Vocabulary(
        {
            length: _Words(
                array("Q", [_build_mask(remove_diacritics(word)) for _rank, word in each]),
                array("I", [rank for rank, _word in each]),
                " ".join(word for _rank, word in each),
            )
            for length, each in by_length.items()
        }
    )


# The words of a table -----------------------------------------------------------------------------


vocabulary_cache: BoundedCache[VersionKey, Vocabulary] = BoundedCache(
    "vocabularies",
    _MAX_VOCABULARIES,
    max_size=_MAX_BYTES,
    max_value_size=_MAX_VOCABULARY_BYTES,
    measure=lambda vocabulary: vocabulary.size_bytes,
)


def read_vocabulary(read: ConsistentRead, budget: TimeBudget) -> Vocabulary | None:
    """Read the words of a resource, once in a process until it changes; None without the time."""
    key = read.version_key
    vocabulary = vocabulary_cache.get(key) if key else None
    if vocabulary is None:
        rows = budget.fetch_rows(read, _select_words(read))
        if rows is None:
            return None
        vocabulary = build_vocabulary(rows[0][0].split())
        if key:
            vocabulary_cache.add(key, vocabulary)
    return vocabulary


def _select_words(read: ConsistentRead) -> Clause:
    """Select the words of a sample as one text, the most common ones first."""
    return Clause(
        sql.SQL(
            "SELECT coalesce(string_agg(word, ' ' ORDER BY ndoc DESC, word), '') FROM (SELECT word,"
            " ndoc FROM (SELECT tableoid AS table FROM {table} LIMIT 1) AS records,"
            " ts_stat(format('SELECT search FROM %%s TABLESAMPLE SYSTEM (%%s)"
            " REPEATABLE (0)', records.table::regclass, least(100, 100.0 * {bytes} / greatest(1,"
            " pg_table_size(records.table)))), 'abcd')"
            " WHERE char_length(word) BETWEEN {shortest} AND {longest}"
            " AND translate(word, '0123456789', '') = word"
            " ORDER BY ndoc DESC LIMIT {words}) AS common"
        ).format(
            table=read.relation.source.text,
            bytes=sql.Literal(MAX_SAMPLE_BYTES),
            shortest=sql.Literal(MIN_WORD_LENGTH),
            longest=sql.Literal(MAX_WORD_LENGTH),
            words=sql.Literal(MAX_WORDS),
        )
    )
