"""Requests as they go over the wire, and answers as they are kept and compared."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .cases import Request

ANSWERS = Path(__file__).with_name("answers.jsonl")

_SYMBOL = re.compile(r"@([a-z]+)")

#: Marks a number in a JSON text that is being written.
_NUMBER = "\ue000"

#: Members of a result that are not compared: sizes on disk, defaults that CKAN repeats to who did
#: not send them, and what docs/reference/ckan-compatibility.md lists under “The answer”.
_NOT_COMPARED = frozenset(
    {"size", "db_size", "idx_size", "calculate_record_count", "delete_fields"}
    | {"_links", "filterops", "total_was_estimated"}
)

#: Words of messages that show SQL.
_SQL = ("SELECT", "INSERT", "UPDATE", "LINE 1", "psycopg", "[SQL")


@dataclass(frozen=True)
class Wire:
    """A request as HTTP wants it."""

    method: str
    path: str
    content_type: str
    body: bytes


def on_the_wire(request: Request, ids: Mapping[str, str]) -> Wire:
    """Write a request, with the ids of this server's resources in it."""
    path = f"/api/action/{request.action}"
    if request.form in {"query", "form"}:
        pairs = request.sent.items() if isinstance(request.sent, Mapping) else request.sent
        text = urlencode([(name, _with_ids(value, ids)) for name, value in pairs])
        if request.form == "query":
            return Wire("GET", f"{path}?{text}", "", b"")
        return Wire("POST", path, "application/x-www-form-urlencoded", text.encode())
    text = request.sent if request.form == "raw" else json.dumps(request.sent)
    return Wire("POST", path, "application/json", _with_ids(text, ids).encode())


def _with_ids(text: str, ids: Mapping[str, str]) -> str:
    return _SYMBOL.sub(lambda symbol: ids.get(symbol[1], symbol[0]), text)


def learn_made(request: Request, text: str, ids: dict[str, str]) -> None:
    """Learn the id of a resource that a request made, as ``@made``."""
    if request.action == "datastore_create" and "resource" in request.sent:
        result = json.loads(text).get("result", {})
        ids["made"] = result.get("resource_id", "nothing was made")


def without_ids(text: str, ids: Mapping[str, str]) -> str:
    """Put the symbols back in the place of ids."""
    for name, value in ids.items():
        text = text.replace(value, f"@{name}")
    return text


def fingerprint(value: Any) -> str:
    """Tell a value that can be written as JSON from any other."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def read_json(text: str) -> Any:
    """Read JSON with its numbers as they stand."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def write_json(value: Any) -> str:
    """Write JSON with its numbers as they stood."""
    marked = json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        default=lambda number: f"{_NUMBER}{number}{_NUMBER}",
    )
    return re.sub(f'"{_NUMBER}([^{_NUMBER}]*){_NUMBER}"', r"\1", marked)


def kept(status: int, text: str, ids: Mapping[str, str]) -> dict[str, Any]:
    """Keep of an answer what is compared."""
    answer = read_json(without_ids(text, ids)) if text.startswith("{") else {"error": {}}
    if status == 200:
        return {"status": status, "result": _kept_result(answer["result"])}
    return {"status": status, "error": _kept_error(answer["error"])}


def _kept_result(result: dict[str, Any]) -> dict[str, Any]:
    members = {name: value for name, value in result.items() if name not in _NOT_COMPARED}
    meta = members.get("meta")
    if isinstance(meta, dict):
        members["meta"] = {key: meta[key] for key in sorted(meta) if key not in _NOT_COMPARED}
        members["meta"]["aliases"] = sorted(meta["aliases"])
    fields = members.get("fields")
    if isinstance(fields, list):
        members["fields"] = [_kept_field(field) for field in fields]
    return dict(sorted(members.items()))


def _kept_field(field: dict[str, Any]) -> Any:
    """Keep a field as “id type”, or as it is where it says more than that."""
    if field.keys() == {"id", "type"}:
        return f"{field['id']} {field['type']}"
    if "schema" in field:
        schema = field["schema"].items()
        return {**field, "schema": {key: value for key, value in schema if key != "index_name"}}
    return field


def types_in(fields: Iterable[Any]) -> dict[str, str]:
    """Give the type of each field, as it was kept."""
    return dict(_name_and_type(field) for field in fields)


def _name_and_type(field: Any) -> tuple[str, str]:
    if isinstance(field, str):
        name, _, kind = field.rpartition(" ")
        return name, kind
    return field["id"], field.get("type", "")


def _kept_error(error: dict[str, Any]) -> dict[str, list[str]]:
    """Keep the members of an error, with the texts that show no SQL."""
    return {
        name: [text for text in _texts(value) if not any(word in text for word in _SQL)]
        for name, value in sorted(error.items())
        if name not in {"__type", "info"}
    }


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for member in value for text in _texts(member)]
    return [] if isinstance(value, dict) else [str(value)]
