"""The first saved view, as a picture above all records of a resource."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string

from ...messages.availability import ClientDisconnected, QueryTooSlow, TemporarilyUnavailable
from ...web.addresses import reverse_in_locale
from .charts.chart import Chart
from .charts.compare import CompareChart
from .drawings import QuestionDrawing
from .maps.map import Map
from .question import PageQueryParser
from .saved_views import list_shown_views
from .sections import PageQuestion, Place, Section
from .templatetags.datastore import draw, show_table

logger = logging.getLogger(__name__)

#: Records of a table.
_ROWS = "10"

#: What draws the views of a page, and the template.
_DRAWINGS: Mapping[str, tuple[type[QuestionDrawing[Any, Any]], str]] = {
    "chart": (Chart, "chart"),
    "compare": (CompareChart, "chart"),
    "map": (Map, "map"),
}


def _show_first_view(question: PageQuestion) -> Mapping[str, Any] | None:
    """
    Show the first view where nothing is asked; a failure is logged, and there is no picture.

    It is not ``is_complete`` then.
    """
    if question.request.GET or not (views := list_shown_views(question)):
        return None
    first = views[0]
    read, name, picture = question.read, first.kind.page, ""
    query = PageQueryParser([each for each in first.pairs if each[0] not in first.kind.own], read)
    path = reverse_in_locale(question.request, "resource", read.resource.pk)
    drawing_class, template = _DRAWINGS.get(name, (None, "table"))
    try:
        with read.session.contain_failure():
            if drawing_class:
                context = draw(read, query.parse(), path, drawing_class, dict(first.pairs))
            else:
                context = show_table(read, query.parse(), path, _ROWS)
        linked = {**context, "whole_address": ""}  # the title is a link
        picture = render_to_string(f"datastore_search/inline_{template}.html", linked)
    except ClientDisconnected:
        raise
    except (TemporarilyUnavailable, QueryTooSlow) as error:
        logger.warning("The first view of %s was not shown: %s", read.resource.pk, error)
    return {"first": first, "picture": picture, "is_complete": bool(picture)}


SECTIONS = (
    Section("first_view", Place.RESULT, "datastore_search/_first_view.html", _show_first_view),
)
