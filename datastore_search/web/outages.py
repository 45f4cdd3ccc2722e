"""What a page shows when the database refuses its view, or cannot be reached."""

from __future__ import annotations

import logging
from http import HTTPStatus

from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from ..database.refusals import explain_refusal, is_connection_lost
from ..messages.availability import DatabaseUnreachable, TemporarilyUnavailable

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
