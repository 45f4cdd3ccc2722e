"""Run a load under its locks, while a thread writes its progress (decision 0017)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import psycopg
from django.db import Error, InterfaceError, OperationalError, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.utils import timezone

from ....database.statements import is_connection_lost
from ....guards.folders import create_working_folder
from ....messages.access import UnknownResource
from ....models import Resource
from ....models.table_versions import copier
from ..formats.process import open_table
from ..formats.staging import Interrupter
from ..messages import LoadFailed
from ..models import FINISHED, RUNNING, Load, LoadState
from ..publishing.plan import is_unchanged
from ..publishing.publish import publish_table
from ..sources.fetching import copy_source
from ..tables.locks import JobLock, cancel_statements, hold_job_lock
from ..types.options import LoadOptions, resolve_options
from .cleanup import (
    clean_up_loads,
    complete_load,
    drop_unserved_tables,
    mark_failed,
    mark_interrupted_loads,
    record_failure,
    translate_error,
)

logger = logging.getLogger(__name__)

#: Called with the numbers of rows that are written, and of all rows.
Progress = Callable[[int, int], None]

#: The time that a load waits for another load of the same resource.  Then it fails.
MAX_WAIT = timedelta(hours=2)

POLL_INTERVAL_SECONDS = 1.0

#: The progress at which each state begins and ends, as measured with large files.
_PROGRESS_RANGES = {
    LoadState.READING: (0.0, 0.1),
    LoadState.COPYING: (0.1, 0.4),
    LoadState.INDEXING: (0.4, 1.0),
    LoadState.READY: (1.0, 1.0),
    LoadState.UNCHANGED: (1.0, 1.0),
}


def run_load(load: Load, path: Path | None = None, *, progress: Progress | None = None) -> None:
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
            if lock is None:
                return
            monitor = JobMonitor(load, lock, progress)
            try:
                load.started_at = timezone.now()
                waiting = Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None)
                if not waiting.update(started_at=load.started_at, heartbeat_at=load.started_at):
                    return
                with monitor.poll_during(connection):
                    lock.wait_for_turn(load.resource_id, MAX_WAIT)
                    monitor.raise_if_cancelled()
                    clean_up_loads(load.resource)
                    _read_and_publish(path, monitor)
            except BaseException as error:
                failure = monitor.failure or translate_error(error, load)
                record_failure(connection, load, failure)
                is_unexpected = failure.code == "load.unexpected"
                if failure is error or is_unexpected or not isinstance(error, Exception):
                    raise
                raise failure from error
            complete_load(load)
            drop_unserved_tables(connection, load.resource)  # what it has replaced
            if load.state == LoadState.READY:
                _copy_records(load)
    except (InterfaceError, OperationalError, psycopg.Error) as error:
        if not is_connection_lost(error):
            raise
        failure = LoadFailed("load.database_lost")
        # Before the load was marked as running, or while its failure was recorded.
        with suppress(Error):
            if Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None).exists():
                mark_failed(load, failure)
        raise failure from error


def _copy_records(load: Load) -> None:
    """Wait for the copy of the records that are served now, if an app makes one."""
    with suppress(UnknownResource):  # deleted meanwhile
        served = Resource.objects.described(load.resource_id)
        if served.table_version is not None:
            copier.entry(served.table_version, served.types)()


def _read_and_publish(path: Path | None, monitor: JobMonitor) -> None:
    """Copy the file of a load to this machine, read it, and publish it unless it is unchanged."""
    load = monitor.load
    resource = Resource.objects.filter(pk=load.resource_id).first()
    options = resolve_options(resource, LoadOptions.from_json(load.options))
    monitor.enter_state(LoadState.READING)
    with create_working_folder() as folder:
        sent = path or load.file or load.url
        source = copy_source(sent, folder, report_progress=monitor.report_progress)
        _replace_lost_connection()
        load.checksum = source.checksum
        load.save(update_fields=["checksum"])
        if not is_unchanged(load, options):
            name = load.source if path or load.file else source.name
            with open_table(source.path, options, name=name, interrupter=monitor) as table:
                _replace_lost_connection()
                publish_table(load, table, options, monitor)
            return
    load.finished_at = timezone.now()
    monitor.enter_state(LoadState.UNCHANGED)


def _replace_lost_connection() -> None:
    """Close a connection that was idle until something ended it; Django opens another."""
    connection = connections[router.db_for_write(Load)]
    if not connection.in_atomic_block and not connection.is_usable():
        connection.close()


class _Monitor(Interrupter, ABC):
    """Polls the database from another thread, and ends the work when it is cancelled."""

    @contextmanager
    def poll_during(self, connection: BaseDatabaseWrapper) -> Iterator[None]:
        """Poll during this block, unless a transaction of the caller hides the load from others."""
        is_over = Event()

        def poll(alias: str) -> None:
            try:
                while not is_over.wait(POLL_INTERVAL_SECONDS):
                    try:
                        self._poll(connections[alias])
                    except Error:  # the work itself meets it, too
                        logger.warning("The database could not be asked.", exc_info=True)
                        connections[alias].close()
            finally:
                connections[alias].close()

        thread = Thread(target=poll, args=[connection.alias], daemon=True)
        if not connection.in_atomic_block:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            if thread.ident:
                thread.join()

    @abstractmethod
    def _poll(self, connection: BaseDatabaseWrapper) -> None: ...


class DraftMonitor(_Monitor):
    """Ends the preview of a draft that was changed, submitted or deleted meanwhile."""

    def __init__(self, draft: QuerySet[Load]) -> None:
        """Monitor a draft, which is selected as it is now."""
        super().__init__()
        self._draft = draft

    def _poll(self, connection: BaseDatabaseWrapper) -> None:
        if not self._draft.using(connection.alias).exists():
            self.failure = LoadFailed("load.cancelled")
            self.interrupt_queries()


class JobMonitor(_Monitor):
    """Reports the progress of a load, and ends it when it is cancelled or has lost its lock."""

    def __init__(self, load: Load, lock: JobLock, progress: Progress | None) -> None:
        super().__init__()
        self.load, self.lock = load, lock
        self._progress = progress
        self._share_of_state = 0.0
        self._entered_at: dict[LoadState, float] = {}

    def enter_state(self, state: LoadState) -> None:
        self.raise_if_cancelled()
        self.load.state, self._share_of_state = state, 0.0
        self._entered_at[state] = monotonic()
        self.load.progress = self._estimate_progress()
        wanted = Load.objects.filter(pk=self.load.pk, cancel_requested_at=None)
        updated = wanted.exclude(state__in=FINISHED).update(
            state=state,
            record_count=self.load.record_count,
            rows_written=self.load.rows_written,
            rows_total=self.load.rows_total,
            progress=self.load.progress,
            finished_at=self.load.finished_at,
            heartbeat_at=timezone.now(),
        )
        if not updated:
            raise self._find_failure() or LoadFailed("load.interrupted")

    def report_rows(self, done: int, total: int) -> None:
        self.load.rows_written, self.load.rows_total = done, total
        self.report_progress(done, total)
        if self._progress:
            self._progress(done, total)

    def report_progress(self, done: float, total: float | None) -> None:
        """Report how much of the present state is done, in any unit: bytes, rows."""
        self.raise_if_cancelled()
        self._share_of_state = min(1.0, done / total) if total else 0.0
        self.load.progress = self._estimate_progress()

    def _estimate_progress(self) -> float:
        """Estimate indexing by the time of copying: PostgreSQL reports only a single index."""
        state, share = LoadState(self.load.state), self._share_of_state
        start, end = _PROGRESS_RANGES[state]
        now = monotonic()
        copied_at = self._entered_at.get(LoadState.COPYING, now)
        indexed_at = self._entered_at.get(LoadState.INDEXING, now)
        if state == LoadState.INDEXING and copied_at < indexed_at:
            copying, _end = _PROGRESS_RANGES[LoadState.COPYING]
            expected = (indexed_at - copied_at) * (end - start) / (start - copying)
            share = min(0.95, (now - indexed_at) / expected)
        return start + (end - start) * share

    def _find_failure(self) -> LoadFailed | None:
        """Read from the database why the load is to end, if it is."""
        mine = Load.objects.filter(pk=self.load.pk)
        found = mine.values_list("cancel_requested_at", "state").first()
        if found is None:
            return LoadFailed("load.resource_deleted")
        cancel_requested_at, state = found
        if cancel_requested_at or state == LoadState.CANCELLED:
            return LoadFailed("load.cancelled")
        return LoadFailed("load.interrupted") if state == LoadState.FAILED else None

    def _poll(self, connection: BaseDatabaseWrapper) -> None:
        try:
            self.lock.verify()
        except Error:  # other processes mark the load as interrupted now
            self.failure = self.failure or LoadFailed("load.database_lost")
        self.failure = self.failure or self._find_failure()
        if LoadState(self.load.state) in RUNNING:
            self.load.progress = self._estimate_progress()
        if self.failure:
            self.interrupt_queries()
            cancel_statements(connection, self.load.pk)
            return  # the next poll ends statements that begin after this one
        with transaction.atomic(using=connection.alias):
            # While the load is being published, its row is locked: the poll must not wait for it.
            mine = Load.objects.select_for_update(skip_locked=True, no_key=True)
            if mine.filter(pk=self.load.pk).exclude(state__in=FINISHED).first():
                Load.objects.filter(pk=self.load.pk).update(
                    heartbeat_at=timezone.now(),
                    rows_written=self.load.rows_written,
                    rows_total=self.load.rows_total,
                    progress=self.load.progress,
                )
