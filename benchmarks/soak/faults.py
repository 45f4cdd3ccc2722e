"""Faults of a soak, in turn: a killed worker, a killed load worker, a stopped PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Final

import psutil

from ..server import find_workers
from ..throwaway_postgres import ThrowawayServer

#: How long PostgreSQL stays away.
_AWAY_SECONDS: Final = 1.0
_MAX_RECOVERY_SECONDS: Final = 120.0


@dataclass(slots=True)
class Recoveries:
    """The seconds after each fault until the portal was whole again, by the name of the fault."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


class Faults(threading.Thread):
    """A thread that causes one fault after the other, at equal intervals."""

    def __init__(
        self,
        portal: psutil.Process,
        server: ThrowawayServer,
        is_answering: Callable[[], bool],
        interval_seconds: float,
        workers: int,
    ) -> None:
        """Take the portal, its database, and a probe that asks for a right answer."""
        super().__init__(name="faults", daemon=True)
        self.recoveries = Recoveries()
        self._portal, self._server, self._is_answering = portal, server, is_answering
        self._interval_seconds, self._workers = interval_seconds, workers
        self._ended = threading.Event()

    def run(self) -> None:
        """Cause faults until ``end``."""
        kinds: Mapping[str, Callable[[], float]] = {
            "kill -9 of a worker": self._kill_worker,
            "kill -9 of the load worker": self._kill_load_worker,
            "immediate stop of PostgreSQL": self._stop_server,
        }
        for name in cycle(kinds):
            if self._ended.wait(self._interval_seconds):
                return
            try:
                seconds = kinds[name]()
            except (TimeoutError, AssertionError, psutil.Error) as error:
                self.recoveries.errors.append(f"{name}: {error!r}")
            else:
                self.recoveries.seconds.setdefault(name, []).append(seconds)

    def end(self) -> None:
        """Let the last fault be over."""
        self._ended.set()
        self.join(2 * _MAX_RECOVERY_SECONDS)

    def _kill_worker(self) -> float:
        worker = _wait_for_first(lambda: find_workers(self._portal))
        worker.kill()
        return _measure_until(lambda: self._is_answering() and self._has_replaced(worker.pid))

    def _has_replaced(self, pid: int) -> bool:
        pids = {worker.pid for worker in find_workers(self._portal)}
        return pid not in pids and len(pids) == self._workers

    def _kill_load_worker(self) -> float:
        worker = _wait_for_first(self._find_load_workers)
        worker.kill()
        return _measure_until(
            lambda: (
                worker.pid not in {p.pid for p in self._find_load_workers()}
                and bool(self._find_load_workers())
            )
        )

    def _stop_server(self) -> float:
        self._server.stop_immediately()
        time.sleep(_AWAY_SECONDS)
        self._server.start()
        return _measure_until(self._is_answering)

    def _find_load_workers(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return [
                process
                for process in self._portal.children()
                if process.status() != psutil.STATUS_ZOMBIE and "db_worker" in process.cmdline()
            ]
        return []


def _wait_for_first(find: Callable[[], list[psutil.Process]]) -> psutil.Process:
    """
    Wait for a process, and return the first: one that just ends hides the others.

    Raises: ``TimeoutError``.
    """
    found: list[psutil.Process] = []

    def has_found() -> bool:
        found[:] = find()
        return bool(found)

    _measure_until(has_found)
    return found[0]


def _measure_until(condition: Callable[[], bool]) -> float:
    """
    Measure the seconds until a condition is met.

    Raises: ``TimeoutError``.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > _MAX_RECOVERY_SECONDS:
            raise TimeoutError("The portal did not recover.")
        time.sleep(0.01)
    return time.monotonic() - began
