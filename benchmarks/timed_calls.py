"""A request to a server, timed repeatedly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .calls import Call, send_call
from .load_generators import drive
from .timing import Timing, find_typical

#: Connections in parallel.
PARALLEL_CONNECTIONS = 8

#: Seconds from which an answer is long: eight of them in parallel would take minutes.
_LONG_ANSWER_SECONDS = 5.0


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
        timing = drive(
            self.calls,
            connections=connections,
            seconds=seconds,
            answer_seconds=self._answer_seconds,
        )
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
