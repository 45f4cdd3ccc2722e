"""Where a part of a text is found nowhere: the same question, ignoring accents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....field_types import dump_json_as_sent, field_types
from ....filters import Comparison
from ..api_parameters import format_filters
from ..sections import PageQuestion, Place, Section

#: Operators of addresses, and those of ``filters`` that find more.
_WIDER = {"contains": "ucontains", "starts": "ustartswith"}


def _offer_without_accents(question: PageQuestion) -> Mapping[str, Any] | None:
    query = question.query
    asked = [
        each
        for each in query.conditions
        if each.operator in _WIDER and field_types[each.field.type].is_text
    ]
    if question.total or not asked:
        return None
    wider = [
        Comparison(each.field.name, _WIDER[each.operator], value)
        for each in asked
        for value in each.values
    ]
    address = query.query_string.remove(*(each.parameter for each in asked))
    filters = dump_json_as_sent(format_filters((*query.filters, *wider)))
    return {"link": address.replace("filters", filters).link}


WITHOUT_ACCENTS = Section(
    "without_accents",
    Place.RESULT,
    "datastore_search/_without_accents.html",
    _offer_without_accents,
)
