"""``{% downloads resource query as files %}``: the files that a data page offers."""

from __future__ import annotations

from django import template
from django.template import RequestContext

from ..html.columns import choose_names
from ..html.downloads import DownloadGroup, list_downloads
from ..html.page_query import PageQuery
from ..models import Resource
from ..search import Query

register = template.Library()


@register.simple_tag(takes_context=True)
def downloads(context: RequestContext, resource: Resource, query: PageQuery) -> list[DownloadGroup]:
    """List the downloads of the records that a valid query selects, as the page shows them."""
    found = Query(
        limit=None,
        q=query.q,
        filters=query.all_conditions,
        fields=tuple(choose_names((field.name for field in resource.schema), query))
        if query.has_chosen_columns
        else (),
        sort=query.sort,
    )
    has_places = "map_address" in context  # the page then has a map
    return list_downloads(context.request, resource, found, has_places=has_places)
