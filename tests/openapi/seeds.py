"""
Replace generated ids, names and values by those of a real table.

Schemathesis generates texts that no portal knows; most of them are replaced here by ids, names of
fields and values of the survey, so that its requests pass the first check.  The same text always
gets the same replacement.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from datastore_search.openapi.examples import SURVEY

STAFF = "f7208d3b-5c19-4ea6-9b42-13d6a0c7e855"
BIRDS = "7d0f7b0e-3c52-4d8e-9a61-2f4be9d1c0aa"
IDS = (SURVEY, BIRDS, "bird-sightings", STAFF, "_table_metadata")

#: Fields of the survey and of the birds, with a value of each.
VALUES = {
    "_id": 1,
    "project_code": "001",
    "subject": "forest",
    "start_date": "2012-10-14",
    "updated_at": "2013-07-25T10:54:35",
    "budget": 104031.31,
    "sites": 18,
    "open_data": True,
    "ring": "AX007",
    "species": "Dipper",
    "weight": 38.5,
    "seen": "2024-05-04T06:30:00",
}
NAMES = tuple(VALUES)

#: JSON texts for the parameters of forms.
TEXTS = {
    "filters": ('{"subject": "forest"}', '{"weight": {"gt": 40}}', '{"_id": [1, 2]}', "[]"),
    "records": ('[{"ring": "AX007", "weight": 39}]', '[{"ring": "AX010"}]', '[{"weight": 1}]'),
    "fields": ('[{"id": "ring"}]', '[{"id": "colour", "type": "text"}]', '[{"id": ""}]'),
    "resource": ('{"name": "New"}', "{}", '{"id": "nothing"}'),
}

BIRD_TABLE: dict[str, Any] = {
    "resource_id": BIRDS,
    "fields": [
        {"id": "ring", "type": "text"},
        {"id": "species", "type": "text"},
        {"id": "weight", "type": "numeric"},
        {"id": "seen", "type": "timestamp"},
    ],
    "primary_key": ["ring"],
    "aliases": ["bird-sightings"],
    "records": [
        {"ring": "AX007", "species": "Kingfisher", "weight": 38.5, "seen": "2024-05-04T06:30:00"},
        {"ring": "AX008", "species": "Dipper", "weight": 62, "seen": None},
    ],
}


def replace_unknown_names(parameters: Any) -> Any:
    """Replace unknown names and values in the parameters of an action."""
    if not isinstance(parameters, dict):
        return parameters
    return {name: _replace_in_parameter(name, value) for name, value in parameters.items()}


def replace_unknown(text: object, known: Sequence[Any]) -> Any:
    """Replace four of five unknown texts by a known one."""
    if not isinstance(text, str) or text in known:
        return text
    digest = zlib.crc32(text.encode(errors="surrogatepass"))
    return text if digest % 5 == 4 else known[digest % len(known)]


def _replace_in_parameter(name: str, value: Any) -> Any:
    if name in ("resource_id", "id") and value:
        return replace_unknown(value, IDS)
    if name in TEXTS and isinstance(value, str) and value:
        return _replace_in_json_text(name, value)
    if name in ("fields", "sort", "primary_key", "indexes") and isinstance(value, list):
        return [replace_unknown(each, NAMES) for each in value]
    if name == "filters":
        return _replace_in_conditions(value)
    if name == "records" and isinstance(value, list):
        return [_replace_in_conditions(each) for each in value]
    return value


def _replace_in_json_text(name: str, text: str) -> Any:
    """Replace names in a JSON text; any other text becomes a JSON text."""
    try:
        value = json.loads(text)
    except ValueError:
        return replace_unknown(text, TEXTS[name])
    return json.dumps(_replace_in_parameter(name, value))


def _replace_in_conditions(value: Any) -> Any:
    if isinstance(value, list):
        return [_replace_in_conditions(each) for each in value]
    if not isinstance(value, dict):
        return value
    replaced = {}
    for name, condition in value.items():
        if name.startswith("$"):
            replaced[name] = _replace_in_conditions(condition)
        else:
            field = replace_unknown(name, NAMES)
            replaced[field] = _replace_in_condition(field, condition)
    return replaced


def _replace_in_condition(field: str, condition: Any) -> Any:
    """Replace half of the values by one that fits the field's type."""
    if isinstance(condition, dict):
        return {
            operator: _replace_in_condition(field, value) for operator, value in condition.items()
        }
    if isinstance(condition, list):
        return [_replace_in_condition(field, value) for value in condition]
    digest = zlib.crc32(json.dumps(condition).encode())
    return VALUES[field] if field in VALUES and digest % 2 else condition
