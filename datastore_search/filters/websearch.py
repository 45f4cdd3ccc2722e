"""
The operators of a plain full-text query: phrases, OR and excluded words.

Source: PostgreSQL's ``websearch_to_tsquery``; there, ``or`` is an operator too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from psycopg import sql

from ..database.sessions import Clause, compose, join_clauses
from .words import has_unspaced_letters

#: What a text with an operator has.
OPERATOR = re.compile(r'"|(?<!\S)(?:-\S|OR(?!\S))')

#: A phrase or a word, perhaps excluded.  A lone quotation mark or minus is a character.
_TERM = re.compile(r'(?<!\S)(-?)"([^"]*\w[^"]*)"(?!\S)|(\S+)')


class Term(NamedTuple):
    """A word, or a phrase, of a text with operators."""

    text: str
    is_phrase: bool = False
    is_excluded: bool = False


def parse_terms(text: str) -> list[list[Term]]:
    """
    Parse a text with operators into alternatives, each a list of terms.

    ``"a phrase"`` is found as it is written, ``OR`` separates alternatives, and a word or phrase
    after a minus is excluded; not a number, which may be negative.
    """
    alternatives: list[list[Term]] = [[]]
    found = list(_TERM.finditer(text))
    for number, match in enumerate(found, 1):
        minus, phrase, word = match.groups()
        if phrase is not None:
            alternatives[-1].append(Term(phrase, is_phrase=True, is_excluded=bool(minus)))
        elif word == "OR" and alternatives[-1] and number < len(found):
            alternatives.append([])
        elif word[0] == "-" and word[1:2].isalpha():
            alternatives[-1].append(Term(word[1:], is_excluded=True))
        else:
            alternatives[-1].append(Term(word))
    return [terms for terms in alternatives if terms]


def remove_operators(text: str) -> str:
    """Remove operators, and what they exclude, from a text."""
    if not OPERATOR.search(text):
        return text
    terms = [each for alternative in parse_terms(text) for each in alternative]
    return " ".join(each.text for each in terms if not each.is_excluded)


_NOTHING = Clause(sql.SQL("''::tsquery"))


def compile_alternatives(alternatives: Iterable[Iterable[Term]], language: str | None) -> Clause:
    """Compile the ``tsquery`` of alternatives; without a language, words match only as written."""
    clauses = []
    for terms in alternatives:
        words = " ".join([each.text for each in terms if not (each.is_phrase or each.is_excluded)])
        members = [_compile_term(words, language)] if words else []
        for each in terms:
            if each.is_phrase or each.is_excluded:
                member = _compile_phrase(each.text)
                members.append(compose("!!{}", member) if each.is_excluded else member)
        if members:
            clauses.append(join_clauses(members, "&&"))
    return join_clauses(clauses, "||") if clauses else _NOTHING


def _compile_term(words: str, language: str | None) -> Clause:
    has_forms = language is not None
    return Clause(
        sql.SQL("coalesce(datastore_search_tsquery(%s, %s::regconfig, %s), ''::tsquery)"),
        [words, language or "pg_catalog.simple", has_forms],
    )


def _compile_phrase(text: str) -> Clause:
    """Compile words that follow each other as written; a run without blanks is always found so."""
    if has_unspaced_letters(text):
        return _compile_term(text, None)
    sequence = (
        "datastore_search_sequence(datastore_search_words(%s), 'pg_catalog.simple', false)::tsquery"
    )
    return compose("coalesce({}, {})", Clause(sql.SQL(sequence), [text]), _compile_term(text, None))
