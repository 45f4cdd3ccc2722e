"""
Slots: how many of one kind of work a process does at once.

Work that finds no free slot is refused at once; it never waits, so that a flood of it holds no
thread.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class Slots:
    """A number of slots; the limit is read at each use, so that a setting can change it."""

    def __init__(self, read_limit: Callable[[], int]) -> None:
        """Begin with all slots free."""
        self._read_limit = read_limit
        self._lock = Lock()
        self._taken = 0

    def acquire(self) -> bool:
        """Take a slot; tell whether there was a free one."""
        with self._lock:
            if self._taken >= self._read_limit():
                return False
            self._taken += 1
            return True

    def has_free(self) -> bool:
        """Tell whether there is a free slot at this moment."""
        return self._taken < self._read_limit()

    def release(self) -> None:
        """Give a slot back that ``acquire`` has taken."""
        with self._lock:
            self._taken -= 1
