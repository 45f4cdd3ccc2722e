"""Steps of writing cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Step = tuple[str, dict[str, Any]]

OWN = {"resource_id": "@own"}

#: The search at the end of every case.
FINAL_SEARCH: Mapping[str, Any] = {**OWN, "sort": "_id"}

STOCK_FIELDS = [
    {"id": "code", "type": "text"},
    {"id": "name", "type": "text"},
    {"id": "count", "type": "int4"},
    {"id": "amount", "type": "numeric"},
]
STOCK_RECORDS = [
    {"code": "a", "name": "apple", "count": 1, "amount": "1.50"},
    {"code": "b", "name": "bread", "count": 2, "amount": "2.00"},
    {"code": "c", "name": None, "count": None, "amount": None},
]


def create(**sent: Any) -> Step:
    return "create", {**OWN, **sent}


def stock(**sent: Any) -> Step:
    """Create the table of most cases, with a key."""
    parameters = {"fields": STOCK_FIELDS, "records": STOCK_RECORDS, "primary_key": ["code"], **sent}
    return "create", {**OWN, **parameters}


def upsert(*records: Any, method: str | None = "upsert", **sent: Any) -> Step:
    parameters = {} if method is None else {"method": method}
    return "upsert", {**OWN, "records": list(records), **parameters, **sent}


def insert(*records: Any, **sent: Any) -> Step:
    return upsert(*records, method="insert", **sent)


def update(*records: Any, **sent: Any) -> Step:
    return upsert(*records, method="update", **sent)


def delete(**sent: Any) -> Step:
    return "delete", {**OWN, **sent}


def records_delete(**sent: Any) -> Step:
    return "records_delete", {**OWN, **sent}


def search(**sent: Any) -> Step:
    return "search", {**OWN, "sort": "_id", **sent}


INFO: Step = ("info", dict(OWN))
TABLE: Step = create(fields=[{"id": "a", "type": "int4"}, {"id": "b", "type": "text"}])
KEYLESS: Step = stock(primary_key=[])


def build_text_fields(*names: Any, **changes: Any) -> list[dict[str, Any]]:
    return [{"id": name, "type": "text", **changes} for name in names]


def build_steps(start: Step, steps: Mapping[str, Step]) -> list[Step]:
    return [start, *((f"{action} {label}", sent) for label, (action, sent) in steps.items())]
