"""
Full-text queries in SQL, over a record table's ``data`` and ``search``.

Source: CKAN ``datastore_search``, section 7 of its semantics, read more widely:
``docs/decisions/0003``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from psycopg import sql

from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..exceptions.search import TooManyFullTextFields, TooManyWords, UnknownFullTextField
from .clauses import Clause
from .grammar import MAX_SHOWN_LENGTH

#: Words of all full-text queries together: each is looked up, and ranks every match.
MAX_WORDS = 100

#: Fields with a full-text query: for each, the words of every match are computed again.
MAX_FULL_TEXT_FIELDS = 5


@dataclass(frozen=True, slots=True)
class FullTextQuery:
    """
    A full-text query over all fields, or over one.

    ``match`` is true of the records that match, and ``rank`` is how well they do.  ``rank_name`` is
    the name of the member that holds the rank.
    """

    rank_name: str
    match: Clause
    rank: Clause


def parse_full_text_query(
    q: str, q_fields: Mapping[str, str], *, language: str, plain: bool, names: Container[str]
) -> tuple[FullTextQuery, ...]:
    """
    Compile a full-text query over all fields, and those over single fields; all must match.

    Texts are words if ``plain``, or else in PostgreSQL's query language.  An empty ``q`` is none.

    Raises: ``InvalidParameters`` for fields that are not among ``names``, and for too many fields
    or words.
    """
    if len(q_fields) > MAX_FULL_TEXT_FIELDS:
        raise InvalidParameters([TooManyFullTextFields(most=MAX_FULL_TEXT_FIELDS)])
    errors: list[InvalidParameter] = [
        UnknownFullTextField(field=name[:MAX_SHOWN_LENGTH])
        for name in q_fields
        if name != "_id" and name not in names
    ]
    if has_too_many_words([q, *q_fields.values()], plain=plain):
        errors.append(TooManyWords(most=MAX_WORDS))
    if errors:
        raise InvalidParameters(errors)
    queries = [_compile(compile_tsquery(q, language, plain=plain))] if q else []
    queries += [
        _compile_over_field(name, language, compile_tsquery(text, language, plain=plain))
        for name, text in q_fields.items()
    ]
    return tuple(queries)


def _compile(tsquery: Clause) -> FullTextQuery:
    return FullTextQuery(
        "rank",
        Clause(sql.SQL("search @@ {}").format(tsquery.text), tsquery.parameters),
        Clause(sql.SQL("ts_rank(search, {})").format(tsquery.text), tsquery.parameters),
    )


def _compile_over_field(name: str, language: str, tsquery: Clause) -> FullTextQuery:
    """Match one field; the index finds the records that have the words in any field."""
    vector = sql.SQL("datastore_search_vector(jsonb_build_object('', data -> %s), %s::regconfig)")
    match = sql.SQL("(search @@ {tsquery} AND {vector} @@ {tsquery})")
    return FullTextQuery(
        f"rank {name}",
        Clause(
            match.format(tsquery=tsquery.text, vector=vector),
            [*tsquery.parameters, name, language, *tsquery.parameters],
        ),
        Clause(
            sql.SQL("ts_rank({}, {})").format(vector, tsquery.text),
            [name, language, *tsquery.parameters],
        ),
    )


def compile_tsquery(q: str, language: str, *, plain: bool) -> Clause:
    """Compile the ``tsquery`` of a full-text query; null or empty where it has no word."""
    if plain:
        return Clause(sql.SQL("datastore_search_tsquery(%s, %s::regconfig)"), [q, language])
    q = unicodedata.normalize("NFC", q)
    tsquery = sql.SQL("to_tsquery(%s::regconfig, %s)")
    if "<" not in q:
        return Clause(tsquery, [language, q])
    # A phrase, ``old <-> bridge``: only words as written have positions in the search vector.
    return Clause(
        sql.SQL("({} || to_tsquery('pg_catalog.simple', %s))").format(tsquery), [language, q, q]
    )


def has_too_many_words(texts: Iterable[str], *, plain: bool) -> bool:
    """
    Return whether full-text queries have too many words together.

    A word of a ``plain`` query counts once, as PostgreSQL looks it up once.
    """
    texts = list(texts)
    if sum(map(len, texts)) < 2 * MAX_WORDS:  # a word has a letter, and a space after it
        return False
    words = map(_split_words, texts)
    return sum(len(set(each) if plain else each) for each in words) > MAX_WORDS


def _split_words(text: str) -> list[str]:
    """Split a text as PostgreSQL does: marks belong to the letters before them."""
    composed = unicodedata.normalize("NFC", text).casefold()
    return "".join(letter if is_part_of_word(letter) else " " for letter in composed).split()


def is_part_of_word(letter: str) -> bool:
    """Return whether a letter, digit or mark belongs to a word of a full-text query."""
    return letter.isalnum() or unicodedata.category(letter).startswith("M")
