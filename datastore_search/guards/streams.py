"""
Slots of streams: the answers that a process sends block by block at one time.

Each of them holds a file or a snapshot while its client reads, and under WSGI a thread.
"""

from __future__ import annotations

from weakref import finalize

from ..conf import conf
from ..exceptions.availability import TooManyStreams
from .slots import Slots

_slots = Slots(lambda: conf.MAX_STREAMS)


class StreamSlot:
    """One slot, which is released once: by ``release``, or with the last reference to it."""

    def __init__(self) -> None:
        """
        Acquire a slot.

        Raises: ``TooManyStreams`` when none is free.
        """
        if not _slots.acquire():
            raise TooManyStreams
        self._release = finalize(self, _slots.release)

    def release(self) -> None:
        """Release the slot; a second call does nothing."""
        self._release()
