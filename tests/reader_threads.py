"""Threads that read while a test writes."""

from __future__ import annotations

import threading
from typing import Self

from django.db import connections
from django.test import override_settings


class ReaderThreads:
    """
    Threads that read again and again, until one of them finds an error or the block ends.

    Each thread may have a slot.
    """

    #: Between two reads: without a pause, the readers keep the interpreter from other threads.
    pause_seconds = 0.01

    def __init__(self, *, count: int) -> None:
        self.errors: list[object] = []
        self.done = threading.Event()
        self._slots = override_settings(
            DATASTORE_SEARCH_MAX_SLOTS=2 * count, DATASTORE_SEARCH_MAX_SLOTS_PER_CLIENT=2 * count
        )
        self._threads = [
            threading.Thread(target=self._read, daemon=True) for _reader in range(count)
        ]

    def __enter__(self) -> Self:
        self._slots.enable()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.done.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        self._slots.disable()

    def read_once(self) -> None:
        """Read once, and append to ``errors`` any answer that is wrong."""
        raise NotImplementedError

    def _read(self) -> None:
        try:
            while not self.done.wait(self.pause_seconds) and not self.errors:
                self.read_once()
        except BaseException as error:
            self.errors.append(error)
            raise
        finally:
            connections.close_all()
