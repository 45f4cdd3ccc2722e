"""The resources of the requests: made once, then kept for the next run."""

from __future__ import annotations

import math
import random
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.db import connections, router
from tqdm import tqdm

from datastore_search import storage
from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Load, Resource

from .credentials import set_private
from .data import FIELDS, Source, write_table
from .failures import BenchmarkError

#: Minimum and maximum records of a small resource.
_SMALL = (10, 2_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """The time and the space of a load."""

    rows: int
    seconds: float
    table_bytes: int
    indexes_bytes: int


@dataclass(frozen=True, slots=True)
class Loaded:
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


def load_resource(source: Source, rows: int, *, reload: bool) -> Loaded:
    """Load the first ``rows`` rows, unless they are already served."""
    resource, _ = Resource.objects.get_or_create(name=f"benchmark-{rows}")
    set_private(resource, False)  # an interrupted run may have left it private
    if reload or resource.table_version_id is None:
        load_file(resource, source.table(rows), options=LoadOptions(types=FIELDS, force=True))
        resource.refresh_from_db()
    return _measure_resource(resource)


def _measure_resource(resource: Resource) -> Loaded:
    version = resource.table_version
    load = version.load if version else None
    if version is None or load is None or load.finished_at is None:
        raise BenchmarkError(f"The resource {resource.name} is not loaded.")
    session = storage.Session(connections[router.db_for_read(Load)], {})
    sizes = storage.measure_record_table(session, version.pk)
    seconds = (load.finished_at - load.created_at).total_seconds()
    return Loaded(resource, Cost(version.rows, seconds, sizes.records_bytes, sizes.indexes_bytes))


def load_small_resources(source: Source, number: int) -> list[Resource]:
    """Load resources of mixed size, unless they are already served."""
    rows = source.rows()
    known = {
        found.name: found
        for found in Resource.objects.filter(name__startswith=_name_small_resource(""))
    }
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for place in tqdm(range(number), desc="small resources", disable=None):
            table = list(islice(rows, choose_small_size(place)))
            resource = known.get(_name_small_resource(place)) or Resource.objects.create(
                name=_name_small_resource(place)
            )
            if resource.table_version_id is None:
                path = Path(folder) / "table.csv"
                write_table(path, table)
                load_file(resource, path, options=LoadOptions(types=FIELDS, force=True))
            made.append(resource)
    return made


def _name_small_resource(place: object) -> str:
    return f"benchmark-small-{place}"


def choose_small_size(place: int) -> int:
    """Choose a size by the number: small ones are more common than large ones."""
    least, most = _SMALL
    chance = random.Random(place).random()
    return round(least * math.pow(most / least, chance))
