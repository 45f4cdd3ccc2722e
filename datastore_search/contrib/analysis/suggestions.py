"""
Values of a field that begin with a text, and the number of records that have each of them.

The words of the beginning find its records by the index of words, in any case, with diacritics or
without (``docs/decisions/0025``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from typing import LiteralString

from psycopg import sql

from ...field_types import FieldType, Operators, Ordered, dump_json, field_types
from ...filters import MAX_SHOWN_LENGTH, Clause, compose, join_clauses
from ...filters.words import WITHOUT_DIACRITICS, is_part_of_word, remove_diacritics
from ...messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ...messages.search import AnswerTooLarge
from ...search import BoundQuery, ConsistentRead, Query, bind_query, translate_database_errors
from ...search.records import MAX_MEMORY_BYTES
from .errors import UnsuggestableField
from .facets import MAX_FACET_VALUES, Facet, read_facets
from .groups import GroupBy
from .time_budget import TimeBudget

#: Values of one answer.
MAX_SUGGESTED_VALUES = 100

#: Values that are read from an index for each spelling of a beginning.
_MAX_SCANNED_VALUES = 200

#: A table of so few records is read whole, in a few hundredths of a second.
_MAX_SMALL_TABLE = 50_000

#: The part of the time in which all values are counted, where an index can still find some then.
_COUNTING_SHARE = 0.5

#: A query finds words by a beginning of at least this length.
_MIN_BEGINNING_LENGTH = 3


@dataclass(frozen=True, slots=True)
class SuggestedValues:
    """
    The values, the most common first, as JSON texts in UTF-8 with the members value and count.

    Where ``is_complete`` is false, there may be others, which may be more common.
    """

    values: list[bytes]
    is_complete: bool


NO_VALUES = SuggestedValues([], is_complete=True)


def suggest_values(
    read: ConsistentRead, query: Query, name: str, prefix: str, limit: int
) -> SuggestedValues:
    """
    Suggest at most ``limit`` values of a field that begin with ``prefix``, or the most common.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    with translate_database_errors(plain=query.plain):
        errors: list[InvalidParameter] = []
        kind = field_types[read.relation.types.get(name, "text")]
        if name not in read.relation.types:
            errors.append(UnknownField(parameter="field", field=name[:MAX_SHOWN_LENGTH]))
        elif Operators.TEXT not in kind.operators:
            errors.append(UnsuggestableField(field=name, type=kind.name))
        bound = bind_query(read, query, errors)
        beginning = _Beginning(name, kind, prefix)
        is_counted = name in read.relation.value_counts and bound.is_unfiltered
        if not prefix or is_counted:
            facet = Facet(GroupBy(name), query, MAX_FACET_VALUES if prefix else limit)
            answer = read_facets(read, query, [facet])
            found = json.loads(answer.facets[0], parse_float=Decimal)
            # With a prefix, a facet that may lack some of the values is of no use.
            if not prefix or (answer.is_complete and not found["others"]):
                values = [
                    _render_value(dump_json(each["value"]), each["count"])
                    for each in found["values"]
                    if not prefix or beginning.begins(each["value"])
                ]
                return SuggestedValues(values[:limit], answer.is_complete)
        with read.session.hold_slot():
            return _find_values(read, bound, beginning, limit)


# Values that start with a text --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Beginning:
    field: str
    kind: FieldType
    prefix: str

    @property
    def _is_folded(self) -> bool:
        """Whether diacritics are ignored: the prefix has none."""
        return remove_diacritics(self.prefix) == self.prefix

    def begins(self, text: str) -> bool:
        start, lowered = self.prefix.lower(), text.lower()
        return lowered.startswith(start) or (
            self._is_folded and remove_diacritics(lowered).startswith(start)
        )

    def compile_match(self) -> Clause:
        if self.kind.ordered is Ordered.DATES:
            # An index has these texts in the order of their code points.
            key: LiteralString = '(data ->> %s) COLLATE "C"'
            return Clause(
                sql.SQL(f"({key} >= %s AND {key} < %s)"),
                [self.field, self.prefix, self.field, f"{self.prefix}\U0010ffff"],
            )
        match = self.compile_text_match(Clause(sql.SQL("(data ->> %s)"), [self.field]))
        words = self.find_words()
        if not words:
            return match
        is_found = sql.SQL("search @@ datastore_search_tsquery(%s, 'pg_catalog.simple')")
        return join_clauses([Clause(is_found, [words]), match], "AND")

    def compile_text_match(self, text: Clause) -> Clause:
        lowered = compose("lower({})", text)
        start = Clause(sql.SQL("lower(%s)"), [self.prefix])
        match = compose("starts_with({}, {})", lowered, start)
        if not self._is_folded:
            return match
        # A text of ASCII is not folded, which takes time.
        is_ascii = compose("octet_length({}) = char_length({})", text, text)
        folded = compose(f"starts_with({WITHOUT_DIACRITICS}, {{}})", lowered, start)
        return compose("({} OR (NOT {} AND {}))", match, is_ascii, folded)

    def find_words(self) -> str:
        """Return the words of the prefix that a full-text query can find."""
        end = len(self.prefix)
        while end and is_part_of_word(self.prefix[end - 1]):
            end -= 1
        is_short = len(self.prefix) - end < _MIN_BEGINNING_LENGTH
        words = self.prefix[:end] if is_short else self.prefix
        # PostgreSQL may not have other characters of numbers (½) in its words.
        return words if any(each.isalpha() or "0" <= each <= "9" for each in words) else ""


