"""Portals with ``ATOMIC_REQUESTS``: the app's views are no transactions of the portal."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from datastore_search.models import Resource

from ..builders import ask, get_result, make_resource
from ..files.builders import load_csv

#: All but the admin, whose views are transactions where the portal wants them.
_PACKAGES = tuple(f"datastore_search.{each}" for each in ("api", "contrib", "downloads", "web"))

#: Views of the admin are as the portal wants them; those of health have their own connections.
_OTHERS = re.compile(r"\.(admin|health)\b")


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
