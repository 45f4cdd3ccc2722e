"""
Full-text queries in SQL, over a record table's ``data`` and ``search``.

Source: CKAN ``datastore_search``, section 7 of its semantics, read more widely:
``docs/decisions/0003``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, LiteralString, NamedTuple

from psycopg import sql

from ..database.statements import Clause, compose, join_clauses
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import SubstringsNotPlain, TooManyFullTextFields, TooManyWords
from .conditions import MAX_TEXT_CONDITIONS
from .operators import MAX_SHOWN_LENGTH
from .words import (
    build_pattern,
    compile_candidates,
    count_words,
    has_unspaced_letters,
    is_exact,
    split_words,
)

#: Words of all full-text queries together: each is looked up, and ranks every match.
MAX_WORDS = 100

#: Fields with a full-text query: for each, the words of every match are computed again.
MAX_FULL_TEXT_FIELDS = 5

#: Words that are searched within words, together: each is a condition on the texts of the records.
MAX_SUBSTRINGS = MAX_TEXT_CONDITIONS

#: A longer text is not looked for as a whole value, and not in more fields.  So many records with
#: one come first; those after them have the rank of their words.
_MAX_WHOLE_LENGTH, _MAX_WHOLE_FIELDS, _MAX_WHOLE_RECORDS = 200, 50, 1_000

#: A shorter word is found as a whole word alone.
MIN_SUBSTRING_LENGTH = 3


@dataclass(frozen=True, slots=True)
class FullTextOptions:
    """
    How full-text queries are read.

    ``language`` is a text search configuration.  Texts are words if ``plain``, with ``websearch``
    phrases, OR and excluded words too, or else in PostgreSQL's query language.  With
    ``substrings``, a word is found within words, too.
    Records of ``source`` with a text as a whole value of one of its ``text_fields`` come first.
    """

    language: str
    source: Clause
    text_fields: Sequence[str] = ()
    plain: bool = True
    websearch: bool = True
    substrings: bool = False


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
    q: str, q_fields: Mapping[str, str], options: FullTextOptions, *, names: Container[str]
) -> tuple[FullTextQuery, ...]:
    """
    Compile a full-text query over all fields, and those over single fields; all must match.

    An empty ``q`` is none.

    Raises: ``InvalidParameters`` for fields that are not among ``names``, for too many fields or
    words, and for ``substrings`` that are not ``plain``.
    """
    if len(q_fields) > MAX_FULL_TEXT_FIELDS:
        raise InvalidParameters([TooManyFullTextFields(most=MAX_FULL_TEXT_FIELDS)])
    errors: list[InvalidParameter] = [
        UnknownField(parameter="q", field=name[:MAX_SHOWN_LENGTH])
        for name in q_fields
        if name != "_id" and name not in names
    ]
    max_words = MAX_SUBSTRINGS if options.substrings else MAX_WORDS
    if has_too_many_words([q, *q_fields.values()], plain=options.plain, max_words=max_words):
        errors.append(TooManyWords(most=max_words))
    if options.substrings and not options.plain:
        errors.append(SubstringsNotPlain())
    if errors:
        raise InvalidParameters(errors)
    compile_text = _compile_substrings if options.substrings else _compile_text
    queries = [compile_text(None, q, options)] if q else []
    queries += [compile_text(name, text, options) for name, text in q_fields.items()]
    return tuple(queries)


def _compile_text(name: str | None, text: str, options: FullTextOptions) -> FullTextQuery:
    """
    Compile a text that is searched in one field, or in all; the index finds both.

    Over all fields, records that have the text as a whole value come first, then those with its
    words as written.  Of these, shorter records come before longer ones; all others have ranks
    below 1.  The rank of the words as written is computed once, with eight decimals; that of
    several words is 1e-20 where a record has no two of them.
    """
    tsquery = ranked = compile_tsquery(text, options.language, plain=options.plain)
    spelled = _spell_fractions(text)
    written = Clause(sql.SQL("datastore_search_tsquery(%s, 'pg_catalog.simple', false)"), [spelled])
    if text.isascii() and text.replace(" ", "").isalpha():  # PostgreSQL's own function is faster
        written = Clause(sql.SQL("plainto_tsquery('pg_catalog.simple', %s)"), [text])
    has_operators = options.websearch and options.plain and not options.substrings
    if has_operators and _OPERATOR.search(text):
        alternatives = parse_terms(spelled)
        tsquery = compile_alternatives(alternatives, options.language)
        # ts_rank would count excluded words as words that are missing.
        sought = [[each for each in terms if not each.is_excluded] for terms in alternatives]
        ranked, written = (compile_alternatives(sought, each) for each in (options.language, None))
    found = compose("search @@ {}", tsquery)
    if name is not None:
        vector = Clause(
            sql.SQL("datastore_search_vector(jsonb_build_object('', data -> %s), %s::regconfig)"),
            [name, options.language],
        )
        match = compose("({} AND {} @@ {})", found, vector, tsquery)
        return FullTextQuery(f"rank {name}", match, compose("ts_rank({}, {})", vector, ranked))
    if not options.plain:
        return FullTextQuery("rank", found, compose("ts_rank(search, {})", tsquery))
    # ts_rank's own divisor, the logarithm of all positions, takes as long as the rank.
    rank = compose(
        "coalesce(1 + nullif("
        "(ts_rank(search, {}) / ln(length(search) + 2) * 1e8::float8)::int, 0) / 1e8::float8,"
        " ts_rank(search, {}) / ln(length(search) + 2) / 2)",
        written,
        ranked,
    )
    names, whole = options.text_fields[:_MAX_WHOLE_FIELDS], text.strip()
    if names and len(text) <= _MAX_WHOLE_LENGTH:
        cases = {whole, whole.lower(), whole.upper(), whole.capitalize(), whole.title()}
        # One condition for all: PostgreSQL plans each by itself.
        values = [json.dumps(each, ensure_ascii=False) for each in sorted(cases)]
        fields = [json.dumps(each, ensure_ascii=False) for each in names]
        equal = " || ".join([f"@.{field} == {value}" for field in fields for value in values])
        path = Clause(_PATH, [f"$ ? ({equal})", _MAX_WHOLE_RECORDS])
        is_whole = "CASE WHEN _id IN (SELECT _id FROM {} WHERE data @? {}) THEN 10 ELSE 0 END"
        rank = compose("({} + {})", rank, compose(is_whole, options.source, path))
    return FullTextQuery("rank", found, rank)


#: A constant would be compared with the statistics of the field, which takes milliseconds.
_PATH = sql.SQL("(SELECT %s::jsonpath) LIMIT %s")


def _compile_substrings(name: str | None, text: str, options: FullTextOptions) -> FullTextQuery:
    """
    Find each word of a text within words, too; the index finds candidates for that.

    Only whole words have a rank, so a record in which a word is part of another comes last.
    """
    query = _compile_text(name, text, options)
    data = sql.SQL("data" if name is None else "jsonb_build_object('', data -> %s)")
    names = [] if name is None else [name]
    words = []
    for word in dict.fromkeys(split_words(unicodedata.normalize("NFC", text))):
        choices = [_compile_text(name, word, options).match]
        if len(word) >= MIN_SUBSTRING_LENGTH:
            condition = sql.SQL("datastore_search_values({}) ILIKE %s").format(data)
            within = Clause(condition, [*names, f"%{word}%"])
            if pattern := build_pattern(word):
                candidates = compile_candidates(pattern, ignores_case=True)
                is_enough = name is None and is_exact(pattern, word)
                within = candidates if is_enough else join_clauses([candidates, within], "AND")
            choices.append(within)
        words.append(join_clauses(choices, "OR"))
    if not words:
        return query
    return replace(query, match=join_clauses([query.match, join_clauses(words, "AND")], "OR"))


def compile_tsquery(q: str, language: str, *, plain: bool) -> Clause:
    """Compile the ``tsquery`` of a full-text query; null or empty where it has no word."""
    read: LiteralString = "datastore_search_tsquery" if plain else "datastore_search_parsed_tsquery"
    return Clause(sql.SQL(f"{read}(%s, %s::regconfig)"), [_spell_fractions(q), language])


def compile_words(q: str, language: str, *, has_excluded: bool = True) -> Clause:
    """
    Compile the ``tsquery`` of a text with phrases, OR and excluded words, or of one without.

    Not ``has_excluded`` leaves the excluded words out.
    """
    if not _OPERATOR.search(q):
        return compile_tsquery(q, language, plain=True)
    alternatives = parse_terms(_spell_fractions(q))
    if not has_excluded:
        alternatives = [[each for each in terms if not each.is_excluded] for terms in alternatives]
    return compile_alternatives(alternatives, language)


#: Spells ½ as 1/2, whose parts follow each other in a record with ½, too.
_spell_fractions = partial(
    re.compile("(?<=[0-9])(?=[¼-¾⅐-⅟↉])|[¼-¾⅐-⅟↉⁄]").sub,
    lambda found: unicodedata.normalize("NFKC", found[0] or " ").replace("⁄", "/"),
)


def has_too_many_words(texts: Iterable[str], *, plain: bool, max_words: int = MAX_WORDS) -> bool:
    """
    Return whether full-text queries have more than ``max_words`` words together.

    A word of a ``plain`` query counts once, as PostgreSQL looks it up once.  Of a script without
    blanks, two letters are a word.
    """
    texts = list(texts)
    if sum(map(len, texts)) < 2 * max_words:  # a word has a letter, and a space after it
        return False
    words = [split_words(unicodedata.normalize("NFKC", text).casefold()) for text in texts]
    return sum(sum(map(count_words, set(each) if plain else each)) for each in words) > max_words


# Operators ----------------------------------------------------------------------------------------

# A plain query may have phrases, OR and excluded words.  Source: PostgreSQL's
# ``websearch_to_tsquery``; there, ``or`` is an operator too.

#: What a text with an operator has.
_OPERATOR = re.compile(r'"|(?<!\S)(?:-\S|OR(?!\S))')

#: A phrase or a word, perhaps excluded.  A lone quotation mark or minus is a character.
_TERM = re.compile(r'(?<!\S)(-?)"([^"\w]*\w[^"]*)"(?!\S)|(\S+)')


class Term(NamedTuple):
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


def has_excluded(text: str) -> bool:
    return any(each.is_excluded for terms in parse_terms(text) for each in terms)


def remove_operators(text: str) -> str:
    """Remove operators, and what they exclude, from a text."""
    if not _OPERATOR.search(text):
        return text
    terms = [each for alternative in parse_terms(text) for each in alternative]
    return " ".join(each.text for each in terms if not each.is_excluded)


def compile_alternatives(alternatives: Iterable[Iterable[Term]], language: str | None) -> Clause:
    """Compile the ``tsquery`` of alternatives; without a language, words match only as written."""
    clauses = []
    for terms in alternatives:
        words = " ".join([each.text for each in terms if not (each.is_phrase or each.is_excluded)])
        members = [_compile_term(words, language)] if words else []
        for each in terms:
            if each.is_phrase or each.is_excluded:
                # Words that follow each other; a run without blanks is always found so.
                member = _compile_term(each.text, None)
                if not has_unspaced_letters(each.text):
                    sequence = Clause(sql.SQL(_SEQUENCE), [each.text])
                    member = compose("coalesce({}, {})", sequence, member)
                members.append(compose("!!{}", member) if each.is_excluded else member)
        if members:
            clauses.append(join_clauses(members, "&&"))
    return join_clauses(clauses, "||") if clauses else Clause(sql.SQL("''::tsquery"))


_SEQUENCE: Final = (
    "datastore_search_sequence(datastore_search_words(%s), 'pg_catalog.simple', false)::tsquery"
)


def _compile_term(words: str, language: str | None) -> Clause:
    return Clause(
        sql.SQL("coalesce(datastore_search_tsquery(%s, %s::regconfig, %s), ''::tsquery)"),
        [words, language or "pg_catalog.simple", language is not None],
    )
