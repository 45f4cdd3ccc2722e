"""Comparing the records that are there with those that resources are said to have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connections, router

from ... import storage
from ...models import Load, Resource


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records a resource should have, and has; None where there is no table."""

    resource: Resource
    expected: int
    found: int | None

    @property
    def is_complete(self) -> bool:
        """Tell whether all records are there, and no others."""
        return self.found == self.expected


def verify_records() -> Iterator[RecordCount]:
    """Count the records of each resource that has been loaded, in the order of their names."""
    alias = router.db_for_write(Load)
    resources = Resource.objects.using(alias).filter(table_version__isnull=False)
    for resource in resources.select_related("table_version").order_by("name"):
        if version := resource.table_version:
            found = storage.count_records(connections[alias], version.pk)
            yield RecordCount(resource, version.rows, found)
