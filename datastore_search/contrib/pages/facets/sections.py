"""The sections of the data page that analyse records: facets, similar queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sections import PageQuestion, Place, Section
from .did_you_mean import suggest_links
from .panel import build_facet_panel


def _show_facets(question: PageQuestion) -> Mapping[str, Any]:
    """Show facets of the columns that are shown, and of those that the address names."""
    query, shown = question.query, question.choice.columns
    names = {*query.facets, *(condition.field.name for condition in query.conditions)}
    columns = [each for each in question.columns if each in shown or each.name in names]
    panel = build_facet_panel(question.read, columns, query, question.profiles)
    return {**panel, "address": question.request.path}


def _suggest_queries(question: PageQuestion) -> Mapping[str, Any] | None:
    return None if question.total else suggest_links(question.read, question.query)


FACETS = Section("facets", Place.BESIDE, "datastore_search/_facets.html", _show_facets)
DID_YOU_MEAN = Section(
    "did_you_mean", Place.EMPTY, "datastore_search/_did_you_mean.html", _suggest_queries
)
