"""The facets beside the records of a data page, and similar queries."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from posixpath import relpath
from typing import Any

from django.utils.translation import gettext as _

from ...field_types import dump_json
from ...filters import Comparison
from ...messages.availability import TemporarilyUnavailable
from ...messages.parameters import InvalidParameters
from ...messages.texts import format_count, show_bidi_controls
from ...search import Query
from ...web.addresses import reverse_in_locale
from ..analysis.facets import Facet, read_facets
from ..analysis.groups import GroupBy
from ..analysis.spelling import MAX_RARE_RECORDS, NO_SUGGESTIONS, suggest_queries
from .charts.periods import TextPeriods
from .columns import (
    MAX_VALUE_LENGTH,
    Column,
    FacetField,
    FacetKind,
    Histogram,
    choose_facets,
    draw_histogram,
)
from .head import Input, build_input
from .question import OF_TABLE, YES_OR_NO, FieldCondition, join_conditions, write_change
from .sections import PageQuestion, Place, Section
from .values import Digits, parse_typed_value, write_value

logger = logging.getLogger(__name__)

#: Values of a facet that are counted and that are seen, in addition to those that are checked.
_MAX_COUNTED = 20
_MAX_SHOWN = 10

#: Values of a facet that is opened, and the parameter of the text that they must contain.
_MAX_OPENED = 100
_FIND = "find"

#: Bins of a histogram that is counted for the page.
_BINS = 20


@dataclass(frozen=True, slots=True)
class FacetValue:
    """
    A checkbox: the ``value`` that it sends, its label, and the ``number`` of records that have it.

    The number is empty where it is not known.
    """

    value: str
    label: str
    is_checked: bool
    number: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of a facet: values with their counts or a histogram, of the matches or all."""

    values: tuple[tuple[object, int], ...] = ()
    nulls: int | None = None
    others: int = 0
    distinct: int = 0
    histogram: Histogram | None = None
    is_logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class ShownFacet:
    """
    A facet as the template takes it.

    ``most`` is the length of the longest bar.  ``more`` says how many values there are if not all
    are shown; ``open_link`` shows more.  An opened facet has an input, with the text that is
    ``found``.  ``empty`` is the checkbox of records without a value, if any.
    """

    column: Column
    counts: Counts
    values: tuple[FacetValue, ...] = ()
    more: str = ""
    open_link: str = ""
    found: str | None = None
    empty: FacetValue | None = None
    most: int = 0
    inputs: tuple[Input, ...] = ()
    close_link: str = ""
    chart_query: str = ""


def _show_facets(question: PageQuestion) -> Mapping[str, Any]:
    """
    Choose, count and describe the facets of a page.

    ``others`` are the fields, among those shown, without one with buttons that open it, ``hidden``
    the parameters that have no input.  They are not ``is_complete`` where counting failed.
    """
    query, request, resource = question.query, question.request, question.read.resource
    shown_columns = {each.name for each in question.choice.columns}
    shown, others = choose_facets(
        question.columns, query, question.field_profiles, resource.primary_key
    )
    builder = _Builder(question)
    builder.count_matches(builder.list_uncounted(shown))
    facets = [builder.build(position, field) for position, field in enumerate(shown)]
    # The parameters that no input has: of each text input, all values but the first.
    pairs = query.query_string.pairs
    boxes = {f"field.{each.column.name}" for each in facets if each.values}
    boxes |= {_FIND for each in facets if each.found is not None}
    sent = {(f"empty.{each.column.name}", "yes") for each in facets if each.empty}
    for name in {each.name for facet in facets for each in facet.inputs}:
        sent |= set([pair for pair in pairs if pair[0] == name][:1])
    return {
        "facets": facets,
        "others": [
            (column, write_change("facet", *query.facets, column.name))
            for column in others
            if column.name in shown_columns
        ],
        "hidden": [pair for pair in pairs if pair[0] not in boxes and pair not in sent],
        "is_complete": builder.is_complete,
        # Relative, as it is sent for each facet.
        "chart_link": f"{relpath(reverse_in_locale(request, 'chart', resource.pk), request.path)}/",
    }


# Counting -----------------------------------------------------------------------------------------


def _is_replaced(condition: FieldCondition, field: FacetField) -> bool:
    """Return whether a choice in the facet of a field takes the place of a condition."""
    if condition.field.name != field.column.name:
        return False
    is_choice = (condition.operator, *condition.values) == ("empty", "yes")
    return is_choice or condition.operator == "field" or field.kind is not FacetKind.VALUES


