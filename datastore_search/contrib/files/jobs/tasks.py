"""The tasks of loads, for the backend in the portal's ``TASKS``; without one they run at once."""

from __future__ import annotations

import logging

from ..conf import conf
from ..messages import LoadFailed
from ..models import Load, LoadState
from . import drafts, runner
from .cleanup import mark_interrupted_loads
from .task_framework import task

logger = logging.getLogger(__name__)


# Settings may change later, so queueing reads them again; the backend checks these on import.
@task(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE)
def run_load(load_id: int) -> str:
    """Run a load that waits in the queue, and return the state in which it ended."""
    load = Load.objects.select_related("resource").filter(pk=load_id).first()
    if load is None:
        return "gone"
    try:
        runner.run_load(load)
    except LoadFailed as failure:  # which the load stores for users, with values
        logger.info("Load %s of resource %s: %s", load.pk, load.resource_id, failure.code)
    return load.state


@task(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE)
def preview_draft(load_id: int) -> str:
    """
    Preview the file of a draft that is too large for a request, and return the draft's state.

    A second task of the same preview does nothing.
    """
    mark_interrupted_loads(Load.objects.all())
    load = Load.objects.select_related("resource").filter(pk=load_id).first()
    if load is None or load.state != LoadState.DRAFT or load.preview is not None:
        return "gone"
    drafts.preview_draft(load)
    return load.state
