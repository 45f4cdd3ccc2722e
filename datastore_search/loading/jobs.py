"""
A load as a job: its states, its end, and what is left when its process is gone.

Whatever happens to a load, it ends in a state that says so, and the resource serves what it served.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from .. import storage
from ..exceptions.loads import (
    LoadBroken,
    LoadFailed,
    LoadInterrupted,
    ResourceGone,
    UnreadableFile,
)
from ..models import FINISHED, Load, LoadState, Resource
from .options import LoadOptions
from .pipeline import Watch, load_table
from .reading import open_table

logger = logging.getLogger(__name__)

#: Called with the records written so far and all of them.
Progress = Callable[[int, int], None]


def load_file(
    resource: Resource,
    path: Path,
    *,
    options: LoadOptions | None = None,
    source: str = "",
    progress: Progress | None = None,
) -> Load:
    """
    Load a file into a resource, here and now.

    ``source`` is what staff call the file (its name, if not given).

    Raises: ``LoadFailed`` when the file cannot be loaded: the resource serves what it served, and
    the load, which keeps the reason, is marked as failed.
    """
    cleanup(resource)
    options = options or LoadOptions()
    load = Load.objects.create(
        resource=resource,
        source=(source or path.name)[-500:],
        language=resource.language,
        indexes=resource.index_kinds,
        mode=options.mode,
        options=options.kept(),
        began=timezone.now(),
    )
    run(load, path, progress=progress)
    return load


def run(load: Load, path: Path, *, progress: Progress | None = None) -> None:
    """
    Do what a load is to do, with the file at ``path``.

    Raises: ``LoadFailed``, as ``load_file`` does.
    """
    connection = connections[router.db_for_write(Load)]
    options = LoadOptions.revived(load.options)
    try:
        with storage.load_at_work(connection, load.pk):
            enter(load, LoadState.READING)
            with open_table(path, options, name=load.source) as table:
                load_table(connection, load, table, options, Watch(load, enter, progress))
    except duckdb.Error as error:
        failure = UnreadableFile(reason=str(error).strip().split("\n", 1)[0][:200])
        _fail(connection, load, failure)
        raise failure from error
    except LoadFailed as error:
        _fail(connection, load, error)
        raise
    except BaseException:
        logger.exception("Load %s of resource %s failed.", load.pk, load.resource_id)
        _fail(connection, load, LoadBroken())
        raise
    cleanup(load.resource)


def cleanup(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    Loads whose process is gone are marked as failed; tables that no resource serves and no load is
    filling are dropped, unless somebody is still reading them.
    """
    connection = connections[router.db_for_write(Load)]
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    stored = storage.stored_loads(connection)
    for load in loads.exclude(state__in=FINISHED):
        if storage.is_at_work(connection, load.pk):
            stored.discard(load.pk)
        else:
            _mark_failed(load, LoadInterrupted())
    serving = Resource.objects.exclude(current_load=None).values_list("current_load", flat=True)
    stored -= set(serving)
    if resource is not None:
        stored &= set(loads.values_list("pk", flat=True))
    return sum(storage.drop_records(connection, load_id) for load_id in stored)


def enter(load: Load, state: LoadState) -> None:
    """
    Bring a load into a state, for all to see.

    Raises: ``ResourceGone``.
    """
    load.state = state
    updated = Load.objects.filter(pk=load.pk).update(
        state=state,
        rows=load.rows,
        done=load.done,
        total=load.total,
        common=load.common,
        finished=load.finished,
    )
    if not updated:
        raise ResourceGone


def _fail(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> None:
    """Keep the reason, as far as the database still listens, and drop what was made."""
    if connection.in_atomic_block and connection.needs_rollback:
        return
    try:
        _mark_failed(load, failure)
        storage.drop_records(connection, load.pk, patience=timedelta(seconds=2))
    except Exception:  # the failure itself is what the caller must see; a clean-up does the rest
        logger.exception("Load %s could not be marked as failed.", load.pk)


def _mark_failed(load: Load, failure: LoadFailed) -> None:
    Load.objects.filter(pk=load.pk).update(
        state=LoadState.FAILED, failure=failure.kept(), finished=timezone.now()
    )
    load.refresh_from_db()