class _Builder:
    """Counts facets, and describes them."""

    is_complete = True

    def __init__(self, question: PageQuestion) -> None:
        self._read, self._query = question.read, question.query
        self._profiles = question.field_profiles
        self._asked = {condition.parameter: condition for condition in question.query.conditions}
        self._counts: dict[str, Counts] = {}

    def list_uncounted(self, fields: Sequence[FacetField]) -> list[tuple[FacetField, Facet]]:
        """List the facets that are counted; of the others it is known whether records lack them."""
        asked: list[tuple[FacetField, Facet]] = []
        for field in fields:
            name = field.column.name
            others = [each for each in self._query.conditions if not _is_replaced(each, field)]
            filters = (*join_conditions(others), *self._query.filters)
            if field.can_be_searched and self._query.find:
                filters = (*filters, Comparison(name, "icontains", self._query.find))
            query = Query(limit=None, q=self._query.search.q, filters=filters)
            kind = field.column.type
            is_time = kind.is_moment and not kind.has_day
            # A text has no figures, nor has a time of day.
            if field.kind is FacetKind.TEXT or is_time:
                profile = self._profiles.get(name)
                # Without a profile it is not known whether records lack a value.
                nulls = 0 if profile and not profile["nulls"] else None
                self._counts[name] = Counts(nulls=nulls)
            else:
                bins = None if field.kind is FacetKind.VALUES else _BINS
                group = GroupBy(name, bins=bins, is_logarithmic=field.is_skewed)
                limit = _MAX_OPENED if field.is_wanted else _MAX_COUNTED
                asked.append((field, Facet(group, query, limit=limit)))
        return asked

    def count_matches(self, asked: Sequence[tuple[FacetField, Facet]]) -> None:
        """Count facets; where that fails, the page has them without figures."""
        if not asked:
            return
        # The total of the whole table: the page counts its own.
        facets = [facet for _field, facet in asked]
        try:
            with self._read.session.contain_failure():
                found = read_facets(self._read, Query(limit=None), facets).facets
        except (TemporarilyUnavailable, InvalidParameters) as error:
            logger.warning("The facets of a page were not counted: %s", error)
            found = [b'{"complete": false}'] * len(facets)
        for (field, _facet), text in zip(asked, found, strict=True):
            column, answer = field.column, json.loads(text, parse_int=Digits, parse_float=Digits)
            if not answer["complete"]:
                self.is_complete = False
                own = Counts()
            elif field.kind is FacetKind.VALUES:
                values = tuple((each["value"], int(each["count"])) for each in answer["values"])
                others, distinct = int(answer["others"]), int(answer["distinct"])
                own = Counts(values, int(answer["nulls"]), others, distinct)
            else:
                bins = answer["bins"]
                histogram = bins and {
                    "counts": [int(each["count"]) for each in bins],
                    "bounds": (bins[0]["from"], bins[-1]["to"]),
                }
                drawn = draw_histogram(column, histogram or None)
                own = Counts(histogram=drawn, is_logarithmic=field.is_skewed)
            self._counts[column.name] = own

    # Describing -----------------------------------------------------------------------------------

    def build(self, position: int, field: FacetField) -> ShownFacet:
        """Describe a facet; values that turn out to be many have the inputs of a text."""
        column, counts = field.column, self._counts[field.column.name]
        others = [name for name in self._query.facets if name != column.name]
        address = self._query.query_string.remove(_FIND)
        own = address.replace("facet", *others)
        shown = ShownFacet(
            column,
            counts,
            close_link=own.link if field.is_wanted else "",
            # Other choices of a chart may not suit this field.
            chart_query=own.remove(*OF_TABLE, "per", "split", "as")
            .replace("by", column.name)
            .query,
        )
        records = counts.others + sum(count for _value, count in counts.values)
        is_category = not field.is_guessed or 2 * counts.distinct <= records
        if field.kind is FacetKind.VALUES and (is_category or field.is_wanted):
            values = tuple(self._list_values(column, counts))
            if values or counts.nulls is not None:
                most = _MAX_OPENED if field.is_wanted else _MAX_SHOWN
                listed = [
                    each for number, each in enumerate(values) if number < most or each.is_checked
                ]
                # The most frequent years, in their order.
                texts = [each.value for each in listed]
                periods = TextPeriods.find(texts) if "".join(texts)[:1].isdigit() else None
                if periods or column.type.is_number:
                    order: Callable[[str], Any] = periods.parse if periods else Decimal
                    listed.sort(key=lambda each: order(parse_typed_value(column.type, each.value)))
                is_cut = counts.distinct > len(counts.values) or len(values) > len(listed)
                empty = self._build_empty(column, counts)
                bars = [int(each.number) for each in (*values, empty) if each and each.number]
                return replace(
                    shown,
                    values=tuple(listed),
                    more=format_count(max(counts.distinct, len(listed))) if is_cut else "",
                    open_link=address.replace("facet", column.name, *others).link
                    if not field.can_be_searched
                    else "",
                    found=self._query.find if field.can_be_searched else None,
                    empty=empty,
                    most=max(bars, default=0),
                )
        is_range = field.kind is FacetKind.RANGE or not column.type.is_text
        operators: tuple[str, ...] = ("from", "to") if is_range else ("contains", "field")
        if column.type.is_nested:  # only the address asks for such a facet
            operators = ("contains",) if column.type.is_list else ()
        (own_field,) = (each for each in self._read.resource.schema if each.name == column.name)
        inputs = tuple(
            build_input(f"facet-{position}-{operator}", own_field, operator, self._asked)
            for operator in operators
        )
        empty = None if is_range else self._build_empty(column, counts)
        return replace(shown, inputs=inputs, empty=empty)

    def _list_values(self, column: Column, counts: Counts) -> Iterator[FacetValue]:
        """List the values, texts without regard to their case, then those asked for in vain."""
        condition = self._asked.get(f"field.{column.name}")
        fold = str.casefold if column.type.is_text else str
        asked = {
            fold(parse_typed_value(column.type, value)): value
            for value in (condition.values if condition else ())
        }
        numbers: dict[str, int] = {}
        first: dict[str, object] = {}
        for value, count in counts.values:
            key = fold(write_value(value))
            if key and len(key) <= MAX_VALUE_LENGTH:
                numbers[key] = numbers.get(key, 0) + count
                first.setdefault(key, value)
        style = column.choose_style(first.values())
        for key, value in first.items():
            text = column.write(value, style)
            yield FacetValue(
                write_value(value),
                text if text.strip() else dump_json(text),
                key in asked,
                str(numbers[key]),
            )
        # Both values of a truth value are there, whether records have them or not.
        always = {value: value for value in YES_OR_NO} if column.type.is_boolean else {}
        for key, text in {**always, **asked}.items():
            if key not in first:
                label = YES_OR_NO.get(text, text) if column.type.is_boolean else text
                label = show_bidi_controls(str(label)) if text.strip() else dump_json(text)
                yield FacetValue(text, label, key in asked)

    def _build_empty(self, column: Column, counts: Counts) -> FacetValue | None:
        """Describe the checkbox of records without a value, if there are or may be any."""
        condition = self._asked.get(f"empty.{column.name}")
        is_checked = condition is not None and "yes" in condition.values
        if not (counts.nulls or counts.nulls is None or is_checked):
            return None
        number = str(counts.nulls or "")  # with what to find, none is counted
        return FacetValue("yes", _("empty"), is_checked, number)


