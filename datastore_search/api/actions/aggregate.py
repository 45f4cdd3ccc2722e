"""``datastore_aggregate``: figures of groups of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...analysis import AggregateQuery, read_aggregate
from ...guards.clients import Client
from ...search import ConsistentRead, Page, with_consistent_read
from ...search.fields import describe_fields
from ..analysis_parameters import AggregateParameters, build_aggregate_query
from ..renderers import wrap_records
from .action import Action, Answer, authorize_read

#: The parameters that an answer repeats if they were sent, as they were understood.
REPEATED_PARAMETERS = (
    "group_by",
    "metrics",
    "having",
    "filters",
    "q",
    "full_text",
    "plain",
    "substrings",
    "language",
    "sort",
    "offset",
)


def _aggregate(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = AggregateParameters.parse(sent)
    name, query = AggregateParameters.get_name(parameters), build_aggregate_query(parameters)
    repeated = {
        each: sent[each] if each == "sort" else parameters[each]
        for each in REPEATED_PARAMETERS
        if each in parameters
    }

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent, query.query.limit)
        page = read_aggregate(read, query)
        result = {
            "resource_id": str(resource.pk),
            **_describe(query, page, resource.infos),
            **repeated,
            "records": wrap_records(page.records),
        }
        return Answer(result, validators=validators, record_count=page.record_count)

    client = Client.from_request(request)
    return with_consistent_read(name, answer, client=client, as_snapshot=query.query.is_copied)


def _describe(
    query: AggregateQuery, page: Page, infos: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Describe the columns and the page; a group has the entry of its field."""
    labels = {name: infos.get(group.field, {}) for name, group in query.group_by.items()}
    return {
        "fields": describe_fields(page.fields, labels),
        "records_format": query.query.records_format.value,
        "limit": query.query.limit,
        "include_total": query.query.include_total,
        **({} if page.total is None else {"total": page.total}),
    }


datastore_aggregate = Action(
    name="datastore_aggregate",
    parameters=AggregateParameters,
    run=_aggregate,
    help=_("Compute figures of groups of the records of a resource."),
)
