"""
Driving a server: the same calls repeatedly, over some connections, for some time.

``wrk`` does it where it is installed, because its own time is negligible.  Threads do it elsewhere,
and for slow answers, the last of which ``wrk`` would cut off.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..calls import Call
from ..timing import Timing
from . import threads, wrk

#: Seconds from which an answer is slow.
_SLOW = 0.5


def uses_wrk(seconds: float) -> bool:
    """Return whether ``wrk`` drives fast answers of this duration."""
    return seconds >= wrk.LEAST_SECONDS and wrk.is_installed()


def drive(calls: Sequence[Call], *, connections: int, seconds: float, took: float) -> Timing:
    """
    Send calls of one server in turn, each connection its next one when its last is answered.

    ``took`` is the approximate time of an answer in seconds.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    driver = wrk.drive if took < _SLOW and uses_wrk(seconds) else threads.drive
    return driver(calls, connections=connections, seconds=seconds)
