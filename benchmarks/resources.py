"""The resources of the requests: loaded once, and reused by the next run."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command
from django.db import connections, router

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.models import Load
from datastore_search.database.sessions import Session
from datastore_search.database.tables import measure_record_table
from datastore_search.models import Resource

from .credentials import set_private
from .data import FIELDS, get_table
from .failures import BenchmarkError


@dataclass(frozen=True, slots=True)
class Cost:
    """The time and the space of a load."""

    rows: int
    seconds: float
    table_bytes: int
    indexes_bytes: int


@dataclass(frozen=True, slots=True)
class LoadedResource:
    """A resource that is served, and the costs of its load."""

    resource: Resource
    cost: Cost

    @property
    def rows(self) -> int:
        """The number of its records."""
        return self.cost.rows

    @property
    def id(self) -> str:
        """The id of the resource."""
        return str(self.resource.pk)


def prepare_resource(rows: int) -> LoadedResource:
    """Migrate the database and load a table."""
    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as name:
        return load_resource(Path(name), rows, reload=False)


def load_resource(folder: Path, rows: int, *, reload: bool) -> LoadedResource:
    """Load the first ``rows`` rows, unless they are already served."""
    resource, _ = Resource.objects.get_or_create(name=f"benchmark-{rows}")
    set_private(resource, False)  # an interrupted run may have left it private
    if reload or resource.table_version_id is None:
        load_file(resource, get_table(folder, rows), options=LoadOptions(types=FIELDS, force=True))
        resource.refresh_from_db()
    return _measure_resource(resource)


def _measure_resource(resource: Resource) -> LoadedResource:
    """
    Measure a loaded resource.

    Raises: ``BenchmarkError`` for one that is not loaded.
    """
    version = resource.table_version
    load = version.loads.first() if version else None
    if version is None or load is None or load.finished_at is None:
        raise BenchmarkError(f"The resource {resource.name} is not loaded.")
    session = Session(connections[router.db_for_read(Load)], {})
    size, indexes_size, *_others = measure_record_table(session, version.pk)
    seconds = (load.finished_at - load.created_at).total_seconds()
    return LoadedResource(resource, Cost(version.record_count, seconds, size, indexes_size))
