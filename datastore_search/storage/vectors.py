"""
Search vectors that a load makes itself, equal to those of ``datastore_search_vector``.

PostgreSQL's function reads every word of every record again.  Here the words of a record are
separated by blanks and punctuation, and PostgreSQL is asked only once for each different word: for
its stem, or, of a word with other letters than those of ASCII, for its own search vector.  What
depends on more than one word at a time is left to PostgreSQL (``docs/decisions/0046``).

A search vector is a text that PostgreSQL reads: each word with its position, then the other forms.
PostgreSQL sorts them, and joins the positions of words that are repeated.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import add
from typing import Final, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

#: Longer texts are left to PostgreSQL: a vector has positions up to the 16,383th word only.
_MAX_TEXT_LENGTH: Final = 10_000
#: PostgreSQL's parser ignores words of more than 2,046 bytes.
_MAX_WORD_LENGTH: Final = 500
#: PostgreSQL stores the first 255 positions of a word; what has so many is left to it.
_MAX_POSITIONS: Final = 250
#: Words that are remembered.  A file may have a different one in each cell.
_MAX_KNOWN_WORDS: Final = 200_000
#: Words of one text from which PostgreSQL finds stems; their places are the words' positions, of
#: which it stores 255 for a stem.
_WORDS_PER_TEXT: Final = 250
#: Where more of the first records are left to PostgreSQL, all are.
_MAX_UNKNOWN_SHARE: Final = 0.2
#: This number of vectors is compared with PostgreSQL's before any is used.
_COMPARED_RECORDS: Final = 200

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
#: ASCII in lower case, and each punctuation mark as a blank.
_FOLDED: Final = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
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

#: What follows a word in a vector: its position.
_POSITIONS: Final = tuple(f":{position}" for position in range(1, _MAX_TEXT_LENGTH + 1))


class _Parts(NamedTuple):
    """The words that a chunk of text consists of, in their order, and their other forms."""

    words: tuple[str, ...]
    other_forms: tuple[str, ...] = ()


class VectorBuilder:
    """Builds the search vectors of records in a language from the texts of their values."""

    def __init__(self, connection: BaseDatabaseWrapper, language: str) -> None:
        """Build vectors in a language that ``can_build_vectors`` has approved."""
        self._connection, self._language = connection, language
        self._known: set[str] = set()
        #: The stems of words that differ from their words.
        self._stems: dict[str, str] = {}
        #: What chunks with other letters than those of ASCII consist of; None if it is not known.
        self._parts: dict[str, _Parts | None] = {}

    def build(self, texts: Sequence[str]) -> list[str | None]:
        """Build the vectors of records; None is one that PostgreSQL must build."""
        chunked = [_split(text) for text in texts]
        parts = self._learn(set(chain.from_iterable(filter(None, chunked))))
        return [None if chunks is None else self._build_vector(chunks, parts) for chunks in chunked]

    def _build_vector(self, chunks: list[str], parts: dict[str, _Parts | None]) -> str | None:
        if not parts or parts.keys().isdisjoint(chunks):
            return self._join(chunks, ())
        words: list[str] = []
        other_forms: list[str] = []
        for chunk in chunks:
            if chunk not in parts:
                words.append(chunk)
                continue
            found = parts[chunk]
            if found is None:
                return None
            words += found.words
            other_forms += found.other_forms
        return self._join(words, other_forms)

    def _join(self, words: list[str], other_forms: Iterable[str]) -> str | None:
        """Join words with their positions, their stems, and other forms."""
        if len(words) > _MAX_POSITIONS and max(Counter(words).values()) > _MAX_POSITIONS:
            return None
        # Calls of built-in functions alone: a record has a hundred words.
        stems = filter(None, map(self._stems.get, words))
        return " ".join(chain(map(add, words, _POSITIONS), stems, other_forms))

    # What PostgreSQL is asked ---------------------------------------------------------------------

    def _learn(self, chunks: set[str]) -> dict[str, _Parts | None]:
        """Ask for the chunks that are new, and return the parts of those that are not one word."""
        if len(self._known) + len(self._parts) > _MAX_KNOWN_WORDS:
            self._known, self._stems, self._parts = set(), {}, {}
        parts: dict[str, _Parts | None] = {}
        other: set[str] = set()
        words: set[str] = set()
        for chunk in chunks - self._known:
            if not chunk.isascii():
                other.add(chunk)
            elif len(chunk) > _MAX_WORD_LENGTH:
                parts[chunk] = None
            elif chunk.isalpha():
                words.add(chunk)
            elif "e" in chunk and (match := _NUMBER_BEFORE_LETTERS.fullmatch(chunk)):
                parts[chunk] = _Parts((match[1], match[2]))
                words.add(match[2])
        self._learn_stems(words - self._known)
        self._learn_parts(other - self._parts.keys())
        return parts | {chunk: self._parts[chunk] for chunk in other}

    def _learn_stems(self, words: set[str]) -> None:
        alphabetic = [word for word in words if word.isalpha()]
        with self._connection.cursor() as cursor:
            for group in _split_groups(alphabetic, _WORDS_PER_TEXT):
                cursor.execute(
                    "SELECT lexeme, positions FROM unnest(to_tsvector(%s::regconfig, %s))",
                    [self._language, " ".join(group)],
                )
                for lexeme, positions in cursor.fetchall():
                    for position in positions:
                        if lexeme != group[position - 1]:
                            self._stems[group[position - 1]] = _quote(lexeme)
        self._known.update(alphabetic)

    def _learn_parts(self, chunks: set[str]) -> None:
        asked = []
        for chunk in chunks:
            self._parts[chunk] = None
            if _can_stand_alone(chunk):
                asked.append(chunk)
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
                self._parts[asked[number - 1]] = _read_parts(lexemes, positions)


def _split(text: str) -> list[str] | None:
    """Split the text of a record into chunks that can be known by themselves."""
    if len(text) > _MAX_TEXT_LENGTH:
        return None
    if "T" in text and _TIMESTAMP.search(text):
        text = _TIMESTAMP.sub(r"\1 \2", text)
    if text.isascii():
        return text.translate(_FOLDED).split()
    return [chunk.lower() if chunk.isascii() else chunk for chunk in _CHUNK.findall(text)]


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


def _read_parts(lexemes: list[str], positions: list[str]) -> _Parts | None:
    """Read the vector of a chunk; None unless each position has one word."""
    words: dict[int, str] = {}
    other_forms = []
    for lexeme, text in zip(map(_quote, lexemes), positions, strict=True):
        numbers = [int(number) for number in text.split()]
        words |= dict.fromkeys(numbers, lexeme)
        if not numbers:
            other_forms.append(lexeme)
    if sorted(words) != list(range(1, len(words) + 1)):
        return None
    return _Parts(tuple(words[number] for number in sorted(words)), tuple(other_forms))


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _split_groups(words: Sequence[str], size: int) -> Iterator[list[str]]:
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
