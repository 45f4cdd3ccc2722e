"""Parameters of a write that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter


class ReadOnlyResource(InvalidParameter):
    parameter = "read-only"
    message = _(
        "The records come from a file, and the next file replaces them. To change them "
        "anyway, send “force”: true."
    )


class ResourceAndId(InvalidParameter):
    parameter = "resource"
    message = _("Give either “resource” or “resource_id”.")


class InvalidResource(InvalidParameter):
    parameter = "resource"
    message = _("The resource cannot be created: %(reason)s")


class InvalidResourceMember(InvalidResource):
    message = _("The resource cannot be created: “%(member)s”: %(reason)s")


class InvalidDatasetName(InvalidParameter):
    parameter = "package_id"
    message = _("“%(name)s” cannot be the name of a dataset.")


class TakenDatasetName(InvalidParameter):
    parameter = "package_id"
    message = _(
        "The name “%(name)s” is taken, and resources cannot be added to an existing dataset."
    )


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

    @property
    def members(self) -> Mapping[str, Any]:
        return {"records_row": self.values["record"] - 1}


class NumberTooLong(InvalidRecord):
    message = _(
        "Record %(record)s: field “%(field)s” has numbers with exponents that are too long when"
        " they are written out; each may have %(most)s digits."
    )


class UnknownRecordField(InvalidRecord):
    message = _("Record %(record)s: unknown field “%(field)s”")


class DuplicateKey(InvalidRecord):
    message = _("Record %(record)s: a record with the same primary key already exists.")


class DuplicateKeys(InvalidParameter):
    parameter = "records"
    message = _("Two records would have the same primary key.")


class MissingKey(InvalidRecord):
    parameter = "key"
    message = _("Record %(record)s: fields of the primary key are missing: %(fields)s")


class UnknownKey(InvalidRecord):
    parameter = "key"
    message = _("Record %(record)s: no record has this key.")


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
