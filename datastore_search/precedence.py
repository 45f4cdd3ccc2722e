"""
Precedence: the downloads of a process give way to its short requests.

A download keeps a core, PostgreSQL and Python's lock busy from its first row to its last.  While
other requests send statements to the database, it pauses again and again for as long as it has
worked, so that they wait less often (``docs/decisions/0045``).  Beside no other request, a download
never pauses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, islice
from typing import Final, TypeVar

Row = TypeVar("Row")

#: Other requests count for this time after each of their statements has begun.
_RECENT_SECONDS: Final = 0.1

#: The least work before a pause, and the longest pause.
_MIN_WORK_SECONDS: Final = 0.002
_MAX_PAUSE_SECONDS: Final = 0.05

#: The pauses of a download take at most this share of its time limit.
_MAX_SHARE: Final = 0.25

#: The rows after which the clock is read.
_BATCH_ROWS: Final = 64


class _LastStatement:
    """When a statement of a short request began last, in this process."""

    began_at = float("-inf")


def note_statement() -> None:
    """Note that a statement of a short request begins."""
    _LastStatement.began_at = time.monotonic()


def pause_between(rows: Iterator[Row], timeout: timedelta) -> Iterator[Row]:
    """Pass on the rows of a download, with pauses that are a part of its time limit."""
    return chain.from_iterable(_split_rows(rows, timeout.total_seconds() * _MAX_SHARE))


def _split_rows(rows: Iterator[Row], seconds_left: float) -> Iterator[Iterator[Row] | tuple[Row]]:
    """Split rows into batches, none of which is kept in memory, and pause after some."""
    began_at = time.monotonic()
    for first in rows:
        yield (first,)
        yield islice(rows, _BATCH_ROWS - 1)
        worked_seconds = time.monotonic() - began_at
        if worked_seconds < _MIN_WORK_SECONDS:
            continue
        seconds = min(_choose_pause(worked_seconds), seconds_left)
        if seconds > 0:
            time.sleep(seconds)
            seconds_left -= seconds
        began_at = time.monotonic()


def _choose_pause(worked_seconds: float) -> float:
    """Choose a pause that is as long as the work, or none without other requests."""
    if time.monotonic() - _LastStatement.began_at > _RECENT_SECONDS:
        return 0.0
    return min(worked_seconds, _MAX_PAUSE_SECONDS)
