"""
CKAN's envelope: the shape of every answer and of every failure.

Source: section 2 of CKAN's semantics.  Beyond CKAN, every failure is an envelope in the language of
the path, and reveals no SQL.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

import psycopg
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db.utils import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as rest, status
from rest_framework.response import Response

from ..database.statements import explain_refusal
from ..messages.access import AccessDenied, RecordsIncomplete, TokenWriteDenied, UnknownResource
from ..messages.availability import (
    RETRY_AFTER_SECONDS,
    DatabaseUnreachable,
    QueryTooSlow,
    ShareExceeded,
    TemporarilyUnavailable,
    describe_throttling,
)
from ..messages.parameters import InvalidParameter, InvalidParameters
from ..messages.requests import (
    BadRequest,
    FormWithoutBoundary,
    RequestTooLarge,
    UnknownAddress,
    UnknownHelp,
    UnsupportedContentType,
)
from ..web.addresses import build_help_address

logger = logging.getLogger(__name__)

#: Of one parameter in one answer.
MAX_REPORTED_ERRORS: Final = 20

#: ``error.__type`` of each status.
ERROR_TYPES: Final = {
    status.HTTP_400_BAD_REQUEST: "Bad Request",
    status.HTTP_403_FORBIDDEN: "Authorization Error",
    status.HTTP_404_NOT_FOUND: "Not Found Error",
    status.HTTP_405_METHOD_NOT_ALLOWED: "Method Not Allowed",
    status.HTTP_409_CONFLICT: "Validation Error",
    status.HTTP_413_REQUEST_ENTITY_TOO_LARGE: "Request Too Large",
    status.HTTP_415_UNSUPPORTED_MEDIA_TYPE: "Unsupported Media Type",
    status.HTTP_429_TOO_MANY_REQUESTS: "Too Many Requests",
    status.HTTP_500_INTERNAL_SERVER_ERROR: "Internal Server Error",
    status.HTTP_503_SERVICE_UNAVAILABLE: "Service Unavailable",
}

#: The status of other failures, and a message in place of their own.
_STATUSES: Final = (
    ((UnknownResource, UnknownHelp, UnknownAddress), status.HTTP_404_NOT_FOUND, None),
    (Http404, status.HTTP_404_NOT_FOUND, _("Not found")),
    (AccessDenied, status.HTTP_403_FORBIDDEN, None),
    (PermissionDenied, status.HTTP_403_FORBIDDEN, _("Access denied")),
    (BadRequest, status.HTTP_400_BAD_REQUEST, None),
    (RequestTooLarge, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, None),
    (UnsupportedContentType, status.HTTP_415_UNSUPPORTED_MEDIA_TYPE, None),
    (RequestDataTooBig, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, _("Request too large")),
    (
        (RecursionError, SuspiciousOperation, UnreadablePostError),
        status.HTTP_400_BAD_REQUEST,
        _("Bad request"),
    ),
    (MultiPartParserError, status.HTTP_400_BAD_REQUEST, FormWithoutBoundary.message),
    (ShareExceeded, ShareExceeded.status, None),
    ((TemporarilyUnavailable, RecordsIncomplete), TemporarilyUnavailable.status, None),
    (
        (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError),
        status.HTTP_503_SERVICE_UNAVAILABLE,
        DatabaseUnreachable.message,
    ),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a request: its status, the members of ``error``, and its headers."""

    status: int
    members: dict[str, Any]
    headers: dict[str, str]

    def describe(self) -> str:
        """Write the messages as text, each after the name of its parameter."""
        return "\n".join(
            message if name in UNNAMED else f"{name}: {message}"
            for name, messages in self.members.items()
            for message in (messages if isinstance(messages, list) else [str(messages)])
        )


#: The members of ``error`` that are not parameters.
UNNAMED: Final = ("message", "query", "__extras")


