"""A request to a server, timed again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .calls import Call, ask
from .driving import drive
from .timing import Timing, typical

#: Connections that ask at once.
TOGETHER = 8

#: An answer of so many seconds is long: eight of it at once would take minutes.
_LONG = 5.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How often things are timed in turn, and for how long each time."""

    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Served:
    """What a server took: over one connection and, unless that is long, over several at once."""

    alone: Timing
    together: Timing | None


class Subject:
    """
    Calls that are sent in turn.

    Raises: ``BenchmarkError`` when an answer is not the expected one, at any time.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        """Try each call twice, since the first time may fill a cache."""
        for call in calls:
            ask(call)
        answers = [ask(call) for call in calls]
        self.calls = calls
        self._took = max(answer.seconds for answer in answers)
        self._timings: dict[int, list[Timing]] = defaultdict(list)
        self.answer_bytes = answers[0].body_bytes

    @property
    def is_long(self) -> bool:
        """Tell whether an answer takes so long that nobody should ask several times at once."""
        return self._took > _LONG

    def time(self, connections: int, seconds: float) -> Timing:
        """Send the calls over some connections, for some seconds."""
        timing = drive(self.calls, connections=connections, seconds=seconds, took=self._took)
        self._timings[connections].append(timing)
        return timing

    @property
    def alone(self) -> Timing:
        """What it took over one connection, over all rounds."""
        return typical(self._timings[1])

    @property
    def served(self) -> Served:
        """What it took, over all rounds."""
        together = self._timings.get(TOGETHER)
        return Served(self.alone, typical(together) if together else None)
