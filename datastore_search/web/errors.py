"""The errors that a page reports in words, those of the database too, and who renders the pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError
from django.db.utils import InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from rest_framework.exceptions import Throttled

from ..database.refusals import explain_refusal, is_connection_lost
from ..messages.access import AccessDenied, RecordsIncomplete, RecordsMissing, UnknownResource
from ..messages.availability import (
    RETRY_AFTER_SECONDS,
    DatabaseUnreachable,
    QueryTooSlow,
    TemporarilyUnavailable,
    describe_throttling,
)
from ..messages.requests import (
    QueryStringTooLong,
    RequestTooLarge,
    TooManyParameters,
    UnknownPage,
    UnknownRecord,
)
from ..messages.search import AnswerTooLarge

logger = logging.getLogger(__name__)

#: The exceptions that get a page of their own; Django reports any other.
REPORTED_ERRORS = (
    AccessDenied,
    AnswerTooLarge,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    QueryTooSlow,
    RecordsIncomplete,
    RequestTooLarge,
    TemporarilyUnavailable,
    Throttled,
    TooManyParameters,
    UnknownPage,
    UnknownRecord,
    UnknownResource,
)


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The status, title and text of an error page."""

    status: HTTPStatus
    title: str
    message: str
    retry_after_seconds: int | None = None


def describe_error(error: Exception, *, is_authenticated: bool) -> ErrorMessage | None:
    """
    Put one of ``REPORTED_ERRORS`` into words that reveal nothing of a private resource.

    None for a database error that ``database.refusals`` does not explain: Django reports it.
    """
    refusal = explain_refusal(error)
    if refusal is not None:
        logger.error("The database refused a request.", exc_info=error)
        error = refusal
    elif isinstance(error, InternalError | ProgrammingError):
        return None
    return _describe_request_error(error, is_authenticated) or _describe_temporary_error(error)


def _describe_request_error(error: Exception, is_authenticated: bool) -> ErrorMessage | None:
    """Describe an error of the request; None for any other error."""
    message = str(error)
    match error:
        case RecordsMissing() | UnknownPage() | UnknownRecord():
            status, title = HTTPStatus.NOT_FOUND, _("Not found")
        case UnknownResource():
            status, title = HTTPStatus.NOT_FOUND, _("Not found")
            message = _("There is no such resource, or nothing has been loaded into it yet.")
        case RequestTooLarge():
            status, title = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _("Request too large")
            if isinstance(error, QueryStringTooLong):
                message = _("This address is too long. Leave some conditions out.")
        case TooManyParameters():
            status, title = HTTPStatus.BAD_REQUEST, _("Bad request")
        case AnswerTooLarge():
            status, title = HTTPStatus.CONFLICT, _("Too large")
            message = _("These records are too large for a page. Download them instead.")
        case AccessDenied():
            status, title = HTTPStatus.FORBIDDEN, _("Access denied")
            message = describe_access_denied(is_authenticated=is_authenticated)
        case Throttled():
            status, title = HTTPStatus.TOO_MANY_REQUESTS, _("Not available at the moment")
            message = describe_throttling(error)
        case _:
            return None
    return ErrorMessage(status, title, message, getattr(error, "wait", None))


def describe_access_denied(*, is_authenticated: bool) -> str:
    """Say who may read a private resource."""
    if is_authenticated:
        return _("This resource is private, and your account may not read it.")
    return _("This resource is private. Sign in with an account that may read it.")


def _describe_temporary_error(error: Exception) -> ErrorMessage:
    """Describe an error after which the same request may succeed later."""
    message = str(error)
    if isinstance(error, QueryTooSlow):
        message = _("The search took too long. Search for rarer words, or for fewer.")
    elif not isinstance(error, TemporarilyUnavailable):
        logger.error("datastore_search failed.", exc_info=error)
        if not isinstance(error, RecordsIncomplete):
            message = str(DatabaseUnreachable())
    title, wait = _("Not available at the moment"), getattr(error, "wait", RETRY_AFTER_SECONDS)
    status = getattr(error, "status", HTTPStatus.SERVICE_UNAVAILABLE)
    return ErrorMessage(status, title, message, wait)


# Pages of errors ----------------------------------------------------------------------------------


def _render_plainly(request: HttpRequest, error: ErrorMessage) -> HttpResponse:
    """Render a page that holds the message alone; no cache keeps it."""
    context = {"title": error.title, "message": error.message}
    text = render_to_string("datastore_search/database_error.html", context)
    response = HttpResponse(text, status=error.status)
    add_never_cache_headers(response)
    if error.retry_after_seconds:
        response["Retry-After"] = str(error.retry_after_seconds)
    return response


@dataclass
class ErrorPages:
    """
    What renders errors; ``contrib.pages`` puts its own in place of these.

    ``explain`` changes the failure of a view that sends files, for a client that prefers HTML.
    """

    render: Callable[[HttpRequest, ErrorMessage], HttpResponse] = _render_plainly
    explain: Callable[[HttpRequest, Any, Mapping[str, Any]], None] | None = None


error_pages = ErrorPages()


def explain_failures(view: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
    """Let ``error_pages`` explain the failures of a view that sends files."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, *args, **kwargs)
        failure = getattr(response, "data", None) or {}
        if "error" in failure and error_pages.explain:
            error_pages.explain(request, response, failure["error"])
        return response

    return answer


logger = logging.getLogger(__name__)

ADMIN_TEMPLATE = "datastore_search/admin/database_error.html"
_TEMPLATE = "datastore_search/database_error.html"


def find_refusal(error: BaseException) -> TemporarilyUnavailable | None:
    """Explain an error of a database that refuses a view or is away; None for any other error."""
    if refusal := explain_refusal(error):
        return refusal
    return DatabaseUnreachable() if is_connection_lost(error) else None


def forget_unreadable_user(request: HttpRequest) -> None:
    """Make the user of a request anonymous if the database cannot tell who it is."""
    try:
        _ = request.user.is_authenticated
    except (DatabaseError, InterfaceError):
        request.user = AnonymousUser()


def answer_refusal(
    request: HttpRequest,
    refusal: TemporarilyUnavailable,
    error: BaseException,
    *,
    template: str = _TEMPLATE,
) -> HttpResponse:
    """Answer with 503 and a page, which reads nothing from the database, and log the error."""
    logger.error("The database refused a request.", exc_info=error)
    forget_unreadable_user(request)
    status = HTTPStatus.SERVICE_UNAVAILABLE
    return answer_unavailable(request, str(refusal), status, refusal.wait, template=template)


def answer_unavailable(
    request: HttpRequest, message: str, status: HTTPStatus, wait: int, *, template: str = _TEMPLATE
) -> HttpResponse:
    """Answer with a page, and the seconds after which the client may ask again."""
    page = render_to_string(template, {"message": message}, request)
    return HttpResponse(page, status=status, headers={"Retry-After": str(wait)})
