"""
``datastore_facets``, ``datastore_aggregate`` and ``datastore_suggest``.

An incomplete answer has no validators, as it must not be repeated from a cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...api.actions.action import Action, Answer
from ...api.permissions import authorize_read
from ...guards.clients import Client
from ...models import Resource
from ...search import ConsistentRead, Page, RawJson, describe_fields, with_consistent_read
from .aggregates import AggregateQuery, read_aggregate
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
from .spelling import NO_SUGGESTIONS, suggest_queries
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


# datastore_aggregate ------------------------------------------------------------------------------


def _aggregate(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = AggregateParameters.parse(sent)
    name, query = AggregateParameters.get_name(parameters), build_aggregate_query(parameters)
    repeated = AggregateParameters.repeat(parameters, sent)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent, query.query.limit)
        page = read_aggregate(read, query)
        in_force = _describe_page(query, page, resource)
        result = in_force | repeated | in_force | {"records": page.records}
        return Answer(result, validators=validators, record_count=page.record_count)

    client = Client.from_request(request)
    return with_consistent_read(name, answer, client=client, as_snapshot=query.query.is_copied)


def _describe_page(query: AggregateQuery, page: Page, resource: Resource) -> dict[str, Any]:
    """Describe the columns and the page; a group has the entry of its field."""
    infos = resource.infos[get_language()]
    labels = {name: infos.get(group.field, {}) for name, group in query.group_by.items()}
    return {
        "resource_id": str(resource.pk),
        "fields": describe_fields(page.fields, labels),
        "records_format": query.query.records_format.value,
        "limit": query.query.limit,
        "include_total": query.query.include_total,
        **({} if page.total is None else {"total": page.total}),
    }


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


analysis_actions = (
    Action(
        "datastore_facets",
        FacetsParameters,
        _read_facets,
        _("Count the most common values of the fields of a resource."),
    ),
    Action(
        "datastore_aggregate",
        AggregateParameters,
        _aggregate,
        _("Compute figures for groups of the records of a resource."),
    ),
    Action(
        "datastore_suggest",
        SuggestParameters,
        _suggest,
        _("Suggest values of a field, and words for a query that finds nothing."),
    ),
)
