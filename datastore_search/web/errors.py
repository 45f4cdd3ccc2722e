"""The errors that a page reports in words, also of the database, and what renders the pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any

import psycopg
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError
from django.db.utils import InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy
from rest_framework.exceptions import Throttled

from ..contributions import Hook
from ..database.statements import explain_refusal
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

_NOT_FOUND = HTTPStatus.NOT_FOUND, gettext_lazy("Not found")
_BAD_REQUEST = HTTPStatus.BAD_REQUEST, gettext_lazy("Bad request")
_TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, gettext_lazy("Request too large")
_UNAVAILABLE = gettext_lazy("Not available at the moment")

#: The status and the title of an error of the request, and its text where its own does not fit.
_REQUEST_ERRORS: Mapping[type[Exception], tuple[HTTPStatus, Promise, Promise | None]] = {
    RecordsMissing: (*_NOT_FOUND, None),
    UnknownPage: (*_NOT_FOUND, None),
    UnknownRecord: (*_NOT_FOUND, None),
    UnknownResource: (
        *_NOT_FOUND,
        gettext_lazy("There is no such resource, or nothing has been loaded into it yet."),
    ),
    QueryStringTooLong: (
        *_TOO_LARGE,
        gettext_lazy("This address is too long. Leave some conditions out."),
    ),
    RequestTooLarge: (*_TOO_LARGE, None),
    TooManyParameters: (*_BAD_REQUEST, None),
    AnswerTooLarge: (
        HTTPStatus.CONFLICT,
        gettext_lazy("Too large"),
        gettext_lazy("These records are too large for a page. Download them instead."),
    ),
    AccessDenied: (HTTPStatus.FORBIDDEN, gettext_lazy("Access denied"), None),
    Throttled: (HTTPStatus.TOO_MANY_REQUESTS, _UNAVAILABLE, None),
}

#: The exceptions that get a page of their own; Django reports any other.
REPORTED_ERRORS: tuple[type[Exception], ...] = (
    *_REQUEST_ERRORS,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    QueryTooSlow,
    RecordsIncomplete,
    TemporarilyUnavailable,
    psycopg.InterfaceError,
    psycopg.OperationalError,
)


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    status: HTTPStatus
    title: str
    message: str
    retry_after_seconds: int | None = None


def describe_error(
    error: Exception, *, is_authenticated: bool, has_words: bool = False
) -> ErrorMessage | None:
    """
    Put one of ``REPORTED_ERRORS`` into words that reveal nothing of a private resource.

    ``has_words`` is True for a full-text search, which fewer or rarer words may make faster.
    None for a database error that ``database.statements`` does not explain: Django reports it.
    """
    refusal = explain_refusal(error)
    if refusal is not None:
        logger.error("The database refused a request.", exc_info=error)
        error = refusal
    elif isinstance(error, InternalError | ProgrammingError):
        return None
    kind = next((kind for kind in _REQUEST_ERRORS if isinstance(error, kind)), None)
    if kind is None:  # the same request may succeed later
        message = str(error)
        if isinstance(error, QueryTooSlow) and has_words:
            message = _("The search took too long. Search for rarer words, or for fewer.")
        elif isinstance(error, QueryTooSlow):
            message = _("The records could not be read in time. Try again in a moment.")
        elif not isinstance(error, TemporarilyUnavailable):
            logger.error("datastore_search failed.", exc_info=error)
            if not isinstance(error, RecordsIncomplete):
                message = str(DatabaseUnreachable())
        wait = getattr(error, "wait", RETRY_AFTER_SECONDS)
        status = getattr(error, "status", HTTPStatus.SERVICE_UNAVAILABLE)
        return ErrorMessage(status, str(_UNAVAILABLE), message, wait)
    status, title, text = _REQUEST_ERRORS[kind]
    message = str(text or error)
    if kind is AccessDenied:
        message = describe_access_denied(is_authenticated=is_authenticated)
    elif kind is Throttled:
        message = describe_throttling(error)
    return ErrorMessage(status, str(title), message, getattr(error, "wait", None))


def describe_access_denied(*, is_authenticated: bool) -> str:
    if is_authenticated:
        return _("This resource is private, and your account may not read it.")
    return _("This resource is private. Sign in with an account that may read it.")


def render_plainly(request: HttpRequest, error: ErrorMessage, folder: str = "") -> HttpResponse:
    """
    Render a page that holds the message alone, and reads nothing from the database.

    Its template is in a ``folder``, such as ``admin/``; no cache keeps it.
    """
    context = {"title": error.title, "message": error.message}
    text = render_to_string(f"datastore_search/{folder}database_error.html", context, request)
    response = HttpResponse(text, status=error.status)
    add_never_cache_headers(response)
    if error.retry_after_seconds:
        response["Retry-After"] = str(error.retry_after_seconds)
    return response


@dataclass(frozen=True)
class ErrorPages:
    """``explain`` changes a failure of a view of files for a client that prefers HTML."""

    render: Callable[[HttpRequest, ErrorMessage], HttpResponse] = render_plainly
    explain: Callable[[HttpRequest, Any, Mapping[str, Any]], None] | None = None


error_pages = Hook("error pages", ErrorPages())


def explain_failures(view: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, *args, **kwargs)
        failure = getattr(response, "data", None) or {}
        if "error" in failure and error_pages.entry.explain:
            error_pages.entry.explain(request, response, failure["error"])
        return response

    return answer


def forget_unreadable_user(request: HttpRequest) -> None:
    """Make the user of a request anonymous if the database cannot tell who it is."""
    try:
        bool(request.user.is_authenticated)
    except (DatabaseError, InterfaceError):
        request.user = AnonymousUser()
