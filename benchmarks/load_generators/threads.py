"""Load generator: threads of this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from ..calls import Call, Caller
from ..timing import MIN_ANSWERS, Timing


def drive(calls: Sequence[Call], *, connections: int, seconds: float) -> Timing:
    """
    Send calls in turn for some seconds, and wait for the last answers.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    min_answers = -(-MIN_ANSWERS // connections)
    started_at = time.perf_counter()
    end = started_at + seconds
    with ThreadPoolExecutor(connections) as pool:
        # Each connection starts with a different call.
        starts = [len(calls) * number // connections for number in range(connections)]
        series = [
            pool.submit(_send_series, [*calls[start:], *calls[:start]], end, min_answers)
            for start in starts
        ]
        durations = list(chain.from_iterable(future.result() for future in series))
    return Timing.of(durations, time.perf_counter() - started_at)


def _send_series(calls: Sequence[Call], end: float, min_answers: int) -> list[float]:
    caller = Caller(calls[0].server)
    durations: list[float] = []
    try:
        while len(durations) < min_answers or time.perf_counter() < end:
            durations.append(caller.send(calls[len(durations) % len(calls)]).seconds)
    finally:
        caller.close()
    return durations
