"""Remove the remains of loads: tables, uploads and folders that are no longer needed."""

from __future__ import annotations

from contextlib import suppress

from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from ... import storage
from ...exceptions.loads import LoadFailed
from ...models import FINISHED, Load, LoadState, Resource, TableVersion
from ..sources.folders import delete_abandoned_folders
from .completion import discard_tables, mark_failed
from .unserved import clear_unserved_marks, select_tables_to_drop
from .uploads import delete_old_uploads, delete_stray_uploads

#: Loads that no process has started, so they cannot be interrupted.
_NOT_STARTED = Q(state=LoadState.DRAFT) | Q(state=LoadState.QUEUED, started_at=None)


def clean_up_loads(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    - Loads whose process is gone are marked as failed.
    - Tables that no resource serves and no load is filling are dropped, unless they are being read,
      or were served until recently (``unserved``).
    - Old drafts and uploads, and folders of processes that were killed, are deleted.
    """
    delete_abandoned_folders()
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    dropped = (
        mark_interrupted_loads(loads) + _drop_tables(resource) + _drop_staging_tables(resource)
    )
    delete_old_uploads(loads)
    if resource is None:
        delete_stray_uploads()
    return dropped


def mark_interrupted_loads(loads: QuerySet[Load]) -> int:
    """
    Mark loads as failed whose process is gone, and drop the tables that they were filling.

    Return the number of these tables.
    """
    connection = connections[router.db_for_write(Load)]
    dropped = 0
    for load in loads.exclude(state__in=FINISHED).exclude(_NOT_STARTED):
        if not storage.is_running(connection, load.pk) and mark_failed(
            load, LoadFailed("load.interrupted")
        ):
            with suppress(Error):  # the next clean-up drops them
                dropped += discard_tables(connection, load)
    return dropped


def _drop_tables(resource: Resource | None) -> int:
    """Drop tables that are neither served nor being filled, and return how many."""
    connection = connections[router.db_for_write(Load)]
    served = Resource.objects.exclude(table_version=None).values_list("table_version", flat=True)
    versions = TableVersion.objects.all() if resource is None else resource.table_versions.all()
    known = set(versions.values_list("pk", flat=True))
    stored = storage.list_record_tables(connection)
    if resource is not None:
        stored &= known
    clear_unserved_marks(connection, stored & set(served))
    left = (stored | known) - set(served)
    left -= _select_tables_being_filled(connection, left)
    if left:  # one of them may have been published before its load was over
        left -= set(served.all())
    dropped = {
        table_id
        for table_id in select_tables_to_drop(connection, left & stored)
        if storage.drop_record_table(connection, table_id)
    }
    versions.filter(pk__in=dropped | (left - stored)).delete()
    return len(dropped)


def _select_tables_being_filled(connection: BaseDatabaseWrapper, table_ids: set[int]) -> set[int]:
    """Select the tables of loads that are running."""
    versions = TableVersion.objects.filter(pk__in=table_ids, load__isnull=False)
    return {
        table_id
        for table_id, load_id in versions.values_list("pk", "load_id")
        if load_id is not None and storage.is_running(connection, load_id)
    }


def _drop_staging_tables(resource: Resource | None) -> int:
    """Drop the staging tables of loads that are not running, and return how many."""
    connection = connections[router.db_for_write(Load)]
    staged = storage.list_staging_tables(connection)
    if staged and resource is not None:
        staged &= set(resource.loads.filter(pk__in=staged).values_list("pk", flat=True))
    left = {load_id for load_id in staged if not storage.is_running(connection, load_id)}
    return sum(storage.drop_staging_table(connection, load_id) for load_id in left)
