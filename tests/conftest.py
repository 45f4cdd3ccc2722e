"""Settings and fixtures of all tests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any
from zlib import crc32

import psycopg
import pytest
from django.conf import settings
from django.core.signals import setting_changed
from django.db import connection
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.test import Client
from django.utils import translation

from datastore_search.database.tables import drop_record_table, list_record_tables
from datastore_search.guards import shares
from datastore_search.models import Resource

from .backends import install_guardian
from .builders import make_resource, make_user
from .processes import IMMEDIATE, build_database_url
from .shared import ModuleTransaction, commits, restore_shared_resource
from .typed import make_resource_of_every_type

# Passwords of tests need no protection; Django's default hash takes a third of a second.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Tests, and the servers that they start, ask more often than a client of the example portal may.
os.environ["THROTTLE"] = "0"
settings.REST_FRAMEWORK = {
    name: value for name, value in settings.REST_FRAMEWORK.items() if name == "DEFAULT_SCHEMA_CLASS"
}
setting_changed.send(  # REST framework reads them again
    sender=None, setting="REST_FRAMEWORK", value=settings.REST_FRAMEWORK, enter=True
)

# Find static files on request: otherwise each test client scans all of them.
settings.WHITENOISE_AUTOREFRESH = True

# Tasks run immediately; tests of the worker start one.
settings.TASKS = IMMEDIATE

# The tests of the core run where neither the loader nor a browser is installed.
pytest_plugins = [
    *(
        ["tests.files.fixtures"]
        if "datastore_search.contrib.files" in settings.INSTALLED_APPS
        else []
    ),
    *(["tests.browsers"] if find_spec("selenium") else []),
]

#: Tests wait for processes and for PostgreSQL half of their time.
_PROCESSES_PER_PROCESSOR = 2
_MAX_PROCESSES = 16

#: CI runs one of them with each commit.
_SLOW_PARTS = 5


def pytest_xdist_auto_num_workers() -> int:
    return min(_PROCESSES_PER_PROCESSOR * (os.cpu_count() or 1), _MAX_PROCESSES)


def pytest_report_header() -> list[str]:
    """Say whether Citus is tested, of which no package has a build, and whether by CKAN's tests."""
    build, source = os.environ.get("CITUS_BIN"), os.environ.get("CKAN_SOURCE")
    return [
        f"citus: {build or 'the tests in tests/citus do not run: CITUS_BIN names no build'}",
        f"ckan: {source or 'CKAN’s own tests do not run: CKAN_SOURCE names no checkout'}",
    ]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow-part",
        type=int,
        choices=range(_SLOW_PARTS),
        help=f"of the tests with the marker “slow”, run only this one of {_SLOW_PARTS} parts",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests of the other parts."""
    part = config.getoption("slow_part")
    if part is None:
        return
    left = [
        item
        for item in items
        if item.get_closest_marker("slow") and crc32(item.nodeid.encode()) % _SLOW_PARTS != part
    ]
    config.hook.pytest_deselected(items=left)
    out = set(left)
    items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: Any, request: pytest.FixtureRequest
) -> Iterator[None]:
    """
    Create the databases; at the end, close what killed processes left open, and delete them.

    A server of a test that is just ending may connect again: no more connections are allowed.
    """
    if not connection.settings_dict["NAME"].startswith(TEST_DATABASE_PREFIX):
        # pytest-django does not see the fixtures that a fixture asks for by ``getfixturevalue``.
        pytest.fail("No test database was made: let the fixtures of the chosen tests use “db”.")
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        # A commit need not wait for the disk: the databases are deleted.
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        cursor.execute("SET synchronous_commit = off")
    yield
    if request.config.getoption("reuse_db"):
        return
    with django_db_blocker.unblock():
        connection.close()
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            cursor.execute(
                # An ordinary role may not end autovacuum; DROP DATABASE ends it by itself.
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = %s AND backend_type = 'client backend'",
                [connection.settings_dict["NAME"]],
            )


@pytest.fixture(autouse=True)
def no_table_left(request: pytest.FixtureRequest, django_db_blocker: Any) -> Iterator[None]:
    """Drop the record tables of tests that commit: Django's flush does not clear these."""
    yield
    if not commits(request):
        return
    with django_db_blocker.unblock():
        for load_id in list_record_tables(connection):
            drop_record_table(connection, load_id)


@pytest.fixture(scope="session", autouse=True)
def no_time_of_catalogue() -> None:
    """Let searches of the catalogue ask all tables, and no thread write uses amid a test."""
    if "datastore_search.contrib.catalogue" in settings.INSTALLED_APPS:
        contents: Any = import_module("datastore_search.contrib.catalogue.contents")
        contents._MAX_SECONDS = 30
        uses: Any = import_module("datastore_search.contrib.catalogue.uses")
        uses.SECONDS_BETWEEN_WRITES = inf


