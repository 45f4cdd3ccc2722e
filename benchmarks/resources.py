"""The resources of the requests: loaded once, and reused by the next run."""

from __future__ import annotations

import math
import random
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.core.management import call_command
from django.db import connections, router
from tqdm import tqdm

from datastore_search import storage
from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Load, Resource

from .credentials import set_private
from .data import FIELDS, Source, write_table
from .failures import BenchmarkError

#: Records of a small resource.
_MIN_SMALL_ROWS, _MAX_SMALL_ROWS = 10, 2_000


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


def prepare_resource(rows: int, data: Path | None) -> LoadedResource:
    """Migrate the database and load a table; the folder ``data`` keeps what is generated."""
    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        return load_resource(Source(data or Path(folder)), rows, reload=False)


def load_resource(source: Source, rows: int, *, reload: bool) -> LoadedResource:
    """Load the first ``rows`` rows, unless they are already served."""
    resource, _ = Resource.objects.get_or_create(name=f"benchmark-{rows}")
    set_private(resource, False)  # an interrupted run may have left it private
    if reload or resource.table_version_id is None:
        load_file(resource, source.get_table(rows), options=LoadOptions(types=FIELDS, force=True))
        resource.refresh_from_db()
    return measure_resource(resource)


def measure_resource(resource: Resource) -> LoadedResource:
    """
    Measure a loaded resource.

    Raises: ``BenchmarkError`` for one that is not loaded.
    """
    version = resource.table_version
    load = version.load if version else None
    if version is None or load is None or load.finished_at is None:
        raise BenchmarkError(f"The resource {resource.name} is not loaded.")
    session = storage.Session(connections[router.db_for_read(Load)], {})
    sizes = storage.measure_record_table(session, version.pk)
    seconds = (load.finished_at - load.created_at).total_seconds()
    return LoadedResource(
        resource, Cost(version.record_count, seconds, sizes.records_bytes, sizes.indexes_bytes)
    )


def load_small_resources(source: Source, count: int) -> list[Resource]:
    """Load resources of mixed size, unless they are already served."""
    rows = source.generate_rows()
    resources_by_name = {
        resource.name: resource
        for resource in Resource.objects.filter(name__startswith=_name_small_resource(""))
    }
    resources = []
    with tempfile.TemporaryDirectory() as folder:
        for number in tqdm(range(count), desc="small resources", disable=None):
            table = list(islice(rows, choose_small_size(number)))
            name = _name_small_resource(number)
            resource = resources_by_name.get(name) or Resource.objects.create(name=name)
            if resource.table_version_id is None:
                path = Path(folder) / "table.csv"
                write_table(path, table)
                load_file(resource, path, options=LoadOptions(types=FIELDS, force=True))
            resources.append(resource)
    return resources


def _name_small_resource(number: object) -> str:
    return f"benchmark-small-{number}"


def choose_small_size(number: int) -> int:
    """Choose a size by the number: small ones are more common than large ones."""
    chance = random.Random(number).random()
    return round(_MIN_SMALL_ROWS * math.pow(_MAX_SMALL_ROWS / _MIN_SMALL_ROWS, chance))
