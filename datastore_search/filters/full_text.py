"""
What a full-text query means in SQL, over a record table's ``data`` and ``search``.

Source: CKAN ``datastore_search``, section 7 of its semantics, read more widely:
``docs/decisions/0003``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from psycopg import sql

from ..exceptions import (
    InvalidParameter,
    InvalidParameters,
    TooManyFullTextFields,
    TooManyWords,
    UnknownFullTextField,
)
from .clauses import Clause

#: Words of a full-text query at most, over all fields: each is a look-up, and ranks every match.
MAX_WORDS = 100

#: Fields that a full-text query names at most: for each, the words of every match are made anew.
MAX_FULL_TEXT_FIELDS = 5


@dataclass(frozen=True, slots=True)
class FullTextQuery:
    """
    A full-text query over all fields, or over one.

    ``plain`` questions are words; others are written in PostgreSQL's query language.
    """

    text: str
    language: str
    plain: bool
    field: str | None = None

    @property
    def rank_name(self) -> str:
        """Name the member that says how well a record matches."""
        return "rank" if self.field is None else f"rank {self.field}"

    def matches(self) -> Clause:
        """Say that a record matches; the index finds it by the words of the whole record."""
        asked = self._asked()
        if self.field is None:
            return Clause(sql.SQL("search @@ {}").format(asked.text), asked.parameters)
        vector = self._vector()
        return Clause(
            sql.SQL("(search @@ {asked} AND {vector} @@ {asked})").format(
                asked=asked.text, vector=vector.text
            ),
            [*asked.parameters, *vector.parameters, *asked.parameters],
        )

    def rank(self) -> Clause:
        """Say how well a record matches."""
        asked, vector = self._asked(), self._vector()
        return Clause(
            sql.SQL("ts_rank({}, {})").format(vector.text, asked.text),
            [*vector.parameters, *asked.parameters],
        )

    def _asked(self) -> Clause:
        if self.plain:
            return Clause(
                sql.SQL("datastore_search_tsquery(%s, %s::regconfig)"), [self.text, self.language]
            )
        text = unicodedata.normalize("NFC", self.text)
        asked = Clause(sql.SQL("to_tsquery(%s::regconfig, %s)"), [self.language, text])
        if "<" not in text:
            return asked
        # A phrase, ``old <-> bridge``: only words as written know their places in the record.
        return Clause(
            sql.SQL("({} || to_tsquery('pg_catalog.simple', %s))").format(asked.text),
            [*asked.parameters, text],
        )

    def _vector(self) -> Clause:
        if self.field is None:
            return Clause(sql.SQL("search"))
        return Clause(
            sql.SQL("datastore_search_vector(jsonb_build_object('', data -> %s), %s::regconfig)"),
            [self.field, self.language],
        )


def parse_full_text_query(
    q: str, by_field: Mapping[str, str], *, language: str, plain: bool, names: Iterable[str]
) -> tuple[FullTextQuery, ...]:
    """
    Make the questions of a search; all of them must be met.

    Raises: ``InvalidParameters`` for fields that are not among ``names``, and for too many fields
    or words.
    """
    if len(by_field) > MAX_FULL_TEXT_FIELDS:
        raise InvalidParameters([TooManyFullTextFields(most=MAX_FULL_TEXT_FIELDS)])
    known = {"_id", *names}
    faults: list[InvalidParameter] = [
        UnknownFullTextField(field=name[:100]) for name in by_field if name not in known
    ]
    if has_too_many_words([q, *by_field.values()], plain=plain):
        faults.append(TooManyWords(most=MAX_WORDS))
    if faults:
        raise InvalidParameters(faults)
    questions = [FullTextQuery(q, language, plain)] if q else []
    questions += [FullTextQuery(text, language, plain, name) for name, text in by_field.items()]
    return tuple(questions)


def has_too_many_words(texts: Iterable[str], *, plain: bool) -> bool:
    """
    Tell whether full-text queries have too many words together.

    Of a ``plain`` one each word counts once, as PostgreSQL asks it once.
    """
    texts = list(texts)
    if sum(map(len, texts)) < 2 * MAX_WORDS:  # a word has a letter and is parted from the next
        return False
    words = map(_words, texts)
    return sum(len(set(each) if plain else each) for each in words) > MAX_WORDS


def _words(text: str) -> list[str]:
    """Cut a text as PostgreSQL does: marks belong to the letters that they stand on."""
    composed = unicodedata.normalize("NFC", text).casefold()
    return "".join(letter if _is_of_word(letter) else " " for letter in composed).split()


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter).startswith("M")
