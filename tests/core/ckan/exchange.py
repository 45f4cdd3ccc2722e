"""HTTP requests of the cases, and the parts of answers that are recorded and compared."""

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

#: Members of ``schema`` that are not compared: our own, and names of indexes.
_NOT_COMPARED_OF_FIELDS = frozenset({"index_name", "facetable", "sortable", "searchable"})

#: Words of messages that show SQL.
_SQL = ("SELECT", "INSERT", "UPDATE", "LINE 1", "psycopg", "[SQL")


@dataclass(frozen=True)
class Wire:
    method: str
    path: str
    content_type: str
    body: bytes


def build_wire_request(request: Request, ids: Mapping[str, str]) -> Wire:
    path = f"/api/action/{request.action}"
    if request.form in {"query", "form"}:
        pairs = request.sent.items() if isinstance(request.sent, Mapping) else request.sent
        text = urlencode([(name, _insert_ids(value, ids)) for name, value in pairs])
        if request.form == "query":
            return Wire("GET", f"{path}?{text}", "", b"")
        return Wire("POST", path, "application/x-www-form-urlencoded", text.encode())
    text = request.sent if request.form == "raw" else json.dumps(request.sent)
    return Wire("POST", path, "application/json", _insert_ids(text, ids).encode())


def _insert_ids(text: str, ids: Mapping[str, str]) -> str:
    return _SYMBOL.sub(lambda symbol: ids.get(symbol[1], symbol[0]), text)


def store_made_id(request: Request, text: str, ids: dict[str, str]) -> None:
    """Store the id of a resource that a request has made as ``@made``."""
    if request.action == "datastore_create" and "resource" in request.sent:
        result = json.loads(text).get("result", {})
        ids["made"] = result.get("resource_id", "nothing was made")


def replace_ids(text: str, ids: Mapping[str, str]) -> str:
    for name, value in ids.items():
        text = text.replace(value, f"@{name}")
    return text


def compute_fingerprint(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def read_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def write_json(value: Any) -> str:
    """Write JSON with exact numbers."""
    marked = json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        default=lambda number: f"{_NUMBER}{number}{_NUMBER}",
    )
    return re.sub(f'"{_NUMBER}([^{_NUMBER}]*){_NUMBER}"', r"\1", marked)


def select_compared_parts(status: int, text: str, ids: Mapping[str, str]) -> dict[str, Any]:
    answer = read_json(replace_ids(text, ids)) if text.startswith("{") else {"error": {}}
    if status == 200:
        return {"status": status, "result": _select_result(answer["result"])}
    return {"status": status, "error": _select_error(answer["error"])}


def _select_result(result: dict[str, Any]) -> dict[str, Any]:
    members = {name: value for name, value in result.items() if name not in _NOT_COMPARED}
    meta = members.get("meta")
    if isinstance(meta, dict):
        members["meta"] = {key: meta[key] for key in sorted(meta) if key not in _NOT_COMPARED}
        members["meta"]["aliases"] = sorted(meta["aliases"])
    fields = members.get("fields")
    if isinstance(fields, list):
        members["fields"] = [_simplify_field(field) for field in fields]
    return dict(sorted(members.items()))


def _simplify_field(field: dict[str, Any]) -> Any:
    """Return a field as “id type”, or whole if it has more members."""
    if field.keys() == {"id", "type"}:
        return f"{field['id']} {field['type']}"
    if "schema" in field:
        schema = field["schema"].items()
        compared = {key: value for key, value in schema if key not in _NOT_COMPARED_OF_FIELDS}
        return {**field, "schema": compared}
    return field


def map_field_types(fields: Iterable[Any]) -> dict[str, str]:
    return dict(_split_field(field) for field in fields)


def _split_field(field: Any) -> tuple[str, str]:
    if isinstance(field, str):
        name, _, kind = field.rpartition(" ")
        return name, kind
    return field["id"], field.get("type", "")


def _select_error(error: dict[str, Any]) -> dict[str, list[str]]:
    """Return the members of an error, with the texts that contain no SQL."""
    return {
        name: [text for text in _list_texts(value) if not any(word in text for word in _SQL)]
        for name, value in sorted(error.items())
        if name not in {"__type", "info"}
    }


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for member in value for text in _list_texts(member)]
    return [] if isinstance(value, dict) else [str(value)]
