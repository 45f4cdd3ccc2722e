"""
``{% datastore_table %}``, ``{% datastore_chart %}`` and ``{% datastore_map %}``.

They are for any template of a portal, and show what the user of its ``request`` may read.  What
cannot be shown is a sentence in its place.
"""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..charts.views import Chart
from ..embedding.inline import describe_drawing, describe_table
from ..maps.views import Map

register = template.Library()


@register.simple_tag
def datastore_styles() -> SafeString:
    """Link the style sheet of tables, charts and maps."""
    address = static("datastore_search/datastore.css")
    return format_html('<link rel="stylesheet" href="{}">', address)


@register.inclusion_tag("datastore_search/inline_table.html", takes_context=True)
def datastore_table(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: Context,
    resource_id: object,
    *,
    q: object = "",
    filters: object = "",
    sort: object = "",
    fields: object = "",
    limit: object = 25,
) -> dict[str, Any]:
    """Show the first records that a question finds."""
    question = {"q": q, "filters": filters, "sort": sort, "fields": fields}
    return describe_table(context.get("request"), resource_id, question, limit)


@register.inclusion_tag("datastore_search/inline_chart.html", takes_context=True)
def datastore_chart(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: Context,
    resource_id: object,
    *,
    show: object = "",
    of: object = "",
    by: object = "",
    per: object = "",
    split: object = "",
    q: object = "",
    filters: object = "",
) -> dict[str, Any]:
    """Show a chart of the records that a question finds."""
    chosen = {"show": show, "of": of, "by": by, "per": per, "split": split}
    question = {"q": q, "filters": filters}
    return describe_drawing(context.get("request"), resource_id, question, Chart, chosen)


@register.inclusion_tag("datastore_search/inline_map.html", takes_context=True)
def datastore_map(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: Context,
    resource_id: object,
    *,
    lat: object = "",
    lon: object = "",
    geometry: object = "",
    title: object = "",
    q: object = "",
    filters: object = "",
) -> dict[str, Any]:
    """Show a map of the records that a question finds."""
    chosen = {"lat": lat, "lon": lon, "geometry": geometry, "title": title}
    question = {"q": q, "filters": filters}
    return describe_drawing(context.get("request"), resource_id, question, Map, chosen)
