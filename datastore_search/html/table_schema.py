"""The Table Schema of a resource: a description of its fields for programs."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse, JsonResponse

from ..clients import Client
from ..http_caching import Validators
from ..loading.typing.schema import build_table_schema
from ..search import ConsistentRead, with_consistent_read
from .views import PageView

#: The header that the answer depends on: it decides who may read.
_VARY = ("Cookie",)


class SchemaView(PageView):
    """The fields of a resource as a Frictionless Table Schema, which describes its dump in CSV."""

    def get(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """
        Send the schema as JSON.

        Raises: ``UnknownResource``, ``AccessDenied``.
        """
        return with_consistent_read(resource_id, self._answer, client=Client.from_request(request))

    def _answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        self.check_may_read(resource)
        validators = Validators.from_resource(resource, self.request, vary=_VARY)
        validators.raise_if_not_modified(self.request)
        response = JsonResponse(
            build_table_schema(resource), json_dumps_params={"ensure_ascii": False, "indent": 2}
        )
        validators.set_headers(response, self.request)
        return response
