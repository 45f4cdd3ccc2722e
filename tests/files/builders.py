"""Load small files, read the results, and build resources and table versions of loads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.messages import LoadFailed, Message
from datastore_search.contrib.files.models import Load, Mode
from datastore_search.contrib.files.tables.filling import NewTable, create_records
from datastore_search.models import Resource, TableVersion

from ..builders import SURVEY, ask, create_resource, get_result, make_writer_token
from ..core.writing.tables import Table
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


def make_loaded_resource(
    csv: str | bytes = SURVEY, *, types: dict[str, str] | None = None, **values: Any
) -> Resource:
    return load_csv(create_resource(**values), csv, types=types)


def load_csv(
    resource: Resource, csv: str | bytes, *, types: dict[str, str] | None = None
) -> Resource:
    """Load a CSV into a resource, whose fields may disappear."""
    load_text(resource, csv, types=types or {}, drop_missing_fields=True)
    return resource


def make_unpublished_version(load: Load) -> TableVersion:
    """Make a table version with one record that its load has not published."""
    version = TableVersion.objects.create(resource=load.resource, language="english")
    Load.objects.filter(pk=load.pk).update(table_version=version)
    create_records(
        connection, NewTable(version.pk, load.pk), language="english", batches=[['{"a":1}']]
    )
    return version


def make_loaded_table(csv: str, **options: Any) -> Table:
    """Make a table of a file, and a user who may write to it."""
    table = Table(make_writer_token())
    load_text(Resource.objects.create(name="r", pk=table.id), csv, **options)
    return table


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def get_version_id(load: Load) -> int:
    version = TableVersion.objects.get(loads=load)
    return int(version.pk)


@contextmanager
def fails_with(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[LoadFailed]]:
    """Expect that a load fails with a code, and with a message that matches a pattern."""
    with pytest.raises(LoadFailed, match=match) as caught:
        yield caught
    assert caught.value.code == code
    assert not re.search(r"\bNone\b|%\(", str(caught.value))  # each value has its place
