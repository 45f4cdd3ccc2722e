"""The page *SQL*: a statement, the first rows of its answer, and all of them as CSV."""

from __future__ import annotations

import csv
import json
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers

from ...conf import conf as core_conf
from ...downloads.text_rows import disarm
from ...guards.shares import Client
from ...messages.access import UnknownResource
from ...messages.parameters import InvalidParameter
from ...models import Resource
from ...web.addresses import find_path
from ..analysis.conf import conf
from ..analysis.statements.answers import StatementAnswer, answer_statement
from ..analysis.statements.errors import FunctionDenied
from ..analysis.statements.grammar import MAX_LENGTH
from .page import PageView, add_query_string

MAX_SHOWN_ROWS = 200

_FIRST = 'SELECT * FROM "%s" ORDER BY _id LIMIT 100'


def find_sql_address(request: HttpRequest, resource: Resource) -> str:
    """Find the page with a statement about a resource; empty for a user who may not see it."""
    path = find_path(request, "sql") if _is_allowed(request) else ""
    return path and add_query_string(path, [("sql", _FIRST % resource.pk)])


def _is_allowed(request: HttpRequest) -> bool:
    is_staff = getattr(request.user, "is_staff", False)
    return conf.SQL_SEARCH == "all" or (conf.SQL_SEARCH == "staff" and is_staff)


class SqlView(PageView):
    def get(self, request: HttpRequest) -> HttpResponse:
        if not _is_allowed(request):
            raise Http404
        statement, is_file = request.GET.get("sql", "").strip(), "csv" in request.GET
        context: dict[str, Any] = {"statement": statement, "max_length": MAX_LENGTH}
        status = HTTPStatus.OK
        if statement:
            try:
                found = answer_statement(
                    statement,
                    lambda read, name: self.check_may_read(read.resource, name),
                    Client.from_request(request),
                    core_conf.MAX_LIMIT if is_file else MAX_SHOWN_ROWS,
                )
            except (FunctionDenied, InvalidParameter, UnknownResource) as error:
                context["errors"], status = [error], HTTPStatus.BAD_REQUEST
            else:
                if is_file:
                    return _write_file(found)
                self.record_count = len(found.rows)
                context["found"] = found
                context["rows"] = [
                    [*zip(found.fields, map(_read, row), strict=True)] for row in found.rows
                ]
                context["max_rows"] = core_conf.MAX_LIMIT
                context["file_address"] = add_query_string("", [("sql", statement), ("csv", "1")])
        return self.render_page("sql.html", context, private=True, status=status)


def _read(text: str) -> str:
    """Read the JSON text of a value as the text of a cell."""
    return str(json.loads(text)) if text.startswith('"') else "" if text == "null" else text


def _write_file(found: StatementAnswer) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="sql.csv"'
    rows = csv.writer(response)
    rows.writerow([disarm(name) for name, _kind in found.fields])
    rows.writerows(
        [disarm(_read(text)) if text[:1] in '"[{' else _read(text) for text in row]
        for row in found.rows
    )
    add_never_cache_headers(response)
    return response
