"""
What every view has in common: language, sizes, rates, reports, errors, reading a resource.

A report of a request names the action, the resource, and the parameters that were sent.  It never
has their values, and it names fields of public resources alone.
"""

from __future__ import annotations

import json
import logging
import os
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.settings import api_settings

from ..conf import conf
from ..contributions import Hook
from ..guards.rates import check_throttles
from ..guards.shares import Client
from ..messages.access import AccessDenied
from ..messages.requests import (
    InvalidContentLength,
    QueryStringTooLong,
    TooManyParameters,
    UnknownPage,
)
from ..models import Resource
from ..models.base import exclude_from_atomic_requests
from ..search import ConsistentRead, with_consistent_read
from ..signals import request_answered
from .addresses import find_path_language
from .caching import NotModified
from .errors import (
    REPORTED_ERRORS,
    ErrorMessage,
    describe_error,
    error_pages,
    forget_unreadable_user,
)

logger = logging.getLogger("datastore_search.slow_requests")

_RESOURCE_ATTRIBUTE: Final = "_datastore_resource"

#: The parameters that reports name; others name fields.
_REPORTED = ("q", "sort", "limit", "page", "show", "by", "format", "embed")

#: The header that pages and documents depend on: it has the session, which decides who may read.
VARY = ("Cookie",)

_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,15}")


def parse_page_number(request: HttpRequest) -> int:
    """Read the parameter ``page``; without it the number is 1.  Raises: ``UnknownPage``."""
    number = request.GET.get("page") or "1"
    if not _PAGE_NUMBER.fullmatch(number):
        raise UnknownPage(page=number[:100])
    return int(number)


# Sizes --------------------------------------------------------------------------------------------

#: ``urlsplit`` caches the last 128 addresses, so longer ones would fill the memory; servers refuse
#: them anyway.
MAX_QUERY_STRING_BYTES: Final = 2**16

#: Of a form or a query string; a list counts once for each of its values.
MAX_PARAMETERS: Final = 10_000


def measure_body(request: HttpRequest) -> int:
    """
    Measure a body that the server has received, or take its declared size.

    No more than the declared size is ever read.

    Raises: ``InvalidContentLength``.
    """
    stream = request._stream  # noqa: SLF001 - `body` would read it whole
    if stream.seekable():  # from an ASGI server, or already read
        position = stream.tell()
        size: int = stream.seek(0, os.SEEK_END)
        stream.seek(position)
        return size
    # Under WSGI, Django reads no body without a length: it would count as none.
    has_no_length = request.method == "POST" and "HTTP_TRANSFER_ENCODING" in request.META
    declared_bytes = request.META.get("CONTENT_LENGTH") or ("" if has_no_length else "0")
    if not (declared_bytes.isascii() and declared_bytes.isdecimal()):
        raise InvalidContentLength
    return int(declared_bytes)


def check_query_string(request: HttpRequest) -> None:
    text = request.META.get("QUERY_STRING", "")
    if len(text) > MAX_QUERY_STRING_BYTES:
        raise QueryStringTooLong(most=MAX_QUERY_STRING_BYTES)
    check_parameters(text.count("&") + 1)


def check_parameters(count: int) -> None:
    """Refuse more parameters than ``MAX_PARAMETERS`` or ``DATA_UPLOAD_MAX_NUMBER_FIELDS``."""
    portal_max = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    max_count = MAX_PARAMETERS if portal_max is None else min(MAX_PARAMETERS, portal_max)
    if count > max_count:
        raise TooManyParameters(most=max_count)


# Reports ------------------------------------------------------------------------------------------


def note_resource(request: Request | HttpRequest, resource: Resource) -> None:
    setattr(getattr(request, "_request", request), _RESOURCE_ATTRIBUTE, resource)


@dataclass(frozen=True, slots=True)
class Question:
    """
    What a request asked for, without the request's client and its answer.

    ``name`` is one of few: an action, ``dump``, ``agents``, or the name of a page.  Of the
    parameters as they were ``sent``, only the ``known`` ones are named.
    """

    name: str
    sent: Mapping[str, object]
    known: Iterable[str]


