"""Times of a series of answers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Minimum answers of a series, for any duration.
MIN_ANSWERS = 3


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
