"""
Run a load: read its file, publish its records, and record how it ended.

Whatever happens to a load, it ends in a state that says so, and the resource serves what it served.
See decision 0017.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from django.db import (
    Error,
    InterfaceError,
    OperationalError,
    connections,
    router,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...conf import conf
from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load, LoadState, Resource
from ..publishing.fingerprint import is_unchanged
from ..publishing.pipeline import publish_table
from ..readers.process import open_table
from ..sources.fetching import NotModified
from ..sources.files import SourceFile, copy_source
from ..sources.folders import working_folder
from ..typing.options import LoadOptions, resolve_options
from .cleanup import clean_up_loads, mark_interrupted_loads
from .completion import complete_load, mark_failed, record_failure
from .failures import is_connection_lost, translate_error
from .monitor import JobMonitor, Progress


def run_load(load: Load, path: Path | None = None, *, progress: Progress | None = None) -> None:
    """
    Do what a load is to do; ``path`` is its file, unless that is an upload or at a URL.

    Loads of one resource run one after the other.  A load that somebody else has begun, or that is
    over, is left alone.

    Raises: ``LoadFailed``, as ``load_file`` does.
    """
    connection = connections[router.db_for_write(Load)]
    monitor = JobMonitor(load, progress)
    try:
        mark_interrupted_loads(Load.objects.all())  # of a worker that was killed
        with storage.hold_job_lock(connection, load.pk) as lock:
            if lock:
                _run_alone(connection, load, path, monitor, lock)
    except LoadFailed:
        raise
    except (InterfaceError, OperationalError, psycopg.Error) as error:
        if not is_connection_lost(error):
            raise
        # Before the load was marked as running, or while it was told that it had failed.
        _give_up(load)
        raise LoadFailed("load.database_lost") from error


def _give_up(load: Load) -> None:
    """Let a load that could not be begun not wait for ever, if the database listens at all."""
    with suppress(Error):
        if Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None).exists():
            mark_failed(load, LoadFailed("load.database_lost"))


def _run_alone(
    connection: BaseDatabaseWrapper,
    load: Load,
    path: Path | None,
    monitor: JobMonitor,
    lock: storage.JobLock,
) -> None:
    try:
        if not _begin(load):
            return
        with monitor.watching_with(connection, lock):
            lock.wait_for_turn(load.resource_id, conf.LOAD_WAIT_TIMEOUT)
            monitor.raise_if_cancelled()
            clean_up_loads(load.resource)
            _load(connection, load, path, monitor)
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
    clean_up_loads(load.resource)


def _begin(load: Load) -> bool:
    """Mark a load as begun by this process; False when it is not to be run, or not again."""
    load.started_at = timezone.now()
    waiting = Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None)
    return bool(waiting.update(started_at=load.started_at, heartbeat_at=load.started_at))


def _load(
    connection: BaseDatabaseWrapper, load: Load, path: Path | None, monitor: JobMonitor
) -> None:
    resource = Resource.objects.filter(pk=load.resource_id).first()
    options = resolve_options(resource, LoadOptions.from_json(load.options))
    monitor.enter_state(LoadState.READING)
    try:
        with _brought(load, path, options, monitor) as source:
            load.checksum, load.http_validators = source.checksum, dict(source.http_validators)
            load.save(update_fields=["checksum", "http_validators"])
            if is_unchanged(load, options):
                _leave(monitor)
                return
            name = load.source if path or load.file else source.name
            with open_table(source.path, options, name=name, interrupter=monitor) as table:
                publish_table(connection, load, table, options, monitor)
    except NotModified:
        _leave(monitor)


def _leave(monitor: JobMonitor) -> None:
    """End a load that would change nothing."""
    monitor.load.finished_at = timezone.now()
    monitor.enter_state(LoadState.UNCHANGED)


@contextmanager
def _brought(
    load: Load, path: Path | None, options: LoadOptions, monitor: JobMonitor
) -> Iterator[SourceFile]:
    """Bring the file of a load to this machine, for the time of the block."""
    with working_folder() as folder:
        what = path or load.file or load.url
        yield copy_source(
            what,
            folder,
            known_validators=_known(load, options),
            report_progress=monitor.report_progress,
        )


def _known(load: Load, options: LoadOptions) -> dict[str, str]:
    """Give what the server said of the file that is served, if to load that again is pointless."""
    version = load.resource.table_version
    served = version.load if version else None
    if not served or not load.url or served.url != load.url:
        return {}
    load.checksum = served.checksum  # as long as nobody knows another one
    return dict(served.http_validators) if is_unchanged(load, options) else {}
