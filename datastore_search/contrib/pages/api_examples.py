"""The page of programs that ask the API for the records of a data page, and their answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from ...conf import conf
from ...field_types import Json, dump_json_as_sent
from ...filters.names import format_sort_key
from ...messages.texts import BIDI_CONTROLS, show_bidi_controls
from ...models import Resource
from ...search import read_answer
from ...web.addresses import find_path, reverse_in_locale
from ...web.views import parse_page_number
from .head import build_chips
from .page import ResourcePageView, add_query_string
from .question import build_query_parameters, format_filters
from .sections import PageQuestion

if apps.is_installed("datastore_search.contrib.analysis"):
    from .sql import find_sql_address
else:

    def find_sql_address(request: HttpRequest, resource: Resource) -> str:
        return ""


#: Letters of a record in the answer that is shown.
MAX_SHOWN_RECORD_LENGTH = 1_500

#: A program reads the records of all pages, with these at once.
_PAGE_SIZE = 1_000


class ApiView(ResourcePageView):
    """The question of a data page as programs, with the beginning of the answer."""

    template = "api.html"

    def build_context(self, question: PageQuestion) -> dict[str, Any] | HttpResponse:
        """Show the programs, or redirect to the data page if it would refuse the question."""
        read, query, resource = question.read, question.query, question.read.resource
        path = find_path(self.request, "action", "datastore_search")
        if not path:
            raise Http404
        data_page = reverse_in_locale(self.request, "resource", resource.pk)
        page_address = add_query_string(data_page, self.parameters)
        if query.all_errors:
            return redirect(page_address)
        offset = (parse_page_number(self.request) - 1) * query.size
        search = replace(query.search, limit=query.size, offset=offset)
        with closing(read_answer(read, replace(search, limit=1))) as found:
            first, total = next(found.texts, b"").decode(), found.total or 0
        if len(first) > MAX_SHOWN_RECORD_LENGTH:
            first = f"{first[:MAX_SHOWN_RECORD_LENGTH]}…"
        parameters = build_query_parameters(search)
        texts = {"resource_id": str(resource.pk), **parameters, "limit": str(search.limit)}
        texts |= {"offset": str(offset)} if offset else {}
        members: dict[str, Json] = {
            "resource_id": str(resource.pk),
            "q": search.q,
            "filters": dict(format_filters(search.filters)),
            "geo": asdict(search.near) if search.near else None,
            "sort": ", ".join(map(format_sort_key, search.sort)),
            "limit": search.limit,
            "offset": offset,
        }
        sent = {name: value for name, value in members.items() if value}
        address = self.request.build_absolute_uri(path)
        of_all = {**sent, "limit": min(_PAGE_SIZE, conf.MAX_LIMIT)}
        of_all.pop("offset", None)
        data = [f"--data-urlencode {shlex.quote(f'{name}={text}')}" for name, text in texts.items()]
        programs = {
            "curl": {"address": shlex.quote(address), "parameters": " \\\n  ".join(data)},
            "python": {
                "address": _write_python(address),
                # CKAN's clients append an action to the base address of the portal.
                "portal": _write_python(address.removesuffix("/api/action/datastore_search")),
                "parameters": _write_members(of_all, _write_python),
            },
            "r": {"address": _dump(address), "parameters": _dump(_dump(sent))},
            "javascript": {
                "address": _write_javascript(address),
                "parameters": _write_members(sent, _write_javascript),
            },
        }
        dump = "" if resource.private else find_path(self.request, "dump", resource.pk)
        return {
            "chips": build_chips(query, question.columns),
            "page_address": page_address,
            "programs": programs,
            "file_address": dump
            and add_query_string(dump, {"format": "csv", **parameters}.items()),
            "sql_address": find_sql_address(self.request, resource),
            "total": total,
            "first": show_bidi_controls(first),
            "answer_address": "" if resource.private else add_query_string(path, texts.items()),
        }


# Programs -----------------------------------------------------------------------------------------

_ESCAPED_CONTROLS = {code: f"\\u{code:04x}" for code in BIDI_CONTROLS}

#: This key of an object; within a text, its quotation marks are escaped.
_PROTOTYPE = re.compile(r'(?<!\\)"__proto__":')


def _dump(value: Json) -> str:
    """Write JSON; a control that changes the direction of text is escaped."""
    return dump_json_as_sent(value).translate(_ESCAPED_CONTROLS)


def _write_members(members: Mapping[str, Json], write: Callable[[Json], str]) -> str:
    """Write an object of a program, with a line for each member."""
    lines = ",\n".join(f"  {_dump(name)}: {write(value)}" for name, value in members.items())
    return f"{{\n{lines}\n}}"


def _write_javascript(value: Json) -> str:
    """Write a literal, in which this name as a plain key would set the prototype."""
    return _PROTOTYPE.sub(r'["__proto__"]:', _dump(value))


def _write_python(value: Json) -> str:
    """Write a value as Python; a number that would lose digits becomes a text."""
    match value:
        case Mapping():
            members = (f"{name!r}: {_write_python(each)}" for name, each in value.items())
            return f"{{{', '.join(members)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_write_python, value))}]"
        case Decimal():
            return str(value) if Decimal(repr(float(value))) == value else repr(str(value))
        case _:
            return repr(value)
