"""Slots of streams, each of which holds a file or a snapshot, and under WSGI a thread."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from weakref import finalize

from ..conf import conf
from ..messages.availability import TooManyOwnStreams, TooManyStreams
from .clients import get_client_key

_streams: Counter[str] = Counter()
_lock = Lock()


class StreamSlot:
    """One slot, which is released once: by ``release``, or with the last reference to it."""

    def __init__(self) -> None:
        """
        Acquire a slot for the client for which this thread works; it may have half of them.

        Raises: ``TooManyStreams`` when none is free; ``TooManyOwnStreams``.
        """
        client = get_client_key()
        with _lock:
            if client and _streams[client] >= max(1, conf.MAX_STREAMS // 2):
                raise TooManyOwnStreams
            if _streams.total() >= conf.MAX_STREAMS:
                raise TooManyStreams
            _streams[client] += 1
        self._release = finalize(self, _release, client)

    def release(self) -> None:
        """Release the slot; a second call does nothing."""
        self._release()


def _release(client: str) -> None:
    with _lock:
        _streams[client] -= 1
        if not _streams[client]:
            del _streams[client]
