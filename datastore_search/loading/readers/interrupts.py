"""
How what a thread is doing for a load, or for a preview, is ended from elsewhere.

It knows neither loads nor the database: a process that only reads a file imports it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

import duckdb

from ...exceptions.loads import LoadFailed


class Interrupter:
    """Knows when the work of a thread is to end, and ends what DuckDB is doing for it."""

    def __init__(self) -> None:
        """Begin with work that is wanted."""
        #: Why the work is to end before its time.
        self.ending: LoadFailed | None = None
        self._readers: list[duckdb.DuckDBPyConnection] = []
        self._lock = Lock()

    def heed(self) -> None:
        """
        Go on only if the work is still wanted.

        Raises: ``LoadFailed``, of the kind that says why it is not.
        """
        if self.ending:
            raise self.ending

    def interrupt_readers(self) -> None:
        """End what DuckDB is doing at this moment."""
        with self._lock:
            for reader in self._readers:
                reader.interrupt()

    @contextmanager
    def over(self, reader: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Interrupt what DuckDB is doing during this block, should the work be ended."""
        self._readers.append(reader)
        try:
            yield
        finally:
            with self._lock:  # a connection that is being closed must not be interrupted
                self._readers.remove(reader)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let what this thread does during the block be ended."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)


_current: ContextVar[Interrupter | None] = ContextVar("interrupter", default=None)


def heed_interrupts() -> None:
    """
    Go on only if what this thread does is still wanted, where anybody can end it.

    Raises: ``LoadFailed``, of the kind that says why it is not.
    """
    interrupter = _current.get()
    if interrupter:
        interrupter.heed()


@contextmanager
def interruptible(reader: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let whoever may end what this thread does interrupt a connection of DuckDB's."""
    interrupter = _current.get()
    if interrupter is None:
        yield
        return
    with interrupter.over(reader):
        yield
