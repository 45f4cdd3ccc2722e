"""The failures of the API: when each status is answered, with an example in the language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.utils import OperationalError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as rest

from ..api.envelope import ERROR_TYPES, describe_error
from ..api.parameter_types import NonNegativeIntegerField
from ..conf import conf
from ..exceptions.access import AnonymousDenied, UnknownResource
from ..exceptions.requests import NotAnObject, RequestTooLarge, UnsupportedContentType
from .examples import PORTAL, SURVEY

#: When each status is answered.
DESCRIPTIONS: Mapping[int, str | Promise] = {
    400: _("The request cannot be read, or there is no such action."),
    403: _("The user may not do this, or no valid token was sent."),
    404: _("There is no such resource, or it holds no table."),
    405: _("This address does not answer that method."),
    409: _("Parameters are missing, unknown or wrong, or the search took too long."),
    413: _("The body or the query string is larger than the portal allows."),
    415: _("The body is neither a form nor JSON."),
    429: _("The portal limits requests; `Retry-After` is the number of seconds to wait."),
    500: _("An error of the server; its log has the details."),
    503: _("The portal is busy, or the database cannot be reached; ask again later."),
}

#: Answered only to a request with a body.
_UNSUPPORTED_MEDIA_TYPE = 415


def list_statuses(method: str) -> list[int]:
    """List the statuses of failures of a method."""
    return [code for code in ERROR_TYPES if method == "POST" or code != _UNSUPPORTED_MEDIA_TYPE]


def build_example(code: int, prefix: str) -> dict[str, Any]:
    """Build the envelope of a failure, with URLs under a prefix such as ``/vi/``."""
    status, members = describe_error(_build_exceptions()[code])
    return {
        "help": f"{PORTAL}{prefix}api/3/action/help_show?name=datastore_search",
        "success": False,
        "error": {"__type": ERROR_TYPES[status], **members},
    }


def _build_exceptions() -> Mapping[int, Exception]:
    """Build an exception for each status."""
    negative = str(NonNegativeIntegerField.default_error_messages["negative"])
    return {
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
