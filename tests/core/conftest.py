"""
The tests of the core, which also run where no contrib app is installed.

There, the cases are left out that need a contrib app: those that a mark says (``needs``), and those
with an address, an action or a format of the app as a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection

from datastore_search.database.statements import close_if_lost, execute
from datastore_search.models import Resource

from ..builders import make_resource

#: What each app answers, as it stands in the parameters of cases.
_ANSWERED_BY = {
    "agents": r"datastore/mcp",
    "analysis": r"datastore_(facets|aggregate|suggest)|facetable",
    "catalogue": r"(package|resource)_(search|show|create)|schema\.json|datastore/\S+\.[a-z]{3,6}$",
    "files": r"parquet|xlsx",
    "pages": r"datastore/(\?|$|(\{\w*\}|[0-9-]{36})/)",
}


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Resource]:
    """A committed resource; its record tables are dropped after the test."""
    yield make_resource()
    close_if_lost(connection)
    execute(connection, "DROP TABLE IF EXISTS slow CASCADE")  # of ``make_slow``
    Resource.objects.all().delete()


def _list_needed_apps(item: pytest.Item) -> set[str]:
    marked = {app for mark in item.iter_markers("needs") for app in mark.args}
    cases = item.callspec.params.values() if hasattr(item, "callspec") else ()
    texts = [value for value in cases if isinstance(value, str)]
    return marked | {
        app
        for app, pattern in _ANSWERED_BY.items()
        if any(re.search(pattern, text) for text in texts)
    }


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that need an app that is not installed."""
    missing = [
        item
        for item in items
        if not all(
            apps.is_installed(f"datastore_search.contrib.{app}") for app in _list_needed_apps(item)
        )
    ]
    config.hook.pytest_deselected(items=missing)
    left_out = set(missing)
    items[:] = [item for item in items if item not in left_out]
