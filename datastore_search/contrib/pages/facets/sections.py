"""The sections of the data page that analyse records: facets, similar queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sections import PageQuestion, Place, Section
from ..table.columns import list_facet_columns
from .did_you_mean import suggest_links
from .panel import build_facet_panel


def _show_facets(question: PageQuestion) -> Mapping[str, Any]:
    columns = list_facet_columns(question.columns, question.choice, question.query)
    panel = build_facet_panel(question.read, columns, question.query, question.profiles)
    return {
        "panel": panel,
        "address": question.request.path,
        "is_complete": panel.is_complete,
    }


def _suggest_queries(question: PageQuestion) -> Mapping[str, Any] | None:
    if question.total:
        return None
    found = suggest_links(question.read, question.query)
    return {"links": found.links, "is_complete": found.is_complete}


FACETS = Section("facets", Place.BESIDE, "datastore_search/_facets.html", _show_facets)
DID_YOU_MEAN = Section(
    "did_you_mean", Place.EMPTY, "datastore_search/_did_you_mean.html", _suggest_queries
)
