"""``datastore_facets``: the most common values of fields."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...analysis import read_facets
from ...guards.clients import Client
from ...search import ConsistentRead, with_consistent_read
from ..analysis_parameters import FacetsParameters, build_facets_query
from ..renderers import join_json
from .action import Action, Answer, authorize_read


def _read_facets(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = FacetsParameters.parse(sent)
    name, query = FacetsParameters.get_name(parameters), build_facets_query(parameters)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        found = read_facets(read, query)
        result = {
            "resource_id": str(resource.pk),
            "total": found.total,
            "facets": join_json(found.facets),
        }
        # An incomplete answer must not be repeated from a cache.
        return Answer(result, validators=validators if found.is_complete else None)

    return with_consistent_read(name, answer, client=Client.from_request(request))


datastore_facets = Action(
    name="datastore_facets",
    parameters=FacetsParameters,
    run=_read_facets,
    help=_("Count the most common values of the fields of a resource."),
)
