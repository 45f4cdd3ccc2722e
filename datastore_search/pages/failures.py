"""What went wrong, as a page."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus

from django.db.utils import InterfaceError, OperationalError
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..exceptions import (
    AccessDenied,
    AnswerTooLarge,
    QueryTooSlow,
    TemporarilyUnavailable,
    UnknownPage,
    UnknownResource,
)

logger = logging.getLogger(__name__)

#: What a page is made of when it fails; anything else is Django's to report.
ANTICIPATED = (
    AccessDenied,
    AnswerTooLarge,
    InterfaceError,
    OperationalError,
    QueryTooSlow,
    TemporarilyUnavailable,
    UnknownPage,
    UnknownResource,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A status, and what the page says."""

    status: HTTPStatus
    title: str
    message: str
    wait: int | None = None
    """Seconds after which the client may ask again."""


def failure_of(error: Exception, request: HttpRequest) -> Failure:
    """Say an anticipated exception to the reader, and nothing of a private resource."""
    match error:
        case UnknownResource():
            message = _("There is no such resource, or nothing has been loaded into it yet.")
            return Failure(HTTPStatus.NOT_FOUND, _("Not found"), message)
        case UnknownPage():
            return Failure(HTTPStatus.NOT_FOUND, _("Not found"), str(error))
        case AnswerTooLarge():
            message = _("These records are too large for a page. Download them instead.")
            return Failure(HTTPStatus.CONFLICT, _("Too large"), message)
        case AccessDenied():
            return Failure(HTTPStatus.FORBIDDEN, _("Access denied"), _denied(request))
        case QueryTooSlow():
            message = _("The search took too long. Ask for something rarer, or in fewer words.")
        case TemporarilyUnavailable():
            message = str(error)
        case _:
            logger.error("datastore_search failed.", exc_info=error)
            message = _("The database cannot be reached. Try again in a moment.")
    wait = getattr(error, "wait", None)
    return Failure(HTTPStatus.SERVICE_UNAVAILABLE, _("Not available at the moment"), message, wait)


def _denied(request: HttpRequest) -> str:
    if request.user.is_authenticated:
        return _("This resource is private, and your account may not read it.")
    return _("This resource is private. Sign in with an account that may read it.")
