"""End a load: record its success or failure, send the signal, and discard what is not needed."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from django.db import InterfaceError, OperationalError, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ....database.statements import is_connection_lost
from ....database.tables import drop_record_table, has_table
from ....models import Resource, TableVersion
from ..formats.shortages import find_shortage, is_duckdb_error
from ..messages.failures import LoadCancelled, LoadFailed, UnexpectedFailure
from ..models import FINISHED, Load, LoadState, get_upload_storage
from ..signals import load_failed, resource_loaded
from ..tables.filling import drop_staging_table, list_staging_tables

logger = logging.getLogger(__name__)

#: How long the record of a failure waits for a database that does not respond.
_DATABASE_TIMEOUT = timedelta(seconds=60)


def complete_load(load: Load) -> None:
    """Send the signal that a load is served, and delete its upload, when that is committed."""
    using = router.db_for_write(Load)
    if load.state == LoadState.READY:
        send = partial(resource_loaded.send_robust, Resource, resource=load.resource, load=load)
        transaction.on_commit(send, using=using, robust=True)
    transaction.on_commit(partial(delete_upload, load), using=using, robust=True)


def record_failure(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> None:
    """
    Record the failure of a load once the database responds, and discard its tables.

    If the database does not respond within a minute, the next clean-up marks the load.
    """
    if connection.in_atomic_block and connection.needs_rollback:
        return
    deadline = time.monotonic() + _DATABASE_TIMEOUT.total_seconds()
    while not _try_to_record(connection, load, failure):
        if connection.in_atomic_block or time.monotonic() > deadline:
            logger.error("Load %s could not be marked as failed.", load.pk)
            return
        connection.close_if_unusable_or_obsolete()
        time.sleep(1)


def _try_to_record(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> bool:
    """Record a failure if the database responds, and return whether it did."""
    try:
        mark_failed(load, failure)
        discard_tables(connection, load)
    except (InterfaceError, OperationalError):
        return False
    except Exception:  # the caller raises the failure itself; a clean-up does the rest
        logger.exception("Load %s could not be marked as failed.", load.pk)
    return True


def mark_failed(load: Load, failure: LoadFailed) -> bool:
    """Mark a load as failed or cancelled, and send the signal; False if it is over already."""
    is_cancelled = isinstance(failure, LoadCancelled)
    marked = (
        Load.objects.filter(pk=load.pk)
        .exclude(state__in=FINISHED)
        .update(
            state=LoadState.CANCELLED if is_cancelled else LoadState.FAILED,
            failure=failure.to_json(),
            finished_at=timezone.now(),
        )
    )
    with suppress(Load.DoesNotExist):  # deleted with its resource
        load.refresh_from_db()
    if marked and not is_cancelled:
        values = {"resource": load.resource, "load": load, "failure": failure}
        send = partial(load_failed.send_robust, Resource, **values)
        transaction.on_commit(send, using=router.db_for_write(Load), robust=True)
    return bool(marked)


def discard_tables(connection: BaseDatabaseWrapper, load: Load) -> int:
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
    if can_query and not Load.objects.filter(pk=load.pk).exists():
        return LoadFailed("load.resource_deleted")  # and the table with it
    logger.error("Load %s of resource %s failed.", load.pk, load.resource_id, exc_info=error)
    return UnexpectedFailure()


def delete_upload(load: Load) -> None:
    """Delete the upload of a load that no longer needs it."""
    if not load.file:
        return
    name = load.file.name
    load.file = ""
    Load.objects.filter(pk=load.pk).update(file="")
    delete_files([name] if name else [])


def delete_files(names: Iterable[str]) -> None:
    """Delete uploads by their names in the storage, as far as it can."""
    for name in names:
        try:
            get_upload_storage().delete(name)
        except Exception:  # of any storage; nothing depends on the deletion
            logger.exception("The upload %s could not be deleted.", name)
