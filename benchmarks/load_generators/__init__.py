"""
Load generators: they send the same calls repeatedly, over some connections, for some time.

``wrk`` is used where it is installed, because its own time is negligible.  Threads are used
elsewhere, and for slow answers, because ``wrk`` cuts off the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..calls import Call
from ..timing import Timing
from . import threads, wrk

#: Seconds from which an answer is slow.
_SLOW_ANSWER_SECONDS = 0.5


def uses_wrk(seconds: float) -> bool:
    """Return whether ``wrk`` measures fast answers when a measurement lasts ``seconds``."""
    return seconds >= wrk.MIN_SECONDS and wrk.is_installed()


def drive(
    calls: Sequence[Call], *, connections: int, seconds: float, answer_seconds: float
) -> Timing:
    """
    Send calls to one server in turn; each connection sends the next one after an answer.

    ``answer_seconds`` is the approximate time of an answer in seconds.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    is_fast = answer_seconds < _SLOW_ANSWER_SECONDS
    drive_calls = wrk.drive if is_fast and uses_wrk(seconds) else threads.drive
    return drive_calls(calls, connections=connections, seconds=seconds)
