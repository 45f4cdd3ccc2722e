"""
Search vectors that a load makes itself, equal to those of ``datastore_search_vector``.

PostgreSQL's function reads every word of every record again.  Here the words of a record are
separated by blanks and punctuation, and PostgreSQL is asked only once for each different word: for
its stem, or, of a word with other letters than those of ASCII, for its own search vector.  What
depends on more than one word at a time is left to PostgreSQL (``docs/decisions/0046``).

A search vector is a text that PostgreSQL reads: the words with their positions, and before each its
other forms.
PostgreSQL sorts them, and joins the positions of words that are repeated.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from django.db.backends.base.base import BaseDatabaseWrapper

#: Longer texts are left to PostgreSQL: a vector has positions up to the 16,383th word only.
_MAX_TEXT_LENGTH: Final = 10_000
#: PostgreSQL's parser ignores words of more than 2,046 bytes.
_MAX_WORD_LENGTH: Final = 500
#: PostgreSQL stores the first 255 positions of a word; what has so many is left to it.
_MAX_POSITIONS: Final = 250
#: Words that are remembered.  A file may have a different one in each cell.
_MAX_KNOWN_WORDS: Final = 200_000
#: Templates of vectors that are remembered, by the number of words.
_MAX_TEMPLATES: Final = 1_000
#: Words with digits that are remembered: those that are short, such as years.
_MAX_REMEMBERED_DIGITS: Final = 4
#: Words of one text from which PostgreSQL finds stems; their places are the words' positions, of
#: which it stores 255 for a stem.
_WORDS_PER_TEXT: Final = 250
#: Where more of the first records are left to PostgreSQL, all are.
_MAX_UNKNOWN_SHARE: Final = 0.2
#: This number of vectors is compared with PostgreSQL's before any is used.
_COMPARED_RECORDS: Final = 200

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
#: ASCII in lower case, and each punctuation mark as a blank.
_FOLDED: Final = bytes(
    ord(chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)
).ljust(256)
_CHUNK: Final = re.compile(r"[0-9A-Za-z\u0080-\U0010FFFF]+")
#: The T of a timestamp is no letter of a word, as in ``datastore_search_split``.
_TIMESTAMP: Final = re.compile(r"(-[0-9][0-9])T([0-9][0-9]:)")
#: The parser reads digits, an e and digits as a number, whatever follows.
_NUMBER_BEFORE_LETTERS: Final = re.compile(r"([0-9]+e[0-9]+)([a-z].*)")

#: Letters that are compared one by one, or with marks after them: Latin, Greek, Cyrillic, Hebrew
#: and Arabic, with their punctuation.
_KNOWN_LETTERS: Final = re.compile(
    r"[0-9A-Za-z\u0080-\u052F\u0590-\u06FF\u1E00-\u1FFF\u2010-\u2027\u2030-\u205E\u20A0-\u20BF"
    r"\u2122]+"
)
_PART_OF_TIMESTAMP: Final = re.compile(r"\dT\d")  # digits of any script


class _Words(dict[str, str]):
    """
    What a vector has of a chunk that is one word: its other forms, and the word.

    ``missing`` collects the chunks that were looked up in vain; each stands for itself meanwhile.
    """

    def __init__(self) -> None:
        """Know no word."""
        self.missing: list[str] = []

    def __missing__(self, chunk: str) -> str:
        """Return a word with digits: it has no other form, and most are in one record only."""
        if not _is_word_with_digits(chunk):
            self.missing.append(chunk)
        elif len(chunk) <= _MAX_REMEMBERED_DIGITS:
            self[chunk] = chunk
        return chunk


class VectorBuilder:
    """Builds the search vectors of records in a language from the texts of their values."""

    def __init__(self, connection: BaseDatabaseWrapper, language: str) -> None:
        """Build vectors in a language that ``can_build_vectors`` has approved."""
        self._connection, self._language = connection, language
        self._words = _Words()
        #: What a vector has of the words of other chunks; None for one that PostgreSQL must read.
        self._parts: dict[str, tuple[str, ...] | None] = {}

    def build(self, texts: Sequence[str]) -> list[str | None]:
        """Build the vectors of records; None is one that PostgreSQL must build."""
        if len(self._words) + len(self._parts) > _MAX_KNOWN_WORDS:
            self._words, self._parts = _Words(), {}
        vectors: list[str | None] = []
        waiting: dict[int, tuple[str, ...]] = {}
        missing: set[str] = set()
        # Record by record, so that the words of one stay in the processor's cache, and by calls of
        # built-in functions: a record has a hundred words.
        for number, text in enumerate(texts):
            chunks = _split(text)
            words = None if chunks is None else tuple(map(self._words.__getitem__, chunks))
            if words and self._words.missing:
                waiting[number], words = words, None
                missing.update(self._words.missing)
                self._words.missing.clear()
            vectors.append(None if words is None else _join(words))
        self._learn(missing)
        found = {chunk: self._words.get(chunk, chunk) for chunk in missing}
        for number, words in waiting.items():
            separated = self._separate(tuple(map(found.get, words, words)))
            vectors[number] = None if separated is None else _join(separated)
        return vectors

    def _separate(self, words: tuple[str, ...]) -> tuple[str, ...] | None:
        """Separate the chunks of several words; None if one is left to PostgreSQL."""
        if self._parts.keys().isdisjoint(words):
            return words
        separated: list[str] = []
        for word in words:
            if word not in self._parts:
                separated.append(word)
                continue
            parts = self._parts[word]
            if parts is None:
                return None
            separated += parts
        return tuple(separated)

    # What PostgreSQL is asked ---------------------------------------------------------------------

    def _learn(self, chunks: set[str]) -> None:
        """Learn the words of the chunks that are new."""
        other: list[str] = []
        words: set[str] = set()
        numbers: dict[str, re.Match[str]] = {}
        for chunk in chunks.difference(self._words, self._parts):
            if not chunk.isascii():
                other.append(chunk)
            elif len(chunk) > _MAX_WORD_LENGTH:
                self._parts[chunk] = None
            elif chunk.isalpha():
                words.add(chunk)
            elif "e" in chunk and (match := _NUMBER_BEFORE_LETTERS.fullmatch(chunk)):
                numbers[chunk] = match
                words.add(match[2])
        self._learn_words(words)
        for chunk, match in numbers.items():
            self._parts[chunk] = (match[1], self._words[match[2]])
        self._learn_parts(other)

    def _learn_words(self, words: set[str]) -> None:
        self._words.update(zip(words, words, strict=True))
        alphabetic = filter(str.isalpha, words)
        with self._connection.cursor() as cursor:
            for group in _split_groups(alphabetic, _WORDS_PER_TEXT):
                cursor.execute(
                    "SELECT lexeme, position"
                    " FROM unnest(to_tsvector(%s::regconfig, %s)), unnest(positions) AS position",
                    [self._language, " ".join(group)],
                )
                for lexeme, position in cursor.fetchall():
                    word = group[position - 1]
                    if lexeme != word:
                        self._words[word] = f"{_quote(lexeme)} {word}"

    def _learn_parts(self, chunks: Sequence[str]) -> None:
        self._parts.update(dict.fromkeys(chunks))
        asked = [chunk for chunk in chunks if _can_stand_alone(chunk)]
        if not asked:
            return
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT number, ARRAY(SELECT lexeme FROM unnest(vector)),"
                " ARRAY(SELECT coalesce(array_to_string(positions, ' '), '') FROM unnest(vector))"
                " FROM (SELECT number, datastore_search_lexemes("
                "datastore_search_words(chunk), %s::regconfig) AS vector"
                " FROM unnest(%s::text[]) WITH ORDINALITY AS chunks (chunk, number)) AS vectors",
                [self._language, asked],
            )
            for number, lexemes, positions in cursor.fetchall():
                chunk, parts = asked[number - 1], _read_parts(lexemes, positions)
                if parts is not None and len(parts) == 1:
                    (self._words[chunk],) = parts
                    del self._parts[chunk]
                else:
                    self._parts[chunk] = parts


def _split(text: str) -> list[str] | None:
    """Split the text of a record into chunks that can be known by themselves."""
    if len(text) > _MAX_TEXT_LENGTH:
        return None
    if "T" in text and _TIMESTAMP.search(text):
        text = _TIMESTAMP.sub(r"\1 \2", text)
    if text.isascii():
        return text.encode().translate(_FOLDED).decode().split()
    return [chunk.lower() if chunk.isascii() else chunk for chunk in _CHUNK.findall(text)]


def _is_word_with_digits(chunk: str) -> bool:
    return (
        chunk.isascii()
        and not chunk.isalpha()
        and len(chunk) <= _MAX_WORD_LENGTH
        and ("e" not in chunk or _NUMBER_BEFORE_LETTERS.fullmatch(chunk) is None)
    )


def _join(words: tuple[str, ...]) -> str | None:
    """Join words with their positions; None if one has too many."""
    if len(words) > _MAX_POSITIONS and max(Counter(words).values()) > _MAX_POSITIONS:
        return None
    return _build_template(len(words)) % words


@lru_cache(_MAX_TEMPLATES)
def _build_template(count: int) -> str:
    """Build the template of a vector of some words, each with its position."""
    return " ".join(f"%s:{position}" for position in range(1, count + 1))


def _can_stand_alone(chunk: str) -> bool:
    """Return whether a chunk has the same words by itself as between ASCII punctuation."""
    if len(chunk) > _MAX_WORD_LENGTH or not _KNOWN_LETTERS.fullmatch(chunk):
        return False
    plain = unicodedata.normalize("NFKC", chunk)
    return not (
        unicodedata.category(chunk[0]).startswith("M")
        or unicodedata.category(plain[0]).startswith("M")
        or _PART_OF_TIMESTAMP.search(plain)
    )


def _read_parts(lexemes: list[str], positions: list[str]) -> tuple[str, ...] | None:
    """
    Read the vector of a chunk: its words, the first after the other forms.

    None unless each position has one word.
    """
    words: dict[int, str] = {}
    other_forms = []
    for lexeme, text in zip(map(_quote, lexemes), positions, strict=True):
        numbers = [int(number) for number in text.split()]
        words |= dict.fromkeys(numbers, lexeme)
        if not numbers:
            other_forms.append(lexeme)
    if sorted(words) != list(range(1, len(words) + 1)) or (other_forms and not words):
        return None
    parts = [words[number] for number in sorted(words)]
    parts[:1] = [" ".join([*other_forms, *parts[:1]])] if parts else []
    return tuple(parts)


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _split_groups(words: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(words)
    while group := list(islice(rest, size)):
        yield group


# Whether vectors can be built ---------------------------------------------------------------------


def can_build_vectors(
    connection: BaseDatabaseWrapper, language: str, records: Sequence[str], texts: Sequence[str]
) -> bool:
    """
    Return whether a load can build the vectors of a file, by its first records and their texts.

    It cannot in a configuration that was made or changed on this server, or in a database whose
    lower case of ASCII is not that of English.
    """
    if not _has_plain_words(connection, language):
        return False
    vectors = VectorBuilder(connection, language).build(texts)
    if vectors.count(None) > len(vectors) * _MAX_UNKNOWN_SHARE:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT bool_and(vector::tsvector = datastore_search_vector("
            "record::jsonb, %s::regconfig)) IS NOT false"
            " FROM unnest(%s::text[], %s::text[]) AS compared (record, vector)",
            [language, list(records[:_COMPARED_RECORDS]), vectors[:_COMPARED_RECORDS]],
        )
        (are_equal,) = cursor.fetchone()
    return bool(are_equal)


def _has_plain_words(connection: BaseDatabaseWrapper, language: str) -> bool:
    """Return whether words of ASCII are what PostgreSQL's own configurations make of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT cfgnamespace = 'pg_catalog'::regnamespace"
            " AND cfgparser = (SELECT oid FROM pg_ts_parser WHERE prsname = 'default'"
            "  AND prsnamespace = 'pg_catalog'::regnamespace)"
            " AND (SELECT count(*) = 3 AND bool_and(mapdict = 'pg_catalog.simple'::regdictionary)"
            "  FROM pg_ts_config_map JOIN ts_token_type(cfgparser) ON tokid = maptokentype"
            "  WHERE mapcfg = pg_ts_config.oid AND alias IN ('uint', 'sfloat', 'numword'))"
            " AND (SELECT dictinitoption IS NULL FROM pg_ts_dict"
            "  WHERE oid = 'pg_catalog.simple'::regdictionary)"
            " AND to_tsvector('pg_catalog.simple', upper(%s)) = %s::tsvector"
            " FROM pg_ts_config WHERE oid = %s::regconfig",
            [_LETTERS, f"{_LETTERS}:1", language],
        )
        (is_plain,) = cursor.fetchone()
    return bool(is_plain)
