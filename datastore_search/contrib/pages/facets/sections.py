"""The sections of the data page that analyse records: facets, similar queries."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ....messages.availability import TemporarilyUnavailable
from ....messages.bidi import show_bidi_controls
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ....web.addresses import reverse_in_locale
from ...analysis.spelling import MAX_RARE_RECORDS, NO_SUGGESTIONS, Suggestions, suggest_queries
from ..sections import PageQuestion, Place, Section
from ..table.page_query import PageQuery
from .panel import build_facet_panel

logger = logging.getLogger(__name__)

#: The time of the suggestions of a page.
MAX_SECONDS = 1


def _show_facets(question: PageQuestion) -> Mapping[str, Any]:
    """Show facets of the fields, and link to those of the columns that are shown."""
    shown = {each.name for each in question.choice.columns}
    panel = build_facet_panel(
        question.read, question.columns, question.query, question.profiles, shown
    )
    chart = reverse_in_locale(question.request, "chart", question.read.resource.pk)
    return {**panel, "address": question.request.path, "chart_address": chart}


def _suggest_queries(question: PageQuestion) -> Mapping[str, Any] | None:
    if question.total > MAX_RARE_RECORDS:
        return None
    return suggest_links(question.read, question.query)


def suggest_links(read: ConsistentRead, query: PageQuery) -> dict[str, Any]:
    """
    Suggest pages with the same conditions; a failure is logged, and the page has no links.

    Each link has its query, whose words come from values, in their ``language``, and the number of
    records there, also as text.  The links are not ``is_complete`` where they took too long.
    """
    found = _find_queries(read, query)
    links = [
        {
            "q": show_bidi_controls(each.q),
            "link": query.query_string.replace("q", each.q).link,
            "total": each.total,
            "count": format_count(each.total),
            "language": read.resource.content_language,
        }
        for each in found.queries
    ]
    return {"links": links, "is_complete": found.is_complete}


def _find_queries(read: ConsistentRead, query: PageQuery) -> Suggestions:
    if not query.q:
        return NO_SUGGESTIONS
    asked = Query(limit=None, q=query.q, filters=query.all_conditions)
    try:
        return suggest_queries(read, asked, timedelta(seconds=MAX_SECONDS))
    except TemporarilyUnavailable as error:
        logger.warning("No queries were suggested on a page: %s", error)
        return Suggestions({}, (), is_complete=False)


FACETS = Section("facets", Place.BESIDE, "datastore_search/_facets.html", _show_facets)
DID_YOU_MEAN = Section(
    "did_you_mean", Place.RESULT, "datastore_search/_did_you_mean.html", _suggest_queries
)