# Similar queries and the sections -----------------------------------------------------------------

#: The time of the suggestions of a page.
MAX_SUGGESTION_SECONDS = 1


def _suggest_links(question: PageQuestion) -> Mapping[str, Any] | None:
    """
    Suggest pages with the same conditions; a failure is logged, and the page has no links.

    Each link has its query, whose words come from values, in their ``language``, and the number of
    records there.  The links are not ``is_complete`` where they took too long.
    """
    read, query, found = question.read, question.query, NO_SUGGESTIONS
    if question.total > MAX_RARE_RECORDS:
        return None
    if query.search.q:
        asked = replace(query.search, sort=())
        try:
            with read.session.contain_failure():
                found = suggest_queries(read, asked, timedelta(seconds=MAX_SUGGESTION_SECONDS))
        except TemporarilyUnavailable as error:
            logger.warning("No queries were suggested on a page: %s", error)
            found = replace(NO_SUGGESTIONS, is_complete=False)
    links = [
        {
            "q": show_bidi_controls(each.q),
            "link": query.query_string.replace("q", each.q).link,
            "total": each.total,
            "language": read.resource.content_language,
        }
        for each in found.queries
    ]
    return {"links": links, "is_complete": found.is_complete}


SECTIONS = (
    Section("facets", Place.BESIDE, "datastore_search/_facets.html", _show_facets),
    Section("did_you_mean", Place.RESULT, "datastore_search/_did_you_mean.html", _suggest_links),
)