def report_answer(
    request: HttpRequest, *, status: int, seconds: float, view: Answering, is_slow: bool
) -> None:
    question, record_count = view.describe_question(), view.record_count
    resource: Resource | None = getattr(request, _RESOURCE_ATTRIBUTE, None)
    if request_answered.receivers:
        request_answered.send_robust(
            sender=Resource,
            name=question.name,
            status=status,
            seconds=seconds,
            record_count=record_count,
            resource=resource,
            **({"database": view.database} if view.database else {}),
        )
    if is_slow:
        filters = question.sent.get("filters")
        if isinstance(filters, str):
            with suppress(ValueError, RecursionError):  # the answer says what is wrong with it
                filters = json.loads(filters)
        is_public = resource is not None and not resource.private
        named = filters if is_public and isinstance(filters, Mapping) else {}
        details = {
            "action": question.name,
            "resource_id": str(resource.pk) if resource else "",
            "status": status,
            "duration_ms": round(seconds * 1000),
            "record_count": record_count,
            "parameters": sorted(question.sent.keys() & set(question.known)),
            "filtered_fields": [
                field.name for field in getattr(resource, "schema", ()) if field.name in named
            ],
        }
        logger.warning(
            "%(action)s took %(duration_ms)s ms: resource %(resource_id)s, status %(status)s,"
            " %(record_count)s records, parameters %(parameters)s, fields %(filtered_fields)s",
            details,
            extra=details,
        )


#: Answers a request of a view from a database that it chooses; None uses the default one.
request_router: Hook[Callable[..., HttpResponseBase] | None] = Hook("request router", None)


class Answering:
    """A view that answers in the language of its path, and reports what it has answered."""

    #: The number of records of the answer, for reports.
    record_count = 0

    #: The alias of the database that has answered; empty where a portal has no replicas.
    database = ""

    @exclude_from_atomic_requests
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never of ``Accept-Language``."""
        started_at = perf_counter()
        language = find_path_language(request.path_info) or settings.LANGUAGE_CODE
        with translation.override(language):
            answer = request_router.entry or type(self).answer_request
            response = answer(self, request, *args, **kwargs)
        response["Content-Language"] = language
        seconds = perf_counter() - started_at
        is_slow = 0 < conf.SLOW_REQUEST_MS <= seconds * 1000  # or it is off
        if is_slow or request_answered.receivers:
            status = response.status_code
            report_answer(request, status=status, seconds=seconds, view=self, is_slow=is_slow)
        return response

    @abstractmethod
    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer within the language of the path."""

    @abstractmethod
    def describe_question(self) -> Question:
        """Describe the request, for reports."""


@method_decorator(csrf_exempt, name="dispatch")  # it changes nothing: a POST is 405, not 403
class WebView(Answering, View):
    """A view that is not one of the API: a page, or a document for machines."""

    http_method_names = ("get", "head", "options")

    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            check_query_string(request)
            classes: Any = api_settings.DEFAULT_THROTTLE_CLASSES
            check_throttles([throttle() for throttle in classes], request, self)
            self.prepare()
            return View.dispatch(self, request, *args, **kwargs)
        except NotModified as not_modified:
            return not_modified.response
        except REPORTED_ERRORS as error:
            forget_unreadable_user(request)
            message = describe_error(
                error,
                is_authenticated=request.user.is_authenticated,
                has_words=bool(request.GET.get("q")),
            )
            if message is None:
                raise
            return self.render_error(message)

    def prepare(self) -> None:
        """Read what the request is about, once its size and its rate are accepted."""

    def describe_question(self) -> Question:
        match = self.request.resolver_match
        return Question(f"page {match.url_name if match else ''}", self.request.GET, _REPORTED)

    def check_may_read(self, resource: Resource, name: str = "") -> None:
        """Refuse a user who may not read a resource; the error has the ``name`` that was sent."""
        note_resource(self.request, resource)
        if not resource.is_readable_by(self.request.user):
            raise AccessDenied(user=self.request.user, resource=name or resource.pk)

    def render_error(self, error: ErrorMessage) -> HttpResponse:
        return error_pages.entry.render(self.request, error)


class ResourceWebView(WebView, ABC):
    def get(
        self, request: HttpRequest, resource_id: uuid.UUID, **_arguments: object
    ) -> HttpResponse:
        return with_consistent_read(resource_id, self.answer, client=Client.from_request(request))

    @abstractmethod
    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Answer from a consistent read, which may be repeated, to those who may read it."""
