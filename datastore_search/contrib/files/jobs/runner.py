"""Run a load: read its file, publish its records, and record how it ended (decision 0017)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psycopg
from django.db import Error, InterfaceError, OperationalError, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ....database.statements import is_connection_lost
from ....models import Resource
from ..formats.process import open_table
from ..messages.failures import LoadFailed, UnexpectedFailure
from ..models import Load, LoadState
from ..publishing import publish_table
from ..publishing.fingerprint import is_unchanged
from ..sources.files import copy_source
from ..sources.folders import create_working_folder
from ..tables.locks import hold_job_lock
from ..types.options import LoadOptions, resolve_options
from .cleanup import clean_up_loads, drop_unserved_tables, mark_interrupted_loads
from .completion import complete_load, mark_failed, record_failure, translate_error
from .monitor import JobMonitor, Progress

#: The time that a load waits for another load of the same resource.  Then it fails.
MAX_WAIT = timedelta(hours=2)


def run_load(
    load: Load,
    path: Path | None = None,
    *,
    progress: Progress | None = None,
) -> None:
    """
    Run a load; ``path`` is its file, unless that is an upload or at a URL.

    Loads of one resource run one after the other.  A load that another process has begun, or that
    is over, is not changed.

    Raises: ``LoadFailed``, as ``load_file`` does.
    """
    connection = connections[router.db_for_write(Load)]
    try:
        mark_interrupted_loads(Load.objects.all())  # of a worker that was killed
        with hold_job_lock(connection, load.pk) as lock:
            if lock:
                _run_locked(connection, path, JobMonitor(load, lock, progress))
    except LoadFailed:
        raise
    except (InterfaceError, OperationalError, psycopg.Error) as error:
        if not is_connection_lost(error):
            raise
        failure = LoadFailed("load.database_lost")
        # Before the load was marked as running, or while its failure was recorded.
        with suppress(Error):
            if Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None).exists():
                mark_failed(load, failure)
        raise failure from error


def _run_locked(connection: BaseDatabaseWrapper, path: Path | None, monitor: JobMonitor) -> None:
    load = monitor.load
    try:
        if not _mark_started(load):
            return
        with monitor.poll_during(connection):
            monitor.lock.wait_for_turn(load.resource_id, MAX_WAIT)
            monitor.raise_if_cancelled()
            clean_up_loads(load.resource)
            _read_and_publish(path, monitor)
    except BaseException as error:
        failure = monitor.failure or translate_error(error, load)
        record_failure(connection, load, failure)
        if (
            failure is error
            or isinstance(failure, UnexpectedFailure)
            or not isinstance(error, Exception)
        ):
            raise
        raise failure from error
    complete_load(load)
    drop_unserved_tables(connection, load.resource)  # what it has replaced


def _mark_started(load: Load) -> bool:
    """Mark a load as started by this process; False if it is not queued, or already started."""
    load.started_at = timezone.now()
    waiting = Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None)
    return bool(waiting.update(started_at=load.started_at, heartbeat_at=load.started_at))


def _read_and_publish(path: Path | None, monitor: JobMonitor) -> None:
    """Copy the file of a load to this machine, read it, and publish it unless it is unchanged."""
    load = monitor.load
    resource = Resource.objects.filter(pk=load.resource_id).first()
    options = resolve_options(resource, LoadOptions.from_json(load.options))
    monitor.enter_state(LoadState.READING)
    with create_working_folder() as folder:
        source = copy_source(
            path or load.file or load.url,
            folder,
            report_progress=monitor.report_progress,
        )
        load.checksum = source.checksum
        load.save(update_fields=["checksum"])
        if not is_unchanged(load, options):
            name = load.source if path or load.file else source.name
            with open_table(source.path, options, name=name, interrupter=monitor) as table:
                publish_table(load, table, options, monitor)
            return
    load.finished_at = timezone.now()
    monitor.enter_state(LoadState.UNCHANGED)
