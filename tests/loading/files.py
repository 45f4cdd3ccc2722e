"""Loading a small file, and what came of it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.test import Client

from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Load, Resource

from ..builders import ask, get_result
from ..reading import read_in_test_process


def load(resource: Resource, text: str, *, name: str = "file.csv", **options: Any) -> Load:
    """Load a text as a file, read the resource again, and give the load."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        with read_in_test_process():
            done = load_file(resource, path, options=LoadOptions(**options))
    resource.refresh_from_db()
    done.refresh_from_db()
    return done


def loaded(text: str, **options: Any) -> Resource:
    """Make a resource of a text."""
    resource = Resource.objects.create(name=f"resource-{Resource.objects.count() + 1}")
    load(resource, text, **options)
    return resource


def records_of(resource: Resource, **parameters: Any) -> list[dict[str, Any]]:
    """Give the records, as many as there are."""
    result = _searched(resource, parameters)
    records: list[dict[str, Any]] = result["records"]
    assert result["total"] == len(records)
    return records


def rows_of(resource: Resource, **parameters: Any) -> list[list[Any]]:
    """Give the records as lists, the ``_id`` first."""
    rows: list[list[Any]] = _searched(resource, {"records_format": "lists", **parameters})[
        "records"
    ]
    return rows


def types_of(resource: Resource) -> dict[str, str]:
    """Give the fields in order, with their types."""
    return dict(resource.fields.values_list("name", "type"))


def faults_of(done: Load) -> list[tuple[int, str, str, str]]:
    """Give the report of bad rows: line, field, value and reason."""
    return [(row.line, row.field, row.value, row.reason) for row in done.row_errors.all()]


def _searched(resource: Resource, parameters: dict[str, Any]) -> dict[str, Any]:
    sent = {"resource_id": str(resource.pk), "limit": 10_000, **parameters}
    return get_result(ask(Client(), sent))
