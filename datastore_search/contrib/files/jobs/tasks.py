"""The tasks of loads, for the backend in the portal's ``TASKS``; without one they run at once."""

from __future__ import annotations

import logging

from django.db import router
from django.utils import timezone

from ....models import TableVersion, read_profiles
from ..conf import conf
from ..messages.failures import LoadFailed
from ..models import Load, LoadState
from ..publishing import renewal
from . import drafts, queue, runner
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
    except LoadFailed as failure:  # which the load stores for users
        logger.info("Load %s of resource %s: %s", load.pk, load.resource_id, failure)
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


@task(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE)
def renew_profiles(version_id: int) -> str:
    """Make the profiles of a table version anew, later if its records have changed just now."""
    versions = TableVersion.objects.filter(pk=version_id, resource__table_version=version_id)
    version = versions.select_related("resource").first()
    if version is None or read_profiles(version_id, using=router.db_for_write(TableVersion)):
        return "gone"
    is_at_rest = version.resource.modified_at < timezone.now() - queue.REST
    if is_at_rest and renewal.renew_profiles(version):
        return "renewed"
    queue.queue_renewal(version.resource)
    return "waiting"
