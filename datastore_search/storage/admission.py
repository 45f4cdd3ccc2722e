"""
Admission: what may be slow is refused at once while there is a flood of it.

The watchdog tells when it has cancelled a statement because there was no slot.  For some seconds
after that no more searches that may be slow run at once than there are slots, so the others do not
hold a thread even for a moment.  At other times every search is begun.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..conf import conf
from ..exceptions import TooManySlowSearches

#: A flood is over when so long no statement was cancelled for want of a slot.
_FLOOD_SECONDS = 5.0


class _Searches:
    """The searches of this process that may be slow."""

    def __init__(self) -> None:
        self.begun: set[object] = set()
        self._flood_until = 0.0

    def begin_anew(self) -> None:
        """Forget the searches of the process that this one was forked from."""
        self.begun.clear()
        self._flood_until = 0.0

    def note_flood(self) -> None:
        self._flood_until = time.monotonic() + _FLOOD_SECONDS

    def must_refuse(self) -> bool:
        if time.monotonic() >= self._flood_until:
            return False
        return len(self.begun) >= max(1, conf.SLOW_STATEMENTS_MAX)


_searches = _Searches()
os.register_at_fork(after_in_child=_searches.begin_anew)


def note_flood() -> None:
    """Take note that a statement found no slot."""
    _searches.note_flood()


@contextmanager
def admitted() -> Iterator[None]:
    """
    Begin a search that may be slow, unless there is a flood of them.

    Raises: ``TooManySlowSearches``.
    """
    if _searches.must_refuse():
        raise TooManySlowSearches
    this = object()
    _searches.begun.add(this)
    try:
        yield
    finally:
        _searches.begun.discard(this)  # a fork within the block has forgotten it
