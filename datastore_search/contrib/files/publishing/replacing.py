"""Replace the records of a resource: a new table version, published in one transaction."""

from __future__ import annotations

from contextlib import suppress

from django.db import Error, IntegrityError
from django.utils import timezone

from ....conf import conf as core_conf
from ....database.indexes import Indexes, set_key
from ....database.tables import drop_record_table
from ....field_types import dump_json, field_types
from ....models import Field, Resource, TableSettings, TableVersion
from ....writing.history import record_changes
from ..conf import conf
from ..messages.failures import LoadFailed
from ..models import Load, LoadState
from ..tables.connections import count_load_connections
from ..tables.filling import NewTable, create_records
from ..tables.indexing import count_common_values, create_indexes
from ..tables.locks import begin_load_transaction
from ..types.options import save_options
from .fingerprint import compute_fingerprint
from .plan import LoadPlan, ProgressReporter, build_field
from .profiles import build_profiles
from .rows import is_wide, render_rows

_FIELDS_PER_STATEMENT = 500

#: Rows, or cells of a wide table, that are copied before a second connection is open.
_MAX_ROWS_OF_ONE_CONNECTION = 10_000
_MAX_CELLS_OF_ONE_CONNECTION = 100_000

#: This number of rows is sorted without an index as fast as with one.
_MAX_ROWS_WITHOUT_ORDER_INDEX = 2_000

#: The number of records with a value is stored from this number on.
_MIN_RECORDS_OF_COUNTED_VALUE = 10_000

#: Of fields with more values than this, none is counted.
_MAX_COUNTED_VALUES = 1_000

#: A load indexes the order of a field whose values are not longer than this.
_MAX_ORDERED_VALUE_BYTES = 500


def replace_records(plan: LoadPlan, progress: ProgressReporter) -> None:
    """Make a new table version of a file's rows, and let the resource serve it."""
    load, resource = plan.load, plan.load.resource
    rows = plan.table.count_rows()
    profiles = build_profiles(plan.table, plan.decisions)
    indexes, settings = _choose_indexes(resource, plan, rows), resource.table_settings
    progress.enter_state(LoadState.COPYING)
    with begin_load_transaction(plan.connection, load.pk):
        version = TableVersion.objects.create(
            resource=resource, language=settings.language, indexes=settings.indexes
        )
        Load.objects.filter(pk=load.pk).update(table_version=version)
        load.table_version = version
    # Stored when the version is published: of thousands of fields they are megabytes.
    version.profiles, version.field_formats = profiles, plan.field_formats
    try:
        table = NewTable(version.pk, load.pk, settings.weights)
        load.record_count = version.record_count = _fill_table(
            plan, table, version, indexes, progress
        )
        version.value_counts = _count_values(plan, version, indexes)
        _publish_version(plan, version, indexes, settings, progress)
    except BaseException:
        # If the database does not respond now, a clean-up drops the table.
        with suppress(Error):
            drop_record_table(plan.connection, version.pk)
        raise


def _fill_table(
    plan: LoadPlan,
    table: NewTable,
    version: TableVersion,
    indexes: Indexes,
    progress: ProgressReporter,
) -> int:
    """Copy the rows into the record table of a table version, index it, and set its key."""
    rows, max_connections = plan.table.count_rows(), 1
    cells = rows * len(plan.table.names) if is_wide(plan.table) else 0
    if rows > _MAX_ROWS_OF_ONE_CONNECTION or cells > _MAX_CELLS_OF_ONE_CONNECTION:
        max_connections = count_load_connections(plan.connection, conf.LOAD_CONNECTIONS)
    batches = render_rows(plan.table, plan.decisions, progress.report_rows)
    rows = create_records(
        plan.connection,
        table,
        language=version.language,
        batches=([record for _line, record in batch] for batch in batches),
        max_connections=max_connections,
    )
    progress.enter_state(LoadState.INDEXING)
    create_indexes(
        plan.connection,
        table,
        indexes,
        memory_bytes=core_conf.LOAD_MEMORY_BYTES,
        max_connections=max_connections,
    )
    if plan.key:
        try:
            with begin_load_transaction(plan.connection, plan.load.pk):
                set_key(plan.connection, version.pk, plan.key)
        except IntegrityError as error:
            raise LoadFailed("key.duplicate", fields=", ".join(plan.key)) from error
    return rows


def _choose_indexes(resource: Resource, plan: LoadPlan, rows: int) -> Indexes:
    """Choose the indexes: a small table needs no order index, and a long value gets none."""
    if rows <= _MAX_ROWS_WITHOUT_ORDER_INDEX:
        return resource.choose_indexes({})
    lengths = dict(zip(plan.table.names, plan.table.measure_longest_values(), strict=True))
    short = {name for name, length in lengths.items() if length <= _MAX_ORDERED_VALUE_BYTES}
    return resource.choose_indexes({n: kind for n, kind in plan.types.items() if n in short})


def _count_values(
    plan: LoadPlan, version: TableVersion, indexes: Indexes
) -> dict[str, dict[str, int]]:
    """Count the values that would take long to count in each search."""
    types, profiles = plan.types, version.profiles["fields"]
    few = (n for n in indexes.orders if profiles[n]["distinct"] <= _MAX_COUNTED_VALUES)
    value_counts = count_common_values(
        plan.connection,
        NewTable(version.pk, plan.load.pk),
        [name for name in few if field_types[types[name]].is_text],
        min_records=_MIN_RECORDS_OF_COUNTED_VALUE,
    )
    return {
        name: {dump_json(value): count for value, count in counts.items()}
        for name, counts in value_counts.items()
    }


def _publish_version(
    plan: LoadPlan,
    version: TableVersion,
    indexes: Indexes,
    settings: TableSettings,
    progress: ProgressReporter,
) -> None:
    """Switch the resource to the new records and fields, in one transaction."""
    load = plan.load
    with begin_load_transaction(plan.connection, load.pk):
        resource = Resource.objects.select_for_update().filter(pk=load.resource_id).first()
        if resource is None:
            raise LoadFailed("load.resource_deleted")
        _save_fields(resource, plan, indexes)
        version.published_at = load.finished_at = timezone.now()
        version.fingerprint = compute_fingerprint(load, plan.options, plan.key, settings)
        version.profiles["fingerprint"] = version.fingerprint
        version.save()
        resource.table_version = version
        resource.primary_key = list(plan.key)
        resource.save(update_fields=["table_version", "primary_key", "modified_at"])
        save_options(resource, plan.options, units=plan.units)
        record_changes(load.starter, resource, {"added": load.record_count}, plan.connection.alias)
        progress.enter_state(LoadState.READY)
    load.resource = resource


def _save_fields(resource: Resource, plan: LoadPlan, indexes: Indexes) -> None:
    """Save the fields of the new records; what people wrote about a field stays."""
    known, types = {field.name: field for field in resource.fields.all()}, plan.types
    resource.fields.exclude(name__in=plan.table.names).delete()
    fields = []
    for position, (name, label) in enumerate(zip(plan.table.names, plan.table.labels, strict=True)):
        field = known.get(name) or build_field(resource, name, label, types[name])
        field.position, field.type, field.is_sparse = position, types[name], False
        field.has_order_index = name in indexes.orders
        fields.append(field)
    Field.objects.bulk_create(
        fields,
        update_conflicts=True,
        unique_fields=["resource", "name"],
        update_fields=["position", "type", "is_sparse", "has_order_index"],
        batch_size=_FIELDS_PER_STATEMENT,
    )
