"""A coordinator with two workers, and a portal on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.scale.citus import Cluster, Node, find_programs, run_cluster, run_node

from ..deployment.portals import empty_portal, migrate_portal, use_databases

#: Nothing is collected without Citus; the suite's header says it.
collect_ignore_glob = [] if find_programs() else ["test_*.py"]


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs of the build."""
    found = find_programs()
    assert found, "CITUS_BIN names no build"
    return found


@pytest.fixture(scope="session")
def cluster(programs: Path) -> Iterator[Cluster]:
    with run_cluster(programs) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def third_worker(programs: Path) -> Iterator[Node]:
    with run_node(programs) as node:
        yield node


@pytest.fixture(scope="session")
def cluster_url(cluster: Cluster, django_db_blocker: Any) -> str:
    """The URL of a migrated portal."""
    url = cluster.create_database("portal")
    placed = override_settings(DATASTORE_SEARCH_PLACEMENT="citus")
    with django_db_blocker.unblock(), use_databases({"default": url}), placed:
        migrate_portal()
    return url


@pytest.fixture
def portal(cluster_url: str, django_db_blocker: Any) -> Iterator[None]:
    """A portal without resources, whose record tables are placed."""
    placed = override_settings(DATASTORE_SEARCH_PLACEMENT="citus")
    with django_db_blocker.unblock(), use_databases({"default": cluster_url}), placed:
        try:
            yield
        finally:
            empty_portal()
