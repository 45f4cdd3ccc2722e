"""
A load as a job: queued, run, cancelled, retried.

Whatever happens to a load, it ends in a state that says so, and the resource serves what it served.
See decision 0017.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from django.core.files import File
from django.db import (
    Error,
    InterfaceError,
    OperationalError,
    connections,
    router,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.module_loading import import_string

from ... import storage
from ...conf import conf
from ...exceptions.loads import (
    DatabaseGone,
    LoadBroken,
    LoadCancelled,
    LoadFailed,
    NothingToRetry,
    NotQueued,
)
from ...models import FINISHED, Load, LoadState, Resource
from ..publishing.fingerprint import is_unchanged
from ..publishing.pipeline import publish_table
from ..readers import open_table
from ..sources.fetching import NotModified, check_url
from ..sources.files import Source, bring
from ..sources.folders import working_folder
from ..typing.options import LoadOptions, resolve_options
from .completion import cleanup, complete_load, mark_failed, mark_interrupted_loads, record_failure
from .failures import is_connection_lost, translate_error
from .monitor import JobMonitor, Progress

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
    run(load, path, progress=progress)
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

    Raises: ``InvalidAddress``, ``NamedUser``: a password is not even kept with a failed load.
    """
    if values.get("url"):
        check_url(values["url"])
    return Load.objects.create(
        resource=resource,
        source=source[-_NAME_LETTERS:],
        language=resource.language,
        indexes=resource.index_kinds,
        mode=options.mode,
        options=options.kept(),
        **{name: value for name, value in values.items() if value},
    )


def enqueue_load(load: Load) -> None:
    """Let a worker run a load, be it new or a draft, once the transaction is committed."""
    load.state, load.queued_at = LoadState.QUEUED, timezone.now()
    load.save(update_fields=["state", "queued_at"])
    when_committed(partial(_hand_over, load))


def when_committed(call: Callable[[], None]) -> None:
    """Call when what has been done so far cannot be taken back."""
    transaction.on_commit(call, using=router.db_for_write(Load))


def _hand_over(load: Load) -> None:
    """Give a load to the backend of the portal's tasks, which may run it at once."""
    try:
        # By its path, for tasks know loads and not the other way round.
        task = import_string("datastore_search.loading.jobs.tasks.run_load")
        task.using(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE).enqueue(load.pk)
    except Exception:  # backends raise what they like; the load must not wait for ever
        logger.exception("Load %s could not be queued.", load.pk)
        mark_failed(load, NotQueued())
    load.refresh_from_db()


def retry(load: Load) -> Load:
    """
    Queue a load once more, as a new one with the same file, address and options.

    Raises: ``NothingToRetry``.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        mark_interrupted_loads(Load.objects.filter(pk=load.pk))
        old = Load.objects.select_for_update().select_related(None).filter(pk=load.pk).first()
        if old is None or not old.can_be_retried:
            raise NothingToRetry
        options = LoadOptions.revived(old.options)
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
            state=LoadState.CANCELLED, failure=LoadCancelled().kept(), finished_at=timezone.now()
        )
    load.refresh_from_db()
    return bool(marked)


# Running it ---------------------------------------------------------------------------------------


def run(load: Load, path: Path | None = None, *, progress: Progress | None = None) -> None:
    """
    Do what a load is to do; ``path`` is its file, unless that is an upload or at a URL.

    Loads of one resource run one after the other.  A load that somebody else has begun, or that is
    over, is left alone.

    Raises: ``LoadFailed``, as ``load_file`` does.
    """
    connection = connections[router.db_for_write(Load)]
    monitor = JobMonitor(load, progress)
    try:
        mark_interrupted_loads(Load.objects.all())  # of a worker that was killed
        with storage.load_at_work(connection, load.pk) as lock:
            if lock:
                _run_alone(connection, load, path, monitor, lock)
    except LoadFailed:
        raise
    except (InterfaceError, OperationalError, psycopg.Error) as error:
        if not is_connection_lost(error):
            raise
        # Before the load was marked as running, or while it was told that it had failed.
        _give_up(load)
        raise DatabaseGone from error


def _give_up(load: Load) -> None:
    """Let a load that could not be begun not wait for ever, if the database listens at all."""
    with suppress(Error):
        if Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None).exists():
            mark_failed(load, DatabaseGone())


def _run_alone(
    connection: BaseDatabaseWrapper,
    load: Load,
    path: Path | None,
    monitor: JobMonitor,
    lock: storage.LoadLock,
) -> None:
    try:
        if not _begin(load):
            return
        with monitor.watching_with(connection, lock):
            lock.wait_for_turn(load.resource_id, conf.LOAD_WAIT_TIMEOUT)
            monitor.heed()
            cleanup(load.resource)
            _load(connection, load, path, monitor)
    except BaseException as error:
        failure = monitor.ending or translate_error(error, load)
        record_failure(connection, load, failure)
        if failure is error or isinstance(failure, LoadBroken) or not isinstance(error, Exception):
            raise
        raise failure from error
    complete_load(load)
    cleanup(load.resource)


def _begin(load: Load) -> bool:
    """Mark a load as begun by this process; False when it is not to be run, or not again."""
    load.started_at = timezone.now()
    waiting = Load.objects.filter(pk=load.pk, state=LoadState.QUEUED, started_at=None)
    return bool(waiting.update(started_at=load.started_at, heartbeat_at=load.started_at))


def _load(
    connection: BaseDatabaseWrapper, load: Load, path: Path | None, monitor: JobMonitor
) -> None:
    resource = Resource.objects.filter(pk=load.resource_id).first()
    options = resolve_options(resource, LoadOptions.revived(load.options))
    monitor.enter_state(LoadState.READING)
    try:
        with _brought(load, path, options, monitor) as source:
            load.checksum, load.http_validators = source.checksum, dict(source.received)
            load.save(update_fields=["checksum", "http_validators"])
            if is_unchanged(load, options):
                _leave(monitor)
                return
            name = load.source if path or load.file else source.name
            with open_table(source.path, options, name=name) as table:
                publish_table(connection, load, table, options, monitor)
    except NotModified:
        _leave(monitor)


def _leave(monitor: JobMonitor) -> None:
    """End a load that would change nothing."""
    monitor.load.finished_at = timezone.now()
    monitor.enter_state(LoadState.UNCHANGED)


@contextmanager
def _brought(
    load: Load, path: Path | None, options: LoadOptions, monitor: JobMonitor
) -> Iterator[Source]:
    """Bring the file of a load to this machine, for the time of the block."""
    with working_folder() as folder:
        what = path or load.file or load.url
        yield bring(what, folder, known=_known(load, options), advance=monitor.report_progress)


def _known(load: Load, options: LoadOptions) -> dict[str, str]:
    """Give what the server said of the file that is served, if to load that again is pointless."""
    served = load.resource.current_load
    if not served or not load.url or served.url != load.url:
        return {}
    load.checksum = served.checksum  # as long as nobody knows another one
    return dict(served.http_validators) if is_unchanged(load, options) else {}
