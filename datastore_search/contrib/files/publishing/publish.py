"""Publish a table that was read: plan, then replace the records or merge into them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from django.db import Error, IntegrityError
from django.utils import timezone

from ....database.indexes import Indexes, set_key
from ....database.tables import drop_record_table, name_record_table
from ....field_types import dump_json, field_types
from ....messages.writing import KeyNotUnique
from ....models import Field, Resource, TableSettings, TableVersion
from ....models.table_versions import copier
from ....writing import MAX_INDEXED_VALUE_BYTES, Method, Writer
from ....writing.history import record_changes
from ..conf import conf
from ..formats.duckdb_sql import SQL, quote_identifier
from ..formats.staging import STAGED_ROWS, StagedTable, quote_message
from ..messages import BadRow, LoadFailed, Notice, UnstorableRecord
from ..models import Load, LoadState, Mode, RowError
from ..tables.filling import (
    NewTable,
    count_load_connections,
    create_indexes,
    create_records,
    drop_staging_table,
    stage_rows,
)
from ..tables.locks import begin_load_transaction
from ..tables.orders import list_used_orders
from ..types.options import LoadOptions, save_options
from .bad_rows import delete_bad_rows, raise_row_errors, read_row_errors, record_bad_keys
from .plan import LoadPlan, ProgressReporter, build_plan, compute_fingerprint
from .rows import find_line, render_rows
from .versions import keep_former_version, serve_version

#: Row errors that a report lists; all of them are counted.
MAX_REPORTED_ERRORS = 100_000
_ERRORS_PER_STATEMENT = 2_000

#: Rows, or cells of a wide table, that are copied before a second connection is open.
_MAX_ROWS_OF_ONE_CONNECTION = 10_000
_MAX_CELLS_OF_ONE_CONNECTION = 100_000

#: The number of records with a value is stored from this number on: it is the total of a search.
_MIN_RECORDS_OF_COUNTED_VALUE = 10_000

#: A load keeps the index of an order, and counts values, where none is longer than this.
_MAX_ORDERED_VALUE_BYTES = 500


def publish_table(
    load: Load, table: StagedTable, options: LoadOptions, progress: ProgressReporter
) -> None:
    # As it is now: the caller may have read it before the file.
    resource = Resource.objects.filter(pk=load.resource_id).select_related("table_version").first()
    if resource is None:
        raise LoadFailed("load.resource_deleted")
    load.resource = resource
    plan = build_plan(load, resource, table, options)
    if not _can_find_taken_keys(plan):
        _save_row_errors(plan)
        if lost := plan.find_lost_fields():
            raise lost
        if options.should_refuse_bad_rows:
            raise_row_errors(load)
    delete_bad_rows(table)
    if load.row_error_count and not table.count_rows():  # a load without any row is a mistake
        raise_row_errors(load)
    try:
        (replace_records if plan.replaces else merge_records)(plan, progress)
    except UnstorableRecord as error:
        raise UnstorableRecord(find_line(table, error.row)) from error


def _can_find_taken_keys(plan: LoadPlan) -> bool:
    """Return whether some bad rows are known only when they are compared with the records."""
    return not plan.replaces and plan.options.mode == Mode.APPEND and bool(plan.key)


def _save_row_errors(plan: LoadPlan) -> None:
    """Save the notices of a load, the number of its bad rows, and the first of their errors."""
    load, table, notices = plan.load, plan.table, list(plan.notices)
    load.row_error_count, errors = table.count_bad_rows(), table.count_row_errors()
    if load.row_error_count and not plan.options.should_refuse_bad_rows:
        notices.append(Notice("notice.rows_left_out", count=load.row_error_count))
    if errors > MAX_REPORTED_ERRORS:
        notices.append(Notice("notice.report_cut", listed=MAX_REPORTED_ERRORS, count=errors))
    load.notices = [notice.to_json() for notice in notices]
    load.save(update_fields=["row_error_count", "notices"])
    first = read_row_errors(load, table, MAX_REPORTED_ERRORS)
    while batch := list(islice(first, _ERRORS_PER_STATEMENT)):
        RowError.objects.bulk_create(batch)


def _build_field(resource: Resource, name: str, label: str, type_name: str) -> Field:
    """Build a new field of a file, without a label that equals the name."""
    label = label if label != name else ""
    return Field(resource=resource, name=name, label=label, type=type_name)


@contextmanager
def _name_duplicate_key(plan: LoadPlan) -> Iterator[None]:
    """Say which fields are the key that records share, also where PostgreSQL alone equates them."""
    try:
        yield
    except (IntegrityError, KeyNotUnique) as error:
        raise LoadFailed("key.duplicate", fields=", ".join(plan.key)) from error


def replace_records(plan: LoadPlan, progress: ProgressReporter) -> None:
    """Make a new table version of a file's rows, and let the resource serve it."""
    load, settings, rows = plan.load, plan.load.resource.table_settings, plan.table.count_rows()
    lengths = zip(plan.types.items(), plan.table.measure_longest_values(), strict=True)
    short = {name: kind for (name, kind), most in lengths if most <= _MAX_ORDERED_VALUE_BYTES}
    used = list_used_orders(plan.connection, load.resource)
    indexes = load.resource.choose_indexes({name: short[name] for name in used if name in short})
    progress.enter_state(LoadState.COPYING)
    with begin_load_transaction(plan.connection, load.pk):
        version = TableVersion.objects.create(
            resource=load.resource, language=settings.language, indexes=settings.indexes
        )
        Load.objects.filter(pk=load.pk).update(table_version=version)
        load.table_version = version
    # Stored when the version is published: of thousands of fields they are megabytes.
    version.field_formats = plan.field_formats
    try:
        table = NewTable(version.pk, load.pk, settings.weights)
        max_connections = 1
        cells = rows * len(plan.table.names) if plan.table.is_wide else 0
        if rows > _MAX_ROWS_OF_ONE_CONNECTION or cells > _MAX_CELLS_OF_ONE_CONNECTION:
            max_connections = count_load_connections(plan.connection, conf.LOAD_CONNECTIONS)
        batches = render_rows(plan.table, plan.decisions, progress.report_rows)
        record_count = create_records(
            plan.connection,
            table,
            language=version.language,
            batches=([record for _line, record in batch] for batch in batches),
            max_connections=max_connections,
        )
        version.record_count = record_count
        progress.enter_state(LoadState.INDEXING)
        copier.entry(version, plan.types)
        create_indexes(plan.connection, table, indexes, max_connections=max_connections)
        if plan.key:
            with _name_duplicate_key(plan), begin_load_transaction(plan.connection, load.pk):
                set_key(plan.connection, table.id, plan.key)
        load.record_count = record_count
        counted = load.resource.choose_indexes(short).orders
        version.value_counts = _count_common_values(plan, counted)
        _publish_version(plan, version, indexes, settings, progress)
    except BaseException:
        # If the database does not respond now, a clean-up drops the table.
        with suppress(Error):
            drop_record_table(plan.connection, version.pk)
        raise


