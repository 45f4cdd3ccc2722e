"""The parameters of ``datastore_facets``, ``datastore_aggregate`` and ``datastore_suggest``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from string import whitespace
from typing import Any, ClassVar

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ...api.actions.search import SearchParameters, build_query
from ...api.envelope import MAX_REPORTED_ERRORS
from ...api.parameters import (
    MAX_ROW_NUMBER,
    ActionParameters,
    BooleanField,
    ChoiceField,
    ConditionParameters,
    FieldNameField,
    FiltersField,
    FullTextQueryField,
    NonNegativeIntegerField,
    ParameterField,
    ResourceParameters,
    Schema,
    SortField,
    TextField,
    make_printable,
    parse_json,
)
from ...field_types.numbers import NUMBER
from ...filters import exclude_field, parse_filters
from ...filters.names import split_names, unquote_name
from ...messages.parameters import InvalidParameters
from ...messages.requests import MalformedJson
from ...search import MAX_LIMIT_IN_MEMORY, Query
from .aggregates import MAX_GROUPS, MAX_METRICS, AggregateQuery
from .errors import InvalidHaving, NothingToSuggest, RepeatedColumnName
from .facets import MAX_FACET_VALUES, MAX_FACETS, Facet, FacetsQuery
from .groups import INTERVALS, MAX_BINS, GroupBy
from .highlighting import HIGHLIGHTS
from .metrics import METRICS, Metric
from .suggestions import MAX_SUGGESTED_VALUES, ValuesQuery

#: Values of a facet if no limit is given, and suggested ones.
DEFAULT_FACET_VALUES = DEFAULT_SUGGESTED_VALUES = 10

#: The parameters that say which records are counted.
CONDITIONS = tuple(ConditionParameters.get_declared())


#: Of ``datastore_search``.
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


# Types of parameters ------------------------------------------------------------------------------


class NumberField(ParameterField):
    """A number within limits, also as text; ``is_whole`` refuses others than whole numbers."""

    default_error_messages = {
        "number": _("Must be a number from {low} to {high}."),
        "integer": _("Must be a whole number from {low} to {high}."),
    }

    def __init__(self, low: str, high: str, *, is_whole: bool = False, **options: Any) -> None:
        self.low, self.high = Decimal(low), Decimal(high)
        self.kind = "integer" if is_whole else "number"
        super().__init__(**options)

    def describe_limit(self) -> str:
        return str(_("From {low} to {high}.")).format(low=self.low, high=self.high)

    def build_schema(self) -> Schema:
        return {"type": self.kind, "minimum": float(self.low), "maximum": float(self.high)}

    def to_internal_value(self, data: object) -> Decimal | int | None:
        if data == "":
            return None
        number = _parse_number(data)
        is_whole = number is not None and number == number.to_integral_value()
        is_refused = self.kind == "integer" and not is_whole
        if number is None or is_refused or not self.low <= number <= self.high:
            self.fail(self.kind, low=self.low, high=self.high)
        return int(number) if is_whole else number


def _parse_number(data: object) -> Decimal | None:
    """Parse a finite number; None for anything else."""
    if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
        return None
    if isinstance(data, str) and not NUMBER.fullmatch(data := data.strip(whitespace)):
        return None
    number = Decimal(data)
    return number if number.is_finite() else None


class OptionsListField(ParameterField):
    """A list of names or objects with options, or JSON text of it, or names with commas."""

    default_error_messages = {
        "invalid": _("Must be a list of names, or of objects with options."),
        "many": _("There are more than {most} items."),
        "json": _("Cannot parse JSON"),
        "combined": _("“{option}” and “{other}” cannot be combined."),
    }

    accepts_text = True
    limit_text = _("At most {most} items.")
    #: The serializer of an object.
    options: ClassVar[type[ActionParameters]]
    #: The option that a name stands for.
    main: ClassVar[str] = "field"
    #: Pairs of options that cannot be combined.
    exclusive: ClassVar[Sequence[tuple[str, str]]] = ()

    def build_schema(self) -> Schema:
        options = self.options.build_schema(required=self.options.needed)
        items = {"oneOf": [{"type": "string"}, {**options, "additionalProperties": False}]}
        return {"type": "array", "items": items, "maxItems": self.max_items}

    def to_internal_value(self, data: object) -> tuple[Mapping[str, Any], ...] | None:
        if isinstance(data, str) and data.lstrip()[:1] in ("[", "{"):
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("json")
        given = split_names(data, self.max_items + 1) if isinstance(data, str) else data
        if not isinstance(given, list):
            self.fail("invalid")
        if len(given) > self.max_items:
            self.fail("many", most=self.max_items)
        items: list[Mapping[str, Any]] = []
        errors: list[str] = []
        for each in given:
            try:
                items.append(self.parse_item(each))
            except serializers.ValidationError as error:
                name = each.get(self.main) if isinstance(each, Mapping) else each
                errors += _label_errors(
                    error, make_printable(name) if isinstance(name, str) else "?"
                )
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if self.required and not items:
            self.fail("required")
        return tuple(items) or None

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None and self.required:
            self.fail("required")
        return super().validate_empty_values(data)

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
        for option, other in self.exclusive:
            if option in item and other in item:
                self.fail("combined", option=option, other=other)
        self.check_needed(item, "time_zone", "interval")
        return item

    def check_needed(self, item: Mapping[str, Any], option: str, needed: str) -> None:
        """Refuse an option whose required other option is missing."""
        if option in item and needed not in item:
            raise serializers.ValidationError({needed: [str(self.error_messages["required"])]})


def _label_errors(error: serializers.ValidationError, label: str) -> list[str]:
    """List the messages of an item, each after the names of item and option."""
    if isinstance(error.detail, dict):
        return [
            f"{label}: {message}" if option == "__extras" else f"{label}, {option}: {message}"
            for option, messages in error.detail.items()
            for message in messages
        ]
    return [f"{label}: {message}" for message in error.detail]


# datastore_facets ---------------------------------------------------------------------------------

_SORTS = ("count", "value", "count desc", "count asc", "value asc", "value desc")


class GroupingOptions(ActionParameters):
    """The options that a facet and a group have in common."""

    needed = ("field",)

    field = FieldNameField(help_text=_("The name of the field."))
    interval = ChoiceField(INTERVALS, help_text=_("Group dates or timestamps by these periods."))
    time_zone = TextField(
        help_text=_(
            "The time zone of the periods, for `timestamptz` alone: a name that PostgreSQL knows"
            " (`Asia/Bangkok`)."
        ),
        shown_default="UTC",
    )
    bins = NumberField(
        "1",
        str(MAX_BINS),
        is_whole=True,
        help_text=_(
            "Count numbers, dates or timestamps in this number of ranges of equal width, in place"
            " of single values."
        ),
    )


class FacetOptions(GroupingOptions):
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of values; the `limit` of all facets if not given.")
    )
    sort = ChoiceField(
        _SORTS,
        help_text=_(
            "`count` gives the most common values first, equally common ones in their order;"
            " `value` gives values in their order."
        ),
        shown_default="count",
    )
    min_count = NonNegativeIntegerField(
        help_text=_("Leave out values that fewer records have."), shown_default="1"
    )


class FacetsField(OptionsListField):
    """The facets: names and objects with options."""

    options = FacetOptions
    max_items = MAX_FACETS
    exclusive = [
        ("bins", option) for option in ("limit", "sort", "min_count", "interval", "time_zone")
    ]


class FacetsParameters(ResourceParameters, ConditionParameters):
    facets = FacetsField(
        required=True,
        help_text=_("The fields whose values are counted: names, or objects with options."),
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of values of each facet. 0 gives none."),
        shown_default=DEFAULT_FACET_VALUES,
        reduced_to=lambda: MAX_FACET_VALUES,
    )
    exclude_own = BooleanField(
        help_text=_("Leave out, for each facet, the conditions on its own field."),
        shown_default="true",
    )


def build_facets_query(parameters: Mapping[str, Any]) -> FacetsQuery:
    """Make the query of ``FacetsParameters`` that were read."""
    excludes_own = parameters.get("exclude_own", True)
    limit = parameters.get("limit", DEFAULT_FACET_VALUES)
    query, facets = build_conditions(parameters), []
    for options in parameters["facets"]:
        sort, _space, direction = options.get("sort", "count").partition(" ")
        is_by_value, asked = sort == "value", query
        if excludes_own:
            name = options["field"]
            q_fields = {each: text for each, text in query.q_fields.items() if each != name}
            filters = exclude_field(query.filters, name)
            asked = replace(query, filters=filters, q_fields=q_fields)
        facet = Facet(
            _build_group(options),
            asked,
            limit=min(options.get("limit", limit), MAX_FACET_VALUES),
            min_count=min(options.get("min_count", 1), MAX_ROW_NUMBER),
            is_by_value=is_by_value,
            is_reversed=direction == ("desc" if is_by_value else "asc"),
        )
        facets.append(facet)
    return FacetsQuery(query, tuple(facets))


def build_conditions(parameters: Mapping[str, Any]) -> Query:
    """Make a query that has conditions alone, of ``ConditionParameters`` that were read."""
    return build_query({name: parameters[name] for name in CONDITIONS if name in parameters})


# datastore_aggregate ------------------------------------------------------------------------------


class GroupOptions(GroupingOptions):
    # A word of Python's cannot be assigned to.
    vars()["as"] = TextField(
        help_text=_("The name of the column in the answer; the name of the field if not given.")
    )
    width = NumberField(
        "1E-30",
        "1E+30",
        help_text=_(
            "Group numbers by ranges of this width, which begin at its multiples; a range is "
            "named by its lower bound."
        ),
    )


class GroupsField(OptionsListField):
    """The groups: names of fields, and objects with options."""

    options = GroupOptions
    max_items = MAX_GROUPS
    exclusive = (("interval", "width"), ("interval", "bins"), ("width", "bins"))


class MetricOptions(ActionParameters):
    needed = ("metric",)

    metric = ChoiceField(tuple(METRICS), help_text=_("The metric to compute."))
    field = FieldNameField(
        help_text=_(
            "The name of the field. Required, except for `count`, which then counts records."
        )
    )
    vars()["as"] = TextField(
        help_text=_(
            "The name of the column in the answer; if not given, the names of the metric and "
            "the field, as in `sum_budget`."
        )
    )
    percentile = NumberField(
        "0", "100", help_text=_("Which `percentile` is computed; 50 is the median.")
    )


_SHORT_METRIC = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL | re.ASCII)


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


class AggregateParameters(ResourceParameters, ConditionParameters):
    group_by = GroupsField(
        help_text=_(
            "The fields by whose values records are grouped: names, or objects with options. If not"
            " given, all records are one group."
        )
    )
    metrics = MetricsField(
        help_text=_(
            "What to compute for each group: texts such as `sum(budget)`, or objects with options."
        ),
        shown_default="count",
    )
    having = FiltersField(
        help_text=_("Conditions that the groups meet, by the names of the columns.")
    )
    sort = SortField(
        help_text=_(
            "Keys by the names of the columns, as in a search. If not given, groups come in the"
            " order of their values, empty ones last."
        )
    )
    limit = SearchParameters.get_declared()["limit"]
    offset = NonNegativeIntegerField(
        help_text=_("Number of groups to skip before the first."), shown_default="0"
    )
    include_total = BooleanField(help_text=_("Count all groups, as `total`."), shown_default="true")
    records_format = SearchParameters.get_declared()["records_format"]


#: Parameters of a search that choose a page and its format.
_PAGE = ("limit", "offset", "sort", "include_total", "records_format")


def build_aggregate_query(parameters: Mapping[str, Any]) -> AggregateQuery:
    """Make the query of ``AggregateParameters`` that were read."""
    groups = parameters.get("group_by", ())
    names = [options.get("as", options["field"]) for options in groups]
    group_by = dict(zip(names, map(_build_group, groups), strict=True))
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InvalidParameters(
            [RepeatedColumnName(parameter="group_by", name=name) for name in sorted(repeated)]
        )
    metrics = []
    for each in parameters.get("metrics", ({"metric": "count"},)):
        metric, field = each["metric"], each.get("field", "")
        name = each.get("as") or (f"{metric}_{field}" if field else metric)
        metrics.append(Metric(name, metric, field, each.get("percentile")))
    try:
        having = parse_filters(parameters.get("having", {}))
    except InvalidParameters as error:
        raise InvalidParameters([InvalidHaving(error=each) for each in error.errors]) from None
    names_of_query = (*CONDITIONS, *_PAGE)
    return AggregateQuery(
        build_query({name: parameters[name] for name in names_of_query if name in parameters}),
        group_by,
        tuple(metrics),
        having,
    )


def _build_group(options: Mapping[str, Any]) -> GroupBy:
    return GroupBy(**{name: options[name] for name in GroupBy.__slots__ if name in options})


# datastore_suggest --------------------------------------------------------------------------------


class SuggestParameters(ResourceParameters, ConditionParameters):
    q = FullTextQueryField(
        help_text=_(
            "A full-text query, as in a search: only values of its matches are suggested. If "
            "it finds nothing, words and queries are suggested. Required, unless there is a "
            "`field`."
        )
    )
    field = FieldNameField(help_text=_("The name of a field whose values are suggested."))
    prefix = TextField(
        help_text=_(
            "The beginning of the values, as typed; if not given, the most common values are "
            "suggested."
        )
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of values. 0 gives none."),
        shown_default=DEFAULT_SUGGESTED_VALUES,
        reduced_to=lambda: MAX_SUGGESTED_VALUES,
    )


def build_values_query(parameters: Mapping[str, Any]) -> ValuesQuery | None:
    """Make the query for values of ``SuggestParameters`` that were read; None without a field."""
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
