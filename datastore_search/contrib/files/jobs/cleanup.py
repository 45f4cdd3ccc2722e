"""
Remove the remains of loads: tables, uploads and folders that are no longer needed.

A table that a load has replaced, or did not complete, is dropped at once.  A table that lost its
resource in another way, such as a statement of the portal or a restore that is not complete, is
dropped after ``RETENTION``; until then it can be restored.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from ....database.tables import (
    drop_record_table,
    list_record_tables,
    mark_unserved,
    read_unserved_since,
)
from ....models import Resource, TableVersion
from ..conf import conf
from ..messages.failures import LoadFailed
from ..models import FINISHED, UPLOADS_FOLDER, Load, LoadState, get_upload_storage
from ..sources.folders import delete_abandoned_folders
from ..tables.filling import drop_staging_table, list_staging_tables
from ..tables.locks import is_running
from .completion import delete_files, delete_upload, discard_tables, mark_failed

#: The time for which a table is kept that was served, and has lost its resource in another way than
#: by loading, writing or deleting through this package.
RETENTION = timedelta(days=7)

#: Table versions that are not needed: never published, or replaced by a newer one.
_NOT_NEEDED = Q(published_at=None, loads__state__in=FINISHED) | Q(
    resource__table_version__published_at__gt=F("published_at")
)

#: Loads that no process has started, so they cannot be interrupted.
_NOT_STARTED = Q(state=LoadState.DRAFT) | Q(state=LoadState.QUEUED, started_at=None)


def clean_up_loads(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    - Loads whose process is gone are marked as failed.
    - Tables that no resource serves and no load is filling are dropped, unless they are being read,
      or were served until recently (``RETENTION``).
    - Old drafts and uploads, and folders of processes that were killed, are deleted.
    """
    delete_abandoned_folders()
    connection = connections[router.db_for_write(Load)]
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    dropped = mark_interrupted_loads(loads) + drop_unserved_tables(connection, resource)
    staged = list_idle_staging_tables(connection)
    if staged and resource is not None:
        staged &= set(loads.filter(pk__in=staged).values_list("pk", flat=True))
    dropped += sum(drop_staging_table(connection, load_id) for load_id in staged)
    _delete_old_uploads(loads)
    if resource is None:
        _delete_stray_uploads()
    return dropped


def mark_interrupted_loads(loads: QuerySet[Load]) -> int:
    """
    Mark loads as failed whose process is gone, and drop the tables that they were filling.

    Return the number of these tables.
    """
    connection = connections[router.db_for_write(Load)]
    dropped = 0
    for load in loads.exclude(state__in=FINISHED).exclude(_NOT_STARTED):
        if not is_running(connection, load.pk) and mark_failed(
            load, LoadFailed("load.interrupted")
        ):
            with suppress(Error):  # the next clean-up drops them
                dropped += discard_tables(connection, load)
    return dropped


def drop_unserved_tables(connection: BaseDatabaseWrapper, resource: Resource | None) -> int:
    """Drop the tables that nothing serves or fills, of a resource or of all; return how many."""
    served = Resource.objects.exclude(table_version=None).values_list("table_version", flat=True)
    versions = TableVersion.objects.all() if resource is None else resource.table_versions.all()
    known = set(versions.values_list("pk", flat=True))
    stored = list_record_tables(connection)
    if resource is not None:
        stored &= known
    for served_again in read_unserved_since(connection, stored & set(served)):
        mark_unserved(connection, served_again, None)
    left = (stored | known) - set(served)
    left -= select_tables_being_filled(connection, left)
    if left:  # one of them may have been published before its load was over
        left -= set(served.all())
    dropped = {
        table_id
        for table_id in _select_tables_to_drop(connection, left & stored)
        if drop_record_table(connection, table_id)
    }
    versions.filter(pk__in=dropped | (left - stored)).delete()
    return len(dropped)


def select_tables_being_filled(connection: BaseDatabaseWrapper, table_ids: set[int]) -> set[int]:
    """Select the tables of loads that are running."""
    loads = Load.objects.using(connection.alias).filter(table_version__in=table_ids)
    made = loads.values_list("pk", "table_version")
    return {table_id for load_id, table_id in made if is_running(connection, load_id)}


def list_idle_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    """List the loads that have a staging table, and are not running."""
    staged = list_staging_tables(connection)
    return {load_id for load_id in staged if not is_running(connection, load_id)}


def _delete_old_uploads(loads: QuerySet[Load]) -> None:
    """
    Delete drafts, and uploads of loads that are over, after ``UPLOAD_RETENTION``.

    The upload of a load that is ready is deleted at once: a process that was killed has left it.
    """
    oldest = timezone.now() - conf.UPLOAD_RETENTION
    is_unneeded = Q(state__in=(LoadState.READY, LoadState.UNCHANGED)) | Q(
        state__in=FINISHED, finished_at__lt=oldest
    )
    for load in loads.filter(is_unneeded).exclude(file=""):
        delete_upload(load)
    loads.filter(state=LoadState.DRAFT, created_at__lt=oldest).delete()


def _delete_stray_uploads() -> None:
    """Delete uploads without a load: the request that stored them failed."""
    uploads, oldest = get_upload_storage(), timezone.now() - conf.UPLOAD_RETENTION
    with suppress(NotImplementedError, OSError):  # a storage need not list its files
        _folders, names = uploads.listdir(UPLOADS_FOLDER)
        names_of_uploads = {f"{UPLOADS_FOLDER}/{name}" for name in names}
        names_of_uploads -= set(Load.objects.exclude(file="").values_list("file", flat=True))
        delete_files(name for name in names_of_uploads if uploads.get_modified_time(name) < oldest)


# Tables that no resource serves -------------------------------------------------------------------


def _select_tables_to_drop(connection: BaseDatabaseWrapper, unserved: AbstractSet[int]) -> set[int]:
    """Select the tables to drop among those that are neither served nor being filled."""
    known = TableVersion.objects.using(connection.alias).filter(pk__in=unserved)
    not_needed = set(known.filter(_NOT_NEEDED).values_list("pk", flat=True))
    now = timezone.now()
    lost = unserved - not_needed
    since = read_unserved_since(connection, lost)
    for table_id in lost - since.keys():
        mark_unserved(connection, table_id, now)
    expired = {each for each in lost if since.get(each, now) + RETENTION <= now}
    return not_needed | expired


def list_kept_tables(connection: BaseDatabaseWrapper) -> dict[int, datetime]:
    """Map the tables that no resource serves, and that may not be dropped yet, to that moment."""
    since = read_unserved_since(connection, list_record_tables(connection))
    until = {table_id: since_when + RETENTION for table_id, since_when in sorted(since.items())}
    return {table_id: moment for table_id, moment in until.items() if moment > timezone.now()}
