"""Readers in threads of their own, while a test writes."""

from __future__ import annotations

import threading
from typing import Self

from django.db import connections
from django.test import override_settings


class ReaderThreads:
    """
    Readers that look again and again, until one of them finds a fault or the block ends.

    Any search is slow on a machine that does much else, and may then have a slot.
    """

    #: Between two looks: readers without a pause keep the interpreter from all other threads.
    pause_seconds = 0.01

    def __init__(self, *, count: int) -> None:
        self.faults: list[object] = []
        self.done = threading.Event()
        self._slots = override_settings(DATASTORE_SEARCH_MAX_SLOW_STATEMENTS=count)
        self._threads = [threading.Thread(target=self._read) for _reader in range(count)]

    def __enter__(self) -> Self:
        self._slots.enable()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.done.set()
        for thread in self._threads:
            thread.join()
        self._slots.disable()

    def look(self) -> None:
        """Look once, and note in ``faults`` what cannot be."""
        raise NotImplementedError

    def _read(self) -> None:
        try:
            while not self.done.wait(self.pause_seconds) and not self.faults:
                self.look()
        except BaseException as error:
            self.faults.append(error)
            raise
        finally:
            connections.close_all()
