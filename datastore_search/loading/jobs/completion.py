"""How loads end: what is kept of them, who is told, and what is cleared up behind them."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial

from django.db import (
    InterfaceError,
    OperationalError,
    router,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...exceptions.loads import LoadCancelled, LoadFailed
from ...models import FINISHED, Load, LoadState, Resource, TableVersion
from ...signals import load_failed, resource_loaded
from .uploads import delete_upload

logger = logging.getLogger(__name__)

#: How long a failure waits for a database that does not respond.
_DATABASE_TIMEOUT = timedelta(seconds=60)


def complete_load(load: Load) -> None:
    """Tell who listens that a load is served, and forget its upload."""
    using = router.db_for_write(Load)
    if load.state == LoadState.READY:
        tell = partial(resource_loaded.send_robust, Resource, resource=load.resource, load=load)
        transaction.on_commit(tell, using=using, robust=True)
    transaction.on_commit(partial(delete_upload, load), using=using, robust=True)


def record_failure(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> None:
    """
    Keep why a load has failed, as soon as the database listens, and drop what was made.

    What cannot be kept within a minute is found by the next clean-up.
    """
    if connection.in_atomic_block and connection.needs_rollback:
        return
    deadline = time.monotonic() + _DATABASE_TIMEOUT.total_seconds()
    while not _is_kept(connection, load, failure):
        if connection.in_atomic_block or time.monotonic() > deadline:
            logger.error("Load %s could not be marked as failed.", load.pk)
            return
        connection.close_if_unusable_or_obsolete()
        time.sleep(1)


def _is_kept(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> bool:
    """Try to keep why a load has failed; False when the database does not listen."""
    try:
        mark_failed(load, failure)
        discard_tables(connection, load)
    except (InterfaceError, OperationalError):
        return False
    except Exception:  # the caller must see the failure itself; a clean-up does the rest
        logger.exception("Load %s could not be marked as failed.", load.pk)
    return True


def mark_failed(load: Load, failure: LoadFailed) -> bool:
    """Mark a load as failed or cancelled, and say so; False when it is over already."""
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
        told = {"resource": load.resource, "load": load, "failure": failure}
        tell = partial(load_failed.send_robust, Resource, **told)
        transaction.on_commit(tell, using=router.db_for_write(Load), robust=True)
    return bool(marked)


def discard_tables(connection: BaseDatabaseWrapper, load: Load) -> int:
    """Drop what a load that has failed was filling, and return how many tables."""
    versions = TableVersion.objects.filter(load_id=load.pk, published_at=None)
    dropped = 0
    for table_id in versions.values_list("pk", flat=True):
        is_stored = storage.has_table(connection, table_id)
        if storage.drop_record_table(connection, table_id):
            versions.filter(pk=table_id).delete()
            dropped += is_stored
    is_staged = load.pk in storage.list_staging_tables(connection)
    return dropped + (storage.drop_staging_table(connection, load.pk) and is_staged)
