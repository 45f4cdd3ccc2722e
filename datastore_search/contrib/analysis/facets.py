"""
Facets: the most common values of fields among the matches of a query.

Facets with the same conditions are counted by one statement of the engine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from ...field_types import FieldType, Operators, dump_json, field_types
from ...filters import MAX_SHOWN_LENGTH
from ...filters.words import PLAIN, STROKED, remove_diacritics
from ...messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ...messages.search import AnswerTooLarge
from ...search import ConsistentRead, Query, bind_query, translate_database_errors
from ...search.records import MAX_MEMORY_BYTES
from .engine.columns import quote_text
from .engine.questions import trim_zeros
from .engine.source import Source
from .errors import UnsuggestableField
from .groups import GroupBy, GroupKey, compile_group_keys, read_bounds

#: Facets of one call, values of one facet, and suggested values.
MAX_FACETS, MAX_FACET_VALUES, MAX_SUGGESTED_VALUES = 20, 1_000, 100


@dataclass(frozen=True, slots=True)
class Facet:
    """
    ``limit`` values that ``min_count`` records have, the most common first.

    ``query`` are the facet's own conditions.  ``is_by_value`` sorts by the values, ``is_reversed``
    the other way round.  With a ``prefix`` only values are listed whose text begins with it,
    ignoring case, and diacritics if it has none.
    """

    group: GroupBy
    query: Query
    limit: int
    min_count: int = 1
    is_by_value: bool = False
    is_reversed: bool = False
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class FacetsAnswer:
    """``total`` is the number of matches; ``facets`` are JSON texts in UTF-8."""

    total: int
    facets: list[bytes]


def read_facets(read: ConsistentRead, query: Query, facets: Sequence[Facet]) -> FacetsAnswer:
    """
    Count the values of facets, and the matches of a query as ``total``.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    with translate_database_errors(plain=query.plain), read.session.hold_slot():
        errors: list[InvalidParameter] = []
        keys = compile_group_keys([each.group for each in facets], read, "facets", errors)
        bind_query(read, query, errors)
        found, totals = [b""] * len(facets), list[int]()
        asked = [each.query for each in facets]
        for first, conditions in enumerate(asked):
            if conditions in asked[:first]:
                continue
            places = [n for n, each in enumerate(asked) if each == conditions]
            named = [facets[n].group.field for n in places]
            by_value = [n for n in places if facets[n].is_by_value and not keys[n].kind.is_nested]
            ordered = [facets[n].group.field for n in by_value]
            source = Source(read, conditions, named, ordered=ordered)
            bounds = read_bounds(source, [keys[n] for n in places])
            counting = [
                _Counting(facets[n], keys[n], source, each)
                for n, each in zip(places, bounds, strict=True)
            ]
            steps = ", ".join(each.count(n) for n, each in enumerate(counting))
            selects = " UNION ALL ".join(each.select(n) for n, each in enumerate(counting))
            number = "total AS MATERIALIZED (SELECT count(*) AS number FROM matches)"
            rows = source.fetch(f", {number}, {steps} {selects} ORDER BY 1")
            if any(size > MAX_MEMORY_BYTES for _n, size, *_others in rows):
                raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
            totals += [rows[0][-1]] if conditions == query else []
            for n, each, row in zip(places, counting, rows, strict=True):
                found[n] = each.render(*row[2:])
        if not totals:
            ((total,),) = Source(read, query, ()).fetch("SELECT count(*) FROM matches")
            totals = [total]
    if sum(map(len, found)) > MAX_MEMORY_BYTES:
        raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
    return FacetsAnswer(totals[0], found)


