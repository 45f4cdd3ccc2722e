"""
End a load, and remove the remains of loads: tables, uploads and folders.

A table that a load has replaced, or did not complete, is dropped at once, unless staff may publish
it again (``publishing.versions``).  A table that lost its resource in another way, such as a
statement of the portal or a restore that is not complete, is dropped after ``RETENTION``; until
then it can be restored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from django.db import Error, InterfaceError, OperationalError, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from ....database.findings import Finding
from ....database.statements import Call, is_connection_lost
from ....database.tables import (
    drop_record_table,
    has_table,
    list_record_tables,
    mark_unserved,
    read_unserved_since,
)
from ....guards.folders import delete_abandoned_folders, delete_stray_files
from ....models import Resource, TableVersion
from ..conf import conf
from ..messages import LoadFailed
from ..models import FINISHED, UPLOADS_FOLDER, Load, LoadState, delete_unneeded_file
from ..publishing.versions import list_former_tables
from ..signals import load_failed, resource_loaded
from ..sources.limits import find_shortage, is_duckdb_error
from ..tables.filling import drop_staging_table, list_staging_tables
from ..tables.locks import is_running

logger = logging.getLogger(__name__)

#: The time for which a table is kept that was served, and has lost its resource in another way than
#: by loading, writing or deleting through this package.
RETENTION = timedelta(days=7)

#: How long the record of a failure waits for a database that does not respond.
_DATABASE_TIMEOUT = timedelta(seconds=60)

#: Table versions that are not needed: never published, or replaced by a newer one.
_NOT_NEEDED = Q(published_at=None, loads__state__in=FINISHED) | Q(
    resource__table_version__published_at__gt=F("published_at")
)

#: Loads that no process has started, so they cannot be interrupted.
_NOT_STARTED = Q(state=LoadState.DRAFT) | Q(state=LoadState.QUEUED, started_at=None)


# The end of a load --------------------------------------------------------------------------------


def complete_load(load: Load) -> None:
    """Send the signal that a load is served, and delete its upload, when that is committed."""
    using = router.db_for_write(Load)
    if load.state == LoadState.READY:
        send = partial(resource_loaded.send_robust, Resource, resource=load.resource, load=load)
        transaction.on_commit(send, using=using, robust=True)
    transaction.on_commit(Call(delete_upload, load), using=using, robust=True)


def record_failure(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> None:
    """
    Record the failure of a load once the database responds, and discard its tables.

    If the database does not respond within a minute, the next clean-up marks the load.
    """
    if connection.in_atomic_block and connection.needs_rollback:
        return
    deadline = time.monotonic() + _DATABASE_TIMEOUT.total_seconds()
    while True:
        try:
            mark_failed(load, failure)
            _discard_tables(connection, load)
        except Exception as error:  # the caller raises the failure itself; a clean-up does the rest
            is_down = isinstance(error, InterfaceError | OperationalError)
            if is_down and not connection.in_atomic_block and time.monotonic() <= deadline:
                connection.close_if_unusable_or_obsolete()
                time.sleep(1)
                continue
            logger.exception("Load %s could not be marked as failed.", load.pk)
        return


def mark_failed(load: Load, failure: LoadFailed) -> bool:
    """Mark a load as failed or cancelled, and send the signal; False if it is over already."""
    is_cancelled = failure.code == "load.cancelled"
    unfinished = Load.objects.filter(pk=load.pk).exclude(state__in=FINISHED)
    marked = unfinished.update(
        state=LoadState.CANCELLED if is_cancelled else LoadState.FAILED,
        failure=failure.to_json(),
        finished_at=timezone.now(),
    )
    with suppress(Load.DoesNotExist):  # deleted with its resource
        load.refresh_from_db()
    if marked and not is_cancelled:
        values = {"resource": load.resource, "load": load, "failure": failure}
        send = partial(load_failed.send_robust, Resource, **values)
        transaction.on_commit(send, using=router.db_for_write(Load), robust=True)
    return bool(marked)


def translate_error(error: BaseException, load: Load) -> LoadFailed:
    """Find the failure that describes an error; an unexpected error is logged."""
    if isinstance(error, LoadFailed):
        return error
    is_ended = isinstance(error, KeyboardInterrupt | SystemExit)
    if is_ended or is_duckdb_error(error, "InterruptException"):
        return LoadFailed("load.interrupted")
    if is_connection_lost(error):
        return LoadFailed("load.database_lost")
    if shortage := find_shortage(error):
        return shortage
    connection = connections[router.db_for_write(Load)]
    can_query = not (connection.in_atomic_block and connection.needs_rollback)
    if can_query:
        found = Load.objects.filter(pk=load.pk).values_list("cancel_requested_at").first()
        if not found or found[0]:  # its table was deleted, or its file was replaced
            return LoadFailed("load.cancelled" if found else "load.resource_deleted")
    logger.error("Load %s of resource %s failed.", load.pk, load.resource_id, exc_info=error)
    return LoadFailed("load.unexpected")


# What is left -------------------------------------------------------------------------------------


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
    staged = _list_idle_staging_tables(connection)
    if staged and resource is not None:
        staged &= set(loads.filter(pk__in=staged).values_list("pk", flat=True))
    dropped += sum(drop_staging_table(connection, load_id) for load_id in staged)
    oldest = timezone.now() - conf.UPLOAD_RETENTION
    # The upload of a load that is ready is deleted at once: a process that was killed has left it.
    is_unneeded = Q(state__in=(LoadState.READY, LoadState.UNCHANGED)) | Q(
        state__in=FINISHED, finished_at__lt=oldest
    )
    for load in loads.filter(is_unneeded).exclude(file=""):
        delete_upload(load)
    loads.filter(state=LoadState.DRAFT, created_at__lt=oldest).delete()
    if resource is None:  # uploads without a load: the request that stored them failed
        delete_stray_files(UPLOADS_FOLDER, Load.objects.exclude(file=""), oldest)
    return dropped


def mark_interrupted_loads(loads: QuerySet[Load]) -> int:
    """Mark loads as over whose process is gone; return how many of their tables are dropped."""
    connection = connections[router.db_for_write(Load)]
    dropped = 0
    for load in loads.exclude(state__in=FINISHED).exclude(_NOT_STARTED):
        failure = LoadFailed("load.cancelled" if load.cancel_requested_at else "load.interrupted")
        if not is_running(connection, load.pk) and mark_failed(load, failure):
            with suppress(Error):  # the next clean-up drops them
                dropped += _discard_tables(connection, load)
    return dropped


def is_interrupted(load: Load) -> bool:
    """Return whether the process of a load is gone that is not marked yet; this changes nothing."""
    # A preview has left its time in a load that waits.
    reported_at = load.started_at and (load.heartbeat_at or load.started_at)
    if load.is_finished or not reported_at or timezone.now() - reported_at < timedelta(minutes=1):
        return False  # a replica may be behind by less
    with suppress(Error):  # a replica answers alone
        return not is_running(connections[router.db_for_write(Load)], load.pk)
    return False


def find_leftovers(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find the tables that no resource serves, but for those that are kept for some days."""
    served = Resource.objects.using(connection.alias).exclude(table_version=None)
    tables = list_record_tables(connection) - kept
    tables -= set(served.values_list("table_version", flat=True))
    tables -= list_kept_tables(connection).keys() | list_former_tables(tables).keys()
    tables -= _select_tables_being_filled(connection, tables)
    unserved = "No resource serves this table version."
    for table_id in sorted(tables):
        yield Finding("table.unserved", str(table_id), unserved, clean_up_loads)
    staged = "The load is over, and its rows are still in a table."
    for load_id in sorted(_list_idle_staging_tables(connection)):
        yield Finding("table.staging", str(load_id), staged, clean_up_loads)


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
    left -= _select_tables_being_filled(connection, left) | list_former_tables(left).keys()
    if left:  # one of them may have been published before its load was over
        left -= set(served.all())
    needless = TableVersion.objects.using(connection.alias).filter(
        _NOT_NEEDED, pk__in=left & stored
    )
    unneeded = set(needless.values_list("pk", flat=True))
    lost, now = (left & stored) - unneeded, timezone.now()
    since = read_unserved_since(connection, lost)
    for table_id in lost - since.keys():
        mark_unserved(connection, table_id, now)
    unneeded |= {each for each in lost if since.get(each, now) + RETENTION <= now}
    dropped = {each for each in unneeded if drop_record_table(connection, each)}
    versions.filter(pk__in=dropped | (left - stored)).delete()
    return len(dropped)


