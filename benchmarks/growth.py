"""The same request to resources of growing size, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from .addresses import Portal
from .comparison import prepare_calls
from .requests import Request
from .resources import LoadedResource
from .timed_calls import Pace
from .timing import Timing


def measure_growth(
    pace: Pace, steps: Sequence[tuple[Request, LoadedResource]], portal: Portal
) -> list[Timing] | None:
    """
    Time a request to each resource; None for one that is not possible.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    with ExitStack() as stack:
        prepared = [stack.enter_context(prepare_calls(portal, *step)) for step in steps]
        subjects = [subject for subject in prepared if subject is not None]
        if len(subjects) < len(steps):
            return None
        for _ in range(pace.rounds):
            for subject in subjects:
                subject.time(1, pace.seconds)
    return [subject.alone for subject in subjects]
