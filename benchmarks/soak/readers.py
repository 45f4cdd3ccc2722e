"""
The readers of five records, whose times are reported: each is a process of its own.

As threads of the program that compares the downloads, they would wait for its lock of Python.  The
processes import no Django.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Final

from .calls import call, expect, judge

READERS: Final = 2
_LIMIT: Final = 5
_PAUSE_SECONDS: Final = 0.02
_PAUSE_AFTER_ERROR_SECONDS: Final = 0.1


@dataclass(slots=True)
class Readings:
    """
    What a reader has seen.

    ``answers`` has the end of each right answer, by ``time.monotonic``, and the seconds that it
    took.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    answers: list[tuple[float, float]] = field(default_factory=list)


class Readers:
    """All readers."""

    def __init__(self, address: str, resource_id: str, rows: int) -> None:
        """Take the address of the portal, and the table that never changes."""
        self._portal = address, resource_id, rows
        # A forked process would share the connections of this one.
        self._executor = ProcessPoolExecutor(READERS, mp_context=get_context("spawn"))
        self._futures: list[Future[Readings]] = []

    def start(self, seconds: float) -> None:
        """Let each of them read for so long."""
        self._futures = [
            self._executor.submit(read_repeatedly, *self._portal, seconds)
            for _number in range(READERS)
        ]

    def end(self) -> list[Readings]:
        """Wait for the end of all, and return what each has seen."""
        with self._executor:
            return [future.result() for future in self._futures]


def read_repeatedly(address: str, resource_id: str, rows: int, seconds: float) -> Readings:
    """Read five records again and again, and check every answer."""
    readings = Readings()
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        began_at = time.monotonic()
        outcome, error = judge(partial(_read_five, address, resource_id, rows))
        ended_at = time.monotonic()
        if outcome == "right":
            readings.answers.append((ended_at, ended_at - began_at))
        if error:
            readings.wrong.append(f"five records: {error}"[:500])
        readings.outcomes[outcome] += 1
        time.sleep(_PAUSE_SECONDS if outcome == "right" else _PAUSE_AFTER_ERROR_SECONDS)
    return readings


def _read_five(address: str, resource_id: str, rows: int) -> str:
    offset = random.randrange(min(1000, rows - _LIMIT))
    parameters = {"resource_id": resource_id, "limit": _LIMIT, "offset": offset}
    result = call(address, "datastore_search", parameters)
    numbers = [record["number"] for record in result["records"]]
    expect(numbers == list(range(offset + 1, offset + 1 + _LIMIT)), (offset, result))
    expect(result["total"] == rows, result)
    return "right"
