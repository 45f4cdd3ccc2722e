"""Append or upsert a file's rows to served records, in one transaction under the writers' lock."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from ....database.tables import name_record_table
from ....models import Field, Resource
from ....writing import changes
from ..formats.duckdb_sql import SQL
from ..formats.staging import quote_message
from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed, UnstorableRecord
from ..models import LoadState, Mode
from ..tables.filling import drop_staging_table
from ..tables.locks import begin_load_transaction
from ..tables.merging import (
    add_rows,
    delete_taken_rows,
    read_taken_lines,
    stage_rows,
    update_records,
)
from ..types.options import save_options
from .fingerprint import compute_fingerprint
from .keys import record_bad_keys
from .plan import LoadPlan, ProgressReporter, build_field, report_batches
from .row_errors import raise_row_errors, save_row_errors
from .rows import find_line, render_rows


def can_find_taken_keys(plan: LoadPlan) -> bool:
    """Return whether some bad rows are known only when they are compared with the records."""
    return plan.options.mode == Mode.APPEND and bool(plan.key)


def merge_records(plan: LoadPlan, progress: ProgressReporter) -> None:
    """Merge a file's rows into the records that are being served."""
    progress.enter_state(LoadState.COPYING)
    _stage_rows(plan, progress)
    progress.enter_state(LoadState.INDEXING)
    _drop_outgrown_order_indexes(plan)
    is_refused = False
    with begin_load_transaction(plan.connection, plan.load.pk):
        resource = _lock_resource(plan)
        if can_find_taken_keys(plan):
            _record_taken_keys(plan, resource)
            is_refused = bool(plan.table.count_row_errors()) and plan.options.should_refuse_bad_rows
        if not is_refused:
            _merge(plan, resource, progress)
    if is_refused:
        save_row_errors(plan)
        raise_row_errors(plan.load)
    plan.load.resource = resource


def _stage_rows(plan: LoadPlan, progress: ProgressReporter) -> None:
    version = plan.load.resource.table_version
    beside = name_record_table(version.pk) if version is not None and version.is_placed else ""
    rows = report_batches(plan.table, progress, render_rows(plan.table, plan.decisions))
    try:
        stage_rows(plan.connection, plan.load.pk, rows, beside)
    except UnstorableRecord as error:
        raise UnstorableRecord(find_line(plan.table, error.row)) from error


def _drop_outgrown_order_indexes(plan: LoadPlan) -> None:
    """Drop order indexes that values do not fit, which locks the table, in a short transaction."""
    lengths = dict(zip(plan.table.names, plan.table.measure_longest_values(), strict=True))
    if max(lengths.values(), default=0) <= changes.MAX_INDEXED_VALUE_BYTES:
        return
    with begin_load_transaction(plan.connection, plan.load.pk):
        changes.drop_outgrown_order_indexes(plan.connection, _lock_resource(plan), lengths)


def _lock_resource(plan: LoadPlan) -> Resource:
    """Lock the resource against other writers, and check that the plan still fits it."""
    resources = Resource.objects.select_for_update(no_key=True, of=("self",))
    resource = resources.filter(pk=plan.load.resource_id).first()
    if resource is None:
        raise LoadFailed("load.resource_deleted")
    types = dict(resource.fields.values_list("name", "type"))
    is_same = (
        resource.table_version_id is not None
        and all(types.get(name, kind) == kind for name, kind in plan.types.items())
        and (not resource.primary_key or resource.primary_key == list(plan.key))
    )
    if not is_same:
        raise LoadFailed("load.resource_changed")
    return resource


def _record_taken_keys(plan: LoadPlan, resource: Resource) -> None:
    """Record an error for each row to be added whose key a record has already."""
    error = quote_message(BadRow("row.existing_key"))
    taken = SQL("line IN (SELECT unnest(?::BIGINT[]))")
    target = changes.get_table_id(resource)
    for lines in read_taken_lines(plan.connection, plan.load.pk, target, plan.key):
        record_bad_keys(plan.table, plan.key, error, taken, [lines])


def _merge(plan: LoadPlan, resource: Resource, progress: ProgressReporter) -> None:
    """Add fields, key and records, and record the change."""
    load = plan.load
    if can_find_taken_keys(plan):
        save_row_errors(plan)
    changes.add_fields(plan.connection, resource, _build_new_fields(resource, plan))
    _set_key(plan, resource)
    rows = plan.table.count_rows()
    added, changed = _write_rows(plan, resource)
    load.record_count = rows if plan.options.mode == Mode.UPSERT else added
    load.finished_at = timezone.now()
    merged = Notice(
        "notice.records_merged",
        added=added,
        changed=changed,
        same=load.record_count - added - changed,
    )
    load.notices = [*load.notices, merged.to_json()]
    load.save(update_fields=["notices"])
    changes.record_change(
        plan.connection,
        resource,
        added=added,
        field_formats=plan.field_formats,
        fingerprint=compute_fingerprint(load, plan.options, plan.key, resource.table_settings),
    )
    save_options(resource, plan.options, units=plan.units)
    drop_staging_table(plan.connection, load.pk)
    progress.enter_state(LoadState.READY)


def _build_new_fields(resource: Resource, plan: LoadPlan) -> list[Field]:
    """Build the fields that only the file has."""
    known, types = set(resource.fields.values_list("name", flat=True)), plan.types
    return [
        build_field(resource, name, label, types[name])
        for name, label in zip(plan.table.names, plan.table.labels, strict=True)
        if name not in known
    ]


def _set_key(plan: LoadPlan, resource: Resource) -> None:
    """Set the key of a table without one; no reader uses it yet, so none is waited for."""
    if resource.primary_key or not plan.key:
        return
    try:
        with transaction.atomic(using=plan.connection.alias):
            changes.set_primary_key(plan.connection, resource, plan.key)
    except IntegrityError as error:
        raise LoadFailed("key.duplicate", fields=", ".join(plan.key)) from error


def _write_rows(plan: LoadPlan, resource: Resource) -> tuple[int, int]:
    """Write the rows, and return how many are new and how many records changed."""
    load_id, target = plan.load.pk, changes.get_table_id(resource)
    names = resource.fields.values_list("name", flat=True)
    empty = sorted(set(names) - set(plan.table.names))
    try:
        if plan.options.mode == Mode.APPEND:
            if plan.key:
                delete_taken_rows(plan.connection, load_id, target, plan.key)
            return add_rows(plan.connection, load_id, target, empty=empty), 0
        changed = update_records(plan.connection, load_id, target, plan.key)
        added = add_rows(plan.connection, load_id, target, plan.key, empty=empty)
    except IntegrityError as error:  # what is the same only to PostgreSQL
        raise LoadFailed("key.duplicate", fields=", ".join(plan.key)) from error
    return added, changed
