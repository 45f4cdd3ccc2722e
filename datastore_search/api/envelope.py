"""
CKAN's envelope: every answer, and every failure, in one shape.

Source: section 2 of CKAN's semantics.  Beyond CKAN, every failure is an envelope, in the language
of the path, without a word of SQL.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, cast
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db.utils import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as rest
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from .. import storage
from ..exceptions import (
    AccessDenied,
    BadRequest,
    InvalidParameter,
    InvalidParameters,
    InvalidRecord,
    QueryTooSlow,
    RecordsIncomplete,
    RequestTooLarge,
    TemporarilyUnavailable,
    UnknownHelp,
    UnknownResource,
)

logger = logging.getLogger(__name__)

#: Faults of one parameter that an answer names at most.
FAULTS_SAID: Final = 20

#: When to ask again if the database cannot be reached.
RETRY_AFTER_SECONDS: Final = 5

_VALIDATION: Final = "Validation Error"

#: ``error.__type`` of each status.
_TYPES: Final = {
    status.HTTP_400_BAD_REQUEST: "Bad Request",
    status.HTTP_403_FORBIDDEN: "Authorization Error",
    status.HTTP_404_NOT_FOUND: "Not Found Error",
    status.HTTP_405_METHOD_NOT_ALLOWED: "Method Not Allowed",
    status.HTTP_409_CONFLICT: _VALIDATION,
    status.HTTP_413_REQUEST_ENTITY_TOO_LARGE: "Request Too Large",
    status.HTTP_415_UNSUPPORTED_MEDIA_TYPE: "Unsupported Media Type",
    status.HTTP_429_TOO_MANY_REQUESTS: "Too Many Requests",
    status.HTTP_500_INTERNAL_SERVER_ERROR: "Internal Server Error",
    status.HTTP_503_SERVICE_UNAVAILABLE: "Service Unavailable",
}

#: What each other failure is; without a message of the table, its own.
_OTHERS: Final = (
    ((UnknownResource, UnknownHelp), status.HTTP_404_NOT_FOUND, None),
    (Http404, status.HTTP_404_NOT_FOUND, _("Not found")),
    (AccessDenied, status.HTTP_403_FORBIDDEN, None),
    (PermissionDenied, status.HTTP_403_FORBIDDEN, _("Access denied")),
    (BadRequest, status.HTTP_400_BAD_REQUEST, None),
    (RecursionError, status.HTTP_400_BAD_REQUEST, _("Bad request")),
    (RequestTooLarge, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, None),
    (RequestDataTooBig, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, _("Request too large")),
    (
        (MultiPartParserError, UnreadablePostError),
        status.HTTP_400_BAD_REQUEST,
        _("Bad request"),
    ),
    (SuspiciousOperation, status.HTTP_400_BAD_REQUEST, _("Bad request")),
    (
        (TemporarilyUnavailable, RecordsIncomplete),
        status.HTTP_503_SERVICE_UNAVAILABLE,
        None,
    ),
    (
        (OperationalError, InterfaceError),
        status.HTTP_503_SERVICE_UNAVAILABLE,
        _("The database cannot be reached. Try again in a moment."),
    ),
)


def success(request: Request, action: str, result: object) -> dict[str, Any]:
    """Wrap the result of an action."""
    return {"help": help_url(request, action), "success": True, "result": result}


def failure(request: Request, action: str, code: int, members: dict[str, Any]) -> dict[str, Any]:
    """Wrap what went wrong."""
    error = {"__type": _TYPES.get(code, "Error"), **members}
    return {"help": help_url(request, action), "success": False, "error": error}


def help_url(request: Request, action: str) -> str:
    """Give the address of an action's description, under the path's locale as it was spelled."""
    locale = request.path.partition("/api/")[0]
    query = urlencode({"name": action})
    return request.build_absolute_uri(f"{locale}/api/3/action/help_show?{query}")


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """
    Turn any exception of a view into an envelope; what nobody expected is logged and says nothing.

    Source: Django REST framework's ``EXCEPTION_HANDLER``, of which this is one.
    """
    refusal = storage.refusal_of(error)
    if refusal is not None:
        # What the database said is for those who run the portal.
        logger.error("The database refused a request.", exc_info=error)
        error = refusal
    code, members = _described(error)
    if isinstance(error, TemporarilyUnavailable):
        logger.warning("datastore_search refused a request for now: %s", type(error).__name__)
    elif code >= status.HTTP_500_INTERNAL_SERVER_ERROR:
        logger.error("datastore_search failed.", exc_info=error)
    action = str(context["kwargs"].get("action", ""))
    headers = _headers(error, code)
    described = failure(context["request"], action, code, members)
    return Response(described, status=code, headers=headers)


def _described(error: Exception) -> tuple[int, dict[str, Any]]:
    """Say an exception as a status and the members of ``error``."""
    if isinstance(error, rest.ValidationError) and isinstance(error.detail, Mapping):
        return status.HTTP_409_CONFLICT, cast("dict[str, Any]", error.detail)
    if isinstance(error, InvalidParameter | InvalidParameters):
        faults = error.faults if isinstance(error, InvalidParameters) else (error,)
        return status.HTTP_409_CONFLICT, _members(faults)
    if isinstance(error, QueryTooSlow):
        return status.HTTP_409_CONFLICT, {"query": [str(error)]}
    if isinstance(error, rest.APIException):
        return _code_of(error), {"message": _sentence(error.detail) or str(error.default_detail)}
    for kinds, code, message in _OTHERS:
        if isinstance(error, kinds):
            return code, {"message": str(message or error)}
    return status.HTTP_500_INTERNAL_SERVER_ERROR, {"message": str(_("Internal server error"))}


def _code_of(error: rest.APIException) -> int:
    """Give the status that CKAN has for a failure of REST framework's, or of a portal's classes."""
    if isinstance(error, rest.ValidationError):
        return status.HTTP_409_CONFLICT
    is_unknown_user = isinstance(error, rest.NotAuthenticated | rest.AuthenticationFailed)
    if is_unknown_user or error.status_code == status.HTTP_401_UNAUTHORIZED:
        return status.HTTP_403_FORBIDDEN
    return error.status_code


def _sentence(detail: Any) -> str:
    """
    Say what an ``APIException`` holds as a text for people.

    Classes of others put an object or a list there, with the sentence among other members: see
    simplejwt's ``InvalidToken``.
    """
    if isinstance(detail, Mapping):
        for name in ("detail", "message"):
            if name in detail:
                return _sentence(detail[name])
        parts: Iterable[Any] = detail.values()
    elif isinstance(detail, list | tuple):
        parts = detail
    else:
        return str(detail)
    said = dict.fromkeys(map(_sentence, islice(parts, FAULTS_SAID)))
    return " ".join(filter(None, said))


def _members(faults: Iterable[InvalidParameter]) -> dict[str, Any]:
    """Say each parameter's first faults once; a record's place too, from 0 as CKAN counts it."""
    members: dict[str, Any] = {}
    for fault in faults:
        said = members.setdefault(fault.parameter, [])
        if len(said) < FAULTS_SAID and (message := str(fault)) not in said:
            said.append(message)
        if isinstance(fault, InvalidRecord):
            members["records_row"] = fault.values["record"] - 1
    return members


def _headers(error: Exception, code: int) -> dict[str, str]:
    wait = getattr(error, "wait", None)
    if wait is None and code == status.HTTP_503_SERVICE_UNAVAILABLE:
        wait = RETRY_AFTER_SECONDS
    return {"Retry-After": str(int(wait))} if wait else {}
