"""
Watching a load: how far it is, for people to see, and whether it is still wanted.

A thread of its own tells the database once a second, over a connection of its own, and asks it the
same moment whether the load is to end: whatever the load is doing then is interrupted.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from django.db import Error, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...exceptions.loads import LoadCancelled, LoadFailed
from ...models import FINISHED, RUNNING, Load, LoadState
from ..readers.interrupter import Interrupter

logger = logging.getLogger(__name__)

#: Called with the records written so far and all of them.
Progress = Callable[[int, int], None]

#: Seconds between two looks.
_LOOK_AGAIN = 1.0

#: Where each state begins and ends, as a part of the whole: what they take for large files.
_SHARES = {
    LoadState.READING: (0.0, 0.1),
    LoadState.COPYING: (0.1, 0.4),
    LoadState.INDEXING: (0.4, 1.0),
    LoadState.READY: (1.0, 1.0),
    LoadState.UNCHANGED: (1.0, 1.0),
}


class _Looker(Interrupter, ABC):
    """Looks once a second, in a thread of its own, whether what another thread does is wanted."""

    @contextmanager
    def watching(self, connection: BaseDatabaseWrapper) -> Iterator[None]:
        """
        Look on during this block.

        Within a transaction of the caller nobody else sees the load, so nobody could end it.
        """
        over = Event()
        thread = Thread(target=self._look_until, args=[over, connection.alias], daemon=True)
        if not connection.in_atomic_block:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if thread.ident:
                thread.join()

    def _look_until(self, over: Event, alias: str) -> None:
        try:
            while not over.wait(_LOOK_AGAIN):
                try:
                    self._look(connections[alias])
                except Error:  # what is watched will meet it, too
                    logger.warning("The database could not be asked.", exc_info=True)
                    connections[alias].close()
        finally:
            connections[alias].close()

    @abstractmethod
    def _look(self, connection: BaseDatabaseWrapper) -> None:
        """Ask the database, and end what is no longer wanted."""


class DraftMonitor(_Looker):
    """Ends looking at the file of a draft that somebody has changed, submitted or discarded."""

    def __init__(self, load: Load) -> None:
        """JobMonitor a draft as it is now."""
        super().__init__()
        self._draft = Load.objects.filter(
            pk=load.pk, state=LoadState.DRAFT, options=load.options, file=load.file.name or ""
        )

    def _look(self, connection: BaseDatabaseWrapper) -> None:
        if not self._draft.using(connection.alias).exists():
            self.failure = LoadCancelled()
            self.interrupt_queries()


class JobMonitor(_Looker):
    """Who is told how far a load is, and who knows when it is to end."""

    def __init__(self, load: Load, progress: Progress | None = None) -> None:
        """JobMonitor a load; ``progress`` is told of records, too."""
        super().__init__()
        self.load = load
        self._progress = progress
        self._part = 0.0
        self._entered: dict[LoadState, float] = {}
        self._load_lock: storage.JobLock | None = None

    def enter_state(self, state: LoadState) -> None:
        """
        Bring the load into a state, for all to see.

        Raises: ``LoadFailed`` when the load is over already, or to end.
        """
        self.raise_if_cancelled()
        self.load.state, self._part = state, 0.0
        self._entered[state] = monotonic()
        self.load.progress = self._whole()
        wanted = Load.objects.filter(pk=self.load.pk, cancel_requested_at=None).exclude(
            state__in=FINISHED
        )
        updated = wanted.update(
            state=state,
            rows=self.load.rows,
            rows_written=self.load.rows_written,
            rows_total=self.load.rows_total,
            progress=self.load.progress,
            finished_at=self.load.finished_at,
            heartbeat_at=timezone.now(),
        )
        if not updated:
            raise self._reason() or LoadFailed("load.interrupted")

    def report_rows(self, done: int, total: int) -> None:
        """
        Tell how many records have been written, of how many.

        Raises: ``LoadFailed`` when the load is to end.
        """
        self.load.rows_written, self.load.rows_total = done, total
        self.report_progress(done, total)
        if self._progress:
            self._progress(done, total)

    def report_progress(self, done: float, total: float | None) -> None:
        """
        Tell how much of the present state is done, in any measure: bytes, statements.

        Raises: ``LoadFailed`` when the load is to end.
        """
        self.raise_if_cancelled()
        self._part = min(1.0, done / total) if total else 0.0
        self.load.progress = self._whole()

    def _whole(self) -> float:
        state = LoadState(self.load.state)
        begins, ends = _SHARES[state]
        part = self._indexed() if state == LoadState.INDEXING else self._part
        return begins + (ends - begins) * part

    def _indexed(self) -> float:
        """
        Estimate how much of the indexing is done: it takes as much longer as its share is larger.

        PostgreSQL says how far it is with a single index, not with all that there will be.
        """
        copied, now = self._entered.get(LoadState.COPYING), monotonic()
        begun = self._entered.get(LoadState.INDEXING, now)
        if copied is None or begun <= copied:
            return 0.0
        (copy, index), (_index, end) = _SHARES[LoadState.COPYING], _SHARES[LoadState.INDEXING]
        return min(0.95, (now - begun) / (begun - copied) * (index - copy) / (end - index))

    def _reason(self) -> LoadFailed | None:
        """Ask the database why the load is to end, if it is."""
        found = (
            Load.objects.filter(pk=self.load.pk).values_list("cancel_requested_at", "state").first()
        )
        if found is None:
            return LoadFailed("load.resource_deleted")
        cancel_requested_at, state = found
        if cancel_requested_at or state == LoadState.CANCELLED:
            return LoadCancelled()
        return LoadFailed("load.interrupted") if state == LoadState.FAILED else None

    @contextmanager
    def watching_with(
        self, connection: BaseDatabaseWrapper, lock: storage.JobLock
    ) -> Iterator[None]:
        """Look on during this block, also whether the load still has its locks."""
        self._load_lock = lock
        with self.watching(connection):
            yield

    def _check_lock(self) -> None:
        """End the load when it has lost its locks: it is taken for interrupted by then."""
        try:
            if self._load_lock:
                self._load_lock.verify()
        except Error:
            self.failure = self.failure or LoadFailed("load.database_lost")

    def _look(self, connection: BaseDatabaseWrapper) -> None:
        self._check_lock()
        self.failure = self.failure or self._reason()
        if LoadState(self.load.state) in RUNNING:
            self.load.progress = self._whole()
        if self.failure:
            self._interrupt(connection)
            return
        with transaction.atomic(using=connection.alias):
            # While the load is being published its row is locked, and nobody waits for that here.
            mine = Load.objects.select_for_update(skip_locked=True, no_key=True)
            if mine.filter(pk=self.load.pk).exclude(state__in=FINISHED).first():
                Load.objects.filter(pk=self.load.pk).update(
                    heartbeat_at=timezone.now(),
                    rows_written=self.load.rows_written,
                    rows_total=self.load.rows_total,
                    progress=self.load.progress,
                )

    def _interrupt(self, connection: BaseDatabaseWrapper) -> None:
        """End what is running at this moment; what begins later is ended by the next look."""
        self.interrupt_queries()
        storage.cancel_statements(connection, self.load.pk)