def report_failure(error: Exception) -> Failure:
    """Describe any exception of a request; an unexpected one is logged and gives no details."""
    refusal = explain_refusal(error)
    if refusal is not None:
        logger.error("The database refused a request.", exc_info=error)
        error = refusal
    code, members = describe_error(error)
    if isinstance(error, TemporarilyUnavailable):
        logger.warning("datastore_search refused a request for now: %s", type(error).__name__)
    elif code >= status.HTTP_500_INTERNAL_SERVER_ERROR:
        logger.error("datastore_search failed.", exc_info=error)
    wait = getattr(error, "wait", None)
    if wait is None and code == status.HTTP_503_SERVICE_UNAVAILABLE:
        wait = RETRY_AFTER_SECONDS
    return Failure(code, members, {"Retry-After": str(int(wait))} if wait else {})


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Turn any exception of a view into an envelope, as REST framework's ``EXCEPTION_HANDLER``."""
    failure = report_failure(error)
    action = context["kwargs"].get("action", context["view"].help_action)
    address = build_help_address(context["request"], action)
    members = {"__type": ERROR_TYPES.get(failure.status, "Error"), **failure.members}
    envelope = {"help": address, "success": False, "error": members}
    return Response(envelope, status=failure.status, headers=failure.headers)


def describe_error(error: Exception) -> tuple[int, dict[str, Any]]:
    if isinstance(error, rest.ValidationError) and isinstance(error.detail, Mapping):
        return status.HTTP_409_CONFLICT, cast("dict[str, Any]", error.detail)
    if isinstance(error, InvalidParameter | InvalidParameters):
        # The first messages of each parameter, and what the first errors add.
        members: dict[str, Any] = {}
        for each in error.errors if isinstance(error, InvalidParameters) else (error,):
            messages = members.setdefault(each.parameter, [])
            if len(messages) < MAX_REPORTED_ERRORS and (text := str(each)) not in messages:
                messages.append(text)
            members = {**each.members, **members}
        return status.HTTP_409_CONFLICT, members
    if isinstance(error, QueryTooSlow):
        return status.HTTP_409_CONFLICT, {"query": [str(error)]}
    if isinstance(error, rest.APIException):
        code, message = _describe_rest_error(error)
        return code, {"message": message}
    for classes, code, replacement in _STATUSES:
        if isinstance(error, classes):
            return code, {"message": str(replacement or error)}
    return status.HTTP_500_INTERNAL_SERVER_ERROR, {"message": str(_("Internal server error"))}


def _describe_rest_error(error: rest.APIException) -> tuple[int, str]:
    """Describe an exception of REST framework, which lacks some texts in some languages."""
    if isinstance(error, rest.Throttled):
        return error.status_code, describe_throttling(error)
    code, default = error.status_code, str(error.default_detail)
    message = _flatten_detail(error.detail) or default
    if isinstance(error, rest.AuthenticationFailed):
        message = f"{TokenWriteDenied()} {message.removeprefix(default)}".rstrip()
    if isinstance(error, rest.ValidationError):
        code = status.HTTP_409_CONFLICT
    elif isinstance(error, rest.NotAuthenticated | rest.AuthenticationFailed):
        code = status.HTTP_403_FORBIDDEN
    # Of classes of the portal, too.
    return status.HTTP_403_FORBIDDEN if code == status.HTTP_401_UNAUTHORIZED else code, message


def _flatten_detail(detail: Any) -> str:
    """Write the detail of an ``APIException``, perhaps an object or a list, as one text."""
    if isinstance(detail, Mapping):
        for name in ("detail", "message"):
            if name in detail:
                return _flatten_detail(detail[name])
        parts: Iterable[Any] = detail.values()
    elif isinstance(detail, list | tuple):
        parts = detail
    else:
        return str(detail)
    texts = dict.fromkeys(map(_flatten_detail, islice(parts, MAX_REPORTED_ERRORS)))
    return " ".join(filter(None, texts))
