"""System checks of loading: a backend that runs loads, connections enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage
from django.db import connections, router

from .conf import conf
from .jobs.task_framework import DummyBackend, TaskException
from .models import Load, get_upload_storage
from .tables.filling import MIN_LOAD_CONNECTIONS, get_pool_size


@register(Tags.compatibility)
def check_tasks(**_options: Any) -> Iterator[CheckMessage]:
    try:
        from .jobs.tasks import run_load  # noqa: PLC0415 - it checks the settings' backend

        backend = run_load.using(
            backend=str(conf.TASKS_BACKEND), queue_name=str(conf.TASKS_QUEUE)
        ).get_backend()
    except (ImproperlyConfigured, TaskException) as error:
        yield Error(
            f"Loads cannot be queued: {error}",
            hint="DATASTORE_SEARCH_TASKS_BACKEND and DATASTORE_SEARCH_TASKS_QUEUE must name a"
            " backend in TASKS and one of its queues.",
            id="datastore_search.E004",
        )
        return
    if isinstance(backend, DummyBackend):
        yield Warning(
            "Loads are queued and never run: the backend of tasks is a dummy.",
            hint=f"Put another backend into TASKS[{conf.TASKS_BACKEND!r}]: one with a worker, or"
            " the immediate one.",
            id="datastore_search.W003",
        )


@register(Tags.compatibility)
def check_tasks_database(**_options: Any) -> Iterator[CheckMessage]:
    """Require a router that reads tasks from the database that they are written to."""
    try:
        tasks = apps.get_model("django_tasks_database", "DBTaskResult")
    except LookupError:
        return
    if router.db_for_read(tasks) != router.db_for_write(tasks):
        yield Warning(
            "The router reads the tasks of django_tasks_db from another database than they are"
            " written to, so no worker can take one.",
            hint="Let db_for_read of DATABASE_ROUTERS give the primary for the app"
            " django_tasks_database.",
            id="datastore_search.W010",
        )


@register(Tags.compatibility)
def check_pool(**_options: Any) -> Iterator[CheckMessage]:
    alias = router.db_for_write(Load)
    size = get_pool_size(connections[alias])
    if size is not None and size < MIN_LOAD_CONNECTIONS:
        yield Warning(
            f"The pool of the database “{alias}” has {size} connections, and a load needs"
            f" {MIN_LOAD_CONNECTIONS}.",
            hint="Raise its max_size: DATASTORE_SEARCH_LOAD_CONNECTIONS more make a load faster.",
            id="datastore_search.W014",
        )


@register(Tags.files)
def check_uploads(**_options: Any) -> Iterator[CheckMessage]:
    """Require a folder for uploads that does not depend on where a process has been started."""
    storage = get_upload_storage()
    if isinstance(storage, FileSystemStorage) and not Path(storage.base_location).is_absolute():
        yield Warning(
            f"Uploads go to “{storage.base_location}” in the working directory of each process.",
            hint="Set MEDIA_ROOT to the absolute path of a folder that all processes share.",
            id="datastore_search.W024",
        )
