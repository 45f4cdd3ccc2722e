"""An example of how to ask the API for the records that a page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from django.http import HttpRequest
from django.urls import NoReverseMatch

from ..field_names import format_sort_key
from ..field_types import Json, dump_json
from ..filters import And, Comparison, Condition, In, Or
from ..models import Resource
from ..search import Query
from .links import reverse_in_locale


def build_curl_command(request: HttpRequest, resource: Resource, query: Query) -> str:
    """Write a ``curl`` command for the same records; an empty text if the portal has no API."""
    try:
        path = reverse_in_locale(request, "action", "datastore_search")
    except NoReverseMatch:
        return ""
    parameters = {
        "resource_id": str(resource.pk),
        **build_query_parameters(query),
        "limit": str(query.limit),
        "offset": str(query.offset or ""),
    }
    lines = [f"curl -G {shlex.quote(request.build_absolute_uri(path))}"]
    if resource.private:
        lines.append('-H "Authorization: $TOKEN"')
    lines += [
        f"--data-urlencode {shlex.quote(f'{name}={value}')}"
        for name, value in parameters.items()
        if value
    ]
    return " \\\n  ".join(lines)


def build_query_parameters(query: Query) -> dict[str, str]:
    """Write ``q``, ``filters`` and ``sort`` as the API takes them; empty ones are left out."""
    filters = format_filters(query.filters)
    parameters = {
        "q": query.q,
        "filters": dump_json(filters) if filters else "",
        "sort": ",".join(map(format_sort_key, query.sort)),
    }
    return {name: value for name, value in parameters.items() if value}


def format_filters(conditions: Sequence[Condition]) -> Mapping[str, Json]:
    """Write conditions as ``filters``, which ``parse_filters`` reads as the same conditions."""
    members = [_format_condition(condition) for condition in conditions]
    merged = {name: operand for each in members for name, operand in each.items()}
    return merged if len(merged) == len(members) else {"$and": members}


def _format_condition(condition: Condition) -> Mapping[str, Json]:
    """Write one condition as an object of one member."""
    match condition:
        case And():
            return {"$and": [_format_condition(each) for each in condition.conditions]}
        case Or():
            return {"$or": [_format_condition(each) for each in condition.conditions]}
        case In():
            values = list(condition.values)
            among_objects = any(isinstance(value, Mapping) for value in values)
            return {_escape_name(condition): {"in": values} if among_objects else values}
        case Comparison():
            return {_escape_name(condition): {condition.operator: condition.value}}


def _escape_name(condition: In | Comparison) -> str:
    """Double the ``$`` at the start of a field's name: a single one starts a group's name."""
    return f"${condition.field}" if condition.field.startswith("$") else condition.field
