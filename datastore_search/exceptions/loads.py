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
        "The file lacks fields of the resource: %(fields)s. If they may go, tick “Fields may"
        " disappear” in the admin, or give the command --may-drop."
    )


class KeyFieldMissing(LoadFailed):
    message = _("The file has no field “%(field)s”, which is in the key.")


class KeyOfTooManyFields(LoadFailed):
    message = _("A key has at most %(most)s fields.")


class NoKeyToUpdateBy(LoadFailed):
    message = _(
        "Records are updated by a key, and the resource has none: name the fields of the key."
    )


class OtherKey(LoadFailed):
    """Another key is for a new table: to drop the old one's index, readers would have to wait."""

    message = _(
        "The key of the resource is %(fields)s. Only a load that replaces the records can change"
        " it."
    )


class KeyRepeated(LoadFailed):
    """Records that are there already, or values that only PostgreSQL takes for the same."""

    message = _("Some records have the same values in the fields of the key: %(fields)s.")


class ResourceChanged(LoadFailed):
    message = _(
        "The fields of the resource changed while the file was being loaded. Load it once more."
    )


# Fetching ---------------------------------------------------------------------------------------


class NotModified(Exception):
    """The server says that the file is still the one of the last time; no failure."""


class InvalidAddress(LoadFailed):
    message = _(
        "“%(address)s” is not the address of a file: it must begin with http:// or https:// and"
        " name a server."
    )


class NamedUser(LoadFailed):
    """The address is kept and shown, and a password with it would be."""

    message = _("The address must not hold a user name or password.")


class UnknownServer(LoadFailed):
    """No such name, no public address, no connection: nobody learns which of them it is."""

    message = _("There is no server “%(server)s” on the public internet that can be reached.")


class UntrustedServer(LoadFailed):
    message = _(
        "The certificate of the server “%(server)s” is not valid, or nobody vouches for it."
    )


class ServerSilent(LoadFailed):
    message = _("The server was silent for more than %(seconds)s seconds.")


class FetchTooSlow(LoadFailed):
    message = _("The file was not there within %(minutes)s minutes.")


class TooManyRedirects(LoadFailed):
    message = _("The address leads on to others more than %(most)s times.")


class RefusedFile(LoadFailed):
    message = _("The server does not hand the file out: it answers with status %(status)s.")


class BrokenAnswer(LoadFailed):
    message = _("The server's answer broke off, or is not what HTTP allows.")


class WebPage(LoadFailed):
    message = _(
        "The address leads to a page for people, perhaps one to sign in, and not to a file."
    )


class FetchedTooLarge(LoadFailed):
    message = _("The file is larger than %(most)s bytes, which is the most that is fetched.")


class NoRoom(LoadFailed):
    message = _("The server of the portal has no room left for the file.")


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


class TakenKey(BadRow):
    message = _("There is a record with this key already.")


class KeyTooLong(BadRow):
    message = _("The key has %(count)s bytes; at most %(most)s can be indexed.")


class RefusedByDatabase(BadRow):
    """What PostgreSQL's JSON does not take: the character U+0000, numbers beyond its own."""

    message = _("The value cannot be stored: it holds the character U+0000, or no JSON.")


class RefusedRow(BadRow):
    message = _("PostgreSQL cannot store a value of the row.")


# What is worth knowing --------------------------------------------------------------------------


class Remark(Message):
    """What a person should know of how a file was understood; nothing is wrong."""


class FieldsAdded(Remark):
    message = _("New fields: %(fields)s.")


class FieldsDropped(Remark):
    message = _("Fields that are gone: %(fields)s.")


class FieldsEmpty(Remark):
    message = _("Fields that the file does not have, empty in the new records: %(fields)s.")


class FieldRetyped(Remark):
    message = _("Field “%(field)s” was of type %(before)s, and is of type %(type)s now.")


class TypeKept(Remark):
    """Records that are there have the type; only a load that replaces them can change it."""

    message = _("Field “%(field)s” keeps its type %(type)s, though %(chosen)s was chosen.")


class KeyForgotten(Remark):
    message = _("The key is gone, since the file lacks fields of it: %(fields)s.")


class RowsLeftOut(Remark):
    message = _("Rows that could not be loaded and were left out: %(count)s.")


class ReportCut(Remark):
    message = _("The report lists the first %(listed)s faults of %(count)s.")


class RecordsMerged(Remark):
    message = _("Records added: %(added)s; changed: %(changed)s; the same as before: %(same)s.")