def suggest_values(
    read: ConsistentRead, query: Query, name: str, prefix: str, limit: int
) -> list[bytes]:
    """
    Suggest at most ``limit`` values of a field that begin with ``prefix``, the most common first.

    They are JSON texts in UTF-8 with the members value and count.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    errors: list[InvalidParameter] = []
    kind = field_types[read.relation.types.get(name, "text")]
    if name not in read.relation.types:
        errors.append(UnknownField(parameter="field", field=name[:MAX_SHOWN_LENGTH]))
    elif Operators.TEXT not in kind.operators:
        errors.append(UnsuggestableField(field=name, type=kind.name))
    bind_query(read, query, errors)
    (facet,) = read_facets(read, query, [Facet(GroupBy(name), query, limit, prefix=prefix)]).facets
    return [
        f'{{"value": {dump_json(each["value"])}, "count": {each["count"]}}}'.encode()
        for each in json.loads(facet, parse_float=Decimal)["values"]
    ]


class _Counting:
    """A facet over a source, whose keys are values, lower bounds of bins, or elements of lists."""

    def __init__(self, facet: Facet, key: GroupKey, source: Source, bounds: list[str]) -> None:
        self.facet, self.key, self.bounds = facet, key, bounds
        self.column = source.columns[facet.group.field]
        is_number = key.kind.is_number and not self.column.is_typed
        self.rows, self.elements = "matches", ""
        if key.kind.is_nested:
            element, value = key.kind.duckdb_type.removesuffix("[]"), self.column.value
            is_number = element != "VARCHAR"
            self.rows, self.by, self.text = "elements", "element", "min(element)"
            self.elements = f"from_json({value}, '[\"VARCHAR\"]')"
            if is_number:  # as text: DuckDB reads JSON without all digits
                self.elements = f"string_split({value}[2:-2], ', ')"
                self.by = trim_zeros("nullif(nullif(element, ''), 'null')")
        else:
            asked = key.ask(source, self.bounds)
            (self.text,), self.by = asked.texts, asked.by
        up, down, self.ranked = ["key"], ["key DESC"], ""
        rank = source.orders.get(facet.group.field, self.column.value)
        if facet.is_by_value and rank != self.column.value:
            self.ranked, up, down = f", min({rank}) AS ranked", ["ranked"], ["ranked DESC"]
        if is_number:  # NaN and the infinities are texts in lists, which come first
            number = "try_cast(key AS DOUBLE)"
            up = [f"{number} NULLS FIRST", *up]
            down = [f"{number} DESC NULLS LAST", *down]
        order = ["number" if facet.is_reversed else "number DESC", *up]
        if facet.is_by_value:
            order = down if facet.is_reversed else up
        self.order = f"ORDER BY {', '.join(order)}"

    def count(self, n: int) -> str:
        """Write the steps that count the keys, and choose some, of the facet with a number."""
        rows, elements = self.rows, ""
        limit = len(self.bounds) + 3 if self.bounds else self.facet.limit
        if self.elements:
            # A record counts once for each different element.
            rows = f"elements{n}"
            elements = (
                f"{rows} AS MATERIALIZED (SELECT DISTINCT _id, {self.by} AS element FROM"
                f" (SELECT _id, unnest({self.elements}) AS element FROM matches)), "
            )
        by, where = "element" if self.elements else self.by, ""
        if prefix := self.facet.prefix:
            by, sought = self.column.text, f"lower({quote_text(prefix)})"
            where = f" WHERE starts_with(lower({by}), {sought})"
            if remove_diacritics(prefix) == prefix:  # letters of one byte have no diacritics
                plain = f"translate(strip_accents(lower({by})), '{STROKED}', '{PLAIN}')"
                where += f" OR strlen({by}) > length({by}) AND starts_with({plain}, {sought})"
        text = "key" if self.text == by else self.text  # DuckDB computes a long text each time
        return (
            f"{elements}counted{n} AS MATERIALIZED (SELECT {by} AS key,"
            f" CAST({text} AS VARCHAR) AS text, count(*) AS number{self.ranked}"
            f" FROM {rows}{where} GROUP BY 1),"
            f" listed{n} AS (SELECT * FROM counted{n} WHERE key IS NOT NULL"
            f" AND number >= {self.facet.min_count} {self.order} LIMIT {limit})"
        )

    def select(self, n: int) -> str:
        """
        Select the number of the facet, the size of its texts, and what ``render`` takes.

        There are few subqueries, because DuckDB plans each for longer than it runs.
        """
        nulls, others = "of_nulls", "of_values - of_listed"
        if self.elements:
            nulls = f"(SELECT count(*) FROM matches WHERE {self.column.value} IS NULL)"
            is_other = f"element IS NOT NULL AND element NOT IN (SELECT key FROM listed{n})"
            others = f"(SELECT count(DISTINCT _id) FROM elements{n} WHERE {is_other})"
        return (
            f"SELECT {n} AS n, size, CASE WHEN size <= {MAX_MEMORY_BYTES} THEN texts END,"
            f" {nulls}, {others}, keys, total.number"
            " FROM (SELECT coalesce(sum(number) FILTER (key IS NULL), 0) AS of_nulls,"
            " coalesce(sum(number) FILTER (key IS NOT NULL), 0) AS of_values,"
            f" count(key) AS keys FROM counted{n}),"
            " (SELECT coalesce(sum(strlen(text)), 0) AS size,"
            " coalesce(sum(number), 0) AS of_listed,"
            f" list([text, CAST(number AS VARCHAR)] {self.order}) AS texts FROM listed{n}), total"
        )

    def render(
        self, values: list[list[str]] | None, nulls: int, others: int, distinct: int, _total: int
    ) -> bytes:
        """Render the facet as JSON."""
        kind, bounds = self.key.kind, self.bounds
        members: dict[str, object] = {
            "field": dump_json(self.facet.group.field),
            "type": dump_json(kind.name),
        }
        if self.facet.group.bins is None:
            listed = (
                f'{{"value": {write_json(kind, text)}, "count": {number}}}'
                for text, number in values or []
            )
            members["values"] = f"[{', '.join(listed)}]"
            members |= {"nulls": nulls, "others": others, "distinct": distinct}
        else:
            counts = {text: int(number) for text, number in values or []}
            written = [write_json(kind, each) for each in bounds]
            ends = pairwise(written * 2 if len(written) == 1 else written)
            listed = (
                f'{{"from": {low}, "to": {high}, "count": {counts.pop(bound, 0)}}}'
                for bound, (low, high) in zip(bounds, ends, strict=False)
            )
            members["bins"] = f"[{', '.join(listed)}]"
            members |= {"nulls": nulls, "others": sum(counts.values())}
            members["min"], members["max"] = (written[0], written[-1]) if written else ("null",) * 2
        members["complete"] = "true"
        text = ", ".join(f'"{name}": {value}' for name, value in members.items())
        return f"{{{text}}}".encode()


def write_json(kind: FieldType, text: str) -> str:
    """Write the text of a value as JSON."""
    # The elements of lists of numbers and of truth values are JSON already.
    is_element = kind.is_list and kind.duckdb_type != "VARCHAR[]"
    is_literal = kind.is_boolean or (kind.is_number and text[-1:].isdigit())
    return text if is_literal or is_element else dump_json(text)
