"""The queue of loads: submit, retry or cancel a load, or run it at once; queue lost tasks again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import connections, router, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from ....models import Resource, TableVersion
from ..conf import conf
from ..messages import UNSTORABLE, LoadFailed
from ..models import FINISHED, Load, LoadState, store_upload
from ..sources.fetching import parse_address
from ..types.options import LoadOptions
from .cleanup import clean_up_loads, list_kept_tables, mark_failed, mark_interrupted_loads
from .runner import Progress, run_load

logger = logging.getLogger(__name__)

#: Characters of a file's name or URL that a load stores: the last ones.
MAX_SOURCE_LENGTH = 500


def load_file(  # noqa: PLR0913 - by name, and each may be left out
    resource: Resource,
    path_or_url: Path | str,
    *,
    options: LoadOptions | None = None,
    source: str = "",
    progress: Progress | None = None,
    user: Any = None,
) -> Load:
    """
    Load a file into a resource at once: from a path of this machine, or from a URL.

    ``source`` is the name of the file for users, by default the name in the path or the URL.
    ``progress`` is called with the numbers of rows that are written, and of all rows.
    ``user`` has started the load, which the history of the admin shows.

    Raises: ``LoadFailed`` when the file cannot be loaded.  The resource serves its old records, and
    the load is marked as failed and stores the reason.
    """
    path, url = (path_or_url, "") if isinstance(path_or_url, Path) else (None, path_or_url)
    name = source or (path.name if path else "")
    load = create_load(resource, options or LoadOptions(), source=name, url=url, user=user)
    run_load(load, path, progress=progress)
    return load


def submit_load(  # noqa: PLR0913 - by name, and each may be left out
    resource: Resource,
    *,
    file: File | None = None,
    url: str = "",
    options: LoadOptions | None = None,
    source: str = "",
    user: Any = None,
) -> Load:
    """
    Queue the load of an upload, or of a URL, when the transaction is committed.

    Without a worker, the load runs when it is queued.
    """
    load = create_load(
        resource, options or LoadOptions(), source=source, url=url, file=file, user=user
    )
    enqueue_load(load)
    return load


def create_load(
    resource: Resource, options: LoadOptions, *, source: str = "", user: Any = None, **values: Any
) -> Load:
    """
    Create a load without queueing it; ``values`` are ``file``, ``url``, ``state``.

    Without a ``source`` it has the name of the upload, or the URL.

    Raises: ``LoadFailed`` with ``url.invalid``, ``url.has_credentials``: a password is not stored,
    not even with a failed load.  ``FileNotStored``.
    """
    if values.get("url"):
        parse_address(values["url"])
    source = source or getattr(values.get("file"), "name", "") or values.get("url", "")
    if file := values.get("file"):
        values["file"] = file if isinstance(file, str) else store_upload(file)
    return Load.objects.create(
        resource=resource,
        source=UNSTORABLE.sub("�", source)[-MAX_SOURCE_LENGTH:],  # a path may be no UTF-8
        mode=options.mode,
        options=options.to_json(),
        user_id=user and user.pk,  # a router may have users in another database
        **{name: value for name, value in values.items() if value},
    )


def enqueue_load(load: Load) -> None:
    """Queue a load, which may be a draft, when the transaction is committed."""
    load.state, load.queued_at = LoadState.QUEUED, timezone.now()
    load.save(update_fields=["state", "queued_at"])
    not_queued = LoadFailed("load.not_queued")
    run_on_commit(lambda: enqueue_task("run_load", load) or mark_failed(load, not_queued))


def enqueue_task(name: str, load: Load) -> bool:
    """
    Enqueue one of ``tasks`` with the portal's backend, which may run it at once; False if it fails.

    The module of the tasks is imported here, since the import asks the backend whether it can run
    them.  Both may raise anything.
    """
    try:
        declared: Any = import_string(f"{__package__}.tasks.{name}")
        task = declared.using(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE)
        task.enqueue(load.pk)
    except Exception:
        logger.exception("The task %s of %s could not be queued.", name, load.pk)
        return False
    load.refresh_from_db()
    return True


def run_on_commit(call: Callable[[], object]) -> None:
    """Call a function when the transaction is committed, at once if there is none."""
    transaction.on_commit(call, using=router.db_for_write(Load))


def retry_load(load: Load, *, user: Any = None, **changes: Any) -> Load:
    """
    Queue a new load with the file, URL and options of one that is over; ``changes`` are of options.

    Raises: ``LoadFailed`` with ``load.not_retryable``.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        mark_interrupted_loads(Load.objects.filter(pk=load.pk))
        new = copy_load(load, LoadState.QUEUED, user, **changes)
        enqueue_load(new)
    load.refresh_from_db()
    return new


def copy_load(load: Load, state: LoadState, user: Any = None, **changes: Any) -> Load:
    """Create a load in a state with the file of one that is over, which no longer has it."""
    with transaction.atomic(using=router.db_for_write(Load)):
        old = Load.objects.select_for_update().select_related(None).filter(pk=load.pk).first()
        if old is None or not old.can_be_retried:
            raise LoadFailed("load.not_retryable")
        options = replace(LoadOptions.from_json(old.options), **changes)
        values = {"url": old.url, "file": old.file.name or "", "state": state, "user": user}
        new = create_load(load.resource, options, source=old.source, **values)
        # An upload belongs to one load, which deletes it at the end.
        Load.objects.filter(pk=old.pk).update(file="")
    return new


def cancel_load(load: Load) -> bool:
    """
    Cancel a load, and return whether it was not over already.

    A load that waits ends at once.  The process of a running load ends it about a second later,
    unless it is ready before.
    """
    mark_interrupted_loads(Load.objects.filter(pk=load.pk))
    marked = cancel_loads(Load.objects.filter(pk=load.pk))
    load.refresh_from_db()
    return bool(marked)


def cancel_loads(loads: QuerySet[Load]) -> int:
    """Cancel those loads that are not over, and return how many."""
    waiting = {LoadState.DRAFT, LoadState.QUEUED}
    unfinished = loads.exclude(state__in=FINISHED)
    marked = unfinished.update(cancel_requested_at=timezone.now())
    failure = LoadFailed("load.cancelled").to_json()
    with transaction.atomic(using=router.db_for_write(Load)):
        unfinished.filter(state__in=waiting).update(
            state=LoadState.CANCELLED, failure=failure, finished_at=timezone.now()
        )
    return marked


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
        # Without a queue nothing changes: it may still have the first task.
        with suppress(Load.DoesNotExist):  # deleted meanwhile
            enqueue_task(name, load)
    return len(waiting)


def clean_up() -> Iterator[str]:
    """Clean up, queue those loads again whose tasks are lost, and report what is kept."""
    yield f"Dropped tables: {clean_up_loads()}."
    if waiting := requeue_waiting_loads():
        yield f"Waiting loads that are queued again: {waiting}."
    connection = connections[router.db_for_write(TableVersion)]
    for table_id, until in list_kept_tables(connection).items():
        moment = until.isoformat(timespec="seconds")
        yield (
            f"Table version {table_id} is kept until {moment}: it was served, and no resource"
            " serves it now."
        )
