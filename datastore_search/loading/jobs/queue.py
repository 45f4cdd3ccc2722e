"""
A load as a job: queued, run, cancelled, retried.

Whatever happens to a load, it ends in a state that says so, and the resource serves what it served.
See decision 0017.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import (
    router,
    transaction,
)
from django.utils import timezone

from ...conf import conf
from ...exceptions.loads import LoadCancelled, LoadFailed
from ...models import FINISHED, Load, LoadState, Resource
from ..sources.fetching import check_url
from ..typing.options import LoadOptions
from .cleanup import mark_interrupted_loads
from .completion import mark_failed
from .monitor import Progress
from .runner import run_load

logger = logging.getLogger(__name__)

_NAME_LETTERS = 500


# Asking for a load --------------------------------------------------------------------------------


def load_file(
    resource: Resource,
    what: Path | str,
    *,
    options: LoadOptions | None = None,
    source: str = "",
    progress: Progress | None = None,
) -> Load:
    """
    Load a file into a resource, here and now: the one at a path of this machine, or at a URL.

    ``source`` is what staff call the file (its name, if not given).

    Raises: ``LoadFailed`` when the file cannot be loaded: the resource serves what it served, and
    the load, which keeps the reason, is marked as failed.
    """
    path, url = (what, "") if isinstance(what, Path) else (None, what)
    name = source or (path.name if path else url)
    load = create_load(resource, options or LoadOptions(), source=name, url=url)
    run_load(load, path, progress=progress)
    return load


def submit(
    resource: Resource,
    *,
    file: File | None = None,
    url: str = "",
    options: LoadOptions | None = None,
    source: str = "",
) -> Load:
    """
    Queue the load of an upload, or of what is at a URL, as soon as the transaction is committed.

    The upload is kept by its storage, where the worker finds it.  Without a worker the load runs
    then and there.
    """
    name = source or (file.name if file else "") or url
    load = create_load(resource, options or LoadOptions(), source=name, url=url, file=file)
    enqueue_load(load)
    return load


def create_load(resource: Resource, options: LoadOptions, *, source: str, **values: Any) -> Load:
    """
    Make a load that nobody has queued yet; ``values`` are ``file``, ``url``, ``state``.

    Raises: ``LoadFailed`` with ``url.invalid``, ``url.has_credentials``: a password is not even
    kept with a failed load.
    """
    if values.get("url"):
        check_url(values["url"])
    return Load.objects.create(
        resource=resource,
        source=source[-_NAME_LETTERS:],
        language=resource.language,
        indexes=resource.index_kinds,
        mode=options.mode,
        options=options.to_json(),
        **{name: value for name, value in values.items() if value},
    )


def enqueue_load(load: Load) -> None:
    """Let a worker run a load, be it new or a draft, once the transaction is committed."""
    load.state, load.queued_at = LoadState.QUEUED, timezone.now()
    load.save(update_fields=["state", "queued_at"])
    run_on_commit(partial(_hand_over, load))


def run_on_commit(call: Callable[[], None]) -> None:
    """Call when what has been done so far cannot be taken back."""
    transaction.on_commit(call, using=router.db_for_write(Load))


def _hand_over(load: Load) -> None:
    """Give a load to the backend of the portal's tasks, which may run it at once."""
    try:
        # The backend is asked when tasks are imported; a check reports what it refuses.
        from .tasks import run_load as task  # noqa: PLC0415

        task.using(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE).enqueue(load.pk)
    except Exception:  # backends raise what they like; the load must not wait for ever
        logger.exception("Load %s could not be queued.", load.pk)
        mark_failed(load, LoadFailed("load.not_queued"))
    load.refresh_from_db()


def retry(load: Load) -> Load:
    """
    Queue a load once more, as a new one with the same file, address and options.

    Raises: ``LoadFailed`` with ``load.not_retryable``.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        mark_interrupted_loads(Load.objects.filter(pk=load.pk))
        old = Load.objects.select_for_update().select_related(None).filter(pk=load.pk).first()
        if old is None or not old.can_be_retried:
            raise LoadFailed("load.not_retryable")
        options = LoadOptions.from_json(old.options)
        new = create_load(
            load.resource, options, source=old.source, url=old.url, file=old.file.name or ""
        )
        # A file belongs to one load, which deletes it in the end.
        Load.objects.filter(pk=old.pk).update(file="")
        enqueue_load(new)
    load.refresh_from_db()
    return new


def cancel(load: Load) -> bool:
    """
    End a load, wherever it runs, and say whether there was something to end.

    One that waits is over at once.  One that runs is about a second later, unless it is ready
    before; its process sees to that.
    """
    mark_interrupted_loads(Load.objects.filter(pk=load.pk))
    waiting = {LoadState.DRAFT, LoadState.QUEUED}
    unfinished = Load.objects.filter(pk=load.pk).exclude(state__in=FINISHED)
    marked = unfinished.update(cancel_requested_at=timezone.now())
    with transaction.atomic(using=router.db_for_write(Load)):
        unfinished.filter(state__in=waiting).update(
            state=LoadState.CANCELLED, failure=LoadCancelled().to_json(), finished_at=timezone.now()
        )
    load.refresh_from_db()
    return bool(marked)
