"""The page of programs that ask the API for the records of a data page, and their answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from ...field_types import Json, dump_json_as_sent
from ...filters.names import format_sort_key
from ...messages.bidi import BIDI_CONTROLS, show_bidi_controls
from ...search import ConsistentRead, SearchAnswer, read_answer
from ...web.addresses import find_path, find_search_path, reverse_in_locale
from ...web.views import parse_page_number
from .columns import Column
from .head import build_chips
from .page import ResourcePageView, add_query_string
from .question import PageQuery, build_query_parameters, format_filters

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
            answer = _write_answer(found)
        parameters = build_query_parameters(search)
        texts = {"resource_id": str(resource.pk), **parameters, "limit": str(search.limit)}
        texts |= {"offset": str(offset)} if offset else {}
        members: dict[str, Json] = {
            **texts,
            "filters": dict(format_filters(search.filters)),
            "sort": ", ".join(map(format_sort_key, search.sort)),
            "limit": search.limit,
            "offset": offset,
        }
        order = ("resource_id", "q", "filters", "sort", "limit", "offset")
        sent = {name: members[name] for name in order if members.get(name)}
        call = _Call(self.request.build_absolute_uri(path), texts, sent, resource.private)
        dump = "" if resource.private else find_path(self.request, "dump", resource.pk)
        in_file = {"format": "csv", **parameters}
        return {
            "chips": build_chips(query, columns),
            "page_address": page_address,
            "programs": [(name, write(call)) for name, write in _WRITERS.items()],
            "file_address": dump and add_query_string(dump, in_file.items()),
            "answer": answer,
            "answer_address": "" if resource.private else add_query_string(path, texts.items()),
        }


@dataclass(frozen=True, slots=True)
class _Call:
    """A call: ``texts`` are its parameters for a query string, ``members`` for a JSON object."""

    address: str
    texts: Mapping[str, str]
    members: Mapping[str, Json]
    needs_token: bool

    def write_members(self, write: Callable[[Json], str]) -> str:
        lines = [f"  {_dump(name)}: {write(value)},\n" for name, value in self.members.items()]
        return f"{{\n{''.join(lines).removesuffix(chr(10)).removesuffix(',')}\n}}"


def _dump(value: Json) -> str:
    """Write JSON; a control that changes the direction of text is escaped."""
    return dump_json_as_sent(value).translate(_ESCAPED_CONTROLS)


_ESCAPED_CONTROLS = {code: f"\\u{code:04x}" for code in BIDI_CONTROLS}


def _write_answer(found: SearchAnswer) -> str:
    first = next(found.texts, b"").decode()
    if len(first) > MAX_SHOWN_RECORD_LENGTH:
        first = f"{first[:MAX_SHOWN_RECORD_LENGTH]}…"
    records = f"[\n      {show_bidi_controls(first)},\n      …\n    ]" if first else "[]"
    return (
        '{\n  "success": true,\n  "result": {\n'
        f'    "total": {found.total or 0},\n    "records": {records},\n    …\n  }}\n}}'
    )


# Programs -----------------------------------------------------------------------------------------


def _write_curl(call: _Call) -> str:
    lines = [f"curl -G {shlex.quote(call.address)}"]
    if call.needs_token:
        lines.append('-H "Authorization: $TOKEN"')
    lines += [
        f"--data-urlencode {shlex.quote(f'{name}={value}')}" for name, value in call.texts.items()
    ]
    return " \\\n  ".join(lines)


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


def _write_post(call: _Call, packages: Iterable[str], end: str) -> str:
    token = ', headers={"Authorization": os.environ["TOKEN"]}' if call.needs_token else ""
    return (
        f"{_write_imports(call, packages)}"
        f"address = {call.address!r}\n"
        f"parameters = {call.write_members(_write_python)}\n"
        f"answer = requests.post(address, json=parameters{token}, timeout=60)\n"
        "answer.raise_for_status()\n"
        f'records = answer.json()["result"]["records"]\n{end}'
    )


def _write_ckanapi(call: _Call) -> str:
    token = ', apikey=os.environ["TOKEN"]' if call.needs_token else ""
    # CKAN's clients append an action to the base address of the portal.
    base = call.address.removesuffix(f"/api/action/{_ACTION}")
    return (
        f"{_write_imports(call, ['ckanapi'])}"
        f"portal = ckanapi.RemoteCKAN({base!r}{token})\n"
        f"parameters = {call.write_members(_write_python)}\n"
        f"result = portal.action.{_ACTION}(**parameters)\n"
        'print(result["records"])'
    )


def _write_imports(call: _Call, packages: Iterable[str]) -> str:
    first = "import os\n\n" if call.needs_token else ""
    return first + "".join(f"import {package}\n" for package in packages) + "\n"


def _write_r(call: _Call) -> str:
    token = '  req_headers(Authorization = Sys.getenv("TOKEN")) |>\n' if call.needs_token else ""
    return (
        "library(httr2)\n\n"
        f"parameters <- {_dump(_dump(call.members))}\n"
        f"answer <- request({_dump(call.address)}) |>\n{token}"
        '  req_body_raw(parameters, "application/json") |>\n'
        "  req_perform() |>\n"
        "  resp_body_json(simplifyVector = TRUE)\n"
        "print(answer$result$records)"
    )


def _write_javascript(call: _Call) -> str:
    # As a plain key of a literal, it would set the prototype.
    members = _PROTOTYPE.sub(r'["__proto__"]:', call.write_members(_dump))
    token = ", Authorization: process.env.TOKEN" if call.needs_token else ""
    return (
        f"const answer = await fetch({_dump(call.address)}, {{\n"
        '  method: "POST",\n'
        f'  headers: {{ "Content-Type": "application/json"{token} }},\n'
        f"  body: JSON.stringify({members}),\n"
        "});\n"
        "const { result } = await answer.json();\n"
        "console.log(JSON.stringify(result.records));"
    )


#: This key of an object; within a text, its quotation marks are escaped.
_PROTOTYPE = re.compile(r'(?<!\\)"__proto__":')

_WRITERS: Mapping[str, Callable[[_Call], str]] = {
    "curl": _write_curl,
    "Python: requests": lambda call: _write_post(call, ["requests"], "print(records)"),
    "Python: pandas": lambda call: _write_post(
        call, ["pandas", "requests"], "print(pandas.DataFrame(records))"
    ),
    "Python: ckanapi": _write_ckanapi,
    "R: httr2": _write_r,
    "JavaScript: fetch": _write_javascript,
}
