"""The parameters of the dump, and the query that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ..api.actions.search import build_query
from ..api.parameters import MAX_ROW_NUMBER, BooleanField, ChoiceField, QueryParameters
from ..filters.names import SortKey
from ..search import ID, Query, RecordsFormat, Relation
from .formats import formats


class DumpParameters(QueryParameters):
    format = ChoiceField(formats, help_text=_("The format of the file."), shown_default="csv")
    headers = ChoiceField(
        ("names", "labels"),
        help_text=format_lazy(
            _(
                "The header row of {formats}: the names of the fields, or their labels in the"
                " language of the path. A field without a label has its name, and a label that"
                " occurs twice is followed by the name."
            ),
            formats=lazy(
                lambda: ", ".join(f"`{each.name}`" for each in formats.values() if each.has_header),
                str,
            )(),
        ),
        shown_default="names",
    )
    bom = BooleanField(
        help_text=_(
            "Begin the file with a byte order mark, which some spreadsheets need for UTF-8. "
            "Only for text files; `csv-excel` always has one."
        ),
        shown_default="false",
    )
    gzip = BooleanField(
        help_text=_("Compress the file with gzip; its name then ends in `.gz`."),
        shown_default="false",
    )


def build_dump_query(parameters: Mapping[str, Any]) -> Query:
    """Make the query of a dump, which has no limit unless one is sent."""
    limit = parameters.get("limit")
    return replace(
        build_query(parameters),
        limit=None if limit is None or limit > MAX_ROW_NUMBER else limit,
        include_total=False,
        records_format=RecordsFormat.LISTS,
    )


def complete_query(query: Query, relation: Relation) -> Query:
    """
    Add all fields to a query that names none, and the order of ``_id`` to one without an order.

    So a full-text query does not change the fields of a dump, nor their order.
    """
    fields = query.fields or (ID, *relation.types)
    has_no_id = query.distinct and ID not in fields  # and cannot be ordered by it
    return replace(query, fields=fields, sort=query.sort or (() if has_no_id else (SortKey(ID),)))
