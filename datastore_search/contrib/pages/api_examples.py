"""The page of programs that ask the API for the records of a data page, and their answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
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
from ...messages.bidi import BIDI_CONTROLS, show_bidi_controls
from ...models import Resource
from ...search import ConsistentRead, read_answer
from ...web.addresses import find_path, find_search_path, reverse_in_locale
from ...web.views import parse_page_number
from .columns import Column
from .head import build_chips
from .page import ResourcePageView, add_query_string
from .question import PageQuery, build_query_parameters, format_filters

if apps.is_installed("datastore_search.contrib.analysis"):
    from .sql import find_sql_address
else:

    def find_sql_address(request: HttpRequest, resource: Resource) -> str:
        return ""


#: Letters of a record in the answer that is shown.
MAX_SHOWN_RECORD_LENGTH = 1_500

_ACTION = "datastore_search"


class ApiView(ResourcePageView):
    """The question of a data page as programs, with the beginning of the answer."""

    template = "api.html"

    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any] | HttpResponse:
        """Show the programs, or redirect to the data page if it would refuse the question."""
        resource = read.resource
        path = find_search_path(self.request)
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
        records = f"[\n      {show_bidi_controls(first)},\n      …\n    ]" if first else "[]"
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
        programs = []
        for name, (write, token, program) in _PROGRAMS.items():
            lines = [f"  {_dump(name)}: {write(value)}" for name, value in sent.items()]
            of_all = [
                f"  {_dump(name)}: {write(value)}"
                for name, value in {**sent, "limit": min(_PAGE_SIZE, conf.MAX_LIMIT)}.items()
                if name != "offset"
            ]
            values = {
                "address": write(address),
                # CKAN's clients append an action to the base address of the portal.
                "portal": write(address.removesuffix(f"/api/action/{_ACTION}")),
                "token": token if resource.private else "",
                "os": "import os\n\n" if resource.private else "",
                "parameters": "{\n" + ",\n".join(lines) + "\n}",
                "all_parameters": "{\n" + ",\n".join(of_all) + "\n}",
                "json": _dump(_dump(sent)),
                "texts": " \\\n  ".join(
                    f"--data-urlencode {shlex.quote(f'{name}={text}')}"
                    for name, text in texts.items()
                ),
            }
            programs.append((name, program % values))
        dump = "" if resource.private else find_path(self.request, "dump", resource.pk)
        in_file = {"format": "csv", **parameters}
        return {
            "chips": build_chips(query, columns),
            "page_address": page_address,
            "programs": programs,
            "file_address": dump and add_query_string(dump, in_file.items()),
            "sql_address": find_sql_address(self.request, resource),
            "answer": _ANSWER % {"total": total, "records": records},
            "answer_address": "" if resource.private else add_query_string(path, texts.items()),
        }


_ANSWER = """{
  "success": true,
  "result": {
    "total": %(total)s,
    "records": %(records)s,
    …
  }
}"""


# Programs -----------------------------------------------------------------------------------------

_ESCAPED_CONTROLS = {code: f"\\u{code:04x}" for code in BIDI_CONTROLS}

#: This key of an object; within a text, its quotation marks are escaped.
_PROTOTYPE = re.compile(r'(?<!\\)"__proto__":')


def _dump(value: Json) -> str:
    """Write JSON; a control that changes the direction of text is escaped."""
    return dump_json_as_sent(value).translate(_ESCAPED_CONTROLS)


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


#: A program reads the records of all pages, with these at once.
_PAGE_SIZE = 1_000

_POST = """address = %(address)s
parameters = %(all_parameters)s
records = []
while True:
    parameters["offset"] = len(records)
    answer = requests.post(address, json=parameters%(token)s, timeout=60)
    answer.raise_for_status()
    page = answer.json()["result"]["records"]
    if not page:
        break
    records += page
"""
_POST_HEADER = ', headers={"Authorization": os.environ["TOKEN"]}'

#: By the name of a program: how it writes a value, the token of a private resource, its text.
_PROGRAMS: Mapping[str, tuple[Callable[[Json], str], str, str]] = {
    "curl": (
        lambda value: shlex.quote(str(value)),
        '-H "Authorization: $TOKEN" \\\n  ',
        "curl -G %(address)s \\\n  %(token)s%(texts)s",
    ),
    "Python: requests": (
        _write_python,
        _POST_HEADER,
        f"%(os)simport requests\n\n{_POST}print(records)",
    ),
    "Python: pandas": (
        _write_python,
        _POST_HEADER,
        f"%(os)simport pandas\nimport requests\n\n{_POST}print(pandas.DataFrame(records))",
    ),
    "Python: ckanapi": (
        _write_python,
        ', apikey=os.environ["TOKEN"]',
        f"""%(os)simport ckanapi

portal = ckanapi.RemoteCKAN(%(portal)s%(token)s)
parameters = %(all_parameters)s
records = []
while page := portal.action.{_ACTION}(**parameters, offset=len(records))["records"]:
    records += page
print(records)""",
    ),
    "R: httr2": (
        _dump,
        '  req_headers(Authorization = Sys.getenv("TOKEN")) |>\n',
        """library(httr2)

parameters <- %(json)s
answer <- request(%(address)s) |>
%(token)s  req_body_raw(parameters, "application/json") |>
  req_perform() |>
  resp_body_json(simplifyVector = TRUE)
print(answer$result$records)""",
    ),
    "JavaScript: fetch": (
        # As a plain key of a literal, it would set the prototype.
        lambda value: _PROTOTYPE.sub(r'["__proto__"]:', _dump(value)),
        ", Authorization: process.env.TOKEN",
        """const answer = await fetch(%(address)s, {
  method: "POST",
  headers: { "Content-Type": "application/json"%(token)s },
  body: JSON.stringify(%(parameters)s),
});
const { result } = await answer.json();
console.log(JSON.stringify(result.records));""",
    ),
}
