"""The question of a page as the API's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...field_types import Json, dump_json
from ...filters import And, Comparison, Condition, In, Or
from ...filters.names import format_sort_key
from ...search import Query


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