def _select_tables_being_filled(connection: BaseDatabaseWrapper, table_ids: set[int]) -> set[int]:
    loads = Load.objects.using(connection.alias).filter(table_version__in=table_ids)
    made = loads.values_list("pk", "table_version")
    return {table_id for load_id, table_id in made if is_running(connection, load_id)}


def list_kept_tables(connection: BaseDatabaseWrapper) -> dict[int, datetime]:
    """Map the tables that no resource serves, and that may not be dropped yet, to that moment."""
    since = read_unserved_since(connection, list_record_tables(connection))
    until = {table_id: since_when + RETENTION for table_id, since_when in sorted(since.items())}
    return {table_id: moment for table_id, moment in until.items() if moment > timezone.now()}


def _list_idle_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    """List the loads that have a staging table, and are not running."""
    staged = list_staging_tables(connection)
    return {load_id for load_id in staged if not is_running(connection, load_id)}


def _discard_tables(connection: BaseDatabaseWrapper, load: Load) -> int:
    """Drop the tables that a failed load was filling, and return how many."""
    versions = TableVersion.objects.filter(loads=load.pk, published_at=None)
    dropped = 0
    for table_id in versions.values_list("pk", flat=True):
        is_stored = has_table(connection, table_id)
        if drop_record_table(connection, table_id):
            versions.filter(pk=table_id).delete()
            dropped += is_stored
    is_staged = load.pk in list_staging_tables(connection)
    return dropped + (drop_staging_table(connection, load.pk) and is_staged)


def delete_upload(load: Load) -> None:
    """Delete the upload of a load that no longer needs it."""
    if load.file:
        name, load.file = load.file.name or "", ""
        Load.objects.filter(pk=load.pk).update(file="")
        delete_unneeded_file(load.resource_id, name)
