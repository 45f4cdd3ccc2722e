"""A filled portal is upgraded from each earlier state while the code of that state uses it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.fields import FieldOperation
from django.db.migrations.operations.models import ModelOperation
from django.test import Client

from datastore_search import storage
from datastore_search.models import Resource
from datastore_search.search import ConsistentRead, Page, Query, build_relation, read_page
from datastore_search.storage import migration_locks
from datastore_search.storage.migration_locks import LockTables

from .builders import (
    act,
    fetch_page,
    get_result,
    load_csv,
    make_resource,
    make_writer_token,
)
from .deployment.servers import wait_until
from .reader_threads import ReaderThreads

pytestmark = pytest.mark.django_db(transaction=True)

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "upgrade.md"

#: The earlier states in which a portal can have records: 0001 alone has no function to search them.
#: ``deployment/portal_0002.sql`` is such a portal as the code of its time made it.
_STATES = ("0002_functions_and_triggers", "0003_resource_texts")

#: What a statement waits for a lock at most: a second, as the page on upgrades promises.
_LOCK_TIMEOUT = "1s"

_CSV = "code,kind\n" + "".join(f"{number},{'river' if number % 3 else 'lake'}\n"
                               for number in range(3_000))  # fmt: skip
_QUERIES = (Query(limit=5), Query(limit=5, q="lake"), Query(limit=5, sort=()))


def read_commands(heading: str) -> list[list[str]]:
    """Return the arguments of the ``manage.py`` commands below a heading of the page."""
    section = re.split(r"^## ", _PAGE.read_text(), flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(f"{heading}\n")]
    return [line.split() for line in re.findall(r"^python manage\.py (.*)$", text, re.MULTILINE)]


def read_apps(state: str) -> Apps:
    """Read the models of an earlier state, with which the code of that state runs."""
    return MigrationLoader(connection).project_state(("datastore_search", state)).apps


@contextmanager
def start_migrating(*arguments: str) -> Iterator[Future[None]]:
    """Run ``migrate`` in another thread, as a deployment runs it in another process."""

    def migrate() -> None:
        try:
            call_command("migrate", *arguments, verbosity=0)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(migrate)


def migrate(*arguments: str) -> None:
    """Run ``migrate`` in another thread, and raise what it raises."""
    with start_migrating(*arguments) as migration:
        migration.result()


class OldCode(ReaderThreads):
    """
    Threads with the models of an earlier state, that search and insert.

    They read and write the columns that these models have.  No statement may wait for a lock for
    longer than ``_LOCK_TIMEOUT``, or it fails.
    """

    def __init__(self, apps: Apps, resource: Resource) -> None:
        super().__init__(count=3)
        self.inserted: list[str] = []
        self._apps = apps
        self._id = resource.pk
        described = Resource.objects.described(resource.pk)
        self._relation = build_relation(described)
        self._names = [field.name for field in described.schema]
        self._expected = [fetch_page(resource, query) for query in _QUERIES]

    def wait_for_rounds(self, count: int) -> None:
        """Wait until as many resources were inserted from now on."""
        wanted = len(self.inserted) + count
        wait_until(lambda: self.errors or len(self.inserted) >= wanted)

    def read_once(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [_LOCK_TIMEOUT])
        self._search()
        self._insert()

    def _search(self) -> None:
        resource = (
            self._get_model("Resource").objects.select_related("table_version").get(pk=self._id)
        )
        names = list(resource.fields.order_by("position").values_list("name", flat=True))
        found = list(map(self._fetch_page, _QUERIES))
        if (names, found) != (self._names, self._expected):
            self.errors.append((names, found))

    def _fetch_page(self, query: Query) -> Page:
        with storage.open_session(connection, timedelta(minutes=1), 2**22) as session:
            return read_page(ConsistentRead(session, self._relation), query)

    def _insert(self) -> None:
        name = f"old-{threading.get_ident()}-{len(self.inserted)}"
        resource = self._get_model("Resource").objects.create(name=name, language="english")
        self._get_model("Field").objects.create(
            resource=resource, name="code", type="text", position=0, label="Code"
        )
        self._get_model("Alias").objects.create(resource=resource, name=f"alias of {name}")
        self._get_model("Load").objects.create(resource=resource, source="old.csv")
        resource.title = "Old"
        resource.save(update_fields=["title"])
        self.inserted.append(name)

    def _get_model(self, name: str) -> Any:
        return self._apps.get_model("datastore_search", name)


class NewCode(ReaderThreads):
    """Threads that search and create resources by the API."""

    def __init__(self, resource: Resource, token: str) -> None:
        super().__init__(count=2)
        self.created: list[str] = []
        self._resource = resource
        self._token = token

    def read_once(self) -> None:
        name = f"new-{threading.get_ident()}-{len(self.created)}"
        found = get_result(
            act(Client(), "datastore_search", {"id": str(self._resource.pk), "q": "lake"})
        )
        created = act(
            Client(),
            "datastore_create",
            {"resource": {"name": name}, "fields": [{"id": "code"}], "records": [{"code": "a"}]},
            self._token,
        )
        if (found["total"], created.status_code) != (1_000, 200):
            self.errors.append((found, created.content))
        self.created.append(name)


@pytest.fixture
def migrated() -> Iterator[None]:
    """Leave the database in its last state."""
    yield
    call_command("migrate", verbosity=0)


@pytest.fixture
def resource(migrated: None) -> Resource:
    """A resource with records."""
    return make_resource(_CSV, title="Waters")


@pytest.mark.parametrize("state", _STATES)
def test_old_and_new_code_work_while_a_filled_portal_is_migrated(
    resource: Resource, state: str
) -> None:
    token = make_writer_token()
    version = Resource.objects.get().version
    ((command, *options), *_more) = read_commands("Migrate first")
    assert command == "migrate"

    with OldCode(read_apps(state), resource) as old:
        call_command("migrate", "datastore_search", state, verbosity=0)
        old.wait_for_rounds(6)
        migrate(*options)
        old.wait_for_rounds(6)
        with NewCode(resource, token) as new:
            old.wait_for_rounds(6)

    assert (old.errors, new.errors) == ([], [])
    kept = Resource.objects.get(pk=resource.pk)
    assert (kept.title, kept.license, kept.tags, kept.version) == ("Waters", "", [], version)
    inserted = Resource.objects.filter(name__in=old.inserted)
    assert inserted.count() == len(old.inserted)
    assert {
        (each.title, each.source, tuple(each.tags), str(each.translations), each.fields.get().label,
         str(each.fields.get().translations), each.aliases.get().name == f"alias of {each.name}")
        for each in inserted
    } == {("Old", "", (), "{}", "Code", "{}", True)}  # fmt: skip


def test_resources_of_the_first_state_come_along_and_take_records(
    migrated: None,
) -> None:
    state = "0001_initial"
    call_command("migrate", "datastore_search", state, verbosity=0)
    apps = read_apps(state)
    resources, aliases, loads = (
        apps.get_model("datastore_search", model)._default_manager
        for model in ("Resource", "Alias", "Load")
    )
    old = resources.create(name="waters", title="Waters", language="english")
    aliases.create(resource=old, name="the waters")
    loads.create(resource=old, source="waters.csv", state="failed")

    migrate()

    resource = Resource.objects.get(pk=old.pk)
    empty = act(Client(), "datastore_search", {"id": "the waters"})
    load_csv(resource, _CSV)
    found = get_result(act(Client(), "datastore_search", {"id": "the waters", "q": "lake"}))
    assert (resource.title, resource.tags, resource.loads.count()) == ("Waters", [], 2)
    assert (empty.status_code, found["total"]) == (404, 1_000)


def test_older_code_can_insert_where_0003_has_left_no_defaults(resource: Resource) -> None:
    oldest, last = _STATES
    call_command("migrate", "datastore_search", last, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND column_default IS NOT NULL"
            " AND table_name IN ('datastore_search_resource', 'datastore_search_field')"
        )
        defaults = cursor.fetchall()
        for table, column in defaults:
            cursor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT")
    migrate()

    with OldCode(read_apps(oldest), resource) as old:
        old.wait_for_rounds(3)

    assert len(defaults) == 11
    assert old.errors == []


@pytest.mark.parametrize("state", _STATES)
def test_the_way_back_of_the_page_serves_the_old_code_again(resource: Resource, state: str) -> None:
    (((command, app, _earlier),)) = read_commands("Go back")

    with OldCode(read_apps(state), resource) as old:
        old.wait_for_rounds(2)
        call_command(command, app, state, verbosity=0)
        old.wait_for_rounds(2)

    assert old.errors == []


@contextmanager
def hold_a_read() -> Iterator[int]:
    """Keep a read of the resources open, as a dump does; yield the process id of its session."""
    connection.ensure_connection()
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() FROM (SELECT FROM datastore_search_resource)")
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        yield pid
    finally:
        other.rollback()
        other.close()


def is_migration_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted")
        return cursor.fetchone() is not None


@pytest.mark.slow
def test_a_migration_behind_a_long_read_lets_all_others_pass(resource: Resource) -> None:
    (state,) = _STATES[-1:]
    apps = read_apps(state)
    call_command("migrate", "datastore_search", state, verbosity=0)

    with ExitStack() as stack:
        with hold_a_read():
            migration = stack.enter_context(start_migrating())
            with OldCode(apps, resource) as old:
                for _attempt in range(3):
                    wait_until(is_migration_waiting)
                    old.wait_for_rounds(3)
                assert not migration.done()
        migration.result()

    assert old.errors == []
    call_command("migrate", "datastore_search", "--check", verbosity=0)


def test_a_migration_that_cannot_lock_its_tables_says_who_uses_them(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_command("migrate", "datastore_search", _STATES[-1], verbosity=0)
    monkeypatch.setattr(migration_locks, "_MAX_ATTEMPTS", 2)

    with hold_a_read() as pid, pytest.raises(CommandError, match=rf"Other sessions \({pid}\) use"):
        migrate()

    with pytest.raises(SystemExit):
        call_command("migrate", "datastore_search", "--check", verbosity=0)
    migrate()
    call_command("migrate", "datastore_search", "--check", verbosity=0)


def test_every_migration_that_changes_models_locks_their_tables_first() -> None:
    migrations = MigrationLoader(connection).disk_migrations
    changing = [
        migration
        for (app, name), migration in migrations.items()
        if app == "datastore_search"
        and name != "0001_initial"
        and any(isinstance(each, ModelOperation | FieldOperation) for each in migration.operations)
    ]

    assert len(changing) >= 2
    for migration in changing:
        first, *_others, last = migration.operations
        assert isinstance(first, LockTables), migration
        assert isinstance(last, LockTables), migration
        assert first.tables == last.tables


def test_sqlmigrate_shows_the_lock(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sqlmigrate", "datastore_search", "0004")

    shown = capsys.readouterr().out
    assert 'LOCK TABLE "datastore_search_resource", "datastore_search_field"' in shown
