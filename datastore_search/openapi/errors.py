"""
The failures in JSON Schema: one response for each type of error.

Their descriptions and examples are those of ``reference``, in the language of the document.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..api.envelope import ERROR_TYPES
from ..reference.errors import DESCRIPTIONS, build_example
from .components import TEXT, Schema, enum_of, list_of, object_of, response_ref, schema_ref
from .results import HELP, build_success

_VALIDATION = 409

_RETRY_AFTER: Schema = {"headers": {"Retry-After": {"schema": TEXT, "description": "Seconds."}}}

_HEADERS: Mapping[int, Schema] = {429: _RETRY_AFTER, 503: _RETRY_AFTER}


def build_schemas() -> dict[str, Schema]:
    """Build the named schemas of the envelopes of failures."""
    return {_build_name(code): _build_envelope(code) for code in ERROR_TYPES}


def build_responses(prefix: str) -> dict[str, Schema]:
    """Build the named responses of failures, with URLs under a prefix such as ``/vi/``."""
    return {_build_name(code): _build_component(code, prefix) for code in ERROR_TYPES}


def build_response(code: int, examples: Schema) -> Schema:
    """Build the response of a failure, with the operation's own examples if there are any."""
    if not examples:
        return response_ref(_build_name(code))
    content = {"application/json": {"schema": schema_ref(_build_name(code)), **examples}}
    return {"description": str(DESCRIPTIONS[code]), "content": content}


def _build_name(code: int) -> str:
    return "Datastore" + ERROR_TYPES[code].replace(" ", "").removesuffix("Error") + "Error"


def _build_envelope(code: int) -> Schema:
    kind = enum_of(ERROR_TYPES[code])
    if code == _VALIDATION:
        error = object_of(
            {"__type": kind},
            optional={
                "records_row": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Which of the records sent is at fault, counted from 0.",
                }
            },
            minProperties=2,
            additionalProperties={
                "description": "What is wrong with the parameter of this name; `__extras` are those"
                " that there are not.",
                **list_of(TEXT, minItems=1),
            },
        )
    else:
        error = object_of({"__type": kind, "message": TEXT})
    return object_of({"help": HELP, "success": build_success(is_one=False), "error": error})


def _build_component(code: int, prefix: str) -> Schema:
    return {
        "description": str(DESCRIPTIONS[code]),
        **_HEADERS.get(code, {}),
        "content": {
            "application/json": {
                "schema": schema_ref(_build_name(code)),
                "example": build_example(code, prefix),
            }
        },
    }
