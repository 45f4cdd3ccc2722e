"""Queue again what waits for a worker, since its task may be lost."""

from __future__ import annotations

from contextlib import suppress
from operator import attrgetter

from ...models import Load, LoadState
from .queue import enqueue_task


def requeue_waiting_loads() -> int:
    """
    Queue each load and each preview again that no worker has begun, and return how many.

    A worker that ends after it took a task, but before the load began, leaves a load that waits,
    and no task.  A second task of a load that has begun, or is over, does nothing.
    """
    loads = Load.objects.filter(state__in=(LoadState.QUEUED, LoadState.DRAFT))
    waiting = [load for load in loads if load.untaken_for is not None]
    for load in waiting:
        name = "run_load" if load.state == LoadState.QUEUED else "preview_draft"
        with suppress(Load.DoesNotExist):  # deleted meanwhile
            enqueue_task(attrgetter(name), load, _leave_waiting)
    return len(waiting)


def _leave_waiting(load: Load) -> None:
    """Change nothing: the queue cannot be reached, and may still have the first task."""
