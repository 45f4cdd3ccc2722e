"""
The parameters of ``datastore_facets``, ``datastore_aggregate`` and ``datastore_suggest``.

A facet, a group and a metric are objects with options, which serializers of their own describe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..analysis import (
    INTERVALS,
    MAX_BINS,
    MAX_FACET_VALUES,
    MAX_FACETS,
    MAX_GROUPS,
    MAX_METRICS,
    MAX_SUGGESTED_VALUES,
    METRICS,
    AggregateQuery,
    Facet,
    FacetsQuery,
    GroupBy,
    Metric,
    ValuesQuery,
)
from ..conf import conf
from ..exceptions.analysis import InvalidHaving, NothingToSuggest, RepeatedColumnName
from ..exceptions.parameters import InvalidParameters
from ..exceptions.requests import MalformedJson
from ..field_names import split_names, unquote_name
from ..filters import Condition, exclude_field, parse_filters
from ..search import Query, RecordsFormat
from .body import parse_json
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import (
    MAX_TEXT_LENGTH,
    BooleanField,
    ChoiceField,
    FieldNameField,
    FiltersField,
    FullTextField,
    FullTextQueryField,
    NonNegativeIntegerField,
    ParameterField,
    SortField,
    TextField,
)
from .parameters import (
    MAX_BIGINT,
    ActionParameters,
    ResourceParameters,
    build_query,
    make_printable,
)

#: Values of a facet if no limit is given, and suggested ones.
DEFAULT_FACET_VALUES = DEFAULT_SUGGESTED_VALUES = 10

_CONDITIONS = ("filters", "q", "full_text", "plain", "substrings", "language")


# Types of parameters ------------------------------------------------------------------------------


class NumberField(ParameterField):
    """A number within limits, also as text."""

    default_error_messages = {"invalid": _("Must be a number from {low} to {high}.")}

    def __init__(self, low: str, high: str, **options: Any) -> None:
        self.low, self.high = Decimal(low), Decimal(high)
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal | int | None:
        if data == "":
            return None
        number = self.parse_number(data)
        if number is None or not self.low <= number <= self.high:
            self.fail("invalid", low=self.low, high=self.high)
        return int(number) if _is_whole(number) else number

    def parse_number(self, data: object) -> Decimal | None:
        """Parse a finite number; None for anything else."""
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            return None
        try:
            number = Decimal(data.strip() if isinstance(data, str) else data)
        except InvalidOperation:
            return None
        return number if number.is_finite() else None


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


class WholeNumberField(NumberField):
    """A whole number within limits, also as text."""

    default_error_messages = {"invalid": _("Must be a whole number from {low} to {high}.")}

    def parse_number(self, data: object) -> Decimal | None:
        number = super().parse_number(data)
        return number if number is not None and _is_whole(number) else None


class OptionsListField(ParameterField):
    """A list of names or objects with options, or JSON text of it, or names with commas."""

    default_error_messages = {
        "invalid": _("Must be a list of names, or of objects with options."),
        "many": _("There are more than {most} items."),
        "json": _("Cannot parse JSON"),
        "combined": _("“{option}” and “{other}” cannot be combined."),
    }

    #: The serializer of an object.
    options: ClassVar[type[ActionParameters]]
    #: The option that a name stands for.
    main: ClassVar[str] = "field"
    max_items: ClassVar[int]

    def to_internal_value(self, data: object) -> tuple[Mapping[str, Any], ...] | None:
        given = self._list_items(data)
        if len(given) > self.max_items:
            self.fail("many", most=self.max_items)
        items: list[Mapping[str, Any]] = []
        errors: list[str] = []
        for each in given:
            try:
                items.append(self.parse_item(each))
            except serializers.ValidationError as error:
                errors += _label_errors(error, self._describe(each))
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if self.required and not items:
            self.fail("required")
        return tuple(items) or None

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None and self.required:
            self.fail("required")
        return super().validate_empty_values(data)

    def _list_items(self, data: object) -> Sequence[object]:
        """List the objects and names that were sent."""
        if isinstance(data, str) and data.lstrip()[:1] in ("[", "{"):
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("json")
        if isinstance(data, str):
            return split_names(data, self.max_items + 1)
        if isinstance(data, Mapping):
            return self.list_members(data)
        if not isinstance(data, list):
            self.fail("invalid")
        return data

    def list_members(self, data: Mapping[str, object]) -> Sequence[object]:
        """List the members of an object that was sent in place of a list."""
        if data:
            self.fail("invalid")
        return []

    def parse_item(self, item: object) -> Mapping[str, Any]:
        """Parse an object with options, or a text that stands for one."""
        if isinstance(item, str):
            item = self.expand_name(item)
        if not isinstance(item, Mapping):
            self.fail("invalid")
        return self.check_item(self.options.parse(item))

    def expand_name(self, name: str) -> Mapping[str, object]:
        """Build the object that a name stands for."""
        return {self.main: unquote_name(name)}

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Check options that depend on each other."""
        return item

    def check_alone(self, item: Mapping[str, Any], option: str, other: str) -> None:
        """Refuse two options that cannot be combined."""
        if option in item and other in item:
            self.fail("combined", option=option, other=other)

    def check_needed(self, item: Mapping[str, Any], option: str, needed: str) -> None:
        """Refuse an option without another one that it needs."""
        if option in item and needed not in item:
            raise serializers.ValidationError({needed: [str(self.error_messages["required"])]})

    def _describe(self, item: object) -> str:
        """Describe an item in a message: by its name, if it has one."""
        name = item.get(self.main) if isinstance(item, Mapping) else item
        return make_printable(name) if isinstance(name, str) else "?"


