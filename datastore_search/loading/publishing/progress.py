"""The progress that publishing reports; the monitor of a job receives it."""

from __future__ import annotations

from typing import Protocol

from ...models import LoadState


class ProgressReporter(Protocol):
    """Takes reports of a load's progress, and may end the load by raising ``LoadFailed``."""

    def enter_state(self, state: LoadState) -> None:
        """Record that the load has reached a state."""

    def report_rows(self, done: int, total: int) -> None:
        """Report how many rows have been written, of how many."""
