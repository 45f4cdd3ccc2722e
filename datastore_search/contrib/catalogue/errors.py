"""Queries of the catalogue that cannot be understood, and datasets that are not there."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from ...messages.access import UnknownResource
from ...messages.parameters import InvalidParameter


class InvalidCatalogueQuery(InvalidParameter):
    parameter = "q"
    message = _("The query cannot be understood at “%(text)s”.")


class UnknownCatalogueField(InvalidParameter):
    parameter = "q"
    message = _("The catalogue has no field “%(field)s”.")


class UnknownDataset(UnknownResource):
    message = _("Not found: Dataset “%(dataset)s” was not found.")


class UnknownOrganization(UnknownResource):
    message = _("Not found: Organization “%(organization)s” was not found.")