def _label_errors(error: serializers.ValidationError, label: str) -> list[str]:
    """List the messages of an item, after its name and that of the option."""
    if isinstance(error.detail, dict):
        return [
            f"{label}: {message}" if option == "__extras" else f"{label}, {option}: {message}"
            for option, messages in error.detail.items()
            for message in messages
        ]
    return [f"{label}: {message}" for message in error.detail]


# datastore_facets ---------------------------------------------------------------------------------

_INTERVAL = (
    "Group moments by the `year`, `quarter`, `month`, `week`, `day` or `hour` in which they are."
)
_TIME_ZONE = (
    "The time zone of the periods, by a name that PostgreSQL knows (`Asia/Bangkok`); for"
    " `timestamptz` alone, `UTC` if not given."
)
_SORTS = ("count", "value", "count desc", "count asc", "value asc", "value desc")
_VALUE_OPTIONS = ("limit", "sort", "min_count", "interval", "time_zone")


class FacetOptions(ActionParameters):
    """The options of one facet."""

    needed = ("field",)

    field = FieldNameField(help_text="The name of the field. Required.")
    limit = NonNegativeIntegerField(
        help_text="Maximum number of values; the `limit` of all facets if not given."
    )
    sort = ChoiceField(
        _SORTS,
        help_text="`count` gives the most common values first, equally common ones in their order;"
        " `value` gives values in their order. `asc` or `desc` may follow. `count` if not given.",
    )
    min_count = NonNegativeIntegerField(
        help_text="Leave out values that fewer records have; 1 if not given."
    )
    bins = WholeNumberField(
        "1",
        str(MAX_BINS),
        help_text="Count numbers, dates or timestamps in this number of ranges of equal width, at"
        f" most {MAX_BINS}, in place of single values.",
    )
    interval = ChoiceField(INTERVALS, help_text=_INTERVAL)
    time_zone = TextField(help_text=_TIME_ZONE)


class FacetsField(OptionsListField):
    """The facets: names and objects with options, or one object: field → options."""

    options = FacetOptions
    max_items = MAX_FACETS

    def list_members(self, data: Mapping[str, object]) -> Sequence[object]:
        if not all(isinstance(options, Mapping) or options is None for options in data.values()):
            self.fail("invalid")
        return [
            {**(options if isinstance(options, Mapping) else {}), "field": name}
            for name, options in data.items()
        ]

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        for option in _VALUE_OPTIONS:
            self.check_alone(item, "bins", option)
        self.check_needed(item, "time_zone", "interval")
        return item


class ConditionParameters(ResourceParameters):
    """The parameters that say which records are counted."""

    filters = FiltersField(help_text="Conditions that the records must meet, as in a search.")
    q = FullTextQueryField(
        help_text="A full-text query that the records must match, as in a search."
    )
    full_text = FullTextField(
        help_text="A full-text query over all fields, to be used with a `q` that is an object."
    )
    plain = BooleanField(
        help_text="False reads `q` and `full_text` in PostgreSQL's query language; true if not"
        " given."
    )
    substrings = BooleanField(
        help_text="Find the words of `q` and `full_text` within words, too, as in a search; false"
        " if not given."
    )
    language = TextField(
        help_text="The name of a PostgreSQL text search configuration for the words of `q` and"
        " `full_text`; the resource's own if not given."
    )


class FacetsParameters(ConditionParameters):
    """The parameters of ``datastore_facets``."""

    facets = FacetsField(
        required=True,
        help_text=f"The fields whose values are counted, at most {MAX_FACETS}: a list of names and"
        " of [objects with options](#facets), an object field → options, or a text with commas"
        " between the names. Required.",
    )
    limit = NonNegativeIntegerField(
        help_text=f"Maximum number of values of each facet: {DEFAULT_FACET_VALUES} if not given;"
        f" more than {MAX_FACET_VALUES:,} is reduced to that. 0 gives none."
    )
    exclude_own = BooleanField(
        help_text="Leave out, for each facet, the conditions on its own field; true if not given."
    )


