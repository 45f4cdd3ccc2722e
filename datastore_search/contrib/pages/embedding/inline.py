"""Tables, charts and maps inside a portal's own templates, for the user of the request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from ....field_types import dump_json_as_sent, is_storable
from ....guards.clients import Client
from ....messages.access import AccessDenied, UnknownResource
from ....search import ConsistentRead, with_consistent_read
from ....web.addresses import reverse_in_locale
from ....web.errors import REPORTED_ERRORS, describe_error
from ..drawings import QuestionDrawing
from ..languages import join_phrases, mark_text
from ..table.chips import build_chips
from ..table.columns import build_columns, choose_columns
from ..table.headings import build_headings
from ..table.page_query import PAGE_SIZES, PageQuery, parse_page_query
from ..table.pagination import format_range
from ..table.query_string import Pair, QueryString
from ..table.records import read_record_table

logger = logging.getLogger(__name__)

#: Records of a table.
MAX_LIMIT = PAGE_SIZES[-1]

Context = dict[str, Any]


#: What a tag asks for: parameters of a data page, of which ``filters`` may be an object.
Question = Mapping[str, object]


def _list_pairs(question: Question) -> list[Pair]:
    """List the parameters that are given."""
    filters = question["filters"]
    if isinstance(filters, Mapping | list):
        question = {**question, "filters": dump_json_as_sent(filters)}
    return [(name, str(value)) for name, value in question.items() if value]


def describe_table(
    request: HttpRequest | None, resource_id: object, question: Question, limit: object
) -> Context:
    """Describe a table for its template: with its first records, or with ``errors``."""

    def answer(read: ConsistentRead) -> Context:
        query = parse_page_query(_list_pairs(question), read.resource)
        path = _find_page_path(request, read)
        context = _describe_resource(read, query, path)
        size = _parse_limit(limit)
        errors = query.all_errors
        if size is None:
            text = _("The limit must be a whole number from 1 to %(most)s.")
            errors.append(text % {"most": MAX_LIMIT})
        if errors or size is None:
            return {**context, "errors": errors}
        columns = choose_columns(build_columns(read.resource), query).columns
        table = read_record_table(read, replace(query, size=size), columns, page_path=path)
        headings = [replace(each, sort="") for each in build_headings(columns, query)]
        name = mark_text(context["title"], read.resource.local_title.language)
        found = mark_text(format_range(0, size, table.total))
        caption = join_phrases(" · ", [name, found]).html
        return {**context, "headings": headings, "table": table, "caption": caption}

    return _answer(request, resource_id, answer)


def describe_drawing(
    request: HttpRequest | None,
    resource_id: object,
    question: Question,
    drawing_class: type[QuestionDrawing[Any, Any]],
    parameters: Mapping[str, object],
) -> Context:
    """Describe a chart or map for its template, by the parameters of its page, or ``errors``."""
    chosen = {name: str(value) for name, value in parameters.items() if value}

    def answer(read: ConsistentRead) -> Context:
        query = parse_page_query(_list_pairs(question), read.resource)
        path = _find_page_path(request, read)
        drawing = drawing_class(read, query, build_columns(read.resource), chosen, path)
        address = QueryString((*query.query_string.pairs, *drawing.pairs))
        shown = replace(query, query_string=address)
        page = f"{drawing.name}/"
        return {**_describe_resource(read, shown, path, page), **drawing.describe()}

    return _answer(request, resource_id, answer)


def _answer(
    request: HttpRequest | None, resource_id: object, answer: Callable[[ConsistentRead], Context]
) -> Context:
    """Read a resource for the user of a request, and put what fails into words."""
    user = getattr(request, "user", None) or AnonymousUser()
    client = Client(request.META if request else {}, lambda: user)

    def answer_if_readable(read: ConsistentRead) -> Context:
        if not read.resource.is_readable_by(user):
            raise AccessDenied(user=user, resource=read.resource.pk)
        return answer(read)

    name = str(resource_id)
    try:
        if not is_storable(name):
            raise UnknownResource(resource=name)
        return with_consistent_read(name, answer_if_readable, client=client)
    except REPORTED_ERRORS as error:
        described = describe_error(error, is_authenticated=user.is_authenticated)
        if described is None and settings.DEBUG:
            raise
        if described is None:
            logger.exception("A table, chart or map of a template cannot be shown.")
        message = described.message if described else _("The records cannot be shown.")
        return {"errors": [message]}


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


def _find_page_path(request: HttpRequest | None, read: ConsistentRead) -> str | None:
    """Find the path of the data page; None in a portal without the pages."""
    try:
        if request is None:
            return reverse("datastore_search:resource", args=[read.resource.pk])
        return reverse_in_locale(request, "resource", read.resource.pk)
    except NoReverseMatch:
        return None


def _parse_limit(limit: object) -> int | None:
    try:
        number = int(str(limit))
    except ValueError:
        return None
    return number if 1 <= number <= MAX_LIMIT else None
