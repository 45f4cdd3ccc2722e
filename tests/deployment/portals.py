"""The portal of a test, on other databases than that of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dj_database_url
from django.core.management import call_command
from django.db import connections
from django.test import override_settings

from datastore_search.models import Resource
from datastore_search.search.consistency import _descriptions


@contextmanager
def portal_on(urls: Mapping[str, str], *, router: type | None = None) -> Iterator[None]:
    """Let the app of this process use other databases, by alias, for the block."""
    before = dict(connections.databases)
    given = {alias: dj_database_url.parse(url, conn_max_age=600) for alias, url in urls.items()}
    _use(before, connections.configure_settings(given))
    routers = [f"{router.__module__}.{router.__qualname__}"] if router else []
    try:
        with override_settings(DATABASE_ROUTERS=routers):
            yield
    finally:
        _use(given, before)


def _use(old: Iterable[str], new: Mapping[str, Any]) -> None:
    for alias in old:
        connections[alias].close()
        del connections[alias]
    connections.databases.clear()
    connections.databases.update(new)
    _descriptions.clear()


def migrate() -> None:
    """Bring the database of the portal up to date."""
    call_command("migrate", verbosity=0, database="default")


def empty() -> None:
    """Take everything away that tests have made."""
    for resource in Resource.objects.using("default").all():
        resource.delete(using="default")
