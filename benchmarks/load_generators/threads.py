"""Driving by threads of Python."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from ..calls import Call, Caller
from ..timing import LEAST, Timing


def drive(calls: Sequence[Call], *, connections: int, seconds: float) -> Timing:
    """
    Send calls in turn for some seconds, and wait for the last answers.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    least = -(-LEAST // connections)
    begin = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        # Each connection begins with another call.
        starts = [len(calls) * place // connections for place in range(connections)]
        series = [
            pool.submit(_send_series, [*calls[start:], *calls[:start]], begin + seconds, least)
            for start in starts
        ]
        taken = list(chain.from_iterable(future.result() for future in series))
    return Timing.of(taken, time.perf_counter() - begin)


def _send_series(calls: Sequence[Call], end: float, least: int) -> list[float]:
    caller = Caller(calls[0].server)
    taken: list[float] = []
    try:
        while len(taken) < least or time.perf_counter() < end:
            taken.append(caller.ask(calls[len(taken) % len(calls)]).seconds)
    finally:
        caller.close()
    return taken
