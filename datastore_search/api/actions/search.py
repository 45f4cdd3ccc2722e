"""
``datastore_search``.

Source: CKAN ``datastore_search``, sections 3 to 11 of its semantics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...clients import Client
from ...field_types import as_sent
from ...search import (
    ConsistentRead,
    Page,
    Query,
    read_page,
    retry_if_stale,
    with_consistent_read,
)
from ...spooling import Spool
from ...validators import Validators
from ..parameters import SearchParameters, build_query
from ..permissions import check_may_read, get_reader
from ..renderers import RawJson
from .action import VARY, Action, Answer
from .table_metadata import TABLE_METADATA, read_table_metadata

#: What an answer repeats of the parameters that were given.
_ECHOED = ("offset", "q", "filters", "sort", "plain", "language", "distinct", "full_text")

#: What the address of another page repeats.
_LINKED = (*_ECHOED, "limit", "fields", "include_total", "records_format", "include_next_page")


@dataclass(frozen=True, slots=True)
class _Asked:
    """
    What was asked.

    ``sent`` are the parameters as they came, ``given`` as they were read.
    """

    request: Request
    sent: Mapping[str, Any]
    given: Mapping[str, Any]
    query: Query

    @property
    def name(self) -> str:
        """The id or alias of the resource."""
        return SearchParameters.name_in(self.given)


def _run(request: Request, sent: Mapping[str, object]) -> Answer:
    given = SearchParameters.read(sent)
    asked = _Asked(request, sent, given, build_query(given))
    if asked.name == TABLE_METADATA:
        reader = get_reader(request)
        client = Client.from_request(request)
        page = retry_if_stale(lambda: read_table_metadata(reader, asked.query, client))
        result = _result(asked, TABLE_METADATA, {}, page)
        return Answer(result, public=not reader.is_authenticated)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        check_may_read(request, resource, asked.name)
        validators = Validators.of(resource, request, sent, asked.query.limit, vary=VARY)
        validators.check(request)
        page = read_page(read, asked.query)
        result = _result(asked, str(resource.pk), resource.infos, page)
        return Answer(result, validators=validators)

    return with_consistent_read(
        asked.name, answer, client=Client.from_request(request), as_snapshot=asked.query.is_copied
    )


datastore_search = Action(
    name="datastore_search",
    parameters=SearchParameters,
    run=_run,
    help=_("Search the records of a resource."),
)


def _result(
    asked: _Asked, resource_id: str, info: Mapping[str, Mapping[str, Any]], page: Page
) -> dict[str, Any]:
    query = asked.query
    total = {} if page.total is None else {"total": page.total, "total_was_estimated": False}
    return {
        "resource_id": resource_id,
        "fields": [
            {"id": name, "type": kind, **({"info": info[name]} if info.get(name) else {})}
            for name, kind in page.fields
        ],
        "records_format": query.records_format.value,
        "limit": query.limit,
        "include_total": query.include_total,
        "include_next_page": query.include_next_page,
        **_echoed(asked),
        **total,
        **_next_page(page),
        "_links": _links(asked, resource_id),
        "records": _records(page),
    }


def _records(page: Page) -> RawJson | Spool:
    return page.records if isinstance(page.records, Spool) else RawJson(page.records)


def _next_page(page: Page) -> dict[str, Any]:
    if page.next_page is None:
        return {}
    return {"next_page": {"_id": {page.next_page.operator: page.next_page.bound}}}


def _echoed(asked: _Asked) -> dict[str, Any]:
    return {
        name: asked.sent[name] if name == "sort" else asked.given[name]
        for name in _ECHOED
        if name in asked.given and (asked.given[name] or isinstance(asked.given[name], bool))
    }


def _links(asked: _Asked, resource_id: str) -> dict[str, str]:
    """
    Give the paths of the first, next and previous page, as GET requests under the path's locale.

    Source: CKAN 2.10 and 2.11; there is a next one even at the end, as there.
    """
    repeated: dict[str, str | list[str]] = {"resource_id": resource_id}
    for name in _LINKED:
        if name in asked.given and name != "offset":
            value = asked.sent[name] if name in {"sort", "fields"} else asked.given[name]
            repeated[name] = value if isinstance(value, str | list) else as_sent(value)
    offset, limit = asked.query.offset, asked.query.limit or 0
    address = f"{asked.request.path}?{urlencode(repeated, doseq=True)}"

    def link(start: int) -> str:
        return f"{address}&offset={start}" if start else address

    links = {"start": link(0), "next": link(offset + limit)}
    if offset > 0:
        links["prev"] = link(max(0, offset - limit))
    return links
