"""Programs that ask the API for the records that a page shows, and the answer they get."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.http import HttpRequest

from ..field_names import format_sort_key
from ..field_types import Json, dump_json_as_sent
from ..messages.bidi import BIDI_CONTROLS, show_bidi_controls
from ..models import Resource
from ..search import Page, Query
from .api_parameters import build_query_parameters, format_filters
from .links import add_query_string

#: Letters of a record in the answer that is shown.
MAX_SHOWN_RECORD_LENGTH = 1_500

_ACTION = "datastore_search"


@dataclass(frozen=True, slots=True)
class Example:
    """A program, and the name of its language or client."""

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class ApiExamples:
    """The programs for a question, the beginning of the answer, and a link to the whole of it."""

    programs: tuple[Example, ...]
    answer: str
    answer_address: str


def build_api_examples(
    request: HttpRequest, path: str, resource: Resource, query: Query, page: Page
) -> ApiExamples:
    """
    Write the programs for the records of a query, with the path of the action.

    ``page`` has the first of the records and their total.  A private resource needs a token, which
    the programs read from the environment.
    """
    address = request.build_absolute_uri(path)
    texts = {"resource_id": str(resource.pk), **build_query_parameters(query)}
    texts |= {"limit": str(query.limit), **({"offset": str(query.offset)} if query.offset else {})}
    call = _Call(address, texts, _build_members(resource, query), resource.private)
    return ApiExamples(
        tuple(Example(name, write(call)) for name, write in _WRITERS.items()),
        _write_answer(page),
        "" if resource.private else add_query_string(path, texts.items()),
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """
    A call of the action.

    ``texts`` are its parameters for a query string, ``members`` those for a JSON object.
    """

    address: str
    texts: Mapping[str, str]
    members: Mapping[str, Json]
    needs_token: bool

    @property
    def base(self) -> str:
        """The address of the portal, to which CKAN's clients add that of an action."""
        return self.address.removesuffix(f"/api/action/{_ACTION}")

    def write_members(self, write: Callable[[Json], str]) -> str:
        """Write the members as an object of JSON or Python, each on a line."""
        lines = [f"  {_dump(name)}: {write(value)},\n" for name, value in self.members.items()]
        return f"{{\n{''.join(lines).removesuffix(chr(10)).removesuffix(',')}\n}}"


def _build_members(resource: Resource, query: Query) -> dict[str, Json]:
    sort = ", ".join(map(format_sort_key, query.sort))
    members: dict[str, Json] = {
        "resource_id": str(resource.pk),
        "q": query.q,
        "filters": dict(format_filters(query.filters)),
        "sort": sort,
        "limit": query.limit,
        "offset": query.offset,
    }
    return {name: value for name, value in members.items() if value}


def _dump(value: Json) -> str:
    """Write JSON; a control that changes the direction of text is escaped."""
    return dump_json_as_sent(value).translate(_ESCAPED_CONTROLS)


_ESCAPED_CONTROLS = {code: f"\\u{code:04x}" for code in BIDI_CONTROLS}


def _write_answer(page: Page) -> str:
    """Write the beginning of the answer: its first record, cut where it is long."""
    first = next(page.texts, b"").decode()
    if len(first) > MAX_SHOWN_RECORD_LENGTH:
        first = f"{first[:MAX_SHOWN_RECORD_LENGTH]}…"
    records = f"[\n      {show_bidi_controls(first)},\n      …\n    ]" if first else "[]"
    return (
        '{\n  "success": true,\n  "result": {\n'
        f'    "total": {page.total or 0},\n    "records": {records},\n    …\n  }}\n}}'
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


def _write_requests(call: _Call) -> str:
    return _write_post(call, ["requests"], "print(records)")


def _write_pandas(call: _Call) -> str:
    return _write_post(call, ["pandas", "requests"], "print(pandas.DataFrame(records))")


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
    return (
        f"{_write_imports(call, ['ckanapi'])}"
        f"portal = ckanapi.RemoteCKAN({call.base!r}{token})\n"
        f"parameters = {call.write_members(_write_python)}\n"
        f"result = portal.action.{_ACTION}(**parameters)\n"
        'print(result["records"])'
    )


def _write_imports(call: _Call, packages: Iterable[str]) -> str:
    """Import packages, and the module that reads a token from the environment."""
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
    token = ", Authorization: process.env.TOKEN" if call.needs_token else ""
    return (
        f"const answer = await fetch({_dump(call.address)}, {{\n"
        '  method: "POST",\n'
        f'  headers: {{ "Content-Type": "application/json"{token} }},\n'
        f"  body: JSON.stringify({call.write_members(_dump)}),\n"
        "});\n"
        "const { result } = await answer.json();\n"
        "console.log(JSON.stringify(result.records));"
    )


def _write_powershell(call: _Call) -> str:
    token = " -Headers @{ Authorization = $env:TOKEN }" if call.needs_token else ""
    body = _quote_for_powershell(_dump(call.members))
    return (
        f"$parameters = {body}\n"
        f"$answer = Invoke-RestMethod {_quote_for_powershell(call.address)} -Method Post"
        ' -ContentType "application/json; charset=utf-8"'
        f" -Body ([Text.Encoding]::UTF8.GetBytes($parameters)){token}\n"
        "$answer.result.records | Format-Table"
    )


def _quote_for_powershell(text: str) -> str:
    """
    Write a text in single quotes, which are doubled inside it.

    Source: PowerShell, "about_Quoting_Rules"; it takes typographic single quotes for quotes too.
    """
    return "'" + re.sub("(['‘’‚‛])", r"\1\1", text) + "'"


_WRITERS: Mapping[str, Callable[[_Call], str]] = {
    "curl": _write_curl,
    "Python: requests": _write_requests,
    "Python: pandas": _write_pandas,
    "Python: ckanapi": _write_ckanapi,
    "R: httr2": _write_r,
    "JavaScript: fetch": _write_javascript,
    "PowerShell": _write_powershell,
}