@pytest.fixture(autouse=True)
def no_language() -> None:
    """Use the portal's own language, not that of an earlier test's request."""
    translation.deactivate()


@pytest.fixture(autouse=True)
def no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the clients of earlier tests, and what they have used."""
    monkeypatch.setattr(shares, "process_shares", shares.Shares())
    shares._keys.clear()


@pytest.fixture(autouse=True)
def uploads(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = 0  # tests of streams get streams
    return tmp_path / "media"


@pytest.fixture
def guardian(db: None) -> Iterator[None]:
    with install_guardian():
        yield


@pytest.fixture
def superuser(request: pytest.FixtureRequest, db: None) -> Iterator[psycopg.Connection]:
    """
    A session of a superuser, for tests with the marker “superuser”, which says why.

    The suite itself runs as an ordinary role.
    """
    (reason,) = request.node.get_closest_marker("superuser").args
    url = re.sub("//[^@]*@", "//postgres@", build_database_url())
    try:
        session = psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError:
        pytest.skip(f"The server has no superuser “postgres” without a password. {reason}")
    with session:
        yield session


@pytest.fixture(scope="module")
def module_transaction(
    django_db_setup: None, django_db_blocker: Any
) -> Iterator[ModuleTransaction]:
    """A transaction around the tests of a module, for fixtures that make records once."""
    with django_db_blocker.unblock(), ModuleTransaction() as shared:
        yield shared


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """End the transaction around the tests of a module after a test that broke its connection."""
    ModuleTransaction.end_if_broken()


@pytest.fixture(autouse=True)
def no_module_transaction(request: pytest.FixtureRequest) -> None:
    """End the transaction around the tests of a module before a test that commits."""
    if commits(request):
        ModuleTransaction.end_current()


@pytest.fixture(scope="module")
def _survey(module_transaction: ModuleTransaction) -> Resource:
    return make_resource()


@pytest.fixture
def resource(_survey: Resource, db: None) -> Resource:
    """A public resource with the records of ``builders.SURVEY``, as if they were loaded."""
    return restore_shared_resource(_survey) or make_resource()


@pytest.fixture
def no_resource(db: None) -> None:
    """A database without the shared resources of the module."""
    Resource.objects.all().delete()


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A process whose slots are held, by the client of the tests too, and where nobody may wait."""
    settings.DATASTORE_SEARCH_MAX_SLOTS = 1
    monkeypatch.setattr(shares, "process_shares", shares.Shares())
    own = shares.Client({"REMOTE_ADDR": "127.0.0.1"})
    for _request in range(4):  # as many as may wait of one client
        shares.process_shares._waiting.append(shares._Request(own.key, 0.0))
    shares.process_shares._working.add(shares._Request(own.key, 0.0))


# What tests of several apps share ----------------------------------------------------------------


@pytest.fixture(scope="module")
def _hidden(module_transaction: ModuleTransaction) -> Resource:
    return make_resource(name="hidden", private=True)


@pytest.fixture
def hidden(_hidden: Resource, db: None) -> Resource:
    """A private resource with the records of ``builders.SURVEY``."""
    return restore_shared_resource(_hidden) or make_resource(private=True)


@pytest.fixture(scope="module")
def _every_type(module_transaction: ModuleTransaction) -> Resource:
    return make_resource_of_every_type()


@pytest.fixture
def typed(_every_type: Resource, db: None) -> Resource:
    """A resource with a field of each type, and a table ``typed`` that holds the same."""
    return _every_type


@pytest.fixture
def large(transactional_db: None) -> Iterator[Resource]:
    """A resource whose file is larger than what a connection holds on its way."""
    rows = "".join(f"{number},{'x' * 10_000}\n" for number in range(4_000))
    yield make_resource(f"number,text\n{rows}")
    Resource.objects.all().delete()


@pytest.fixture
def no_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """New tables have all indexes, however small they are."""
    monkeypatch.setattr("datastore_search.database.tables.MAX_UNINDEXED_BYTES", -1)


@pytest.fixture
def large_bodies(settings: Any) -> None:
    """A portal that lets clients without a token send as much as those with one."""
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = 2**20


@pytest.fixture
def boss(db: None) -> Any:
    return make_user("boss", is_staff=True, is_superuser=True)


@pytest.fixture
def staff(client: Client, boss: Any) -> Client:
    client.force_login(boss)
    return client
