"""
Adding a file's rows to the records that a resource serves: append, and upsert by key.

The rows go into a table of the load's own first.  Then one transaction, under the lock that single
records are written under (``writing``), brings them into the table that is being served: readers
see all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F
from django.utils import timezone

from ... import storage
from ...exceptions.loads import LoadFailed, UnstorableRecord
from ...messages import BadRow, Notice
from ...models import Field, LoadState, Mode, Resource, TableVersion
from ..readers.duckdb_sql import SQL, literal
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, quote_message
from ..typing.options import save_options
from .fingerprint import compute_fingerprint
from .keys import build_key_text, format_field_names
from .plan import LoadPlan
from .progress import ProgressReporter
from .replacing import build_field
from .row_errors import raise_row_errors, save_row_errors
from .rows import find_line, measure_longest_values, render_rows

#: A value that is longer has no room in the index of its field's order.
_ORDERED_BYTES = 2_600


def finds_more(plan: LoadPlan) -> bool:
    """Tell whether some bad rows are known only when they are compared with the records."""
    return plan.options.mode == Mode.APPEND and bool(plan.key)


def merge_records(
    connection: BaseDatabaseWrapper, plan: LoadPlan, progress: ProgressReporter
) -> None:
    """
    Bring a file's rows into the records that are being served.

    Raises: ``LoadFailed``.
    """
    progress.enter_state(LoadState.COPYING)
    _stage(connection, plan, progress)
    progress.enter_state(LoadState.INDEXING)
    _forget_orders(connection, plan)
    is_refused = False
    with storage.load_transaction(connection, plan.load.pk):
        resource = _locked(plan)
        if finds_more(plan):
            _note_taken(connection, plan, resource)
            is_refused = bool(plan.table.count_row_errors()) and plan.options.should_refuse_bad_rows
        if not is_refused:
            _merge(connection, plan, resource, progress)
    if is_refused:
        save_row_errors(plan.load, plan.table, plan.options, plan.notices)
        raise_row_errors(plan.load)
    plan.load.resource = resource


def _stage(connection: BaseDatabaseWrapper, plan: LoadPlan, progress: ProgressReporter) -> None:
    try:
        storage.stage_rows(connection, plan.load.pk, _watched(plan, progress))
    except UnstorableRecord as error:
        raise UnstorableRecord(find_line(plan.table, error.row)) from error


def _watched(plan: LoadPlan, progress: ProgressReporter) -> Iterator[list[tuple[int, str]]]:
    done, total = 0, plan.table.count_rows()
    progress.report_rows(done, total)
    for batch in render_rows(plan.table, plan.decisions):
        yield batch
        done += len(batch)
        progress.report_rows(done, total)


def _forget_orders(connection: BaseDatabaseWrapper, plan: LoadPlan) -> None:
    """
    Drop the index of a field's order when a value is too long for it.

    It takes the table for itself, so it has a transaction of its own that is over at once.
    """
    lengths = dict(zip(plan.table.names, measure_longest_values(plan.table), strict=True))
    long = [name for name, length in lengths.items() if length > _ORDERED_BYTES]
    if not long:
        return
    with storage.load_transaction(connection, plan.load.pk):
        resource = _locked(plan)
        fields = resource.fields.filter(name__in=long, has_order_index=True)
        storage.drop_order_indexes(connection, _target(resource), [field.name for field in fields])
        fields.update(has_order_index=False)


def _locked(plan: LoadPlan) -> Resource:
    """
    Let nobody else write to the resource, and make sure that it is as it was.

    Raises: ``LoadFailed`` with ``load.resource_deleted``, ``load.resource_changed``.
    """
    found = Resource.objects.select_for_update(no_key=True, of=("self",))
    resource = found.filter(pk=plan.load.resource_id).first()
    if resource is None:
        raise LoadFailed("load.resource_deleted")
    types = {field.name: field.type for field in resource.fields.all()}
    is_same = (
        resource.table_version_id is not None
        and all(types.get(name, kind) == kind for name, kind in plan.types.items())
        and (not resource.primary_key or resource.primary_key == list(plan.key))
    )
    if not is_same:
        raise LoadFailed("load.resource_changed")
    return resource


def _target(resource: Resource) -> int:
    if resource.table_version_id is None:
        raise LoadFailed("load.resource_changed")
    return resource.table_version_id


def _note_taken(connection: BaseDatabaseWrapper, plan: LoadPlan, resource: Resource) -> None:
    """Make faults of the rows to be added whose key a record has already."""
    table = plan.table
    columns = [table.columns[table.names.index(name)] for name in plan.key]
    for lines in storage.read_taken_lines(connection, plan.load.pk, _target(resource), plan.key):
        table.execute(
            SQL(
                "INSERT INTO {} SELECT line, {}, {}, {} FROM {}"
                " WHERE line IN (SELECT unnest(?::BIGINT[]))"
            ).format(
                ROW_ERRORS,
                literal(format_field_names(plan.key)),
                build_key_text(columns),
                quote_message(BadRow("row.existing_key")),
                STAGED_ROWS,
            ),
            [lines],
        )


def _merge(
    connection: BaseDatabaseWrapper, plan: LoadPlan, resource: Resource, progress: ProgressReporter
) -> None:
    """Do it: fields, key, records, and the number of them."""
    load = plan.load
    if finds_more(plan):
        save_row_errors(plan.load, plan.table, plan.options, plan.notices)
    _add_fields(resource, plan)
    _set_key(connection, plan, resource)
    rows = plan.table.count_rows()
    added, changed = _write(connection, plan, resource)
    load.rows = rows if plan.options.mode == Mode.UPSERT else added
    load.finished_at = timezone.now()
    merged = Notice(
        "notice.records_merged", added=added, changed=changed, same=load.rows - added - changed
    )
    load.notices = [*load.notices, merged.to_json()]
    load.save(update_fields=["notices"])
    _update_table_version(plan, _target(resource), added)
    save_options(resource, plan.options)
    Resource.objects.filter(pk=resource.pk).update(modified_at=timezone.now())
    storage.drop_staging_table(connection, load.pk)
    progress.enter_state(LoadState.READY)


def _add_fields(resource: Resource, plan: LoadPlan) -> None:
    """Add the fields that only the file has; the records that are there lack them."""
    known = {field.name: field for field in resource.fields.all()}
    position = max((field.position for field in known.values()), default=-1) + 1
    fields: list[Field] = []
    for name, label in zip(plan.table.names, plan.table.labels, strict=True):
        if name not in known:
            field = build_field(resource, name, label)
            field.position, field.type = position + len(fields), plan.types[name]
            field.is_sparse = True
            fields.append(field)
    Field.objects.bulk_create(fields, batch_size=500)


def _set_key(connection: BaseDatabaseWrapper, plan: LoadPlan, resource: Resource) -> None:
    """Give the table the key that it has not; nobody reads by it yet, so nobody has to wait."""
    if resource.primary_key or not plan.key:
        return
    try:
        with transaction.atomic(using=connection.alias):
            storage.set_key(connection, _target(resource), plan.key)
    except IntegrityError as error:
        raise LoadFailed("key.duplicate", fields=format_field_names(plan.key)) from error
    Resource.objects.filter(pk=resource.pk).update(primary_key=list(plan.key))


def _write(connection: BaseDatabaseWrapper, plan: LoadPlan, resource: Resource) -> tuple[int, int]:
    """Write the rows, and return how many are new and how many records changed."""
    load_id, target = plan.load.pk, _target(resource)
    names = resource.fields.values_list("name", flat=True)
    empty = [name for name in names if name not in plan.table.names]
    try:
        if plan.options.mode == Mode.APPEND:
            if plan.key:
                storage.delete_taken_rows(connection, load_id, target, plan.key)
            return storage.add_rows(connection, load_id, target, empty=empty), 0
        changed = storage.update_records(connection, load_id, target, plan.key)
        added = storage.add_rows(connection, load_id, target, plan.key, empty=empty)
    except IntegrityError as error:  # what is the same only to PostgreSQL
        raise LoadFailed("key.duplicate", fields=format_field_names(plan.key)) from error
    return added, changed


def _update_table_version(plan: LoadPlan, target: int, added: int) -> None:
    """Record the number of records, the formats of the file, and the new fingerprint."""
    resource = plan.load.resource
    served = TableVersion.objects.filter(pk=target)
    served.update(
        rows=F("rows") + added,
        value_counts={},
        field_formats={
            **served.values_list("field_formats", flat=True).get(),
            **plan.field_formats,
        },
        fingerprint=compute_fingerprint(
            plan.load, plan.options, plan.key, resource.language, resource.index_kinds
        ),
    )
