"""Builders of resources with loaded files, and of the table versions of loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import connection

from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.tables.filling import NewTable, create_records
from datastore_search.models import Resource, TableVersion

from ..builders import SURVEY, create_resource, make_writer_token
from ..core.writing.tables import Table
from .files import load_text


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
        connection,
        NewTable(version.pk, load.pk),
        language="english",
        batches=[['{"a":1}']],
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
