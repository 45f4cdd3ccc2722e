"""
``datastore_facets``, ``datastore_aggregate`` and ``datastore_suggest``.

An incomplete answer has no validators, as it must not be repeated from a cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.authentication import authorize_read
from ...api.parameters import Schema
from ...api.schemas import (
    ANY_VALUE,
    BOOLEAN,
    FIELDS,
    LIMIT,
    NON_NEGATIVE_INTEGER,
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
from ...guards.shares import Client
from ...search import ConsistentRead, RawJson, describe_fields, with_consistent_read
from .aggregates import read_aggregate
from .facets import read_facets
from .parameters import (
    AggregateParameters,
    FacetsParameters,
    SuggestParameters,
    build_aggregate_query,
    build_conditions,
    build_facets_query,
    build_values_query,
)
from .spelling import MAX_COUNTED_RECORDS, NO_SUGGESTIONS, suggest_queries
from .suggestions import NO_VALUES, suggest_values

# datastore_facets ---------------------------------------------------------------------------------


def _read_facets(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = FacetsParameters.parse(sent)
    name, query = FacetsParameters.get_name(parameters), build_facets_query(parameters)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        found = read_facets(read, query)
        result = {
            "resource_id": str(resource.pk),
            "total": found.total,
            "facets": RawJson([b"[", b", ".join(found.facets), b"]"]),
        }
        return Answer(result, validators=validators if found.is_complete else None)

    return with_consistent_read(name, answer, client=Client.from_request(request))


def _build_facets_schemas() -> dict[str, Schema]:
    counted = {"count": NON_NEGATIVE_INTEGER}
    figure = one_of(NON_NEGATIVE_INTEGER, NULL)
    facet = object_of(
        {
            "field": TEXT,
            "type": schema_ref("DatastoreFieldType"),
            "nulls": {**figure, "description": "Records without a value."},
            "others": {**figure, "description": "Records with other values than those listed."},
            "complete": {**BOOLEAN, "description": "False if counting took too long."},
        },
        optional={
            "values": list_of(object_of({"value": ANY_VALUE, **counted})),
            "distinct": {**figure, "description": "The number of different values."},
            "bins": list_of(object_of({"from": ANY_VALUE, "to": ANY_VALUE, **counted})),
            "min": {**ANY_VALUE, "description": "The least value in the bins."},
            "max": {**ANY_VALUE, "description": "The greatest value in the bins."},
        },
    )
    facets = object_of(
        {
            "resource_id": RESOURCE_ID,
            "total": {**NON_NEGATIVE_INTEGER, "description": "All matching records."},
            "facets": list_of(schema_ref("DatastoreFacet"), description="In the order asked for."),
        }
    )
    return {"DatastoreFacets": facets, "DatastoreFacet": facet}


# datastore_aggregate ------------------------------------------------------------------------------


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


def _build_aggregate_schema() -> Schema:
    return object_of(
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
            "total": {**NON_NEGATIVE_INTEGER, "description": "All groups; if `include_total`."},
        },
    )


# datastore_suggest --------------------------------------------------------------------------------


def _suggest(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = SuggestParameters.parse(sent)
    name = SuggestParameters.get_name(parameters)
    query, values_query = build_conditions(parameters), build_values_query(parameters)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        found = suggest_values(read, values_query) if values_query else NO_VALUES
        # A query with values is being typed.
        suggestions = NO_SUGGESTIONS if found.values else suggest_queries(read, query)
        is_complete = found.is_complete and suggestions.is_complete
        result = {
            "resource_id": str(resource.pk),
            "words": [
                {"word": word, "suggestions": [*map(asdict, similar)]}
                for word, similar in suggestions.words.items()
            ],
            "queries": [*map(asdict, suggestions.queries)],
            "complete": is_complete,
            "values": RawJson([b"[", b", ".join(found.values), b"]"]),
        }
        return Answer(result, validators=validators if is_complete else None)

    return with_consistent_read(name, answer, client=Client.from_request(request))


def _build_suggestions_schema() -> Schema:
    value = object_of({"value": ANY_VALUE, "count": NON_NEGATIVE_INTEGER})
    similar = object_of(
        {
            "word": TEXT,
            "distance": {**NON_NEGATIVE_INTEGER, "description": "Letters that differ."},
            "count": {
                **NON_NEGATIVE_INTEGER,
                "maximum": MAX_COUNTED_RECORDS,
                "description": "Records that the word finds, up to the maximum.",
            },
        }
    )
    word = object_of({"word": TEXT, "suggestions": list_of(similar)})
    query = object_of({"q": TEXT, "total": {**NON_NEGATIVE_INTEGER, "minimum": 1}})
    return object_of(
        {
            "resource_id": RESOURCE_ID,
            "values": list_of(value, description="The most common values first."),
            "words": list_of(word, description="The words of `q` that no record has."),
            "queries": list_of(query, description="Queries that find records."),
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
        build_schemas=_build_facets_schemas,
    ),
    Action(
        "datastore_aggregate",
        AggregateParameters,
        _aggregate,
        _("Compute figures for groups of the records of a resource."),
        result=schema_ref("DatastoreAggregate"),
        build_schemas=lambda: {"DatastoreAggregate": _build_aggregate_schema()},
    ),
    Action(
        "datastore_suggest",
        SuggestParameters,
        _suggest,
        _("Suggest values of a field, and words for a query that finds nothing."),
        result=schema_ref("DatastoreSuggestions"),
        build_schemas=lambda: {"DatastoreSuggestions": _build_suggestions_schema()},
    ),
)
