"""Interrupt the reading of a file from another thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from ..messages.failures import LoadFailed

if TYPE_CHECKING:
    import duckdb


class Interrupter:
    """
    Ends the work of another thread: its statements of DuckDB at once, the rest at its next check.

    ``failure`` is why the work is to end, None while it may go on.
    """

    def __init__(self) -> None:
        """Begin without a failure."""
        self.failure: LoadFailed | None = None
        self._connections: list[duckdb.DuckDBPyConnection] = []
        self._lock = Lock()

    def raise_if_cancelled(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure:
            raise self.failure

    def interrupt_queries(self) -> None:
        """Interrupt the statements that DuckDB runs at this moment."""
        with self._lock:
            for connection in self._connections:
                connection.interrupt()

    @contextmanager
    def register_connection(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Make a connection interruptible by ``interrupt_queries`` during this block."""
        self._connections.append(connection)
        try:
            yield
        finally:
            with self._lock:  # a connection that is being closed must not be interrupted
                self._connections.remove(connection)
