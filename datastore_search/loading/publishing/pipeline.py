"""
From a table that was read to records that are being served.

What the fields are and which rows cannot be loaded is found out first; then the rows take the place
of the records that are there (``publishing``), or are brought into them (``merging``).
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...models import Load, Mode, Resource
from ..readers.staging import StagedTable
from ..typing.inference import Decision, collect_type_notices, decide_formats
from ..typing.options import LoadOptions
from .changes import compare_fields
from .keys import check_key, format_field_names, record_key_errors, resolve_key
from .merging import finds_more, key_to_merge_by, merge_records, options_to_merge
from .plan import LoadPlan
from .postgres_limits import record_unstorable_values
from .progress import ProgressReporter
from .replacing import replace_records
from .row_errors import delete_bad_rows, raise_row_errors, refuses, save_row_errors


def publish_table(
    connection: BaseDatabaseWrapper,
    load: Load,
    table: StagedTable,
    options: LoadOptions,
    progress: ProgressReporter,
) -> None:
    """
    Do what is to be done once a file has been read.

    Raises: ``LoadFailed``.
    """
    resource = _resource(load)
    replaces = is_replacing(resource, options)
    plan = build_plan(load, resource, table, options)
    if replaces or not finds_more(plan):
        save_row_errors(plan)
        if replaces:
            compare_fields(resource, table).check(may_drop=options.may_drop)
        if refuses(options):
            raise_row_errors(load)
    delete_bad_rows(table)
    if load.row_error_count and not table.count_rows():  # to leave everything out was not meant
        raise_row_errors(load)
    (replace_records if replaces else merge_records)(connection, plan, progress)


def is_replacing(resource: Resource, options: LoadOptions) -> bool:
    """Tell whether the records that are there go, if there are any."""
    return options.mode == Mode.REPLACE or not resource.has_table


def build_plan(
    load: Load,
    resource: Resource,
    table: StagedTable,
    options: LoadOptions,
    *,
    explain: bool = False,
) -> LoadPlan:
    """
    Decide what is to be made of a file; the rows that cannot be loaded become faults of the table.

    Raises: ``LoadFailed``.
    """
    plan_it = _plan_to_replace if is_replacing(resource, options) else _plan_to_merge
    plan = plan_it(load, resource, table, options, explain=explain)
    record_unstorable_values(table, plan.decisions)
    record_key_errors(table, plan.decisions, plan.key)
    return plan


def _resource(load: Load) -> Resource:
    """Read the resource as it is now, which may not be what the caller has read."""
    found = Resource.objects.filter(pk=load.resource_id).select_related("current_load").first()
    if found is None:
        raise LoadFailed("load.resource_deleted")
    return found


def _plan_to_replace(
    load: Load, resource: Resource, table: StagedTable, options: LoadOptions, *, explain: bool
) -> LoadPlan:
    """
    Say what the new table is to be.

    A key that the resource has already goes with its fields; one that was asked for must be there.

    Raises: ``LoadFailed``.
    """
    key = resolve_key(resource, options)
    forgotten: list[Notice] = []
    gone = [name for name in key if name not in table.names]
    if options.key is None and gone:
        key, forgotten = (), [Notice("notice.key_dropped", fields=format_field_names(gone))]
    check_key(key, table.names)
    decisions = decide_formats(table, options, explain=explain)
    changed = compare_fields(resource, table, decisions).notices(replaces=True)
    notices = _notices(table, options, decisions, [*changed, *forgotten])
    return LoadPlan(load, table, options, decisions, key, notices)


def _plan_to_merge(
    load: Load, resource: Resource, table: StagedTable, options: LoadOptions, *, explain: bool
) -> LoadPlan:
    """
    Say how the rows come into the table that is there.

    Raises: ``LoadFailed``.
    """
    key = key_to_merge_by(resource, options)
    check_key(key, table.names)
    merging, kept = options_to_merge(resource, table, options)
    decisions = decide_formats(table, merging, explain=explain)
    changed = compare_fields(resource, table, decisions).notices(replaces=False)
    notices = _notices(table, options, decisions, [*kept, *changed])
    return LoadPlan(load, table, options, decisions, key, notices)


def _notices(
    table: StagedTable, options: LoadOptions, decisions: tuple[Decision, ...], others: list[Notice]
) -> tuple[Notice, ...]:
    """Gather what people should know: of the file, of its types, of what changes."""
    return (*table.notices, *collect_type_notices(table, options, decisions), *others)
