"""
Build the same search vectors as ``datastore_search_vector``.

PostgreSQL's function reads every word of every record again.  Here the words of a record are
separated by blanks and punctuation, and PostgreSQL is asked only once for each different word: for
its stem, or, for a word with letters outside ASCII, for its own search vector.  What
depends on more than one word at a time is left to PostgreSQL (``docs/decisions/0046``).

A search vector is a text that PostgreSQL reads: each word with its position, then the other forms.
PostgreSQL sorts them, and joins the positions of words that are repeated.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import add
from typing import Final, NamedTuple, Protocol

#: Longer texts are left to PostgreSQL: a vector has positions up to the 16,383th word only.
_MAX_TEXT_LENGTH: Final = 10_000
#: PostgreSQL's parser ignores words of more than 2,046 bytes.
_MAX_WORD_LENGTH: Final = 500
#: PostgreSQL stores the first 255 positions of a word; texts with more are left to it.
_MAX_POSITIONS: Final = 250
#: Words that are remembered.  A file may have a different one in each cell.
_MAX_KNOWN_WORDS: Final = 200_000
#: ASCII in lower case, and each punctuation mark as a blank.
_FOLDED: Final = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_CHUNK: Final = re.compile(r"[0-9A-Za-z\u0080-\U0010FFFF]+")
#: The T of a timestamp is not a letter of a word, as in ``datastore_search_split``.
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


class Parts(NamedTuple):
    """
    The words that a chunk of text consists of, in their order, and their other forms.

    Each is written as in a vector.
    """

    words: Sequence[str]
    other_forms: Sequence[str] = ()


class Lexicon(Protocol):
    """What PostgreSQL knows about words, in a language."""

    def find_stems(self, words: Sequence[str]) -> Mapping[str, str]:
        """Find the stems of words of ASCII, without the words that are their own stems."""

    def find_parts(self, chunks: Sequence[str]) -> Mapping[str, Parts]:
        """Find the parts of chunks with other letters, as far as they have any."""


class VectorBuilder:
    """Builds the search vectors of records from the texts of their values."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Build vectors in the language of a lexicon."""
        self._lexicon = lexicon
        self._known: set[str] = set()
        #: The stems of words that differ from their words.
        self._stems: dict[str, str] = {}
        #: The parts of chunks with letters outside ASCII; None if they are not known.
        self._parts: dict[str, Parts | None] = {}

    def build(self, texts: Sequence[str]) -> list[str | None]:
        """Build the vectors of records; None is one that PostgreSQL must build."""
        chunked = [_split(text) for text in texts]
        parts = self._learn(set(chain.from_iterable(filter(None, chunked))))
        return [None if chunks is None else self._build_vector(chunks, parts) for chunks in chunked]

    def _build_vector(self, chunks: list[str], parts: dict[str, Parts | None]) -> str | None:
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

    def _learn(self, chunks: set[str]) -> dict[str, Parts | None]:
        """Ask for the chunks that are new, and return the parts of those that are not one word."""
        if len(self._known) + len(self._parts) > _MAX_KNOWN_WORDS:
            self._known, self._stems, self._parts = set(), {}, {}
        parts: dict[str, Parts | None] = {}
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
                parts[chunk] = Parts((match[1], match[2]))
                words.add(match[2])
        self._learn_stems(words - self._known)
        self._learn_parts(other - self._parts.keys())
        return parts | {chunk: self._parts[chunk] for chunk in other}

    def _learn_stems(self, words: set[str]) -> None:
        alphabetic = [word for word in words if word.isalpha()]
        if alphabetic:
            self._stems.update(self._lexicon.find_stems(alphabetic))
            self._known.update(alphabetic)

    def _learn_parts(self, chunks: set[str]) -> None:
        self._parts.update(dict.fromkeys(chunks))
        if asked := [chunk for chunk in chunks if _can_stand_alone(chunk)]:
            self._parts.update(self._lexicon.find_parts(asked))


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
