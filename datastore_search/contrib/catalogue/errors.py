"""Queries of the catalogue that cannot be understood."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from ...messages.parameters import InvalidParameter


class InvalidCatalogueQuery(InvalidParameter):
    parameter = "q"
    message = _("The query cannot be understood at “%(text)s”.")


class UnknownCatalogueField(InvalidParameter):
    parameter = "q"
    message = _("The catalogue has no field “%(field)s”.")
