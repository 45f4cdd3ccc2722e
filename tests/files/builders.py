"""Builders of resources with loaded files, and of the table versions of loads."""

from __future__ import annotations

from typing import Any

from django.db import connection

from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.tables.filling import NewTable, create_records
from datastore_search.models import Resource, TableVersion

from ..builders import SURVEY, create_resource
from .files import load_text


def make_loaded_resource(
    csv: str | bytes = SURVEY, *, types: dict[str, str] | None = None, **values: Any
) -> Resource:
    """Make a resource and load a CSV into it."""
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


def get_version_id(load: Load) -> int:
    """Return the number of the table version that a load has made."""
    version = TableVersion.objects.get(loads=load)
    return int(version.pk)
