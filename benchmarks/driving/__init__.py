"""
Driving a server: the same calls over and over, over some connections, for some time.

``wrk`` does it where it is installed, since it takes next to no time itself; threads do it
elsewhere, and for slow answers, whose last ones ``wrk`` would cut off.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..calls import Call
from ..timing import Timing
from . import threads, wrk

#: From here on answers are slow, in seconds.
_SLOW = 0.5


def by_wrk(seconds: float) -> bool:
    """Tell whether ``wrk`` drives what is answered fast, for so long."""
    return seconds >= wrk.LEAST_SECONDS and wrk.is_installed()


def drive(calls: Sequence[Call], *, connections: int, seconds: float, took: float) -> Timing:
    """
    Send calls of one server in turn, each connection its next one when its last is answered.

    ``took`` is how many seconds an answer takes, about.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    driver = wrk.drive if took < _SLOW and by_wrk(seconds) else threads.drive
    return driver(calls, connections=connections, seconds=seconds)
