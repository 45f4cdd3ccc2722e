"""The server that the portals of several modules use, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.throwaway_postgres import ThrowawayServer

from .portals import migrate_portal, use_databases
from .servers import run_own_server


@pytest.fixture(scope="session")
def portal_server(django_db_blocker: Any) -> Iterator[ThrowawayServer]:
    """A separate PostgreSQL with a migrated portal, which is empty between two tests."""
    with run_own_server() as server:
        with django_db_blocker.unblock(), use_databases({"default": server.url}):
            migrate_portal()
        yield server
