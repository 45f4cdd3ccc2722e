"""The memory of the portal's workers during a soak."""

from __future__ import annotations

import statistics
import threading
from contextlib import suppress
from typing import Final

import psutil

from ..abuse.monitor import find_workers

_INTERVAL_SECONDS: Final = 1.0
#: A worker that is as young as that still loads its modules.
_YOUNG_SECONDS: Final = 60.0


class Memory(threading.Thread):
    """A thread that measures the workers at intervals."""

    def __init__(self, portal: psutil.Process) -> None:
        """Take the portal."""
        super().__init__(name="memory")
        self._portal, self._ended = portal, threading.Event()
        self._samples: dict[int, list[float]] = {}

    def run(self) -> None:
        """Measure until ``end``."""
        while not self._ended.wait(_INTERVAL_SECONDS):
            with suppress(psutil.Error):
                for worker in find_workers(self._portal):
                    samples = self._samples.setdefault(worker.pid, [])
                    samples.append(worker.memory_info().rss / 2**20)

    def end(self) -> None:
        """End the measurement."""
        self._ended.set()
        self.join()

    @property
    def growths(self) -> list[tuple[float, float]]:
        """
        The memory of each worker, in MiB: after its first minute, and at its end.

        Each is a median of a quarter of the worker's life.  Workers that lived for less than five
        minutes are left out.
        """
        young = round(_YOUNG_SECONDS / _INTERVAL_SECONDS)
        settled = [samples[young:] for samples in self._samples.values()]
        return [
            (
                statistics.median(samples[: len(samples) // 4]),
                statistics.median(samples[-(len(samples) // 4) :]),
            )
            for samples in settled
            if len(samples) >= 4 * young
        ]
