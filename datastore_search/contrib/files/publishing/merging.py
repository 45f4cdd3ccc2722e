"""Append or upsert a file's rows to served records, in one transaction under the writers' lock."""

from __future__ import annotations

from django.db import IntegrityError
from django.utils import timezone

from ....database.tables import name_record_table
from ....messages.writing import KeyNotUnique
from ....models import Resource
from ....writing import MAX_INDEXED_VALUE_BYTES, Method, Writer
from ....writing.records import Rows
from ..formats.duckdb_sql import SQL
from ..formats.staging import quote_message
from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed
from ..models import LoadState, Mode
from ..tables.filling import drop_staging_table, stage_rows
from ..tables.locks import begin_load_transaction
from ..types.options import save_options
from .bad_rows import record_bad_keys
from .fingerprint import compute_fingerprint
from .plan import LoadPlan, ProgressReporter, build_field
from .row_errors import raise_row_errors, save_row_errors
from .rows import render_rows


def can_find_taken_keys(plan: LoadPlan) -> bool:
    """Return whether some bad rows are known only when they are compared with the records."""
    return plan.options.mode == Mode.APPEND and bool(plan.key)


def merge_records(plan: LoadPlan, progress: ProgressReporter) -> None:
    """Merge a file's rows into the records that are being served."""
    progress.enter_state(LoadState.COPYING)
    version = plan.load.resource.table_version
    beside = name_record_table(version.pk) if version is not None and version.is_placed else ""
    batches = render_rows(plan.table, plan.decisions, progress.report_rows)
    rows = stage_rows(plan.connection, plan.load.pk, batches, beside)
    progress.enter_state(LoadState.INDEXING)
    lengths = dict(zip(plan.table.names, plan.table.measure_longest_values(), strict=True))
    if max(lengths.values(), default=0) > MAX_INDEXED_VALUE_BYTES:
        # Dropping an index locks the table, so it is a short transaction.
        with begin_load_transaction(plan.connection, plan.load.pk):
            _lock_resource(plan).drop_outgrown_order_indexes(lambda name: lengths.get(name, 0))
    is_refused = False
    with begin_load_transaction(plan.connection, plan.load.pk):
        writer = _lock_resource(plan)
        if can_find_taken_keys(plan):
            _record_taken_keys(plan, writer, rows)
            is_refused = bool(plan.table.count_row_errors()) and plan.options.should_refuse_bad_rows
            if not is_refused:
                save_row_errors(plan)
        if not is_refused:
            _merge(plan, writer, rows)
            progress.enter_state(LoadState.READY)
    if is_refused:
        save_row_errors(plan)
        raise_row_errors(plan.load)
    plan.load.resource = writer.resource


def _lock_resource(plan: LoadPlan) -> Writer:
    """Lock the resource against other writers, and check that the plan still fits it."""
    resources = Resource.objects.select_for_update(no_key=True, of=("self",))
    if not resources.filter(pk=plan.load.resource_id).first():
        raise LoadFailed("load.resource_deleted")
    writer = Writer(plan.connection, plan.load.resource_id)
    types, key = writer.resource.types, writer.resource.primary_key
    is_same = (
        writer.resource.table_version_id is not None
        and all(types.get(name, kind) == kind for name, kind in plan.types.items())
        and (not key or key == list(plan.key))
    )
    if not is_same:
        raise LoadFailed("load.resource_changed")
    return writer


def _record_taken_keys(plan: LoadPlan, writer: Writer, rows: Rows) -> None:
    """Record an error for each row to be added whose key a record has already."""
    error = quote_message(BadRow("row.existing_key"))
    taken = SQL("line IN (SELECT unnest(?::BIGINT[]))")
    for lines in writer.list_known(rows, plan.key):
        record_bad_keys(plan.table, plan.key, error, taken, [lines])


def _merge(plan: LoadPlan, writer: Writer, rows: Rows) -> None:
    """Add fields, key and records, and record the change."""
    load, options, types, known = plan.load, plan.options, plan.types, writer.resource.types
    writer.add_fields(
        [
            build_field(writer.resource, name, label, types[name])
            for name, label in zip(plan.table.names, plan.table.labels, strict=True)
            if name not in known
        ]
    )
    try:
        if not writer.resource.primary_key:
            writer.set_key(plan.key)
        method = Method.UPSERT if options.mode == Mode.UPSERT else Method.INSERT
        writer.merge(rows, method, plan.table.names)
    except (IntegrityError, KeyNotUnique) as error:  # the former for what PostgreSQL alone equates
        raise LoadFailed("key.duplicate", fields=", ".join(plan.key)) from error
    added, changed = writer.counts["added"], writer.counts["updated"]
    load.record_count = plan.table.count_rows() if method is Method.UPSERT else added
    load.finished_at = timezone.now()
    same = load.record_count - added - changed
    merged = Notice("notice.records_merged", added=added, changed=changed, same=same)
    load.notices = [*load.notices, merged.to_json()]
    load.save(update_fields=["notices"])
    writer.record_changes(
        load.starter,
        compute_fingerprint(load, options, plan.key, writer.resource.table_settings),
        plan.field_formats,
    )
    save_options(writer.resource, options, units=plan.units)
    drop_staging_table(plan.connection, load.pk)