def _count_common_values(plan: LoadPlan, names: Collection[str]) -> dict[str, dict[str, int]]:
    """Count the values, as JSON, that many rows have in some fields of text."""
    counts = {}
    for column, (name, kind) in zip(plan.table.columns, plan.types.items(), strict=True):
        if name in names and field_types[kind].is_text:
            query = "SELECT {}, count(*) FROM {} GROUP BY 1 HAVING count(*) >= {}"
            cell, least = quote_identifier(column), _MIN_RECORDS_OF_COUNTED_VALUE
            found = plan.table.execute(query, cell, STAGED_ROWS, least).fetchall()
            counts[name] = {dump_json(value): count for value, count in found}
    return counts


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
        served = resource.table_version
        keep_former_version(load, resource)
        fields, types = [], plan.types
        described = zip(plan.table.names, plan.table.labels, strict=True)
        for position, (name, label) in enumerate(described):
            field = _build_field(resource, name, label, types[name])
            field.position, field.has_order_index = position, name in indexes.orders
            fields.append(field)
        version.fingerprint = compute_fingerprint(load, plan.options, plan.key, settings)
        serve_version(resource, version, fields, plan.key)
        load.finished_at = version.published_at
        save_options(resource, plan.options, plan.formats)
        counts = {"added": load.record_count, "deleted": served.record_count if served else 0}
        record_changes(load.starter, resource, counts, plan.connection.alias)
        progress.enter_state(LoadState.READY)
    load.resource = resource


# Merging: append or upsert, in one transaction under the lock of writers --------------------------


def merge_records(plan: LoadPlan, progress: ProgressReporter) -> None:
    """Add fields, key and records, and record the change."""
    load, options, types = plan.load, plan.options, plan.types
    progress.enter_state(LoadState.COPYING)
    version = load.resource.table_version
    beside = name_record_table(version.pk) if version is not None and version.is_placed else ""
    batches = render_rows(plan.table, plan.decisions, progress.report_rows)
    rows = stage_rows(plan.connection, load.pk, batches, beside)
    progress.enter_state(LoadState.INDEXING)
    lengths = dict(zip(plan.table.names, plan.table.measure_longest_values(), strict=True))
    if max(lengths.values(), default=0) > MAX_INDEXED_VALUE_BYTES:
        # Dropping an index locks the table, so it is a short transaction.
        with begin_load_transaction(plan.connection, load.pk):
            _lock_resource(plan).drop_outgrown_order_indexes(lambda name: lengths.get(name, 0))
    is_refused = False
    with begin_load_transaction(plan.connection, load.pk):
        writer = _lock_resource(plan)
        if _can_find_taken_keys(plan):
            error = quote_message(BadRow("row.existing_key"))
            taken = SQL("line IN (SELECT unnest(?::BIGINT[]))")
            for lines in writer.list_known(rows, plan.key):
                record_bad_keys(plan.table, plan.key, error, taken, [lines])
            is_refused = bool(plan.table.count_row_errors()) and options.should_refuse_bad_rows
            if not is_refused:
                _save_row_errors(plan)
        if not is_refused:
            known = writer.resource.types
            writer.add_fields(
                [
                    _build_field(writer.resource, name, label, types[name])
                    for name, label in zip(plan.table.names, plan.table.labels, strict=True)
                    if name not in known
                ]
            )
            with _name_duplicate_key(plan):
                if not writer.resource.primary_key:
                    writer.set_key(plan.key)
                method = Method.UPSERT if options.mode == Mode.UPSERT else Method.INSERT
                writer.merge(rows, method, plan.table.names)
            added, changed = writer.counts["added"], writer.counts["updated"]
            load.record_count = plan.table.count_rows() if method is Method.UPSERT else added
            load.finished_at = timezone.now()
            same = load.record_count - added - changed
            merged = Notice("notice.records_merged", added=added, changed=changed, same=same)
            load.notices = [*load.notices, merged.to_json()]
            load.save(update_fields=["notices"])
            settings = writer.resource.table_settings
            fingerprint = compute_fingerprint(load, options, plan.key, settings)
            writer.record_changes(load.starter, fingerprint, plan.field_formats)
            save_options(writer.resource, options, plan.formats)
            drop_staging_table(plan.connection, load.pk)
            progress.enter_state(LoadState.READY)
    if is_refused:
        _save_row_errors(plan)
        raise_row_errors(load)
    load.resource = writer.resource


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
