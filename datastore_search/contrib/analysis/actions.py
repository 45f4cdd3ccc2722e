"""
``datastore_facets``, ``datastore_aggregate`` and ``datastore_suggest``.

An incomplete answer has no validators, as it must not be repeated from a cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from django.utils.translation import get_language, gettext_lazy as _
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.actions.search import SearchParameters, build_query
from ...api.authentication import authorize_read
from ...api.parameters import (
    MAX_ROW_NUMBER,
    ActionParameters,
    BooleanField,
    ChoiceField,
    ConditionParameters,
    FieldNameField,
    FiltersField,
    FullTextQueryField,
    JsonField,
    NonNegativeIntegerField,
    NumberField,
    ResourceParameters,
    SortField,
    TextField,
)
from ...api.schemas import (
    ANY_VALUE,
    BOOLEAN,
    COUNT,
    FIELDS,
    LIMIT,
    NULL,
    OBJECT,
    RESOURCE_ID,
    ROW,
    ROWS_OF_TEXT,
    TEXT,
    describe_repeated,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from ...filters import exclude_field, parse_filters
from ...filters.names import unquote_name
from ...guards.shares import Client
from ...messages.parameters import InvalidParameters
from ...search import ConsistentRead, Query, RawJson, describe_fields, with_consistent_read
from .aggregates import MAX_GROUPS, MAX_METRICS, METRICS, AggregateQuery, Metric, read_aggregate
from .comparison import SHARE, Compare
from .errors import InvalidHaving, NothingToSuggest, RepeatedColumnName
from .facets import (
    MAX_FACET_VALUES,
    MAX_FACETS,
    MAX_SUGGESTED_VALUES,
    Facet,
    read_facets,
    suggest_values,
)
from .groups import INTERVALS, MAX_BINS, GroupBy
from .parameter_types import OptionsListField
from .spelling import MAX_COUNTED_RECORDS, NO_SUGGESTIONS, suggest_queries

#: Values of a facet if no limit is given, and suggested ones.
DEFAULT_FACET_VALUES = DEFAULT_SUGGESTED_VALUES = 10

#: The parameters that say which records are counted.
CONDITIONS = tuple(ConditionParameters.get_declared())


def build_conditions(parameters: Mapping[str, Any]) -> Query:
    return build_query({name: parameters[name] for name in CONDITIONS if name in parameters})


def _build_group(options: Mapping[str, Any]) -> GroupBy:
    return GroupBy(**{name: options[name] for name in GroupBy.__slots__ if name in options})


# datastore_facets ---------------------------------------------------------------------------------

_SORTS = ("count", "value", "count desc", "count asc", "value asc", "value desc")


class GroupingOptions(ActionParameters):
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


def _read_facets(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = FacetsParameters.parse(sent)
    name, query = FacetsParameters.get_name(parameters), build_conditions(parameters)
    limit, facets = parameters.get("limit", DEFAULT_FACET_VALUES), list[Facet]()
    for options in parameters["facets"]:
        sort, _space, direction = options.get("sort", "count").partition(" ")
        is_by_value, asked, own = sort == "value", query, options["field"]
        if parameters.get("exclude_own", True):
            q_fields = {each: text for each, text in query.q_fields.items() if each != own}
            filters = exclude_field(query.filters, own)
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

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        found = read_facets(read, query, facets)
        result = {
            "resource_id": str(resource.pk),
            "total": found.total,
            "facets": RawJson([b"[", b", ".join(found.facets), b"]"]),
        }
        return Answer(result, validators=validators)

    return with_consistent_read(name, answer, client=Client.from_request(request))


_FIGURE = one_of(COUNT, NULL)

_FACET = object_of(
    {
        "field": TEXT,
        "type": schema_ref("DatastoreFieldType"),
        "nulls": {**_FIGURE, "description": "Records without a value."},
        "others": {**_FIGURE, "description": "Records with other values than those listed."},
        "complete": {**BOOLEAN, "description": "False if counting took too long."},
    },
    optional={
        "values": list_of(object_of({"value": ANY_VALUE, "count": COUNT})),
        "distinct": {**_FIGURE, "description": "The number of different values."},
        "bins": list_of(object_of({"from": ANY_VALUE, "to": ANY_VALUE, "count": COUNT})),
        "min": {**ANY_VALUE, "description": "The least value in the bins."},
        "max": {**ANY_VALUE, "description": "The greatest value in the bins."},
    },
)

_FACETS = object_of(
    {
        "resource_id": RESOURCE_ID,
        "total": {**COUNT, "description": "All matching records."},
        "facets": list_of(schema_ref("DatastoreFacet"), description="In the order asked for."),
    }
)


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
    options = GroupOptions
    max_items = MAX_GROUPS
    exclusive = (("interval", "width"), ("interval", "bins"), ("width", "bins"))


class MetricOptions(ActionParameters):
    needed = ("metric",)

    metric = ChoiceField(tuple(METRICS), help_text=_("The metric to compute."))
    field = FieldNameField(
        help_text=_(
            "The name of the field. Required, except for `count` and `share`, which are then about"
            " records."
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
        if item["metric"] not in {"count", SHARE}:
            self.check_needed(item, "metric", "field")
        if item["metric"] == "percentile":
            self.check_needed(item, "metric", "percentile")
        elif "percentile" in item:
            self.fail("combined", option=item["metric"], other="percentile")
        return item


class CompareField(JsonField):
    """Two groups of a column: an object, or the JSON text of one."""

    default_error_messages = {"invalid": _("Must be an object with “field”, “from” and “to”.")}
    json_schema = {
        "type": "object",
        "required": ["field", "from", "to"],
        "properties": {"field": {"type": "string"}, "from": ANY_VALUE, "to": ANY_VALUE},
        "additionalProperties": False,
    }
    component = "{name}"

    def check(self, data: object) -> Mapping[str, object]:
        if not isinstance(data, Mapping) or data.keys() != {"field", "from", "to"}:
            self.fail("invalid")
        if not isinstance(data["field"], str):
            self.fail("invalid")
        return data


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
    compare = CompareField(
        help_text=_(
            "Two groups or periods of a column of `group_by` side by side: an object with its name"
            " (`field`) and the two values (`from`, `to`). Each metric then has four columns, whose"
            " names end with `_from`, `_to`, `_difference` and, in per cent, `_change`."
        )
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
    compare = parameters.get("compare")
    compared = Compare(compare["field"], compare["from"], compare["to"]) if compare else None
    of_query = {name: parameters[name] for name in (*CONDITIONS, *_PAGE) if name in parameters}
    return AggregateQuery(build_query(of_query), group_by, tuple(metrics), having, compared)


def _aggregate(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = AggregateParameters.parse(sent)
    name, query = AggregateParameters.get_name(parameters), build_aggregate_query(parameters)
    repeated = AggregateParameters.repeat(parameters, sent)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent, query.query.limit)
        page = read_aggregate(read, query)
        infos = resource.infos[get_language()]
        # A group has the entry of its field.
        labels = {name: infos.get(group.field, {}) for name, group in query.group_by.items()}
        in_force = {
            "resource_id": str(resource.pk),
            "fields": describe_fields(page.fields, labels),
            "records_format": query.query.records_format.value,
            "limit": query.query.limit,
            "include_total": query.query.include_total,
            **({} if page.total is None else {"total": page.total}),
        }
        result = in_force | repeated | in_force | {"records": page.records}
        return Answer(result, validators=validators, record_count=page.record_count)

    client = Client.from_request(request)
    return with_consistent_read(name, answer, client=client, as_snapshot=query.query.is_copied)


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


def _suggest(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = SuggestParameters.parse(sent)
    name = SuggestParameters.get_name(parameters)
    query, field = build_conditions(parameters), parameters.get("field")
    if field is None and not (query.q or query.q_fields):
        raise InvalidParameters([NothingToSuggest()])
    prefix = parameters.get("prefix", "")
    limit = min(parameters.get("limit", DEFAULT_SUGGESTED_VALUES), MAX_SUGGESTED_VALUES)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        values = suggest_values(read, query, field, prefix, limit) if field is not None else []
        # A query with values is being typed.
        suggestions = NO_SUGGESTIONS if values else suggest_queries(read, query)
        result = {
            "resource_id": str(resource.pk),
            "words": [
                {"word": word, "suggestions": [*map(asdict, similar)]}
                for word, similar in suggestions.words.items()
            ],
            "queries": [*map(asdict, suggestions.queries)],
            "complete": suggestions.is_complete,
            "values": RawJson([b"[", b", ".join(values), b"]"]),
        }
        return Answer(result, validators=validators if suggestions.is_complete else None)

    return with_consistent_read(name, answer, client=Client.from_request(request))


_SIMILAR_WORD = object_of(
    {
        "word": TEXT,
        "distance": {**COUNT, "description": "Letters that differ."},
        "count": {
            **COUNT,
            "maximum": MAX_COUNTED_RECORDS,
            "description": "Records that the word finds, up to the maximum.",
        },
    }
)

_SUGGESTIONS = object_of(
    {
        "resource_id": RESOURCE_ID,
        "values": list_of(
            object_of({"value": ANY_VALUE, "count": COUNT}),
            description="The most common values first.",
        ),
        "words": list_of(
            object_of({"word": TEXT, "suggestions": list_of(_SIMILAR_WORD)}),
            description="The words of `q` that no record has.",
        ),
        "queries": list_of(
            object_of({"q": TEXT, "total": {**COUNT, "minimum": 1}}),
            description="Queries that find records.",
        ),
        "complete": {**BOOLEAN, "description": "False if there may be other suggestions."},
    }
)


analysis_actions = (
    Action(
        "datastore_facets",
        FacetsParameters,
        _read_facets,
        _("Count the most common values of the fields of a resource."),
        result=schema_ref("DatastoreFacets"),
        build_schemas=lambda: {"DatastoreFacets": _FACETS, "DatastoreFacet": _FACET},
    ),
    Action(
        "datastore_aggregate",
        AggregateParameters,
        _aggregate,
        _("Compute figures for groups of the records of a resource."),
        result=schema_ref("DatastoreAggregate"),
        build_schemas=lambda: {
            "DatastoreAggregate": object_of(
                {
                    "resource_id": RESOURCE_ID,
                    "fields": FIELDS,
                    "records_format": schema_ref("DatastoreRecordsFormat"),
                    "limit": LIMIT,
                    "include_total": BOOLEAN,
                    "records": {
                        "description": "The groups, in the form that `records_format` says.",
                        **one_of(list_of(one_of(OBJECT, ROW)), ROWS_OF_TEXT),
                    },
                },
                optional={
                    **describe_repeated(AggregateParameters),
                    "total": {**COUNT, "description": "All groups; if `include_total`."},
                },
            )
        },
    ),
    Action(
        "datastore_suggest",
        SuggestParameters,
        _suggest,
        _("Suggest values of a field, and words for a query that finds nothing."),
        result=schema_ref("DatastoreSuggestions"),
        build_schemas=lambda: {"DatastoreSuggestions": _SUGGESTIONS},
    ),
)
