"""The links from the data page to its chart and its map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from ..maps.query import has_map
from ..sections import PageQuestion, Place, Section
from ..table.page_query import OF_TABLE

_TEMPLATE = "datastore_search/_caption_link.html"


def _link_chart(question: PageQuestion) -> Mapping[str, Any]:
    shown = question.query.query_string.remove(*OF_TABLE)
    return {"address": f"chart/{shown.query}", "label": _("Chart of these records")}


def _link_map(question: PageQuestion) -> Mapping[str, Any] | None:
    profiles = question.profiles
    if not has_map(question.columns, profiles.fields if profiles else {}):
        return None
    shown = question.query.query_string.remove(*OF_TABLE)
    return {"address": f"map/{shown.query}", "label": _("Map of these records")}


CHART = Section("chart", Place.CAPTION, _TEMPLATE, _link_chart)
MAP = Section("map", Place.CAPTION, _TEMPLATE, _link_map)
