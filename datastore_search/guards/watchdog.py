"""
The watchdog checks running statements, and cancels those whose client is gone or time is over.

One thread checks all statements of the process.  It begins with the first statement, and it waits
without waking while there is none.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Condition, Lock, Thread
from types import TracebackType

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors

from ..messages import DatastoreError
from ..messages.availability import ClientDisconnected, QueryTooSlow
from .shares import Client

logger = logging.getLogger(__name__)

#: How often the statements are looked at.
_INTERVAL_SECONDS = 0.05

#: When a cancelled statement that has not ended is cancelled again: a cancellation that arrives
#: before its statement has begun has no effect.
_CANCEL_AGAIN_SECONDS = 1.0

#: How long PostgreSQL has to accept a cancellation.
_CANCEL_TIMEOUT_SECONDS = 2.0


@dataclass(eq=False)
class Watched:
    """
    What runs over a connection during a block, watched by the process's watchdog.

    ``limit`` is for statements without a time limit in PostgreSQL.

    Raises: ``ClientDisconnected`` or ``QueryTooSlow`` in place of PostgreSQL's cancellation, if the
    watchdog has cancelled it.
    """

    connection: BaseDatabaseWrapper
    client: Client
    limit: timedelta | None = None
    _lock: Lock = field(default_factory=Lock, init=False)

    # What hardly any statement changes is not set with each of them.
    _reason: DatastoreError | None = field(default=None, init=False)
    _cancelled_at: float = field(default=0.0, init=False)
    _is_over: bool = field(default=False, init=False)
    _is_uncertain: bool = field(default=False, init=False)

    def __enter__(self) -> None:
        self._began_at = time.monotonic()
        # Without a lock, because every search does this.
        _watchdog.watched.add(self)
        if _watchdog.is_idle:
            _watchdog.wake_thread()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        _watchdog.watched.discard(self)
        with self._lock:  # a cancellation that is under way must not reach the next statement
            self._is_over = True
        if self._is_uncertain:
            self.connection.close()  # by Django, which connects anew
        if self._reason is None:
            return
        cause = error  # of PostgreSQL's cancellation, in any translation of it
        while cause is not None and not isinstance(cause, errors.QueryCanceled):
            cause = cause.__cause__
        # Django would end a transaction that has lost its connection so without an error.
        is_lost = self._is_uncertain and self.connection.closed_in_transaction
        if is_lost or cause is not None:
            raise self._reason from error

    def check(self, now: float) -> None:
        """Cancel the statement if it must end; the watchdog calls this repeatedly."""
        seconds = now - self._began_at
        if seconds < _INTERVAL_SECONDS:  # nearly all statements end before
            return
        with self._lock:
            if self._is_over:
                return
            if self._reason is None and self.client.is_gone():
                self._reason = ClientDisconnected()
            elif self._reason is None and self.limit and seconds >= self.limit.total_seconds():
                self._reason = QueryTooSlow()
            if self._reason and now - self._cancelled_at >= _CANCEL_AGAIN_SECONDS:
                self._cancelled_at = now
                driver = self.connection.connection
                if driver is None:
                    return
                try:  # libpq waits until PostgreSQL has sent the signal to the server process
                    driver.cancel_safe(timeout=_CANCEL_TIMEOUT_SECONDS)
                except Exception:
                    # It ends whatever the connection runs when it arrives, so a connection that it
                    # may still arrive at cannot be used again.
                    self._is_uncertain = True
                    logger.warning("A slow statement could not be cancelled.", exc_info=True)


class _Watchdog:
    """The statements that run in this process, and the thread that checks them."""

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Forget the statements and the thread, which a forked process does not have."""
        self.watched: set[Watched] = set()
        self._condition = Condition()
        self.is_idle = True
        self._thread: Thread | None = None

    def wake_thread(self) -> None:
        """Start the thread, or let it look for statements."""
        with self._condition:
            if self._thread is None:
                thread = Thread(target=self._run, name="datastore_search", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process has too many; the next statement tries again
                    logger.exception("Slow statements are not watched: no thread can start.")
                    return
                self._thread = thread
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                self.is_idle = True  # before the set is read, so that no statement is missed
                while not self.watched:
                    self._condition.wait()
                self.is_idle = False
            time.sleep(_INTERVAL_SECONDS)
            now, watched = time.monotonic(), None
            for watched in tuple(self.watched):
                try:
                    watched.check(now)
                except Exception:  # of one statement; the others need the thread
                    logger.exception("A slow statement could not be looked at.")
            del watched  # and the request that it refers to


_watchdog = _Watchdog()
