"""Verify that resources have the number of records that they should have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connections, router

from ... import storage
from ...models import Load, Resource


@dataclass(frozen=True, slots=True)
class RecordCount:
    """The number of records of a resource: expected, and found (None without a table)."""

    resource: Resource
    expected: int
    found: int | None

    @property
    def is_complete(self) -> bool:
        """Whether the resource has exactly the expected number of records."""
        return self.found == self.expected


def verify_records() -> Iterator[RecordCount]:
    """Count the records of each resource with a table, by name."""
    alias = router.db_for_write(Load)
    resources = Resource.objects.using(alias).filter(table_version__isnull=False)
    for resource in resources.select_related("table_version").order_by("name"):
        if version := resource.table_version:
            counted = storage.count_records(connections[alias], version.pk)
            yield RecordCount(resource, version.record_count, counted)
