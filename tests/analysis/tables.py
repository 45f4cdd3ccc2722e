"""A resource with a field of each type whose values are repeated, and PostgreSQL's own table."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, settings as hypothesis_settings

from datastore_search.models import Resource

from ..builders import act, check_error, make_writer_token
from ..typed import CELLS, get_column_name, make_table, open_cursor_year_first

NUMBERS = ["int2", "int4", "int8", "numeric", "float8"]
DAYS = ["date", "timestamp", "timestamptz"]

quickly = hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

#: The different values of a field at most, beside null.
MAX_VALUES = 5
ROWS = 80

#: The engine has longer numbers, and NaN, as texts, and computes with them as doubles.
DECIMALS = ("7", "7.5", "7.50", "0", "-1", "1000", "0.1")

#: Conditions, as ``filters`` and in SQL over the table ``repeated``.
QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({}, "true"),
    ({"bool": True}, f"{get_column_name('bool')}"),
    (
        {"int4": {"gte": 0}, "text": {"isnull": False}},
        f"{get_column_name('int4')} >= 0 AND c0 IS NOT NULL",
    ),
    (
        {"$or": [{"int8": 0}, {"date": None}]},
        f"{get_column_name('int8')} = 0 OR {get_column_name('date')} IS NULL",
    ),
    ({"_id": {"lte": 0}}, "false"),
]


def make_repeated_resource() -> Resource:
    """Make the resource by the API, and the table ``repeated`` (id, c0, c1, …) beside it."""
    random = Random(16)
    cells_by_type = {
        kind: [cell for cell in cells if kind != "numeric" or str(cell[1]) in DECIMALS]
        for kind, cells in CELLS.items()
    }
    rows = [
        [random.choice([*cells[-MAX_VALUES:], (None, None)]) for cells in cells_by_type.values()]
        for _row in range(ROWS)
    ]
    resource = Resource.objects.create(name="repeated")
    sent = {
        "resource_id": str(resource.pk),
        "fields": [{"id": kind, "type": kind} for kind in CELLS],
        "records": [dict(zip(CELLS, (sent for sent, _ in row), strict=True)) for row in rows],
    }
    created = act(Client(), "datastore_create", sent, make_writer_token("repeater"))
    assert created.status_code == 200, created.content
    make_table("repeated", [[text for _, text in row] for row in rows])
    return Resource.objects.described(resource.pk)


def canonical(kind: str, expression: str) -> str:
    """Write an expression of a type as the JSON text that records have."""
    if kind in {"date", "timestamp", "timestamptz"}:
        return f"datastore_search_cast(({expression})::text, '{kind}')::text"
    return f"to_jsonb({expression})::text"


def fetch(query: str) -> list[tuple[Any, ...]]:
    with transaction.atomic(), open_cursor_year_first() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def exact(text: str | bytes | None) -> Any:
    """Parse JSON with exact numbers; SQL null is None."""
    return None if text is None else json.loads(text, parse_float=Decimal)


def call(action: str, resource: Resource, **sent: Any) -> Any:
    response = act(Client(), action, {"resource_id": str(resource.pk), **sent})
    answer = exact(response.content)
    assert response.status_code == 200, answer
    return answer["result"]


def refuse(action: str, resource: Resource, **sent: Any) -> dict[str, Any]:
    response = act(Client(), action, {"resource_id": str(resource.pk), **sent})
    return check_error(response, 409)
