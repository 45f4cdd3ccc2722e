"""What a portal must withstand, and how many questions it must answer in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Honest answers that a portal without attackers never gives.
REFUSALS = frozenset({"429", "503"})


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    A scenario and its requirement.

    ``busy_processes`` for each core compute all the time.  The attacks come one by one, or
    ``at_once``, from ``addresses``; without addresses there are none.  Of 100 honest questions
    ``min_prompt`` must be answered in time; without attackers, none may be refused.
    """

    addresses: int = 0
    at_once: bool = False
    busy_processes: int = 0
    min_prompt: int = 0

    def divide(self, attacks: Sequence[str]) -> list[list[str]]:
        """List the attacks of each measurement."""
        if not self.addresses:
            return [[]]
        return [list(attacks)] if self.at_once else [[name] for name in attacks]


SCENARIOS = {
    "quiet": Scenario(min_prompt=95),
    "loaded": Scenario(busy_processes=2),
    "each": Scenario(addresses=1, min_prompt=95),
    "all": Scenario(addresses=4, at_once=True, min_prompt=85),
}
