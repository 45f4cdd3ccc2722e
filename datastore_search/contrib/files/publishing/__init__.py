"""Publish a table that was read: plan, then replace the records or merge into them."""

from __future__ import annotations

from ....models import Resource
from ..formats.staging import StagedTable
from ..messages.failures import LoadFailed, UnstorableRecord
from ..models import Load
from ..types.options import LoadOptions
from .merging import can_find_taken_keys, merge_records
from .plan import ProgressReporter, build_plan
from .replacing import replace_records
from .row_errors import delete_bad_rows, raise_row_errors, save_row_errors
from .rows import find_line


def publish_table(
    load: Load, table: StagedTable, options: LoadOptions, progress: ProgressReporter
) -> None:
    """Publish the rows of a table as the records of a load's resource."""
    # As it is now: the caller may have read it before the file.
    resource = Resource.objects.filter(pk=load.resource_id).select_related("table_version").first()
    if resource is None:
        raise LoadFailed("load.resource_deleted")
    load.resource = resource
    plan = build_plan(load, resource, table, options)
    if plan.replaces or not can_find_taken_keys(plan):
        save_row_errors(plan)
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