# Where values are many ----------------------------------------------------------------------------


def _find_values(
    read: ConsistentRead, bound: BoundQuery, beginning: _Beginning, limit: int
) -> SuggestedValues:
    """Count all values that match, or those that an index finds if that takes too long."""
    budget = TimeBudget()
    count = read.relation.record_count
    is_large = count is None or count > _MAX_SMALL_TABLE
    # An index finds some of the values quickly.
    is_ordered = beginning.kind.is_text and beginning.field in read.relation.ordered
    is_scanned = is_large and is_ordered and bound.is_unfiltered
    rows = None
    if not is_scanned or beginning.find_words():
        matches = compose(
            "SELECT data ->> {} AS value FROM {} WHERE {} AND {}",
            Clause(sql.SQL("%s"), [beginning.field]),
            bound.relation.source,
            bound.where,
            beginning.compile_match(),
        )
        # No values are returned where they are too large.
        common = Clause(
            sql.SQL(
                "SELECT CASE WHEN sum(octet_length(value)) OVER () <= %s THEN value END, number"
                " FROM (SELECT value, count(*) AS number FROM ({}) AS matches GROUP BY value"
                ' ORDER BY number DESC, value COLLATE "C" LIMIT %s) AS listed'
                ' ORDER BY number DESC, value COLLATE "C"'
            ).format(matches.text),
            [MAX_MEMORY_BYTES, *matches.parameters, limit],
        )
        rows = budget.fetch_rows(read, common, share=_COUNTING_SHARE if is_scanned else 1)
    if rows is None:
        scanned = budget.fetch_rows(read, _scan_values(bound, beginning)) if is_scanned else None
        rows = sorted({*(scanned or [])}, key=lambda row: (-row[1], row[0]))
        return SuggestedValues(_render_rows(beginning.kind, rows[:limit]), False)
    if any(text is None for text, _count in rows):
        raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
    return SuggestedValues(_render_rows(beginning.kind, rows), True)


def _scan_values(bound: BoundQuery, beginning: _Beginning) -> Clause:
    """Skip through the field's index from each usual spelling on; others are elsewhere in it."""
    prefix = beginning.prefix
    key, source = bound.compile_key(beginning.field), bound.relation.source
    next_match = beginning.compile_text_match(Clause(sql.SQL("next.key")))
    match = beginning.compile_text_match(Clause(sql.SQL("found.key")))
    scans = [
        compose(
            "(WITH RECURSIVE value (key) AS ("
            "(SELECT {} FROM {} WHERE {} >= {} ORDER BY {}, _id LIMIT 1)"
            " UNION ALL SELECT next.key FROM value CROSS JOIN LATERAL"
            " (SELECT {} AS key FROM {} WHERE {} > value.key ORDER BY {}, _id LIMIT 1) AS next"
            " WHERE {})"
            " SELECT key, (SELECT count(*) FROM {} WHERE {} = found.key)"
            " FROM (SELECT key FROM value LIMIT {}) AS found WHERE {})",
            *(key, source, key, Clause(sql.SQL("%s"), [start]), key),
            *(key, source, key, key, next_match),
            *(source, key, Clause(sql.Literal(_MAX_SCANNED_VALUES)), match),
        )
        for start in dict.fromkeys([prefix, prefix.lower(), prefix.capitalize(), prefix.upper()])
    ]
    return reduce(partial(compose, "{} UNION ALL {}"), scans)


def _render_rows(kind: FieldType, rows: Iterable[tuple[str, int]]) -> list[bytes]:
    return [
        # NaN and the infinities are texts.
        _render_value(text if kind.is_number and text[-1:].isdigit() else dump_json(text), count)
        for text, count in rows
    ]


def _render_value(value: str, count: int) -> bytes:
    return f'{{"value": {value}, "count": {count}}}'.encode()
