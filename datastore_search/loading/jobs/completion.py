"""How loads end: what is kept of them, who is told, and what is cleared up behind them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from django.db import (
    Error,
    InterfaceError,
    OperationalError,
    connections,
    router,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet
from django.utils import timezone

from ... import storage
from ...conf import conf
from ...exceptions.loads import LoadCancelled, LoadFailed, LoadInterrupted
from ...models import FINISHED, UPLOADS_FOLDER, Load, LoadState, Resource, upload_storage
from ...signals import load_failed, resource_loaded
from ..sources.folders import clear_left_folders
from .unserved import clear_unserved_marks, select_tables_to_drop

logger = logging.getLogger(__name__)

#: How long a database that is away is waited for, to keep why a load has failed.
_PATIENCE = timedelta(seconds=60)

#: Nobody has begun with such a load, so nobody can have been interrupted.
_UNTOUCHED = Q(state=LoadState.DRAFT) | Q(state=LoadState.QUEUED, started_at=None)


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
    deadline = time.monotonic() + _PATIENCE.total_seconds()
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
        storage.drop_records(connection, load.pk, patience=timedelta(seconds=2))
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
            failure=failure.kept(),
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


# Clearing up --------------------------------------------------------------------------------------


def mark_interrupted_loads(loads: QuerySet[Load]) -> int:
    """
    Mark those loads as failed whose process is gone, and drop what they were filling.

    Return how many tables that were.
    """
    connection = connections[router.db_for_write(Load)]
    dropped = 0
    for load in loads.exclude(state__in=FINISHED).exclude(_UNTOUCHED):
        if not storage.is_at_work(connection, load.pk) and mark_failed(load, LoadInterrupted()):
            with suppress(Error):  # a clean-up drops it, then
                is_stored = load.pk in storage.stored_loads(connection)
                dropped += storage.drop_records(connection, load.pk) and is_stored
    return dropped


def cleanup(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    Loads whose process is gone are marked as failed; tables that no resource serves and no load is
    filling are dropped, unless somebody is still reading them, or they were served until lately
    (``unserved``); uploads that nobody has come back to are deleted, and so are the folders of
    processes that were killed.
    """
    clear_left_folders()
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    dropped = mark_interrupted_loads(loads) + _drop_tables(None if resource is None else loads)
    _forget_uploads(loads)
    if resource is None:
        _delete_strays()
    return dropped


def _drop_tables(loads: QuerySet[Load] | None) -> int:
    """Drop the tables that nothing serves or fills, of some loads or of all; return how many."""
    connection = connections[router.db_for_write(Load)]
    served = Resource.objects.exclude(current_load=None).values_list("current_load", flat=True)
    stored = storage.stored_loads(connection)
    if loads is not None:
        stored &= set(loads.values_list("pk", flat=True))
    clear_unserved_marks(connection, stored & set(served))
    stored -= set(served)
    left = {load_id for load_id in stored if not storage.is_at_work(connection, load_id)}
    if left:  # one of them may have been published before it was no longer at work
        left -= set(served.all())
    gone = select_tables_to_drop(connection, left)
    return sum(storage.drop_records(connection, load_id) for load_id in gone)


def delete_upload(load: Load) -> None:
    """Delete the upload of a load that needs it no more."""
    if not load.file:
        return
    name = load.file.name
    load.file = ""
    Load.objects.filter(pk=load.pk).update(file="")
    _delete([name] if name else [])


def _forget_uploads(loads: QuerySet[Load]) -> None:
    """Delete the uploads of failed loads, and the drafts, that nobody has come back to."""
    long_ago = timezone.now() - conf.KEEP_UPLOADS
    for load in loads.filter(state__in=FINISHED, finished_at__lt=long_ago).exclude(file=""):
        delete_upload(load)
    for load in loads.filter(state=LoadState.DRAFT, created_at__lt=long_ago):
        delete_upload(load)
        load.delete()


def _delete_strays() -> None:
    """Delete uploads whose load was never kept, since the request that made it failed."""
    uploads, long_ago = upload_storage(), timezone.now() - conf.KEEP_UPLOADS
    with suppress(NotImplementedError, OSError):  # not every storage can list its files
        _folders, names = uploads.listdir(UPLOADS_FOLDER)
        found = {f"{UPLOADS_FOLDER}/{name}" for name in names}
        found -= set(Load.objects.exclude(file="").values_list("file", flat=True))
        _delete(name for name in found if uploads.get_modified_time(name) < long_ago)


def _delete(names: Iterable[str]) -> None:
    for name in names:
        try:
            upload_storage().delete(name)
        except Exception:  # storages raise what they like, and nothing depends on it
            logger.exception("The upload %s could not be deleted.", name)
