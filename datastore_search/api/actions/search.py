"""``datastore_search``.  Source: CKAN ``datastore_search``, sections 3 to 11 of its semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...field_types import dump_json_as_sent
from ...guards.clients import Client
from ...search import (
    ConsistentRead,
    Page,
    Query,
    describe_fields,
    read_page,
    retry_if_stale,
    with_consistent_read,
)
from ...web.addresses import find_base_path
from ..parameters import SearchParameters, build_query
from ..permissions import authorize_read, get_reader
from .action import Action, Answer
from .table_metadata import TABLE_METADATA, read_table_metadata

#: The parameters that a link to another page does not repeat.
_NOT_LINKED = ("resource_id", "id", "offset")


@dataclass(frozen=True, slots=True)
class _SearchCall:
    """One call: its parameters as they were ``sent`` and as they were read, and their query."""

    request: Request
    sent: Mapping[str, Any]
    parameters: Mapping[str, Any]
    query: Query


def _search(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = SearchParameters.parse(sent)
    name, query = SearchParameters.get_name(parameters), build_query(parameters)
    call = _SearchCall(request, sent, parameters, query)
    client = Client.from_request(request)
    if name == TABLE_METADATA:
        reader = get_reader(request)
        page = retry_if_stale(lambda: read_table_metadata(reader, query, client))
        result = _build_result(call, TABLE_METADATA, {}, page)
        return Answer(result, public=not reader.is_authenticated, record_count=page.record_count)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent, query.limit)
        page = read_page(read, query)
        result = _build_result(call, str(resource.pk), resource.infos[get_language()], page)
        return Answer(result, validators=validators, record_count=page.record_count)

    return with_consistent_read(name, answer, client=client, as_snapshot=query.is_copied)


datastore_search = Action(
    name="datastore_search",
    parameters=SearchParameters,
    run=_search,
    help=_("Search the records of a resource."),
)


def _build_result(
    call: _SearchCall, resource_id: str, infos: Mapping[str, Mapping[str, Any]], page: Page
) -> dict[str, Any]:
    query, next_page = call.query, page.next_page
    in_force = {
        "resource_id": resource_id,
        "fields": describe_fields(page.fields, infos),
        "records_format": query.records_format.value,
        "limit": query.limit,
        "include_total": query.include_total,
        "include_next_page": query.include_next_page,
    }
    repeated = SearchParameters.repeat(call.parameters, call.sent).items()
    given = {name: value for name, value in repeated if value or value == 0}
    return {
        **(in_force | given | in_force),
        **({} if page.total is None else {"total": page.total, "total_was_estimated": False}),
        **({"next_page": {"_id": {next_page.operator: next_page.bound}}} if next_page else {}),
        "_links": _build_links(call, resource_id),
        **page.members,
        "records": page.records,
    }


def _build_links(call: _SearchCall, resource_id: str) -> dict[str, str]:
    """
    Build the paths of the first, next and previous page, as GET requests below the base called.

    Source: CKAN 2.10 and 2.11, which link to a next page even after the last, and whose clients
    append the links to the base that they call.
    """
    parameters: dict[str, str | list[str]] = {"resource_id": resource_id}
    for name, parsed in call.parameters.items():
        if name not in _NOT_LINKED:
            value = call.sent[name] if isinstance(parsed, tuple) else parsed
            parameters[name] = value if isinstance(value, str | list) else dump_json_as_sent(value)
    offset, limit = call.query.offset, call.query.limit or 0
    path = call.request.path[len(find_base_path(call.request)) - 1 :]
    address = f"{path}?{urlencode(parameters, doseq=True)}"
    starts = {"start": 0, "next": offset + limit}
    if offset > 0:
        starts["prev"] = max(0, offset - limit)
    return {
        name: f"{address}&offset={start}" if start else address for name, start in starts.items()
    }
