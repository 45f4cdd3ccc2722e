"""Portals with ``ATOMIC_REQUESTS``: the app's views are no transactions of the portal."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from datastore_search.models import Resource

from ..builders import ask, get_result, make_resource
from ..files.builders import load_csv
from ..processes import PROJECT, build_database_url, build_environment

#: All but the admin, whose views are transactions where the portal wants them.
_PACKAGES = tuple(f"datastore_search.{each}" for each in ("api", "contrib", "downloads", "web"))

#: Views of the admin are as the portal wants them.
_OTHERS = re.compile(r"\.admin\b")


def list_views(resolver: URLResolver) -> list[tuple[str, Any]]:
    views = []
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            views.append((str(each.pattern), each.callback))
        else:
            views += list_views(each)
    return [
        (name, view)
        for name, view in views
        if view.__module__.startswith(_PACKAGES) and not _OTHERS.search(view.__module__)
    ]


def test_no_view_that_reads_the_database_is_a_transaction() -> None:
    views = dict(list_views(get_resolver()))
    atomic = {
        name
        for name, view in views.items()
        if DEFAULT_DB_ALIAS not in getattr(view, "_non_atomic_requests", ())
    }

    assert len(views) > 15
    assert atomic == set()


#: A portal whose second database is one transaction for each request, and what it answers.
_PORTAL = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
from django.conf import settings
alias = {alias!r}
settings.DATABASES = {{**settings.DATABASES, "other": {{**settings.DATABASES["default"]}}}}
settings.DATABASES[alias]["ATOMIC_REQUESTS"] = True
settings.ALLOWED_HOSTS = ["*"]
settings.ROOT_URLCONF = "tests.deployment.atomic_urls"
django.setup()
from django.test import Client
for path in {paths!r}:
    response = Client().get(path)
    print(path, response.status_code)
"""


@pytest.mark.parametrize("alias", ["default", "other"])
def test_every_view_answers_where_any_database_has_atomic_requests(
    transactional_db: None, alias: str
) -> None:
    resource = make_resource()
    actions, pages = "/en/api/3/action", f"/en/datastore/{resource.pk}"
    paths = [
        *("/health/live", "/health/ready", "/metrics", "/en/api/3", "/en/datastore/"),
        *(f"{pages}/", f"{pages}/about/", f"{pages}/r/1/", f"{pages}/chart/", f"{pages}/map/"),
        *(f"{actions}/datastore_search?id={resource.pk}", f"{actions}/package_list"),
        *(f"/en/datastore/dump/{resource.pk}", "/en/datastore/catalog.ttl", "/en/api/schema/"),
        *("/en/admin/login/", "/health/operations"),
    ]
    environment = build_environment(build_database_url(), PROJECT / ".media") | {"THROTTLE": "0"}

    done = subprocess.run(
        [sys.executable, "-c", _PORTAL.format(alias=alias, paths=paths)],
        cwd=PROJECT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    answered = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert answered.pop("/health/operations") in {"200", "503"}  # no worker runs here
    assert answered == dict.fromkeys(paths[:-1], "200")
    Resource.objects.all().delete()


@pytest.fixture
def ranked(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Resource:
    """A resource whose common word is ranked once."""
    resource = make_resource(language="simple")
    load_csv(resource, "n,t\n" + "".join(f"{n},common word{n}\n" for n in range(20_000)))
    monkeypatch.setitem(connections.settings[DEFAULT_DB_ALIAS], "ATOMIC_REQUESTS", True)
    return resource


def list_ranking(captured: CaptureQueriesContext) -> list[str]:
    """The statements that search and rank; the ranks of a page's own records need no search."""
    statements = [str(each["sql"]) for each in captured]
    return [each for each in statements if "@@" in each and "ts_rank" in each]


def test_a_repeated_full_text_search_is_not_ranked_again(client: Client, ranked: Resource) -> None:
    parameters = {"resource_id": str(ranked.pk), "q": "common", "limit": 5}
    first = get_result(ask(client, parameters))

    with CaptureQueriesContext(connection) as captured:
        assert get_result(ask(client, parameters)) == first

    assert first["total"] == 20_000
    assert not list_ranking(captured)
