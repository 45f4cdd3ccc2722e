"""Times of calls that are sent repeatedly."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

from .calls import Call, Caller, send_call

#: Minimum answers of a series, for any duration.
MIN_ANSWERS = 3
#: Connections in parallel.
PARALLEL_CONNECTIONS = 8

#: Seconds from which an answer is long: eight of them in parallel would take minutes.
_LONG_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The latencies of a series in milliseconds, its answers a second and their number."""

    median_ms: float
    p95_ms: float
    per_second: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float], elapsed: float) -> Timing:
        """Sum up a series of ``elapsed`` seconds."""
        ordered = sorted(seconds)
        return cls(
            median_ms=statistics.median(ordered) * 1000,
            p95_ms=ordered[math.ceil(len(ordered) * 0.95) - 1] * 1000,
            per_second=len(ordered) / elapsed,
            count=len(ordered),
        )


def find_typical(timings: Iterable[Timing]) -> Timing:
    """Return the median of each figure over several rounds; the answers are added up."""
    timings = list(timings)
    return Timing(
        median_ms=statistics.median(timing.median_ms for timing in timings),
        p95_ms=statistics.median(timing.p95_ms for timing in timings),
        per_second=statistics.median(timing.per_second for timing in timings),
        count=sum(timing.count for timing in timings),
    )


@dataclass(frozen=True, slots=True)
class Pace:
    """The number of rounds, and the duration of each measurement."""

    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Served:
    """Times of a server: over one connection and, unless these are long, over several."""

    alone: Timing
    together: Timing | None


class TimedCalls:
    """
    Calls that are sent in turn.

    Raises: ``BenchmarkError`` when an answer is not the expected one, at any time.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        """Try each call twice, because the first may fill a cache."""
        for call in calls:
            send_call(call)
        answers = [send_call(call) for call in calls]
        self.calls = calls
        self._answer_seconds = max(answer.seconds for answer in answers)
        self._timings: dict[int, list[Timing]] = defaultdict(list)
        self.answer_bytes = answers[0].body_bytes

    @property
    def is_long(self) -> bool:
        """Return whether an answer takes too long for requests in parallel."""
        return self._answer_seconds > _LONG_ANSWER_SECONDS

    def time(self, connections: int, seconds: float) -> Timing:
        """Send the calls over some connections, for some seconds."""
        timing = drive(self.calls, connections=connections, seconds=seconds)
        self._timings[connections].append(timing)
        return timing

    @property
    def alone(self) -> Timing:
        """The times over one connection, from all rounds."""
        return find_typical(self._timings[1])

    @property
    def served(self) -> Served:
        """The times from all rounds."""
        together = self._timings.get(PARALLEL_CONNECTIONS)
        return Served(self.alone, find_typical(together) if together else None)


def drive(calls: Sequence[Call], *, connections: int, seconds: float) -> Timing:
    """
    Send calls in turn for some seconds, a thread for each connection; wait for the last answers.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    min_answers = -(-MIN_ANSWERS // connections)
    started_at = time.perf_counter()

    def send_series(start: int) -> list[float]:
        durations: list[float] = []
        with closing(Caller(calls[0].server)) as caller:
            while len(durations) < min_answers or time.perf_counter() < started_at + seconds:
                call = calls[(start + len(durations)) % len(calls)]
                durations.append(caller.send(call).seconds)
        return durations

    with ThreadPoolExecutor(connections) as pool:
        # Each connection starts with a different call.
        starts = [len(calls) * number // connections for number in range(connections)]
        durations = list(chain.from_iterable(pool.map(send_series, starts)))
    return Timing.of(durations, time.perf_counter() - started_at)
