"""
The failures, in JSON Schema: one answer for each type of error.

The example of each is an exception, put into words by the function that puts every failure into
words, in the language in which the document is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db.utils import OperationalError
from rest_framework import exceptions as rest

from ..api.envelope import ERROR_TYPES, describe_error
from ..api.parameter_types import NaturalNumberField
from ..conf import conf
from ..exceptions import AnonymousDenied, NotAnObject, RequestTooLarge, UnknownResource
from .components import TEXT, Schema, enum_of, list_of, record_of, ref, response_ref
from .examples import PORTAL, SURVEY
from .results import HELP, success

_VALIDATION = 409

#: When each status is answered.
_WHEN: Mapping[int, str] = {
    400: "The request cannot be read, or there is no such action.",
    403: "The user may not do this, or no valid token was sent.",
    404: "There is no such resource, or it holds no table.",
    405: "This address does not answer that method.",
    409: "Parameters are missing, unknown or wrong, or the search took too long.",
    413: "The body is larger than the portal allows.",
    415: "The body is neither a form nor JSON.",
    429: "The portal limits requests; `Retry-After` says how many seconds to wait.",
    500: "A fault of the server; its log says more.",
    503: "The portal is busy, or the database cannot be reached; ask again later.",
}

_RETRY_AFTER: Schema = {"headers": {"Retry-After": {"schema": TEXT, "description": "Seconds."}}}

_HEADERS: Mapping[int, Schema] = {429: _RETRY_AFTER, 503: _RETRY_AFTER}

#: Only a request that has a body gets these.
_OF_BODIES = (413, 415)


def schemas() -> dict[str, Schema]:
    """Give the components of the failures' envelopes."""
    return {_name(code): _envelope(code) for code in ERROR_TYPES}


def responses(prefix: str) -> dict[str, Schema]:
    """Give the answers of the failures, as if asked under a prefix such as ``/vi/``."""
    return {_name(code): _response(code, prefix) for code in ERROR_TYPES}


def of_method(method: str) -> list[int]:
    """Give the statuses of the failures that a method may end in."""
    return [code for code in ERROR_TYPES if method == "POST" or code not in _OF_BODIES]


def response(code: int, examples: Schema) -> Schema:
    """Give the answer of a failure, with examples of the operation's own if there are any."""
    if not examples:
        return response_ref(_name(code))
    content = {"application/json": {"schema": ref(_name(code)), **examples}}
    return {"description": _WHEN[code], "content": content}


def _name(code: int) -> str:
    return "Datastore" + ERROR_TYPES[code].replace(" ", "").removesuffix("Error") + "Error"


def _envelope(code: int) -> Schema:
    kind = enum_of(ERROR_TYPES[code])
    if code == _VALIDATION:
        error = record_of(
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
        error = record_of({"__type": kind, "message": TEXT})
    return record_of({"help": HELP, "success": success(is_one=False), "error": error})


def _response(code: int, prefix: str) -> Schema:
    return {
        "description": _WHEN[code],
        **_HEADERS.get(code, {}),
        "content": {
            "application/json": {"schema": ref(_name(code)), "example": _example(code, prefix)}
        },
    }


def _example(code: int, prefix: str) -> Schema:
    status, members = describe_error(_errors()[code])
    return {
        "help": f"{PORTAL}{prefix}api/3/action/help_show?name=datastore_search",
        "success": False,
        "error": {"__type": ERROR_TYPES[status], **members},
    }


def _errors() -> Mapping[int, Exception]:
    """Give an exception for each status."""
    negative = str(NaturalNumberField.default_error_messages["negative"])
    return {
        400: NotAnObject(),
        403: AnonymousDenied(resource=SURVEY),
        404: UnknownResource(resource=SURVEY),
        405: rest.MethodNotAllowed("DELETE"),
        409: rest.ValidationError({"limit": [negative]}),
        413: RequestTooLarge(most=conf.SEARCH_BODY_MAX_BYTES),
        415: rest.UnsupportedMediaType("text/plain"),
        429: rest.Throttled(wait=12),
        500: RuntimeError(),
        503: OperationalError(),
    }
