"""Clean up after loads: tables, uploads and folders that are no longer needed."""

from __future__ import annotations

from contextlib import suppress

from django.db import Error, connections, router
from django.db.models import Q, QuerySet

from ... import storage
from ...exceptions.loads import LoadFailed
from ...models import FINISHED, Load, LoadState, Resource
from ..sources.folders import delete_abandoned_folders
from .completion import mark_failed
from .unserved import clear_unserved_marks, select_tables_to_drop
from .uploads import delete_old_uploads, delete_stray_uploads

#: Nobody has begun with such a load, so nobody can have been interrupted.
_UNTOUCHED = Q(state=LoadState.DRAFT) | Q(state=LoadState.QUEUED, started_at=None)


def clean_up_loads(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    Loads whose process is gone are marked as failed; tables that no resource serves and no load is
    filling are dropped, unless somebody is still reading them, or they were served until lately
    (``unserved``); uploads that nobody has come back to are deleted, and so are the folders of
    processes that were killed.
    """
    delete_abandoned_folders()
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    dropped = mark_interrupted_loads(loads) + _drop_tables(None if resource is None else loads)
    delete_old_uploads(loads)
    if resource is None:
        delete_stray_uploads()
    return dropped


def mark_interrupted_loads(loads: QuerySet[Load]) -> int:
    """
    Mark those loads as failed whose process is gone, and drop what they were filling.

    Return how many tables that were.
    """
    connection = connections[router.db_for_write(Load)]
    dropped = 0
    for load in loads.exclude(state__in=FINISHED).exclude(_UNTOUCHED):
        if not storage.is_at_work(connection, load.pk) and mark_failed(
            load, LoadFailed("load.interrupted")
        ):
            with suppress(Error):  # a clean-up drops it, then
                is_stored = load.pk in storage.stored_loads(connection)
                dropped += storage.drop_records(connection, load.pk) and is_stored
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
