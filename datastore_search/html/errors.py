"""What went wrong, as a page."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus

from django.db.utils import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.http import HttpRequest
from django.utils.translation import gettext as _

from .. import storage
from ..exceptions import (
    AccessDenied,
    AnswerTooLarge,
    QueryTooSlow,
    RecordsIncomplete,
    RecordsMissing,
    RequestTooLarge,
    TemporarilyUnavailable,
    TooManyParameters,
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
    RecordsIncomplete,
    RequestTooLarge,
    TemporarilyUnavailable,
    TooManyParameters,
    UnknownPage,
    UnknownResource,
)


#: What may be a refusal of the database: see ``storage.refusal_of``.
REFUSED = (InternalError, ProgrammingError)


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
    return _refusal(error, request) or _unavailable(error)


def _refusal(error: Exception, request: HttpRequest) -> Failure | None:
    """Say what the reader has asked for wrongly; None when that is not the reason."""
    match error:
        case RecordsMissing() | UnknownPage():
            status, title, message = HTTPStatus.NOT_FOUND, _("Not found"), str(error)
        case UnknownResource():
            status, title = HTTPStatus.NOT_FOUND, _("Not found")
            message = _("There is no such resource, or nothing has been loaded into it yet.")
        case RequestTooLarge():
            status, title = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _("Request too large")
            message = str(error)
        case TooManyParameters():
            status, title, message = HTTPStatus.BAD_REQUEST, _("Bad request"), str(error)
        case AnswerTooLarge():
            status, title = HTTPStatus.CONFLICT, _("Too large")
            message = _("These records are too large for a page. Download them instead.")
        case AccessDenied():
            status, title, message = HTTPStatus.FORBIDDEN, _("Access denied"), _denied(request)
        case _:
            return None
    return Failure(status, title, message)


def _unavailable(error: Exception) -> Failure:
    """Say what may succeed another time."""
    match error:
        case QueryTooSlow():
            message = _("The search took too long. Ask for something rarer, or in fewer words.")
        case TemporarilyUnavailable():
            message = str(error)
        case RecordsIncomplete():
            logger.error("datastore_search failed.", exc_info=error)
            message = str(error)
        case _:
            logger.error("datastore_search failed.", exc_info=error)
            message = _("The database cannot be reached. Try again in a moment.")
    wait = getattr(error, "wait", None)
    return Failure(HTTPStatus.SERVICE_UNAVAILABLE, _("Not available at the moment"), message, wait)


def refused(error: Exception, request: HttpRequest) -> Failure | None:
    """Say a refusal of the database to the reader; None when something else is wrong."""
    refusal = storage.refusal_of(error)
    if refusal is None:
        return None
    logger.error("The database refused a request.", exc_info=error)
    return failure_of(refusal, request)


def _denied(request: HttpRequest) -> str:
    if request.user.is_authenticated:
        return _("This resource is private, and your account may not read it.")
    return _("This resource is private. Sign in with an account that may read it.")