def build_facets_query(parameters: Mapping[str, Any]) -> FacetsQuery:
    """
    Make the query of ``FacetsParameters`` that were read.

    Raises: ``InvalidParameters`` for filters that are none.
    """
    excludes_own = parameters.get("exclude_own", True)
    limit = parameters.get("limit", DEFAULT_FACET_VALUES)
    query = build_conditions(parameters)
    return FacetsQuery(
        query,
        tuple(
            _build_facet(
                options,
                _exclude_own(query, options["field"]) if excludes_own else query,
                limit,
            )
            for options in parameters["facets"]
        ),
    )


def build_conditions(parameters: Mapping[str, Any]) -> Query:
    """Make a query that has conditions alone, of ``ConditionParameters`` that were read."""
    return build_query({name: parameters[name] for name in _CONDITIONS if name in parameters})


def _exclude_own(query: Query, field: str) -> Query:
    """Make a query without the conditions on a field."""
    return replace(
        query,
        filters=exclude_field(query.filters, field),
        q_fields={name: text for name, text in query.q_fields.items() if name != field},
    )


def _build_facet(options: Mapping[str, Any], query: Query, limit: int) -> Facet:
    sort, _space, direction = options.get("sort", "count").partition(" ")
    is_by_value = sort == "value"
    return Facet(
        _build_group(options),
        query,
        limit=min(options.get("limit", limit), MAX_FACET_VALUES),
        min_count=min(options.get("min_count", 1), MAX_BIGINT),
        is_by_value=is_by_value,
        is_reversed=direction == ("desc" if is_by_value else "asc"),
    )


# datastore_aggregate ------------------------------------------------------------------------------


class GroupOptions(ActionParameters):
    """The options of one group."""

    needed = ("field",)

    field = FieldNameField(help_text="The name of the field. Required.")
    # A word of Python's cannot be assigned to.
    vars()["as"] = TextField(
        help_text="The name of the column in the answer; that of the field if not given."
    )
    interval = ChoiceField(INTERVALS, help_text=_INTERVAL)
    time_zone = TextField(help_text=_TIME_ZONE)
    width = NumberField(
        "1E-30",
        "1E+30",
        help_text="Group numbers by ranges of this width, from its multiples on; a range is named"
        " by its lower bound.",
    )
    bins = WholeNumberField(
        "1",
        str(MAX_BINS),
        help_text="Group numbers, dates or timestamps by this number of ranges of equal width, at"
        f" most {MAX_BINS}; a range is named by its lower bound.",
    )


class GroupsField(OptionsListField):
    """The groups: names of fields, and objects with options."""

    options = GroupOptions
    max_items = MAX_GROUPS

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        self.check_alone(item, "interval", "width")
        self.check_alone(item, "interval", "bins")
        self.check_alone(item, "width", "bins")
        self.check_needed(item, "time_zone", "interval")
        return item


class MetricOptions(ActionParameters):
    """The options of one metric."""

    needed = ("metric",)

    metric = ChoiceField(METRICS, help_text="What is computed. Required.")
    field = FieldNameField(
        help_text="The name of the field. Required, except for `count`, which counts records then."
    )
    vars()["as"] = TextField(
        help_text="The name of the column in the answer; if not given, that of the metric and of"
        " the field, as in `sum_budget`."
    )
    percentile = NumberField(
        "0", "100", help_text="Which `percentile` is computed, from 0 to 100; 50 is the median."
    )


_SHORT_METRIC = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


class MetricsField(OptionsListField):
    """The metrics: texts such as ``sum(budget)``, and objects with options."""

    options = MetricOptions
    main = "metric"
    max_items = MAX_METRICS

    def expand_name(self, name: str) -> Mapping[str, object]:
        found = _SHORT_METRIC.fullmatch(unquote_name(name))
        if found is None:
            self.fail("invalid")
        metric, field = found.groups()
        return {"metric": metric, **({} if field is None else {"field": unquote_name(field)})}

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        if item["metric"] != "count":
            self.check_needed(item, "metric", "field")
        if item["metric"] == "percentile":
            self.check_needed(item, "metric", "percentile")
        elif "percentile" in item:
            self.fail("combined", option=item["metric"], other="percentile")
        return item


def _describe_limit() -> str:
    return (
        f"Maximum number of groups: {conf.DEFAULT_LIMIT:,} if not given; more than"
        f" {conf.MAX_LIMIT:,} is reduced to that. 0 gives none."
    )


