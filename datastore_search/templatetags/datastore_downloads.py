"""``{% downloads resource filters as files %}``: the files that a data page offers."""

from __future__ import annotations

from django import template
from django.template import RequestContext

from ..html.downloads import Download, list_downloads
from ..html.filters import RecordFilterSet
from ..models import Resource
from ..search import Query

register = template.Library()


@register.simple_tag(takes_context=True)
def downloads(
    context: RequestContext, resource: Resource, filters: RecordFilterSet
) -> list[Download]:
    """List the downloads of the records that a valid form selects."""
    query = Query(limit=None, q=filters.q, filters=filters.conditions)
    return list_downloads(context.request, resource, query)
