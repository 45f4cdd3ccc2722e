"""Descriptions of a resource for programs, as JSON: its schema, its Data Package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, JsonResponse

from ....downloads.table_schema import build_table_schema
from ....search import ConsistentRead
from ....web.addresses import ResourceAddresses
from ....web.caching import Validators
from ....web.views import ResourceWebView
from ..data_package import build_data_package
from ..published import PublishedResource
from .published import add_addresses

#: The header that the answers depend on: it decides who may read.
_VARY = ("Cookie",)


class DescriptionView(ResourceWebView):
    """A description of a resource for those who may read it."""

    #: Describes a resource, whose fields have been read.
    describe: Callable[[PublishedResource], dict[str, Any]]

    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Send the description."""
        resource = read.resource
        self.check_may_read(resource)
        validators = Validators.from_resource(resource, self.request, vary=_VARY)
        published = add_addresses(resource, ResourceAddresses(self.request))
        response = JsonResponse(
            self.describe(published),
            json_dumps_params={"ensure_ascii": False, "indent": 2},
        )
        validators.set_headers(response, self.request)
        return response


class SchemaView(DescriptionView):
    """The fields of a resource as a Frictionless Table Schema, which describes its dump in CSV."""

    describe = staticmethod(lambda published: build_table_schema(published.resource))


class DataPackageView(DescriptionView):
    """A resource as a Frictionless Data Package, with its dump in CSV as the only file."""

    describe = staticmethod(build_data_package)
