"""The parameters of the dump, and the query that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...search import ID, Query, Relation, SortKey
from ..parameter_types import BooleanField, ChoiceField
from ..parameters import QueryParameters
from .formats import formats

#: PostgreSQL counts no further: a higher limit is none.
_LIMIT_MOST = 2**63 - 1


class DumpParameters(QueryParameters):
    """The parameters of the dump."""

    format = ChoiceField(tuple(formats), help_text="The format of the file; `csv` if not given.")
    bom = BooleanField(
        help_text="Begin the file with a byte order mark, which some spreadsheets need to recognise"
        " UTF-8; false if not given."
    )


def without_page(query: Query, given: Mapping[str, Any]) -> Query:
    """Take the page's limit off a query: a dump has the one that was given, or none."""
    limit = given.get("limit")
    return replace(
        query, limit=None if limit is None or limit > _LIMIT_MOST else limit, include_total=False
    )


def of_all_fields(query: Query, relation: Relation) -> Query:
    """
    Ask for all fields where none are named, and for the order of ``_id`` where there is no other.

    So a full-text query has no influence on a dump's fields or its order.
    """
    fields = query.fields or (ID, *relation.types)
    is_merged = query.distinct and ID not in fields  # and then there is no _id to go by
    return replace(query, fields=fields, sort=query.sort or (() if is_merged else (SortKey(ID),)))
