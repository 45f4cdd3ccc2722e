"""Load small files, and read the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.messages import Message
from datastore_search.contrib.files.models import Load, Mode
from datastore_search.models import Resource

from ..builders import ask, get_result
from .reading import read_in_test_process


def load_text(
    resource: Resource,
    text: str | bytes,
    mode: str = Mode.REPLACE,
    *,
    name: str = "file.csv",
    user: Any = None,
    **options: Any,
) -> Load:
    """Load a text as a file, refresh the resource, and return the load."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        with read_in_test_process():
            load = load_file(resource, path, options=LoadOptions(mode=mode, **options), user=user)
    resource.refresh_from_db()
    load.refresh_from_db()
    return load


def load_new_resource(text: str, **options: Any) -> Resource:
    resource = Resource.objects.create(name=f"resource-{Resource.objects.count() + 1}")
    load_text(resource, text, **options)
    return resource


def read_records(resource: Resource, **parameters: Any) -> list[dict[str, Any]]:
    result = _search(resource, parameters)
    records: list[dict[str, Any]] = result["records"]
    assert result["total"] == len(records)
    return records


def read_rows(resource: Resource, **parameters: Any) -> list[list[Any]]:
    """Search for all records as lists, the ``_id`` first."""
    rows: list[list[Any]] = _search(resource, {"records_format": "lists", **parameters})["records"]
    return rows


def read_types(resource: Resource) -> dict[str, str]:
    return dict(resource.fields.values_list("name", "type"))


def list_row_errors(load: Load) -> list[tuple[int, str, str, str]]:
    return [(row.line, row.field, row.value, row.reason) for row in load.row_errors.all()]


def _search(resource: Resource, parameters: dict[str, Any]) -> dict[str, Any]:
    query = {"resource_id": str(resource.pk), "limit": 10_000, **parameters}
    return get_result(ask(Client(), query))


def render_messages(stored: Iterable[dict[str, Any]]) -> list[str]:
    """Render the stored messages of a load whose codes are known."""
    return [str(message) for each in stored if (message := Message.from_json(each))]
