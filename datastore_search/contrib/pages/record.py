"""The page of one record, with links to the records beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ...messages.parameters import InvalidParameters
from ...messages.requests import UnknownRecord
from ...search import ID, ConsistentRead, Query, read_answer
from ...web.addresses import find_search_path, reverse_in_locale
from .columns import Column
from .maps.map import Map
from .maps.places import has_map
from .page import ResourcePageView, add_query_string
from .question import PageQuery
from .records import (
    POSITION,
    Marker,
    decode_key,
    encode_key,
    link_record,
    parse_record,
    render_value,
)

_PLACE = re.compile(r"[1-9][0-9]{0,9}")

Record = Mapping[str, object]


class RecordView(ResourcePageView):
    template = "record.html"

    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any]:
        resource, key = read.resource, self.kwargs["key"]
        found = self._find_beside(read, query, key)
        record, beside = found or (_find_by_key(read, key), {})
        self.record_count = 1
        asked = query.search if query.search.q and not query.all_errors else None
        marker = Marker(read, asked, " ".join(map(str, record.values()))) if asked else None
        filters = decode_key(resource, key) or ()
        own = PageQuery(query.query_string, Query(limit=None, filters=filters))
        drawn = Map(read, own, columns, {}, "../../").describe() if has_map(columns, {}) else {}
        page_address = reverse_in_locale(self.request, "resource", resource.pk)
        search_path = find_search_path(self.request)
        filters_of_id = json.dumps({ID: int(str(record[ID]))})
        sent = [("resource_id", str(resource.pk)), ("filters", filters_of_id)]
        return {
            "beside": beside,
            "drawing": drawn.get("drawing"),
            "id": record[ID],
            "members": [
                (column, None if value is None else render_value(marker, column, value))
                for column in columns
                for value in [record[column.name]]
            ],
            "asks": query.has_conditions,
            "page_address": add_query_string(page_address, query.query_string.pairs),
            "api_address": search_path and add_query_string(search_path, sent),
        }

    def _find_beside(
        self, read: ConsistentRead, query: PageQuery, key: str
    ) -> tuple[Record, dict[str, str]] | None:
        """
        Find the record at its place among those asked for; None if another one is there now.

        The links lead to the records beside it, and are empty where there is none.
        """
        sent = self.request.GET.get(POSITION, "")
        if query.all_errors or not _PLACE.fullmatch(sent):
            return None
        offset = max(int(sent) - 2, 0)
        index = int(sent) - 1 - offset
        records = _read_records(read, replace(query.search, limit=index + 2, offset=offset))
        if len(records) <= index or encode_key(read.resource, records[index]) != key:
            return None
        links = [
            link_record(read.resource, query.query_string, record, place, "../")
            for place, record in enumerate(records, offset + 1)
        ]
        return records[index], {
            "previous_link": links[0] if index else "",
            "next_link": links[index + 1] if len(links) > index + 1 else "",
        }


def _find_by_key(read: ConsistentRead, key: str) -> Record:
    conditions = decode_key(read.resource, key)
    if conditions is None:
        raise UnknownRecord
    try:
        records = _read_records(read, Query(limit=1, filters=conditions))
    except InvalidParameters:
        records = []
    if not records:
        raise UnknownRecord
    return records[0]


def _read_records(read: ConsistentRead, query: Query) -> list[Record]:
    query = replace(query, fields=(ID, *read.relation.types), include_total=False)
    with closing(read_answer(read, query)) as found:
        return [parse_record(text) for text in found.texts]
