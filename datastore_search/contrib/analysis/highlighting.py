"""
Highlights: where a full-text query matches, in the texts of found records.

Python splits the texts into words and knows their places.  Which words match is decided by
PostgreSQL, with the functions that make search vectors and queries, in one statement for all texts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import LiteralString, NamedTuple

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from psycopg import sql

from ...api.parameters import BooleanField
from ...api.schemas import COUNT, TEXT, list_of, one_of
from ...filters import Clause, compile_tsquery, compose, join_with_commas, remove_operators
from ...filters.words import has_unspaced_letters
from ...messages.parameters import InvalidParameter, InvalidParameters
from ...messages.search import AnswerTooLarge
from ...search import (
    MAX_LIMIT_IN_MEMORY,
    AnswerMember,
    BoundQuery,
    ConsistentRead,
    FoundRecords,
    Query,
    RecordsFormat,
)
from ...search.records import MAX_MEMORY_BYTES, Spool
from .errors import HighlightInText, HighlightTooLarge

#: The letters of a record that are looked at; as many are in its search vector.
_MAX_RECORD_LENGTH = 100_000

#: The T of a timestamp is not a letter of a word.
_TIMESTAMP = re.compile(r"(-\d\d)T(\d\d:)")

#: The start and the end of a match, in Unicode code points.
Span = tuple[int, int]

#: Field → matches of a record: start and end, in code points of the value as text, and in a list or
#: JSON value a JSON pointer to the text.  One in the name of a member has the word “name”, too.
Highlight = dict[str, list[list[int | str]]]


class FieldText(NamedTuple):
    """A text of a field, and its JSON pointer in a value that has several texts."""

    field: str
    text: str
    place: tuple[str, ...] = ()


def find_matches(
    read: ConsistentRead, query: Query, texts: Sequence[FieldText]
) -> list[list[Span]]:
    """
    Find the words of texts that match the full-text queries, in order.

    In a script without blanks a match is a part of a run of letters.

    Raises: as ``ConsistentRead.fetch_rows``.
    """
    fields = {each.field for each in texts}
    asked = [("", query.q), *((name, q) for name, q in query.q_fields.items() if name in fields)]
    if query.plain and query.websearch:
        asked = [(field, remove_operators(q)) for field, q in asked]
    asked = [(field, q) for field, q in asked if _split_words(q)]
    words = list({word for each in texts for word in _split_words(each.text)}) if asked else []
    if not words:
        return [[] for _text in texts]
    found: dict[str, set[str]] = {}
    for field, positions in read.fetch_rows(_select_matches(read, query, asked, words)):
        found[field] = {words[position - 1] for position in positions}
    queries = {}
    for field, q in asked:
        if field in found:
            # Words as they may be found within a run, the longest first.
            parts = sorted(set(_split_words(q)), key=len, reverse=True)
            pattern = re.compile("|".join(map(re.escape, parts)), re.IGNORECASE)
            queries[field] = found[field], pattern
    return [
        _find_spans(
            each.text,
            [queries[field] for field in dict.fromkeys(("", each.field)) if field in queries],
        )
        for each in texts
    ]


def _split_words(text: str) -> list[str]:
    return _compile_word().findall(_blank_separators(text))


def _blank_separators(text: str) -> str:
    """Replace what is a letter for ``_compile_word`` alone; all letters keep their places."""
    return _TIMESTAMP.sub(r"\1 \2", text.replace("_", " "))


@lru_cache(maxsize=1)
def _compile_word() -> re.Pattern[str]:
    """Compile a run of letters, digits, marks and invisible signs; № is in the word beside it."""
    codes = (
        code
        for code in chain(range(0x80, 0x20000), range(0xE0000, 0xE1000))
        if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me", "Cf"}
        or any(map(str.isalnum, unicodedata.normalize("NFKC", chr(code))))
    )
    ranges = []
    for _key, group in groupby(enumerate(codes), key=lambda each: each[1] - each[0]):
        run = [code for _position, code in group]
        ranges.append(f"{chr(run[0])}-{chr(run[-1])}")
    return re.compile(rf"[\w{''.join(ranges)}]+")


def _find_spans(
    text: str, queries: Iterable[tuple[Collection[str], re.Pattern[str]]]
) -> list[Span]:
    """Find the words, or their parts, of some queries; spans that overlap are joined."""
    spans: list[Span] = []
    for words, parts in queries:
        for found in _compile_word().finditer(_blank_separators(text)):
            if found[0] in words:
                start, is_unspaced = found.start(), has_unspaced_letters(found[0])
                inner = [part.span() for part in parts.finditer(found[0])] if is_unspaced else []
                spans += [(start + first, start + last) for first, last in inner] or [found.span()]
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


# What matches -------------------------------------------------------------------------------------

#: The regular expression finds the operands of a tsquery: quoted lexemes, perhaps of prefixes.
_MATCHES: LiteralString = (
    "WITH asked (field, language, query, is_word) AS (VALUES {}),"
    " queries AS MATERIALIZED ("
    "SELECT field, language, query FROM asked WHERE is_word AND query::text NOT LIKE '%% & %%'"
    " UNION SELECT field, language, operand[1]::tsquery"
    " FROM asked, regexp_matches("
    "querytree(query), '''(?:[^'']|'''')*''(?::[*A-D]+)?', 'g') AS operand"
    " WHERE NOT is_word OR query::text LIKE '%% & %%'),"
    " vectors AS MATERIALIZED ("
    "SELECT position, language,"
    " datastore_search_lexemes(datastore_search_words(word), language) AS vector"
    " FROM unnest({}) WITH ORDINALITY AS words (word, position),"
    " (SELECT DISTINCT language FROM queries) AS languages)"
    " SELECT field, array_agg(DISTINCT position) FROM queries JOIN vectors USING (language)"
    " WHERE vector @@ query GROUP BY field"
)


def _select_matches(
    read: ConsistentRead, query: Query, asked: Iterable[tuple[str, str]], words: list[str]
) -> Clause:
    """
    Select the positions of the words, from 1, that match a query over a field, or over all.

    A word of a plain query matches as a whole, for it may be a phrase of pairs of letters.  Of one
    that is several words for PostgreSQL, and of a query in its language, each positive word
    matches.
    """
    stored = read.relation.language
    language = query.language or stored
    rows: list[Clause] = []
    for field, q in asked:
        # The search vector of a record has the words of the resource's language.
        vector_language = language if field else stored
        parts = list(dict.fromkeys(_split_words(q))) if query.plain else [q]
        for part in parts:
            begin = Clause(sql.SQL("%s::text, %s::regconfig"), [field, vector_language])
            tsquery = compile_tsquery(part, language, plain=query.plain)
            is_word = Clause(sql.SQL("%s::bool"), [query.plain])
            rows.append(compose("({}, {}, {})", begin, tsquery, is_word))
    return compose(_MATCHES, join_with_commas(rows), Clause(sql.SQL("%s::text[]"), [words]))


def highlight_records(
    read: ConsistentRead, bound: BoundQuery, found: FoundRecords
) -> list[Highlight]:
    """Find where the records of a page match.  Raises: ``InvalidParameters`` for too large ones."""
    if isinstance(found.records, Spool):
        found.records.close()
        raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
    query, names = bound.query, [name for name, _kind in bound.fields]
    is_of_lists = query.records_format is RecordsFormat.LISTS
    highlights: list[Highlight] = []
    texts: list[tuple[Highlight, FieldText]] = []
    for block in found.records[1:-1:2]:
        record = json.loads(block, parse_int=str, parse_float=str)
        members = zip(names, record, strict=True) if is_of_lists else record.items()
        highlights.append({})
        left = _MAX_RECORD_LENGTH
        for each in chain.from_iterable(
            _walk(field, value) for field, value in members if field in read.relation.types
        ):
            texts.append((highlights[-1], each._replace(text=each.text[:left])))
            left -= len(each.text)
            if left <= 0:
                break
    found_spans = find_matches(read, query, [each for _owner, each in texts])
    for (owner, each), spans in zip(texts, found_spans, strict=True):
        if spans:
            owner.setdefault(each.field, []).extend([*span, *each.place] for span in spans)
    return highlights


def _walk(field: str, value: object, pointer: str = "") -> Iterator[FieldText]:
    """List a value's texts and names by JSON pointer, as a search vector has them."""
    place = (pointer,) if pointer else ()
    if isinstance(value, str):  # numbers, too
        yield FieldText(field, value, place)
    elif isinstance(value, bool):
        yield FieldText(field, "true" if value else "false", place)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from _walk(field, element, f"{pointer}/{number}")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            inner = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            yield FieldText(field, name, (inner, "name"))
            yield from _walk(field, member, inner)


def _check_query(query: Query) -> Iterator[InvalidParameter]:
    if query.is_text:
        yield HighlightInText()
    elif query.is_copied:
        yield HighlightTooLarge(most=MAX_LIMIT_IN_MEMORY)


HIGHLIGHTS = AnswerMember(
    "highlights",
    _check_query,
    highlight_records,
    list_of(
        {
            "type": "object",
            "additionalProperties": list_of(
                list_of(
                    one_of(COUNT, TEXT),
                    description="Where a match begins and ends, in code points; within a list or"
                    " JSON value also a JSON pointer to its text, and `name` for one in the name of"
                    " a member.",
                )
            ),
        },
        description="Field → matches, for each record; there if `highlight`.",
    ),
)

#: The parameter of ``datastore_search``.
HIGHLIGHT = BooleanField(
    help_text=format_lazy(
        _(
            "Return `highlights`, the places where each record matches `q` and "
            "`full_text`. For a `limit` up to {most}, and records as objects or lists."
        ),
        most=MAX_LIMIT_IN_MEMORY,
    ),
    shown_default="false",
    answers=HIGHLIGHTS,
)
