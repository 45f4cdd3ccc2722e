"""Parameters of facets and aggregates that cannot be used."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .parameters import InvalidParameter, UnknownField

_UNGROUPABLE = _("Field “%(field)s” has type %(type)s, by which records cannot be grouped.")
_UNSUPPORTED = _("Field “%(field)s” has type %(type)s, which “%(option)s” does not fit.")
_UNKNOWN_TIME_ZONE = _("PostgreSQL has no time zone “%(time_zone)s”.")


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
