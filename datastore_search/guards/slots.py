"""
Slots limit how much work of one kind a process does at a time.

Work without a free slot is refused immediately; it never waits, so that a flood blocks no thread.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class Slots:
    """A counter with a limit, which is read at each use so that a setting can change it."""

    def __init__(self, read_limit: Callable[[], int]) -> None:
        """Begin with all slots free."""
        self._read_limit = read_limit
        self._lock = Lock()
        self._taken = 0

    def acquire(self) -> bool:
        """Acquire a slot; False if none is free."""
        with self._lock:
            if self._taken >= self._read_limit():
                return False
            self._taken += 1
            return True

    def has_free(self) -> bool:
        """Return whether a slot is free now."""
        return self._taken < self._read_limit()

    def release(self) -> None:
        """Free a slot that was acquired."""
        with self._lock:
            self._taken -= 1
