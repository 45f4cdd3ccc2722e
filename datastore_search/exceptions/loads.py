"""Why a file cannot be loaded, why one of its rows cannot, and what is worth knowing otherwise."""

from __future__ import annotations

from typing import Any, Self, cast

from django.utils.translation import gettext_lazy as _

from ..messages import Message
from . import DatastoreError


class LoadFailed(DatastoreError):
    """
    A file cannot be loaded; nothing has changed.

    A load keeps its failure as data, so that each reader is told in their own language.
    """

    @classmethod
    def revived(cls, kept: dict[str, Any]) -> Self:
        """Give a kept failure back; one that this version no longer has is ``LoadBroken``."""
        return super().revived(kept) or cast(Self, LoadBroken())


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


class UnreadableFile(LoadFailed):
    message = _("The file cannot be read as CSV: %(reason)s")


class TooManyFields(LoadFailed):
    message = _("The file has %(count)s fields; at most %(most)s can be stored.")


class UnknownTypeField(LoadFailed):
    message = _("A type is given for “%(field)s”, which is not a field of the file.")


class UnknownType(LoadFailed):
    message = _("There is no field type “%(type)s”. Choose one of: %(types)s.")


class UnstorableRecord(LoadFailed):
    message = _("Row %(row)s holds a value that PostgreSQL cannot store.")


class LoadInterrupted(LoadFailed):
    message = _("The load was interrupted: the process that ran it is gone.")


class LoadBroken(LoadFailed):
    message = _("The load failed for an unexpected reason; the server's log says more.")


class ResourceGone(LoadFailed):
    message = _("The resource was deleted while the file was being loaded.")


class LoadCancelled(LoadFailed):
    message = _("The load was cancelled.")


class BadRows(LoadFailed):
    """Rows that cannot be loaded, where the choice is to refuse them; the report lists them."""

    message = _(
        "Rows that cannot be loaded: %(count)s. The first is line %(line)s, field “%(field)s”, "
        "value “%(value)s”: %(reason)s"
    )


class FieldsMissing(LoadFailed):
    """Fields that the resource has are not in the file, and nobody has said that they may go."""

    message = _(
        "The file lacks fields of the resource: %(fields)s. Allow them to go, or load another file."
    )


# Rows -------------------------------------------------------------------------------------------


class BadRow(Message):
    """Why a row cannot be loaded."""


class RaggedRow(BadRow):
    message = _("The row has %(cells)s cells; the header has %(header)s.")


class UnreadableRow(BadRow):
    message = _("The row cannot be read: %(reason)s")


class UnfitValue(BadRow):
    message = _("The value is not of type %(type)s.")


class EmptyKey(BadRow):
    message = _("A field of the key is empty.")


class RepeatedKey(BadRow):
    message = _("The key is that of line %(line)s, too.")


# What is worth knowing --------------------------------------------------------------------------


class Remark(Message):
    """What a person should know of how a file was understood; nothing is wrong."""
