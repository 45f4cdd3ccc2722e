"""What every view has in common: language, rates, reports, errors in words, reading a resource."""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from ..guards.clients import Client
from ..guards.rates import check_rates
from ..guards.sizes import check_query_string
from ..messages.access import AccessDenied
from ..messages.requests import UnknownPage
from ..models import Resource
from ..models.managers import exclude_from_atomic_requests
from ..search import ConsistentRead, with_consistent_read
from .caching import NotModified
from .errors import REPORTED_ERRORS, ErrorMessage, describe_error, error_pages
from .languages import find_path_language
from .outages import forget_unreadable_user
from .reports import Question, note_resource, report_answer, start_clock

#: The parameters that reports name; others name fields.
_REPORTED = ("q", "sort", "limit", "page", "show", "by", "format", "embed")

_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,15}")


def parse_page_number(request: HttpRequest) -> int:
    """
    Read the parameter ``page``; without it the number is 1.

    Raises: ``UnknownPage``.
    """
    number = request.GET.get("page") or "1"
    if not _PAGE_NUMBER.fullmatch(number):
        raise UnknownPage(page=number[:100])
    return int(number)


class Answering:
    """A view that answers in the language of its path, and reports what it has answered."""

    #: The number of records of the answer, for reports.
    record_count = 0

    @exclude_from_atomic_requests
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never of ``Accept-Language``."""
        started_at = start_clock()
        language = find_path_language(request.path_info) or settings.LANGUAGE_CODE
        with translation.override(language):
            response = self.answer_request(request, *args, **kwargs)
        response["Content-Language"] = language
        if started_at:
            report_answer(
                request,
                self.describe_question(),
                status=response.status_code,
                record_count=self.record_count,
                started_at=started_at,
            )
        return response

    @abstractmethod
    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request."""

    @abstractmethod
    def describe_question(self) -> Question:
        """Describe the request, for reports."""


@method_decorator(csrf_exempt, name="dispatch")  # it changes nothing: a POST is 405, not 403
class WebView(Answering, View):
    """A view that is not one of the API: a page, or a document for machines."""

    http_method_names = ("get", "head", "options")

    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; explain an error that is one of ``REPORTED_ERRORS``."""
        try:
            check_query_string(request)
            check_rates(request, self)
            self.prepare()
            return View.dispatch(self, request, *args, **kwargs)
        except NotModified as not_modified:
            return not_modified.response
        except REPORTED_ERRORS as error:
            forget_unreadable_user(request)
            message = describe_error(error, is_authenticated=request.user.is_authenticated)
            if message is None:
                raise
            return self.render_error(message)

    def prepare(self) -> None:
        """Read what the request is about, once its size and its rate are accepted."""

    def describe_question(self) -> Question:
        """Name the page and its parameters, for reports."""
        match = self.request.resolver_match
        return Question(f"page {match.url_name if match else ''}", self.request.GET, _REPORTED)

    def check_may_read(self, resource: Resource) -> None:
        """Refuse a user who may not read the records of a resource."""
        note_resource(self.request, resource)
        if not resource.is_readable_by(self.request.user):
            raise AccessDenied(user=self.request.user, resource=resource.pk)

    def render_error(self, error: ErrorMessage) -> HttpResponse:
        """Render the page of an error."""
        return error_pages.render(self.request, error)


class ResourceWebView(WebView, ABC):
    """A view of one version of a resource."""

    def get(
        self, request: HttpRequest, resource_id: uuid.UUID, **_arguments: object
    ) -> HttpResponse:
        """Answer from one version."""
        return with_consistent_read(resource_id, self.answer, client=Client.from_request(request))

    @abstractmethod
    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Answer from a consistent read, which may be repeated, to those who may read it."""
