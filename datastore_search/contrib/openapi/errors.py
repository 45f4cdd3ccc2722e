"""The failures in JSON Schema: one response and example for each status, in the active language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.utils import OperationalError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as rest

from ...api.envelope import ERROR_TYPES, describe_error
from ...api.parameters import NonNegativeIntegerField, Schema
from ...api.schemas import BOOLEAN, TEXT, enum_of, list_of, object_of, schema_ref
from ...conf import conf
from ...messages.access import AnonymousDenied, UnknownResource
from ...messages.requests import NotAnObject, RequestTooLarge, UnsupportedContentType
from .examples import PORTAL, SURVEY

#: When each status is answered.
_DESCRIPTIONS: Mapping[int, str | Promise] = {
    400: _("The request cannot be read, or there is no such action."),
    403: _("The user may not do this, or no valid token was sent."),
    404: _("There is no such resource, or it has no table."),
    405: _("This address does not answer that method."),
    409: _("Parameters are missing, unknown or wrong, or the search took too long."),
    413: _("The body or the query string is larger than the portal allows."),
    415: _("The body is neither a form nor JSON."),
    429: _("The portal limits requests; `Retry-After` is the number of seconds to wait."),
    500: _("An error of the server; its log has the details."),
    503: _("The portal is busy, or the database cannot be reached; ask again later."),
}

HELP: Schema = {
    "type": "string",
    "format": "uri",
    "description": "Where the action is described.",
}

_VALIDATION = 409

#: Answered only to a request with a body.
_UNSUPPORTED_MEDIA_TYPE = 415

_RETRY_AFTER: Schema = {"headers": {"Retry-After": {"schema": TEXT, "description": "Seconds."}}}

_HEADERS: Mapping[int, Schema] = {429: _RETRY_AFTER, 503: _RETRY_AFTER}


def build_success(*, is_one: bool) -> Schema:
    """Describe the member that distinguishes results from failures."""
    # Not a constant: generators of clients mistake it for the text "true".
    return {**BOOLEAN, "description": f"Always {str(is_one).lower()}."}


def list_statuses(method: str) -> list[int]:
    return [code for code in ERROR_TYPES if method == "POST" or code != _UNSUPPORTED_MEDIA_TYPE]


def build_schemas() -> dict[str, Schema]:
    return {_build_name(code): _build_envelope(code) for code in ERROR_TYPES}


def build_responses(prefix: str) -> dict[str, Schema]:
    """Build the named responses of failures, with URLs under a prefix such as ``/vi/``."""
    return {
        _build_name(code): {
            "description": str(_DESCRIPTIONS[code]),
            **_HEADERS.get(code, {}),
            "content": {
                "application/json": {
                    "schema": schema_ref(_build_name(code)),
                    "example": _build_example(code, prefix),
                }
            },
        }
        for code in ERROR_TYPES
    }


def build_response(code: int, examples: Schema) -> Schema:
    """Build the response of a failure, with the operation's own examples if there are any."""
    if not examples:
        return {"$ref": f"#/components/responses/{_build_name(code)}"}
    content = {"application/json": {"schema": schema_ref(_build_name(code)), **examples}}
    return {"description": str(_DESCRIPTIONS[code]), "content": content}


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
                    "description": "The first record at fault of those sent, counted from 0.",
                }
            },
            minProperties=2,
            additionalProperties={
                "description": "What is wrong with the parameter of this name; `__extras` has the"
                " unknown parameters.",
                **list_of(TEXT, minItems=1),
            },
        )
    else:
        error = object_of({"__type": kind, "message": TEXT})
    return object_of({"help": HELP, "success": build_success(is_one=False), "error": error})


def _build_example(code: int, prefix: str) -> dict[str, Any]:
    """Build the envelope of a failure, with URLs under a prefix such as ``/vi/``."""
    negative = str(NonNegativeIntegerField.default_error_messages["negative"])
    exceptions: Mapping[int, Exception] = {
        400: NotAnObject(),
        403: AnonymousDenied(resource=SURVEY),
        404: UnknownResource(resource=SURVEY),
        405: rest.MethodNotAllowed("DELETE"),
        409: rest.ValidationError({"limit": [negative]}),
        413: RequestTooLarge(most=conf.MAX_ANONYMOUS_BODY_BYTES),
        415: UnsupportedContentType(kind="text/plain"),
        429: rest.Throttled(wait=12),
        500: RuntimeError(),
        503: OperationalError(),
    }
    status, members = describe_error(exceptions[code])
    return {
        "help": f"{PORTAL}{prefix}api/3/action/help_show?name=datastore_search",
        "success": False,
        "error": {"__type": ERROR_TYPES[status], **members},
    }