class AggregateParameters(ConditionParameters):
    """The parameters of ``datastore_aggregate``."""

    group_by = GroupsField(
        help_text=f"The fields by whose values records are grouped, at most {MAX_GROUPS}: a list of"
        " names and of [objects with options](#group_by), or a text with commas between the names."
        " If not given, all records are one group."
    )
    metrics = MetricsField(
        help_text=f"What is computed of each group, at most {MAX_METRICS} [metrics](#metrics): a"
        " list of texts such as `sum(budget)` and of objects with options, or a text with commas"
        " between the metrics. `count` if not given."
    )
    having = FiltersField(
        help_text="Conditions that the groups must meet, in the form of `filters`, by the names of"
        " the columns."
    )
    sort = SortField(
        help_text="Sort keys by the names of the columns, as in a search. If not given, groups come"
        " in the order of their values, empty ones last."
    )
    limit = NonNegativeIntegerField(help_text=lazy(_describe_limit, str)())
    offset = NonNegativeIntegerField(
        help_text="Number of groups to skip before the first; 0 if not given."
    )
    include_total = BooleanField(help_text="Count all groups, as `total`; true if not given.")
    records_format = ChoiceField(
        tuple(RecordsFormat),
        help_text="How the groups are written: as objects, as lists in the order of `fields`, or as"
        " one text of CSV or TSV without a header. `objects` if not given.",
    )


#: Parameters of a search that choose a page and its format.
_PAGE = ("limit", "offset", "sort", "include_total", "records_format")


def build_aggregate_query(parameters: Mapping[str, Any]) -> AggregateQuery:
    """
    Make the query of ``AggregateParameters`` that were read.

    Raises: ``InvalidParameters`` for conditions that are none, and for groups of one name.
    """
    groups = parameters.get("group_by", ())
    group_by = {options.get("as", options["field"]): _build_group(options) for options in groups}
    names = [options.get("as", options["field"]) for options in groups]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InvalidParameters(
            [RepeatedColumnName(parameter="group_by", name=name) for name in sorted(repeated)]
        )
    names_of_query = (*_CONDITIONS, *_PAGE)
    return AggregateQuery(
        build_query({name: parameters[name] for name in names_of_query if name in parameters}),
        group_by,
        tuple(map(_build_metric, parameters.get("metrics", ({"metric": "count"},)))),
        _parse_having(parameters.get("having", {})),
    )


def _build_group(options: Mapping[str, Any]) -> GroupBy:
    width = options.get("width")
    return GroupBy(
        options["field"],
        interval=options.get("interval", ""),
        time_zone=options.get("time_zone", ""),
        width=None if width is None else Decimal(width),
        bins=options.get("bins"),
    )


def _build_metric(options: Mapping[str, Any]) -> Metric:
    metric, field = options["metric"], options.get("field", "")
    name = options.get("as") or (f"{metric}_{field}" if field else metric)
    percentile = options.get("percentile")
    return Metric(name, metric, field, None if percentile is None else Decimal(percentile))


def _parse_having(having: Mapping[str, object] | Sequence[object]) -> tuple[Condition, ...]:
    try:
        return parse_filters(having)
    except InvalidParameters as error:
        raise InvalidParameters([InvalidHaving(error=each) for each in error.errors]) from None


# datastore_suggest --------------------------------------------------------------------------------


class SuggestParameters(ConditionParameters):
    """The parameters of ``datastore_suggest``."""

    q = FullTextQueryField(
        help_text="A full-text query, as in a search: only values of its matches are suggested. For"
        " one that finds nothing, words and queries are suggested. Required, unless there is a"
        " `field`."
    )
    field = FieldNameField(help_text="The name of a field whose values are suggested.")
    prefix = TextField(
        help_text="The beginning of the values, as it was typed; if not given, the most common"
        f" values are suggested. At most {MAX_TEXT_LENGTH} letters."
    )
    limit = NonNegativeIntegerField(
        help_text=f"Maximum number of values: {DEFAULT_SUGGESTED_VALUES} if not given; more than"
        f" {MAX_SUGGESTED_VALUES} is reduced to that. 0 gives none."
    )


def build_values_query(parameters: Mapping[str, Any]) -> ValuesQuery | None:
    """
    Make the query for values of ``SuggestParameters`` that were read; None without a field.

    Raises: ``InvalidParameters`` for filters that are none, and where nothing is asked.
    """
    query = build_conditions(parameters)
    if "field" not in parameters:
        if not (query.q or query.q_fields):
            raise InvalidParameters([NothingToSuggest()])
        return None
    limit = parameters.get("limit", DEFAULT_SUGGESTED_VALUES)
    return ValuesQuery(
        query,
        parameters["field"],
        parameters.get("prefix", ""),
        min(limit, MAX_SUGGESTED_VALUES),
    )
