"""How to ask the API what a page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from django.http import HttpRequest
from django.urls import NoReverseMatch

from ..field_types import Json, as_json
from ..filters import And, Comparison, Condition, In, Or
from ..models import Resource
from ..search import Query
from .links import link


def curl(request: HttpRequest, resource: Resource, query: Query) -> str:
    """Write the command that asks the API for the same records; nothing where there is no API."""
    try:
        path = link(request, "action", "datastore_search")
    except NoReverseMatch:
        return ""
    lines = [f"curl -G {shlex.quote(request.build_absolute_uri(path))}"]
    if resource.private:
        lines.append('-H "Authorization: $TOKEN"')
    lines += [
        f"--data-urlencode {shlex.quote(f'{name}={value}')}"
        for name, value in _parameters(resource, query).items()
    ]
    return " \\\n  ".join(lines)


def _parameters(resource: Resource, query: Query) -> dict[str, str]:
    parameters = {
        "resource_id": str(resource.pk),
        **question_of(query),
        "limit": str(query.limit),
        "offset": str(query.offset or ""),
    }
    return {name: value for name, value in parameters.items() if value}


def question_of(query: Query) -> dict[str, str]:
    """Say which records are asked for, as parameters of the API."""
    filters = filters_of(query.filters)
    question = {"q": query.q, "filters": as_json(filters) if filters else ""}
    return {name: value for name, value in question.items() if value}


def filters_of(conditions: Sequence[Condition]) -> Mapping[str, Json]:
    """Say conditions as ``filters``, which ``parse_filters`` would read as the same."""
    said = [_said(condition) for condition in conditions]
    merged = {name: operand for each in said for name, operand in each.items()}
    return merged if len(merged) == len(said) else {"$and": said}


def _said(condition: Condition) -> Mapping[str, Json]:
    """Say one condition as an object of one member."""
    match condition:
        case And():
            return {"$and": [_said(each) for each in condition.conditions]}
        case Or():
            return {"$or": [_said(each) for each in condition.conditions]}
        case In():
            values = list(condition.values)
            among_objects = any(isinstance(value, Mapping) for value in values)
            return {_name(condition): {"in": values} if among_objects else values}
        case Comparison():
            return {_name(condition): {condition.operator: condition.value}}


def _name(condition: In | Comparison) -> str:
    """Double the dollar that a field's name begins with: a single one begins a group's."""
    return f"${condition.field}" if condition.field.startswith("$") else condition.field
