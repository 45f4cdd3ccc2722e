"""
Every failure that we anticipate; those of loads are in ``exceptions.loads``.

A failure names its condition in its class, carries its values as attributes and says itself in the
reader's language: the message is translated when it is read, not when it is raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..messages import render_message


class DatastoreError(Exception):
    """The root of the tree; ``message`` names its values as ``%(name)s``."""

    message: ClassVar[str | Promise]

    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.values = values

    def __str__(self) -> str:
        return render_message(self.message, self.values)


# Requests ---------------------------------------------------------------------------------------


class BadRequest(DatastoreError):
    """The request cannot be read at all."""


class MalformedJson(BadRequest):
    message = _("The request's body is not valid JSON: %(reason)s")


class JsonTooDeep(MalformedJson):
    message = _("The JSON is nested too deeply: at most %(most)s levels are read.")


class NotAnObject(BadRequest):
    message = _("The request's body must be a JSON object.")


class UnreadableText(BadRequest):
    message = _("The request's body is not text in a known Unicode encoding.")


class InvalidContentLength(BadRequest):
    message = _("The header “Content-Length” is not a number.")


class TooManyParameters(BadRequest):
    message = _("The request has more than %(most)s parameters.")


class UnknownAction(BadRequest):
    message = _("There is no action “%(action)s”.")


class WritingByGet(BadRequest):
    message = _("Action “%(action)s” changes something: send it by POST.")


class RequestTooLarge(DatastoreError):
    message = _("The request's body is larger than %(most)s bytes.")


class QueryStringTooLong(RequestTooLarge):
    message = _("The query string is longer than %(most)s bytes. Send the parameters by POST.")


class UploadTooLarge(DatastoreError):
    message = _("The file is larger than %(most)s. Load it with the command instead.")


class UnknownResource(DatastoreError):
    message = _("Not found: Resource “%(resource)s” was not found.")


class AccessDenied(DatastoreError):
    message = _("Access denied: user %(user)s may not read resource %(resource)s.")


class AnonymousDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private. Send an API token.")


class TokenDenied(AccessDenied):
    message = _("Access denied: resource %(resource)s is private and the API token is not valid.")


class WriteDenied(AccessDenied):
    message = _("Access denied: user %(user)s may not change resource %(resource)s.")


class AnonymousWriteDenied(AccessDenied):
    message = _("Access denied: changing a resource takes an API token.")


class TokenWriteDenied(AccessDenied):
    message = _("Access denied: the API token is not valid.")


class RecordsMissing(UnknownResource):
    """There is a resource, and it was loaded, but the table of its records is not there."""

    message = _(
        "Not found: the records of resource “%(resource)s” are not in the database. Load its file"
        " again, or restore them from a backup."
    )


class RecordsIncomplete(DatastoreError):
    """The table holds fewer records than were loaded: others than this package took them away."""

    message = _(
        "Records of this resource are missing from the database. They must be restored, or loaded"
        " again."
    )


class UnknownHelp(DatastoreError):
    message = _("Not found: there is no action “%(action)s”.")


class UnknownPage(DatastoreError):
    message = _("There is no page “%(page)s”.")


class QueryTooSlow(DatastoreError):
    message = _("Search took too long")


class TemporarilyUnavailable(DatastoreError):
    """The request is refused for now; the client may send it again after ``wait`` seconds."""

    wait: ClassVar[int] = 1


class TooManyRetries(TemporarilyUnavailable):
    message = _("The resource is being replaced over and over. Try again in a moment.")


class ResourceBusy(TemporarilyUnavailable):
    message = _("The resource is being read, and its indexes cannot change now. Try again.")


class TooManySlowSearches(TemporarilyUnavailable):
    wait = 5
    message = _(
        "The search takes long, and others that take long are running already. Try again in a"
        " moment, or ask for something rarer."
    )


class ClientDisconnected(TemporarilyUnavailable):
    message = _("The client has closed the connection.")


class ReadBlocked(TemporarilyUnavailable):
    wait = 5
    message = _("The resource is being changed, and cannot be read now. Try again in a moment.")


class WriteBlocked(TemporarilyUnavailable):
    wait = 5
    message = _("Another change of the resource has not ended yet. Try again in a moment.")


class DatabaseReadOnly(TemporarilyUnavailable):
    wait = 60
    message = _("The database can only be read at the moment. Nothing was changed.")


class PrivilegeMissing(TemporarilyUnavailable):
    wait = 60
    message = _(
        "The portal’s database user lacks a privilege that this takes. Nothing was changed: tell"
        " those who run the portal."
    )


class TooManyStreams(TemporarilyUnavailable):
    wait = 5
    message = _(
        "Too many large answers are being sent at the moment. Try again, or ask for fewer records."
    )


class NoRoomForAnswer(TemporarilyUnavailable):
    wait = 60
    message = _("There is no room on disk for so large an answer now. Ask for fewer records.")


class ClientTooSlow(DatastoreError):
    """A stream is cut off: the client takes fewer bytes a second than ``least``."""

    message = _("The client takes less than %(least)s bytes a second.")


class InvalidParameter(DatastoreError):
    """A parameter cannot be used; ``parameter`` names it."""

    parameter: ClassVar[str]


class InvalidParameters(DatastoreError):
    """Several faults of parameters, reported together."""

    def __init__(self, faults: Iterable[InvalidParameter]) -> None:
        """Keep the faults, flat."""
        super().__init__()
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """Say all faults, in the active language."""
        return " ".join(map(str, self.faults))


class AnswerTooLarge(InvalidParameter):
    parameter = "limit"
    message = _(
        "The answer would have more than %(most)s bytes. Ask for fewer records or fields, or for"
        " the dump."
    )


class UnknownField(InvalidParameter):
    parameter = "filters"
    message = _("Unknown field: “%(field)s”")


class UnknownResultField(UnknownField):
    parameter = "fields"


class UnknownSortField(UnknownField):
    parameter = "sort"


class UnknownFullTextField(UnknownField):
    parameter = "q"


class InvalidFilterValue(InvalidParameter):
    parameter = "filters"
    message = _("Field “%(field)s” has type %(type)s and cannot equal %(value)s.")


class InvalidFilterOperand(InvalidParameter):
    parameter = "filters"
    message = _("Operator “%(operator)s” on field “%(field)s” has an operand it cannot use.")


class UnsupportedOperator(InvalidParameter):
    parameter = "filters"
    message = _("Field “%(field)s” has type %(type)s, which operator “%(operator)s” does not fit.")


class UnknownOperator(InvalidParameter):
    parameter = "filters"
    message = _("Unknown operator “%(operator)s” on field “%(field)s”. There are: %(operators)s.")


class UnknownGroup(InvalidParameter):
    parameter = "filters"
    message = _("Unknown group “%(group)s”: there are $and and $or, and $$ begins a field’s name.")


class FiltersNotAnObject(InvalidParameter):
    parameter = "filters"
    message = _("Filters must be an object, or a list of objects.")


class EmptyCondition(InvalidParameter):
    parameter = "filters"
    message = _("A condition must not be empty.")


class FiltersTooMany(InvalidParameter):
    parameter = "filters"
    message = _("Maximum number of filter operations exceeded: %(most)s")


class FiltersTooDeep(InvalidParameter):
    parameter = "filters"
    message = _("Maximum nesting depth for filter operations reached: %(most)s")


class TooManyFilterValues(InvalidParameter):
    parameter = "filters"
    message = _("The lists of filters have more than %(most)s values in all.")


class TooManyTextConditions(InvalidParameter):
    parameter = "filters"
    message = _("Filters have more than %(most)s conditions with the operators %(operators)s.")


class InvalidSort(InvalidParameter):
    parameter = "sort"
    message = _(
        "“%(key)s” is no sort key: a field, then asc or desc, then nulls first or nulls last."
    )


class UnsortableField(InvalidParameter):
    parameter = "sort"
    message = _("Field “%(field)s” has type %(type)s and cannot be sorted by.")


class SortOutsideFields(InvalidParameter):
    parameter = "sort"
    message = _("With “distinct”, “%(field)s” can be sorted by only when it is among “fields”.")


class InvalidFullTextQuery(InvalidParameter):
    parameter = "q"
    message = _("The full-text query cannot be understood in PostgreSQL’s query language.")


class TooManyWords(InvalidParameter):
    parameter = "q"
    message = _("The full-text query has more than %(most)s words.")


class TooManyFullTextFields(InvalidParameter):
    parameter = "q"
    message = _("The full-text query names more than %(most)s fields.")


class UnknownLanguage(InvalidParameter):
    parameter = "language"
    message = _("PostgreSQL has no text search configuration “%(language)s”.")


# Writing ----------------------------------------------------------------------------------------


class ReadOnlyResource(InvalidParameter):
    parameter = "read-only"
    message = _(
        "The records come from a file, and the next file replaces them. To change them all the"
        " same, send “force”: true."
    )


class ResourceAndId(InvalidParameter):
    parameter = "resource"
    message = _("Give either “resource” or “resource_id”.")


class InvalidResource(InvalidParameter):
    parameter = "resource"
    message = _("The resource cannot be made: %(reason)s")


class InvalidFieldName(InvalidParameter):
    parameter = "fields"
    message = _("“%(field)s” cannot be the name of a field.")


class RepeatedField(InvalidParameter):
    parameter = "fields"
    message = _("Field “%(field)s” is given twice.")


class UnknownFieldType(InvalidParameter):
    parameter = "fields"
    message = _("Field “%(field)s”: there is no type “%(type)s”. Choose one of: %(types)s.")


class InvalidFieldInfo(InvalidParameter):
    parameter = "fields"
    message = _("Field “%(field)s”: “info” must be an object.")


class FieldsTooMany(InvalidParameter):
    parameter = "fields"
    message = _("There are %(count)s fields; at most %(most)s can be stored.")


class InvalidRecord(InvalidParameter):
    """A record cannot be stored; ``record`` counts from 1."""

    parameter = "records"
    message = _("Record %(record)s: field “%(field)s” has type %(type)s and cannot hold %(value)s.")


class NumberTooLong(InvalidRecord):
    message = _(
        "Record %(record)s: field “%(field)s” has numbers with exponents that are too long when"
        " they are written out; each may have %(most)s digits."
    )


class UnknownRecordField(InvalidRecord):
    message = _("Record %(record)s: unknown field “%(field)s”")


class UnknownUpsertField(UnknownRecordField):
    parameter = "fields"


class DuplicateKey(InvalidRecord):
    message = _("Record %(record)s: there is already a record with the same primary key.")


class DuplicateKeys(InvalidParameter):
    parameter = "records"
    message = _("Two records would have the same primary key.")


class MissingKey(InvalidRecord):
    parameter = "key"
    message = _("Record %(record)s: fields of the primary key are missing: %(fields)s")


class UnknownKey(InvalidRecord):
    parameter = "key"
    message = _("Record %(record)s: there is no record with this key.")


class InvalidKey(InvalidRecord):
    parameter = "key"
    message = _("Record %(record)s: “_id” must be a whole number from 1 to %(most)s.")


class NoKey(InvalidParameter):
    parameter = "table"
    message = _("The resource has no primary key: records must have “_id”.")


class KeyTooLong(InvalidParameter):
    parameter = "key"
    message = _("The values of the primary key are too long.")


class KeyTooWide(InvalidParameter):
    parameter = "primary_key"
    message = _("A primary key has at most %(most)s fields.")


class UnknownKeyField(UnknownField):
    parameter = "primary_key"


class UnknownIndexField(UnknownField):
    parameter = "indexes"


class IndexTooLong(InvalidParameter):
    parameter = "indexes"
    message = _("A value is too long for an index of its field.")


class KeyNotUnique(InvalidParameter):
    parameter = "primary_key"
    message = _("Some records have the same values in the fields of the primary key.")


class InvalidAlias(InvalidParameter):
    parameter = "aliases"
    message = _("“%(alias)s” cannot be an alias.")


class TakenAlias(InvalidParameter):
    parameter = "aliases"
    message = _("The alias “%(alias)s” is taken.")


# Resources --------------------------------------------------------------------------------------


class UnknownSearchLanguage(DatastoreError):
    message = _("PostgreSQL has no text search configuration “%(language)s”.")
