"""The shared resource of tests of loads, and a server from which files are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.models import Resource

from .sources.server import Server, run_server


@pytest.fixture
def resource(loaded: Resource) -> Resource:
    """A public resource with ``builders.SURVEY``, loaded from a file."""
    return loaded


@pytest.fixture
def empty(no_resource: None) -> Resource:
    return Resource.objects.create(name="empty")


@pytest.fixture
def no_tables_of_others(db: None) -> None:
    """Drop the tables that a test with its own transactions may have left."""
    clean_up_loads()


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    """A server that the portal allows."""
    with run_server() as server:
        settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [server.host]
        yield server
