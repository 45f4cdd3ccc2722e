"""Run the portal of a test on other databases than that of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dj_database_url
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connections
from django.test import Client, override_settings

from datastore_search.models import Resource
from datastore_search.search.reads import descriptions

from ..builders import READING, act


@contextmanager
def use_databases(urls: Mapping[str, str], *, router: type | None = None) -> Iterator[None]:
    before = dict(connections.databases)
    configured = {
        alias: dj_database_url.parse(url, conn_max_age=600) for alias, url in urls.items()
    }
    _replace_databases(before, connections.configure_settings(configured))
    routers = [f"{router.__module__}.{router.__qualname__}"] if router else []
    try:
        with override_settings(DATABASE_ROUTERS=routers):
            yield
    finally:
        _replace_databases(configured, before)


def _replace_databases(old: Iterable[str], new: Mapping[str, Any]) -> None:
    for alias in old:
        connections[alias].close()
        del connections[alias]
    connections.databases.clear()
    connections.databases.update(new)
    descriptions.clear()
    ContentType.objects.clear_cache()  # it is by alias, and ids differ between databases


def check_reads(resource: Resource) -> None:
    """Expect that every action, page and dump reads a resource of the codes a and b."""
    for action, parameters in READING.items():
        answer = act(Client(), action, {"resource_id": str(resource.pk), **parameters})
        assert answer.status_code == 200, (action, answer.json())
    for path in ("", "api/", "chart/", "map/", "r/1/", "schema.json"):
        assert Client().get(f"/en/datastore/{resource.pk}/{path}").status_code == 200, path
    assert Client().get("/en/datastore/").status_code == 200
    dump: Any = Client().get(f"/en/datastore/dump/{resource.pk}")
    assert b"".join(dump.streaming_content).decode().split() == [
        "_id,code,text", "1,a,river", "2,b,lake",
    ]  # fmt: skip


def migrate_portal() -> None:
    call_command("migrate", verbosity=0, database="default")


def empty_portal() -> None:
    for resource in Resource.objects.using("default").all():
        resource.delete(using="default")
    get_user_model().objects.using("default").all().delete()
