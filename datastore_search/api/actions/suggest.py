"""``datastore_suggest``: values of a field by their beginnings, and words for a query."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from ...analysis import (
    NO_SUGGESTIONS,
    NO_VALUES,
    Suggestions,
    suggest_queries,
    suggest_values,
)
from ...guards.clients import Client
from ...search import ConsistentRead, with_consistent_read
from ..analysis_parameters import SuggestParameters, build_conditions, build_values_query
from ..renderers import join_json
from .action import Action, Answer, authorize_read


def _suggest(request: Request, sent: Mapping[str, object]) -> Answer:
    parameters = SuggestParameters.parse(sent)
    name = SuggestParameters.get_name(parameters)
    query, values_query = build_conditions(parameters), build_values_query(parameters)

    def answer(read: ConsistentRead) -> Answer:
        resource = read.resource
        validators = authorize_read(request, resource, name, sent)
        found = suggest_values(read, values_query) if values_query else NO_VALUES
        # A query with values finds records.
        suggestions = NO_SUGGESTIONS if found.values else suggest_queries(read, query)
        is_complete = found.is_complete and suggestions.is_complete
        result = {
            "resource_id": str(resource.pk),
            **_describe(suggestions),
            "complete": is_complete,
            "values": join_json(found.values),
        }
        # An incomplete answer must not be repeated from a cache.
        return Answer(result, validators=validators if is_complete else None)

    return with_consistent_read(name, answer, client=Client.from_request(request))


def _describe(suggestions: Suggestions) -> dict[str, object]:
    return {
        "words": [
            {
                "word": word,
                "suggestions": [
                    {"word": each.word, "distance": each.distance, "count": each.count}
                    for each in similar
                ],
            }
            for word, similar in suggestions.words.items()
        ],
        "queries": [{"q": each.q, "total": each.total} for each in suggestions.queries],
    }


datastore_suggest = Action(
    name="datastore_suggest",
    parameters=SuggestParameters,
    run=_suggest,
    help=_("Suggest values of a field, and words for a query that finds nothing."),
)
