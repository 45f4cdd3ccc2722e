"""Parameters of facets and aggregates that cannot be used."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter, UnknownField

_UNGROUPABLE = _("Field “%(field)s” has type %(type)s, by which records cannot be grouped.")
_UNSUPPORTED = _("Field “%(field)s” has type %(type)s, which “%(option)s” does not fit.")
_UNKNOWN_TIME_ZONE = _("PostgreSQL has no time zone “%(time_zone)s”.")
_REPEATED_NAME = _("Two columns have the name “%(name)s”. Give one of them another name with “as”.")


class UnknownFacetField(UnknownField):
    parameter = "facets"


class UngroupableFacetField(InvalidParameter):
    parameter = "facets"
    message = _UNGROUPABLE


class UnsupportedFacetOption(InvalidParameter):
    parameter = "facets"
    message = _UNSUPPORTED


class UnknownFacetTimeZone(InvalidParameter):
    parameter = "facets"
    message = _UNKNOWN_TIME_ZONE


# datastore_aggregate ------------------------------------------------------------------------------


class UnknownGroupField(UnknownField):
    parameter = "group_by"


class UngroupableField(InvalidParameter):
    parameter = "group_by"
    message = _UNGROUPABLE


class UnsupportedGroupOption(InvalidParameter):
    parameter = "group_by"
    message = _UNSUPPORTED


class UnknownGroupTimeZone(InvalidParameter):
    parameter = "group_by"
    message = _UNKNOWN_TIME_ZONE


class UnknownMetricField(UnknownField):
    parameter = "metrics"


class UnsupportedMetric(InvalidParameter):
    parameter = "metrics"
    message = _UNSUPPORTED


class NumbersTooLarge(InvalidParameter):
    parameter = "metrics"
    message = _("The numbers are too large to calculate with.")


class RepeatedGroupName(InvalidParameter):
    parameter = "group_by"
    message = _REPEATED_NAME


class RepeatedColumnName(InvalidParameter):
    parameter = "metrics"
    message = _REPEATED_NAME


class ReservedColumnName(InvalidParameter):
    parameter = "metrics"
    message = _("“%(name)s” is the key of records, and no other column can have this name.")


class InvalidHaving(InvalidParameter):
    """A condition on groups does not fit; ``error`` is what a condition on records would raise."""

    parameter = "having"
    message = "%(error)s"
