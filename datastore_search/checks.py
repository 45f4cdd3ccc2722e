"""System checks: settings that would cause errors later."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.utils.module_loading import import_string

from . import storage
from .catalogue import import_datasets_function
from .conf import conf
from .guards.rates import ANONYMOUS, AUTHENTICATED, WINDOW_SECONDS
from .loading.sources.addresses import is_server_name
from .middleware import LocaleMiddleware
from .models import IndexKind, Load
from .task_framework import DummyBackend, TaskException

#: A source of a Content-Security-Policy.
_SOURCE = re.compile(r"[^\s;,]+")

#: A number of requests in a second, a minute, an hour or a day.
_RATE = re.compile(rf"[1-9][0-9]{{0,8}}/({'|'.join(WINDOW_SECONDS)})")


@register(Tags.translation)
def check_middleware(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Require the locale middleware."""
    for path in settings.MIDDLEWARE:
        middleware = import_string(path)
        if isinstance(middleware, type) and issubclass(middleware, LocaleMiddleware):
            return []
    return [
        Warning(
            "Addresses such as /en_GB/api/action/datastore_search will not be found.",
            hint="Put datastore_search.middleware.LocaleMiddleware in the place of"
            " django.middleware.locale.LocaleMiddleware in MIDDLEWARE.",
            id="datastore_search.W001",
        )
    ]


@register(Tags.compatibility)
def check_indexes(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Require kinds of indexes that exist."""
    unknown = [str(kind) for kind in conf.INDEXES if kind not in IndexKind.values]
    if not unknown:
        return []
    return [
        Error(
            f"DATASTORE_SEARCH_INDEXES has unknown kinds of index: {', '.join(unknown)}.",
            hint=f"Known kinds: {', '.join(IndexKind.values)}.",
            id="datastore_search.E003",
        )
    ]


@register(Tags.compatibility)
def check_tasks(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Require a tasks backend with a queue that takes loads."""
    try:
        from .loading.jobs.tasks import run_load  # noqa: PLC0415 - it checks the settings' backend

        backend = run_load.using(
            backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE
        ).get_backend()
    except (ImproperlyConfigured, TaskException) as error:
        return [
            Error(
                f"Loads cannot be queued: {error}",
                hint="DATASTORE_SEARCH_TASKS_BACKEND and DATASTORE_SEARCH_TASKS_QUEUE must name a"
                " backend in TASKS and one of its queues.",
                id="datastore_search.E004",
            )
        ]
    if not isinstance(backend, DummyBackend):
        return []
    return [
        Warning(
            "Loads are queued and never run: the backend of tasks is a dummy.",
            hint=f"Put another backend into TASKS[{conf.TASKS_BACKEND!r}]: one with a worker, or"
            " the immediate one.",
            id="datastore_search.W003",
        )
    ]


@register(Tags.security)
def check_private_hosts(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """Require a list of host names, not of URLs, and not one text."""
    hosts = conf.FETCH_PRIVATE_HOSTS
    if not isinstance(hosts, str) and all(map(is_server_name, hosts)):
        return []
    return [
        Error(
            "DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS is not a list of hosts.",
            hint='Name each as "files.example.internal" or "10.0.0.5:8080".',
            id="datastore_search.E005",
        )
    ]


@register(Tags.security)
def check_frame_ancestors(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """Require a list of sources, none of which ends the directive."""
    sources = conf.FRAME_ANCESTORS
    if not isinstance(sources, str) and all(map(_SOURCE.fullmatch, sources)):
        return []
    return [
        Error(
            "DATASTORE_SEARCH_FRAME_ANCESTORS is not a list of sources.",
            hint='Name each as "\'self\'" or "https://www.example.org".',
            id="datastore_search.E006",
        )
    ]


@register(Tags.compatibility)
def check_throttle_rates(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """Require lists of rates for the two kinds of clients."""
    rates = conf.THROTTLE_RATES
    if (
        isinstance(rates, Mapping)
        and {ANONYMOUS, AUTHENTICATED} >= rates.keys()
        and not any(isinstance(each, str) for each in rates.values())
        and all(_RATE.fullmatch(rate) for each in rates.values() for rate in each)
    ):
        return []
    return [
        Error(
            "DATASTORE_SEARCH_THROTTLE_RATES is not a mapping of lists of rates.",
            hint='Write it as {"anonymous": ["120/minute", "20000/day"], "authenticated": []}.',
            id="datastore_search.E007",
        )
    ]


@register(Tags.compatibility)
def check_datasets(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Require a function of datasets that can be imported, where one is named."""
    reason = ""
    try:
        if conf.DATASETS and not callable(import_datasets_function()):
            reason = "it is no function"
    except (ImportError, AttributeError, TypeError) as error:
        reason = str(error)
    if not reason:
        return []
    return [
        Error(
            f"DATASTORE_SEARCH_DATASETS cannot be called: {reason}",
            hint="Write the dotted path of a function that takes a user and returns datasets.",
            id="datastore_search.E008",
        )
    ]


@register(Tags.compatibility)
def check_tasks_database(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    """Require a router that reads tasks from the database that they are written to."""
    try:
        tasks = apps.get_model("django_tasks_database", "DBTaskResult")
    except LookupError:
        return []
    if router.db_for_read(tasks) == router.db_for_write(tasks):
        return []
    return [
        Warning(
            "The router reads the tasks of django_tasks_db from another database than they are"
            " written to, so no worker can take one.",
            hint="Let db_for_read of DATABASE_ROUTERS give the primary for the app"
            " django_tasks_database.",
            id="datastore_search.W010",
        )
    ]


@register(Tags.compatibility)
def check_vendor(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Require PostgreSQL."""
    alias = router.db_for_write(Load)
    if connections[alias].vendor == "postgresql":
        return []
    return [
        Error(
            f"The database “{alias}” is not PostgreSQL.",
            hint="datastore_search needs PostgreSQL 15 or newer.",
            id="datastore_search.E001",
        )
    ]


@register(Tags.database)
def check_server(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Require PostgreSQL 15, and a locale with letters outside ASCII."""
    alias = router.db_for_write(Load)
    connection = connections[alias]
    if alias not in (databases or ()) or connection.vendor != "postgresql":
        return []
    messages: list[CheckMessage] = []
    if not storage.is_supported(connection):
        messages.append(
            Error(
                "PostgreSQL is older than version 15.",
                id="datastore_search.E002",
            )
        )
    if not storage.can_fold_case(connection):
        messages.append(
            Warning(
                "The database does not know upper and lower case outside ASCII, so a search for"
                " “hà nội” will not find “HÀ NỘI”.",
                hint="Create it with a UTF-8 locale, such as C.UTF-8.",
                id="datastore_search.W002",
            )
        )
    if IndexKind.SUBSTRINGS in conf.INDEXES and not storage.has_trigrams(connection):
        messages.append(
            Warning(
                "DATASTORE_SEARCH_INDEXES has “substrings”, and the database has no extension"
                " pg_trgm: loads leave that index out.",
                hint="Create the extension: CREATE EXTENSION pg_trgm.",
                id="datastore_search.W011",
            )
        )
    return messages
