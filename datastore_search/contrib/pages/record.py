"""The page of one record, with links to the records beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from ...filters.places import find_place_fields
from ...messages.parameters import InvalidParameters
from ...messages.requests import UnknownRecord
from ...messages.texts import shorten
from ...search import ID, ConsistentRead, Query, find_profiles, read_answer
from ...web.addresses import find_path, reverse_in_locale
from .columns import MAX_NAME_LENGTH, MAX_PROFILED_FIELDS, find_name
from .maps.map import Map
from .page import ResourcePageView, add_query_string
from .question import PageQuery
from .records import (
    POSITION,
    Marker,
    decode_key,
    encode_key,
    find_link_target,
    link_record,
    parse_record,
    render_value,
    write_name,
)
from .sections import PageQuestion
from .values import mark_text

_PLACE = re.compile(r"[1-9][0-9]{0,9}")

Record = Mapping[str, object]


class RecordView(ResourcePageView):
    template = "record.html"

    def build_context(self, question: PageQuestion) -> dict[str, Any]:
        read, query, columns = question.read, question.query, question.columns
        resource, key = read.resource, self.kwargs["key"]
        conditions = decode_key(resource, key) or ()
        record: Record | None = None
        # The links to the records beside it; empty where there is none.
        beside: dict[str, str] = {}
        place = self.request.GET.get(POSITION, "")
        if not query.all_errors and _PLACE.fullmatch(place):
            offset = max(int(place) - 2, 0)
            index = int(place) - 1 - offset
            records = _read_records(read, replace(query.search, limit=index + 2, offset=offset))
            # Another record may be there now.
            if len(records) > index and encode_key(resource, records[index]) == key:
                record = records[index]
                links = [
                    link_record(resource, query.query_string, each, number, "../")
                    for number, each in enumerate(records, offset + 1)
                ]
                beside["previous_link"] = links[0] if index else ""
                beside["next_link"] = links[index + 1] if len(links) > index + 1 else ""
        if not record and conditions:
            with suppress(InvalidParameters):  # a key of another type
                records = _read_records(read, Query(limit=1, filters=conditions))
                record = records[0] if records else None
        if not record:
            raise UnknownRecord
        self.record_count = 1
        asked = query.search if query.search.q and not query.all_errors else None
        marker = Marker(read, asked, " ".join(map(str, record.values()))) if asked else None
        own = PageQuery(query.query_string, Query(limit=None, filters=conditions))
        has_place = find_place_fields(read.relation.types, {})
        drawn = Map(read, own, columns, {}, "../../").describe() if has_place else {}
        texts = [each.name for each in columns if each.type.is_text]
        is_chosen = any(each.is_name for each in columns)
        profiles = {} if is_chosen else find_profiles(read, texts[:MAX_PROFILED_FIELDS])
        column = find_name(columns, profiles or {})
        name = shorten(write_name(column, record), MAX_NAME_LENGTH)
        has_name = name and not find_link_target(name)
        shown = name if has_name else _("Record %(id)s") % {"id": record[ID]}
        page_address = reverse_in_locale(self.request, "resource", resource.pk)
        search_path = find_path(self.request, "action", "datastore_search")
        filters_of_id = json.dumps({ID: int(str(record[ID]))})
        sent = [("resource_id", str(resource.pk)), ("filters", filters_of_id)]
        return {
            "beside": beside,
            "drawn": drawn,
            "record_name": mark_text(shown, column.value_language if column and has_name else ""),
            "is_complete": profiles is not None,
            "members": [
                (column, None if value is None else render_value(marker, column, value))
                for column in columns
                for value in [record[column.name]]
            ],
            "asks": query.has_conditions,
            "page_address": add_query_string(page_address, query.query_string.pairs),
            "api_address": search_path and add_query_string(search_path, sent),
        }


def _read_records(read: ConsistentRead, query: Query) -> list[Record]:
    query = replace(query, fields=(ID, *read.relation.types), include_total=False)
    with closing(read_answer(read, query)) as found:
        return [parse_record(text) for text in found.texts]
