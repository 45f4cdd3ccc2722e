"""``{% datastore_table %}``, ``{% datastore_chart %}`` and ``{% datastore_map %}``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from django import template
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from ....field_types import dump_json_as_sent, is_storable
from ....guards.shares import Client
from ....messages.access import AccessDenied, UnknownResource
from ....messages.texts import format_count
from ....search import ConsistentRead, with_consistent_read
from ....web.addresses import find_path
from ....web.errors import REPORTED_ERRORS, describe_error
from ..charts.chart import Chart
from ..columns import build_columns, choose_columns
from ..drawings import QuestionDrawing
from ..head import build_chips, render_markdown
from ..maps.map import Map
from ..page import reverse_first
from ..question import PAGE_SIZES, PageQuery, PageQueryParser, QueryString
from ..records import read_record_table
from ..table import build_headings, format_range
from ..values import format_day, join_phrases, mark_text

logger = logging.getLogger(__name__)

#: Records of a table.
MAX_LIMIT = PAGE_SIZES[-1]

Context = dict[str, Any]

#: Answers a question from a read, for a data page at a path; None in a portal without the pages.
InlineAnswer = Callable[[ConsistentRead, PageQuery, str | None], Context]

register = template.Library()
register.filter("format_count", format_count)
register.filter("format_day", format_day, expects_localtime=True)
register.filter("render_markdown", render_markdown)


@register.simple_tag
def datastore_styles() -> SafeString:
    """Link the style sheet of tables, charts and maps."""
    address = static("datastore_search/datastore.css")
    return format_html('<link rel="stylesheet" href="{}">', address)


@register.inclusion_tag("datastore_search/inline_table.html", takes_context=True)
def datastore_table(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: template.Context,
    resource_id: object,
    *,
    q: object = "",
    filters: object = "",
    sort: object = "",
    fields: object = "",
    limit: object = 25,
) -> Context:
    """Show the first records that a question finds."""
    question = {"q": q, "filters": filters, "sort": sort, "fields": fields}
    return _answer(context, resource_id, question, partial(show_table, limit=f"{limit}"))


@register.inclusion_tag("datastore_search/inline_chart.html", takes_context=True)
def datastore_chart(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: template.Context,
    resource_id: object,
    *,
    show: object = "",
    of: object = "",
    by: object = "",
    per: object = "",
    split: object = "",
    title: object = "",
    unit: object = "",
    note: object = "",
    q: object = "",
    filters: object = "",
) -> Context:
    """Show a chart of the records that a question finds."""
    chosen = {"show": show, "of": of, "by": by, "per": per, "split": split}
    chosen |= {"title": title, "unit": unit, "note": note}
    answer = partial(draw, drawing_class=Chart, parameters=chosen)
    return _answer(context, resource_id, {"q": q, "filters": filters}, answer)


@register.inclusion_tag("datastore_search/inline_map.html", takes_context=True)
def datastore_map(  # noqa: PLR0913 - Django checks the names of a tag's parameters
    context: template.Context,
    resource_id: object,
    *,
    lat: object = "",
    lon: object = "",
    geometry: object = "",
    title: object = "",
    q: object = "",
    filters: object = "",
) -> Context:
    """Show a map of the records that a question finds."""
    chosen = {"lat": lat, "lon": lon, "geometry": geometry, "title": title}
    answer = partial(draw, drawing_class=Map, parameters=chosen)
    return _answer(context, resource_id, {"q": q, "filters": filters}, answer)


def show_table(read: ConsistentRead, query: PageQuery, path: str | None, limit: str) -> Context:
    """Describe a table of the first records for its template, or ``errors``."""
    described, errors = _describe_resource(read, query, path), query.all_errors
    size = int(limit) if limit.isascii() and limit.isdecimal() else 0
    if not 1 <= size <= MAX_LIMIT:
        text = _("The limit must be a whole number from 1 to %(most)s.")
        errors.append(text % {"most": MAX_LIMIT})
    if errors:
        return {**described, "errors": errors}
    columns = choose_columns(build_columns(read.resource), query).columns
    table = read_record_table(read, replace(query, size=size), columns, page_path=path)
    headings = [replace(each, sort="") for each in build_headings(columns, query)]
    name = mark_text(described["title"], read.resource.local_title.language)
    found = mark_text(format_range(0, size, table.total))
    caption = join_phrases(" · ", [name, found]).html
    return {**described, "headings": headings, "table": table, "caption": caption}


def draw(
    read: ConsistentRead,
    query: PageQuery,
    path: str | None,
    drawing_class: type[QuestionDrawing[Any, Any]],
    parameters: Mapping[str, object],
) -> Context:
    """Describe a chart or map for its template, by the parameters of its page, or ``errors``."""
    chosen = {name: str(value) for name, value in parameters.items() if value}
    with read.session.hold_slot():
        drawing = drawing_class(read, query, build_columns(read.resource), chosen, path)
        address = QueryString((*query.query_string.pairs, *drawing.pairs))
        shown = replace(query, query_string=address)
        return _describe_resource(read, shown, path, f"{drawing.name}/") | drawing.describe()


def _answer(
    context: template.Context,
    resource_id: object,
    question: Mapping[str, object],
    answer: InlineAnswer,
) -> Context:
    """Answer parameters of a data page for the user of a request, or put what fails into words."""
    request = context.get("request")
    user = getattr(request, "user", None) or AnonymousUser()
    client = Client(request.META if request else {}, lambda: user)
    pairs = [
        (name, dump_json_as_sent(value) if isinstance(value, Mapping | list) else str(value))
        for name, value in question.items()
        if value
    ]

    def answer_if_readable(read: ConsistentRead) -> Context:
        if not read.resource.is_readable_by(user):
            raise AccessDenied(user=user, resource=read.resource.pk)
        if request is None:
            path = reverse_first("datastore_search:resource", args=[read.resource.pk])
        else:
            path = find_path(request, "resource", read.resource.pk)
        return answer(read, PageQueryParser(pairs, read).parse(), path or None)

    name = str(resource_id)
    try:
        if not is_storable(name):
            raise UnknownResource(resource=name)
        return with_consistent_read(name, answer_if_readable, client=client)
    except REPORTED_ERRORS as error:
        described = describe_error(
            error, is_authenticated=user.is_authenticated, has_words="q" in dict(pairs)
        )
        if described:
            return {"errors": [described.message]}
        if settings.DEBUG:
            raise
        logger.exception("A table, chart or map of a template cannot be shown.")
        return {"errors": [_("The records cannot be shown.")]}


def _describe_resource(
    read: ConsistentRead, query: PageQuery, path: str | None, page: str = ""
) -> Context:
    """Describe what is asked of a resource, with the address of the whole page if there is one."""
    columns = build_columns(read.resource)
    return {
        "resource": read.resource,
        "title": str(read.resource),
        "chips": build_chips(query, columns),
        "whole_address": "" if path is None else f"{path}{page}{query.query_string.query}",
    }
