"""Requests that are refused for now, or that take too long."""

from __future__ import annotations

from http import HTTPStatus
from math import ceil
from typing import ClassVar, Final

from django.utils.translation import gettext_lazy as _, ngettext

from . import DatastoreError

#: Sent as ``Retry-After`` where an error has no time of its own.
RETRY_AFTER_SECONDS: Final = 5


def describe_throttling(error: Exception) -> str:
    """Describe a ``Throttled``, which REST framework describes in few languages."""
    seconds = ceil(getattr(error, "wait", None) or RETRY_AFTER_SECONDS)
    return ngettext(
        "Too many requests. Try again in %(seconds)s second.",
        "Too many requests. Try again in %(seconds)s seconds.",
        seconds,
    ) % {"seconds": seconds}


class QueryTooSlow(DatastoreError):
    message = _("Search took too long")


class TemporarilyUnavailable(DatastoreError):
    """The request is refused for now; the client may send it again after ``wait`` seconds."""

    wait: ClassVar[int] = 1
    status: ClassVar[HTTPStatus] = HTTPStatus.SERVICE_UNAVAILABLE


class TooManyRetries(TemporarilyUnavailable):
    message = _("The resource is being replaced again and again. Try again in a moment.")


class ResourceBusy(TemporarilyUnavailable):
    message = _("The resource is being read, and its indexes cannot change now. Try again.")


class ServerFull(TemporarilyUnavailable):
    wait = 5
    message = _("The portal is answering many requests from many clients. Try again in a moment.")


class ShareExceeded(TemporarilyUnavailable):
    """A client asks for more at once than its share."""

    wait = 5
    status = HTTPStatus.TOO_MANY_REQUESTS
    message = _(
        "Too many of your requests are running or waiting. Send the next one after an answer "
        "has arrived."
    )


class ClientDisconnected(TemporarilyUnavailable):
    message = _("The client has closed the connection.")


class ReadBlocked(TemporarilyUnavailable):
    wait = 5
    message = _("The resource is being changed, and cannot be read now. Try again in a moment.")


class WriteBlocked(TemporarilyUnavailable):
    wait = 5
    message = _("Another change of the resource has not ended yet. Try again in a moment.")


class FileNotStored(TemporarilyUnavailable):
    wait = 60
    message = _("The file cannot be stored or read at the moment.")


class WriteTooSlow(TemporarilyUnavailable):
    wait = 60
    message = _(
        "The change takes too long. Nothing was changed: send fewer records, or narrower filters."
    )


class DatabaseReadOnly(TemporarilyUnavailable):
    wait = 60
    message = _("The database is read-only at the moment. Nothing was changed.")


class PrivilegeMissing(TemporarilyUnavailable):
    wait = 60
    message = _(
        "The portal’s database user lacks a required privilege. Nothing was changed. Tell "
        "the portal’s administrators."
    )


class DatabaseFull(TemporarilyUnavailable):
    wait = 60
    message = _(
        "The database’s disk is full. Nothing was changed. Tell the portal’s administrators."
    )


class DatabaseUnreachable(TemporarilyUnavailable):
    wait = RETRY_AFTER_SECONDS
    message = _("The database cannot be reached. Try again in a moment.")


class CommitUnconfirmed(DatabaseUnreachable):
    message = _(
        "The connection to the database was lost while the change was being stored. It is stored "
        "as a whole or not at all. Check the records before you send it again."
    )


class StandbyMissing(CommitUnconfirmed):
    message = _(
        "The change is stored, but no standby of the database has confirmed it in time: if the "
        "database fails now, the change may be lost. Do not send it again."
    )


class TooManyStreams(TemporarilyUnavailable):
    wait = 5
    message = _(
        "Too many large answers are being sent at the moment. Try again, or ask for fewer records."
    )


class TooManyOwnStreams(ShareExceeded):
    message = _(
        "Other large answers are already being sent to you. Send the next request after one "
        "of them has arrived."
    )


class NoRoomForAnswer(TemporarilyUnavailable):
    wait = 60
    message = _("The disk has no room for such a large answer now. Ask for fewer records.")


class ClientTooSlow(DatastoreError):
    """A stream is cut off: the client takes fewer bytes a second than ``least``."""

    message = _("The client reads less than %(least)s bytes a second.")
