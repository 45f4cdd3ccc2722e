"""Diagnose the tables of all resources, and mend what can be mended without a loss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...models import Field, Load, Resource, TableVersion
from ...record_changes import add_fields, create_order_indexes, drop_order_indexes
from .cleanup import clean_up_loads
from .findings import Finding
from .index_diagnosis import diagnose_indexes
from .unserved import list_kept_tables
from .verification import verify_records

#: The types of fields by the types of their JSON values.
_TYPES = {"number": "numeric", "boolean": "bool", "string": "text"}


def diagnose(*, count_records: bool = False) -> Iterator[Finding]:
    """
    Find what is damaged; ``count_records`` reads every record.

    What a finding mends is done before the next one is looked for.
    """
    connection = connections[router.db_for_write(Load)]
    yield from _diagnose_functions(connection)
    kept: set[int] = set()
    resources = Resource.objects.using(connection.alias).select_related("table_version")
    for resource in resources.order_by("name"):
        yield from _diagnose_resource(connection, resource, kept)
    yield from _diagnose_leftovers(connection, kept)
    if count_records:
        for counted in verify_records():
            if counted.found is not None and not counted.is_complete:
                yield Finding(
                    "count.wrong",
                    str(counted.resource.pk),
                    f"There are {counted.found} records, not {counted.expected}.",
                )


def _diagnose_functions(connection: BaseDatabaseWrapper) -> Iterator[Finding]:
    for name in storage.list_damaged_functions(connection):
        yield Finding(
            "function.outdated",
            name,
            "The function is missing, or not that of this version.",
            partial(storage.restore_functions, connection),
        )
    for trigger, table in storage.list_damaged_triggers(connection):
        yield Finding(
            "trigger.disabled",
            f"{table}.{trigger}",
            "The trigger is missing or disabled.",
            partial(storage.restore_triggers, connection),
        )


def _diagnose_resource(
    connection: BaseDatabaseWrapper, resource: Resource, kept: set[int]
) -> Iterator[Finding]:
    """Diagnose the table of a resource; ``kept`` gets the one that it has lost."""
    version, name = resource.table_version, str(resource.pk)
    if version is None or not storage.has_table(connection, version.pk):
        lost = _find_kept_version(connection, resource)
        if lost is not None:
            kept.add(lost.pk)
            yield Finding(
                "table.lost",
                name,
                (
                    f"Its records are in the table of version {lost.pk}: {lost.record_count}, of"
                    f" {lost.published_at}."
                ),
                partial(_give_table_back, connection, resource, lost),
            )
        elif version is not None:
            yield Finding("table.missing", name, "The table of the records is not there.")
        return
    found = storage.diagnose_record_table(connection, version.pk)
    if not found.has_columns:
        yield Finding("table.columns", name, "The table has other columns than it should.")
    if not found.computes_vectors:
        yield Finding(
            "vectors.stale",
            name,
            "New records are not found by their words.",
            partial(storage.restore_vectors, connection, version.pk, language=version.language),
        )
    if not found.has_primary_key:
        yield Finding("index.missing", name, "The table has no primary key.")
    for field in _find_lost_fields(connection, resource, version):
        yield Finding(
            "field.missing",
            name,
            f"The records have values of “{field.name}”, which is not a field.",
            partial(_add_lost_field, connection, resource, version, field),
        )
    left = _find_lost_fields(connection, resource, version)
    orders = {storage.name_order_index(version.pk, field.name) for field in left}
    indexes = [index for index in found.indexes if index.role not in orders]
    yield from diagnose_indexes(connection, resource, version, indexes)
    if not found.has_statistics and version.record_count > found.analyze_threshold:
        yield Finding(
            "statistics.missing",
            name,
            "The table has no statistics, so searches may be slow.",
            partial(storage.analyze_records, connection, version.pk),
        )


def _find_kept_version(connection: BaseDatabaseWrapper, resource: Resource) -> TableVersion | None:
    """Find the version that the resource has served last, of those whose table is there."""
    served = resource.table_versions.filter(published_at__isnull=False).order_by("-published_at")
    return next((each for each in served if storage.has_table(connection, each.pk)), None)


def _give_table_back(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> None:
    Resource.objects.using(connection.alias).filter(pk=resource.pk).update(
        table_version=version, modified_at=timezone.now()
    )
    storage.mark_unserved(connection, version.pk, None)


def _find_lost_fields(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> list[Field]:
    """Find the fields that the first records have, and the resource has not."""
    found = storage.find_value_types(connection, version.pk)
    known = set(resource.fields.values_list("name", flat=True))
    return [
        Field(
            resource=resource,
            name=name,
            type=_TYPES.get(found[name][0], "json") if len(found[name]) == 1 else "text",
        )
        for name in sorted(found.keys() - known)
    ]


def _add_lost_field(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion, field: Field
) -> None:
    """Add a field after the others; its index, which may be of another type, is made again."""
    with transaction.atomic(using=connection.alias):
        add_fields(connection, resource, [field])
        found = storage.diagnose_record_table(connection, version.pk).indexes
        if storage.name_order_index(version.pk, field.name) in {index.role for index in found}:
            drop_order_indexes(connection, resource, [field.name])
            create_order_indexes(connection, resource, {field.name: field.type})


def _diagnose_leftovers(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find the tables that no resource serves; those that are kept for some days are none."""
    served = Resource.objects.using(connection.alias).exclude(table_version=None)
    tables = storage.list_record_tables(connection) - kept
    tables -= set(served.values_list("table_version", flat=True))
    tables -= list_kept_tables(connection).keys()
    loads = storage.list_staging_tables(connection)
    building = Load.objects.using(connection.alias).filter(table_versions__in=tables)
    running = {
        load_id
        for load_id in {*loads, *building.values_list("pk", flat=True)}
        if storage.is_running(connection, load_id)
    }
    tables -= set(
        Load.objects.using(connection.alias)
        .filter(pk__in=running, table_versions__isnull=False)
        .values_list("table_versions", flat=True)
    )
    for table_id in sorted(tables):
        yield Finding(
            "table.unserved",
            str(table_id),
            "No resource serves this table version.",
            clean_up_loads,
        )
    for load_id in sorted(loads - running):
        yield Finding(
            "table.staging",
            str(load_id),
            "The load is over, and its rows are still in a table.",
            clean_up_loads,
        )
