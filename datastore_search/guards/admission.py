"""
Admission: what may be slow is refused at once while there is a flood of it.

The watchdog reports each statement that it cancels because there is no slot.  When that happens
repeatedly, at most as many searches that may be slow run at once as there are slots.  The others
are refused before they hold a thread.  At other times every search begins.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..conf import conf
from ..exceptions.availability import TooManySlowSearches

#: There is a flood when this number of statements found no slot within this number of seconds.
_FLOOD_STATEMENTS = 3
_FLOOD_SECONDS = 5.0

#: While all slots are taken, a statement that has run for this time is cancelled, because a flood
#: is likely.  In a flood, a search that has run for this time makes the flood last.
SLOW_SECONDS_WHEN_FULL = 0.1


class _Searches:
    """The searches of this process that may be slow."""

    def __init__(self) -> None:
        self.begun: dict[object, float] = {}
        self._without_slot: deque[float] = deque(maxlen=_FLOOD_STATEMENTS)

    def begin_anew(self) -> None:
        """Forget the searches of the process that this one was forked from."""
        self.begun.clear()
        self._without_slot.clear()

    def note_no_slot(self) -> None:
        self._without_slot.append(time.monotonic())

    def must_refuse(self) -> bool:
        now = time.monotonic()
        times = tuple(self._without_slot)
        is_flood = len(times) == _FLOOD_STATEMENTS and now - times[0] < _FLOOD_SECONDS
        if not is_flood or len(self.begun) < max(1, conf.MAX_SLOW_STATEMENTS):
            return False
        if now - min(self.begun.copy().values(), default=now) >= SLOW_SECONDS_WHEN_FULL:
            self.note_no_slot()
        return True


_searches = _Searches()
os.register_at_fork(after_in_child=_searches.begin_anew)


def note_no_slot() -> None:
    """Record that a statement found no slot."""
    _searches.note_no_slot()


@contextmanager
def admit_search() -> Iterator[None]:
    """
    Begin a search that may be slow, unless there is a flood of them.

    Raises: ``TooManySlowSearches``.
    """
    if _searches.must_refuse():
        raise TooManySlowSearches
    this = object()
    _searches.begun[this] = time.monotonic()
    try:
        yield
    finally:
        _searches.begun.pop(this, None)  # a fork within the block has forgotten it
