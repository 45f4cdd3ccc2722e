"""
Every failure that we anticipate.

A failure names its condition in its class, carries its values as attributes and says itself in the
reader's language: the message is translated when it is read, not when it is raised.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class DatastoreError(Exception):
    """The root of the tree."""

    message: ClassVar[str | Promise]

    def __init__(self, **values: Any) -> None:
        """Keep the values that the message names."""
        super().__init__(values)
        self.values = values

    def __str__(self) -> str:
        """Say what happened, in the active language."""
        return str(self.message) % self.values


# Requests ---------------------------------------------------------------------------------------


class BadRequest(DatastoreError):
    """The request cannot be read at all."""


class MalformedJson(BadRequest):
    message = _("The request's body is not valid JSON: %(reason)s")


class NotAnObject(BadRequest):
    message = _("The request's body must be a JSON object.")


class UnreadableText(BadRequest):
    message = _("The request's body is not text in a known Unicode encoding.")


class UnknownAction(BadRequest):
    message = _("There is no action “%(action)s”.")


class UnknownResource(DatastoreError):
    message = _("Not found: Resource “%(resource)s” was not found.")


class AccessDenied(DatastoreError):
    message = _("Access denied: user %(user)s may not read resource %(resource)s.")


class AnonymousDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private. Send an API token.")


class TokenDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private and the API token is not valid.")


class UnknownPage(DatastoreError):
    message = _("There is no page “%(page)s”.")


class QueryTooSlow(DatastoreError):
    message = _("Search took too long")


class UnsteadyResource(DatastoreError):
    message = _("The resource is being replaced over and over. Try again in a moment.")


class InvalidParameter(DatastoreError):
    """A parameter cannot be used; ``parameter`` names it."""

    parameter: ClassVar[str]


class UnknownField(InvalidParameter):
    parameter = "filters"
    message = _("Unknown field: “%(field)s”")


class InvalidFilterValue(InvalidParameter):
    parameter = "filters"
    message = _("Field “%(field)s” has type %(type)s and cannot equal %(value)s.")


class UnsupportedFilter(InvalidParameter):
    parameter = "filters"
    message = _("The condition on field “%(field)s” must be a value or a list of values.")


# Loads ------------------------------------------------------------------------------------------


class LoadFailed(DatastoreError):
    """
    A file cannot be loaded; nothing has changed.

    A load keeps its failure as data, so that each reader is told in their own language.
    """

    def kept(self) -> dict[str, Any]:
        """Give the failure as what JSON can hold."""
        return {"name": type(self).__name__, "values": self.values}

    @staticmethod
    def revived(kept: dict[str, Any]) -> LoadFailed:
        """Give a kept failure back; one that this version no longer has is ``LoadBroken``."""
        kinds = {kind.__name__: kind for kind in LoadFailed.__subclasses__()}
        kind = kinds.get(kept["name"], LoadBroken)
        return kind(**kept["values"])


class EmptyFile(LoadFailed):
    message = _("The file is empty.")


class BinaryFile(LoadFailed):
    message = _("The file is not text: it cannot be read as CSV.")


class UnknownEncoding(LoadFailed):
    message = _("The file's character encoding was not recognised.")


class UnknownDialect(LoadFailed):
    message = _(
        "How the file separates its cells was not recognised. Is a quotation mark left open?"
    )


class MalformedRows(LoadFailed):
    message = _("Rows that do not have as many cells as the header: %(count)s. Lines: %(lines)s")


class UnreadableFile(LoadFailed):
    message = _("The file cannot be read as CSV: %(reason)s")


class TooManyFields(LoadFailed):
    message = _("The file has %(count)s fields; at most %(most)s can be stored.")


class UnknownTypeField(LoadFailed):
    message = _("A type is given for “%(field)s”, which is not a field of the file.")


class UnknownType(LoadFailed):
    message = _("There is no field type “%(type)s”. Choose one of: %(types)s.")


class UnfitValue(LoadFailed):
    message = _("Row %(row)s: field “%(field)s” has type %(type)s and cannot hold “%(value)s”.")


class UnstorableRecord(LoadFailed):
    message = _("Row %(row)s holds a value that PostgreSQL cannot store.")


class LoadInterrupted(LoadFailed):
    message = _("The load was interrupted: the process that ran it is gone.")


class LoadBroken(LoadFailed):
    message = _("The load failed for an unexpected reason; the server's log says more.")


class UnknownSearchLanguage(DatastoreError):
    message = _("PostgreSQL has no text search configuration “%(language)s”.")


class ResourceGone(LoadFailed):
    message = _("The resource was deleted while the file was being loaded.")
