"""The options of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_MINUTES: Final = 600.0


@dataclass(frozen=True, slots=True)
class Options:
    """
    How long a run takes, how often each process is killed, and the size of the large table.

    Before the ``seconds`` of all clients, the readers are alone for ``quiet_seconds``.
    """

    seconds: float
    quiet_seconds: float
    fault_seconds: float
    rows: int
