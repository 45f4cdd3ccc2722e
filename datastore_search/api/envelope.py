"""
CKAN's envelope: every answer, and every failure, in one shape.

Source: section 2 of CKAN's semantics.  Beyond CKAN, every failure is an envelope, in the language
of the path, without a word of SQL.
"""

from __future__ import annotations

import logging
from typing import Any, Final
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db.utils import InterfaceError, OperationalError
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from rest_framework import exceptions as rest
from rest_framework import status
from rest_framework.response import Response

from ..exceptions import (
    AccessDenied,
    BadRequest,
    InvalidParameter,
    QueryTooSlow,
    UnknownResource,
    UnsteadyResource,
)

logger = logging.getLogger(__name__)

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


def success(request: HttpRequest, action: str, result: dict[str, Any]) -> dict[str, Any]:
    """Wrap the result of an action."""
    return {"help": help_url(request, action), "success": True, "result": result}


def failure(
    request: HttpRequest, action: str, code: int, members: dict[str, Any]
) -> dict[str, Any]:
    """Wrap what went wrong."""
    error = {"__type": _TYPES.get(code, "Error"), **members}
    return {"help": help_url(request, action), "success": False, "error": error}


def help_url(request: HttpRequest, action: str) -> str:
    """Give the address of an action's description, under the path's locale as it was spelled."""
    locale = request.path.partition("/api/")[0]
    query = urlencode({"name": action})
    return request.build_absolute_uri(f"{locale}/api/3/action/help_show?{query}")


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """
    Turn any exception of a view into an envelope; what nobody expected is logged and says nothing.

    Source: Django REST framework's ``EXCEPTION_HANDLER``, of which this is one.
    """
    code, members = _described(error)
    if code >= status.HTTP_500_INTERNAL_SERVER_ERROR:
        logger.error("datastore_search failed.", exc_info=error)
    action = str(context["kwargs"].get("action", ""))
    headers = _headers(error)
    return Response(
        failure(context["request"]._request, action, code, members), status=code, headers=headers
    )


def _described(error: Exception) -> tuple[int, dict[str, Any]]:
    """Say an exception as a status and the members of ``error``."""
    match error:
        case rest.ValidationError():
            return status.HTTP_409_CONFLICT, dict(error.detail)
        case InvalidParameter():
            return status.HTTP_409_CONFLICT, {error.parameter: [str(error)]}
        case QueryTooSlow():
            return status.HTTP_409_CONFLICT, {"query": [str(error)]}
        case UnknownResource():
            return status.HTTP_404_NOT_FOUND, {"message": str(error)}
        case Http404():
            return status.HTTP_404_NOT_FOUND, {"message": _("Not found")}
        case AccessDenied():
            return status.HTTP_403_FORBIDDEN, {"message": str(error)}
        case PermissionDenied():
            return status.HTTP_403_FORBIDDEN, {"message": _("Access denied")}
        case BadRequest():
            return status.HTTP_400_BAD_REQUEST, {"message": str(error)}
        case RequestDataTooBig():
            return status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, {"message": _("Request too large")}
        case SuspiciousOperation():
            return status.HTTP_400_BAD_REQUEST, {"message": _("Bad request")}
        case rest.NotAuthenticated() | rest.AuthenticationFailed():
            return status.HTTP_403_FORBIDDEN, {"message": str(error.detail)}
        case rest.APIException():
            return error.status_code, {"message": str(error.detail)}
        case UnsteadyResource():
            return status.HTTP_503_SERVICE_UNAVAILABLE, {"message": str(error)}
        case OperationalError() | InterfaceError():
            message = _("The database cannot be reached. Try again in a moment.")
            return status.HTTP_503_SERVICE_UNAVAILABLE, {"message": message}
    return status.HTTP_500_INTERNAL_SERVER_ERROR, {"message": _("Internal server error")}


def _headers(error: Exception) -> dict[str, str]:
    wait = getattr(error, "wait", None)
    return {"Retry-After": str(int(wait))} if wait else {}
