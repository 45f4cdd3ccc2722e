"""A portal behind PgBouncer in transaction mode, whose clients share the sessions of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client

from benchmarks.scale.standbys import wait_until
from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.files.jobs import LoadOptions, cancel_load, clean_up_loads, runner
from datastore_search.contrib.files.jobs.queue import create_load
from datastore_search.contrib.files.jobs.runner import run_load
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load, LoadState, Mode
from datastore_search.contrib.files.publishing.bad_rows import write_row_error_report
from datastore_search.contrib.files.tables.locks import is_running
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource, TableVersion
from datastore_search.signals import answers_changed
from datastore_search.web.tokens import issue_token

from ..builders import act, ask, check_error, get_result, make_user, receive
from ..files.builders import get_version_id, load_text
from ..processes import build_database_url
from ..reader_threads import ReaderThreads
from .portals import empty_portal, use_databases
from .servers import run_pgbouncer

_POOL_SIZE = 6

#: More than are copied over a single connection.
_ROWS = 12_000

#: The first numbers of the locks.
_LOAD_LOCK, _RESOURCE_LOCK = 0x64735F6C, 0x64735F72

#: Settings, locks, prepared statements and cursors that a session did not have at its start.
_LEFTOVERS = """
SELECT name || ' = ' || setting FROM pg_settings WHERE source = 'session'
AND name NOT IN ('client_encoding', 'application_name', 'DateStyle', 'TimeZone')
UNION ALL
SELECT 'lock ' || classid || ' ' || objid FROM pg_locks WHERE locktype = 'advisory'
AND pid = pg_backend_pid()
UNION ALL SELECT 'prepared ' || name FROM pg_prepared_statements
UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE name <> ''
"""


@pytest.fixture(autouse=True)
def many_slots(settings: Any) -> None:
    """Let one client ask from many threads."""
    settings.DATASTORE_SEARCH_MAX_SLOTS = settings.DATASTORE_SEARCH_MAX_SLOTS_PER_CLIENT = 40


@pytest.fixture
def server(portal_server: ThrowawayServer) -> ThrowawayServer:
    return portal_server


@pytest.fixture
def address(server: ThrowawayServer, django_db_blocker: Any) -> Iterator[str]:
    """A portal that connects only through PgBouncer."""
    with (
        django_db_blocker.unblock(),
        run_pgbouncer(server, pool_size=_POOL_SIZE) as url,
        use_databases({"default": url}),
    ):
        try:
            yield url
        finally:
            empty_portal()


class Searchers(ReaderThreads):
    """Search repeatedly, so that clients share the sessions of the server."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(count=3)
        self.answer_count = 0
        self._resource = resource

    def read_once(self) -> None:
        answer = ask(Client(), {"resource_id": str(self._resource.pk), "limit": 5})
        if answer.status_code != 200:
            self.errors.append(answer.json())
        self.answer_count += 1


@pytest.fixture
def searched(address: str) -> Iterator[Resource]:
    resource = Resource.objects.create(name="searched")
    load_text(resource, write_csv(0, 10))
    with Searchers(resource) as searchers:
        yield resource
    assert searchers.errors == []
    assert searchers.answer_count


def write_csv(version: int, rows: int, start: int = 0) -> str:
    return "key,version,text\n" + "".join(
        f"{key},{version},river {key % 7}\n" for key in range(start, start + rows)
    )


def list_pool_leftovers(url: str) -> set[str]:
    """List what is left in all sessions of the pool."""
    with ExitStack() as stack:
        sessions = [stack.enter_context(psycopg.connect(url)) for _number in range(_POOL_SIZE)]
        rows = [row for session in sessions for row in session.execute(_LEFTOVERS).fetchall()]
        return {leftover for (leftover,) in rows}


def count_advisory_locks(server: ThrowawayServer) -> int:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        ).fetchone()
    assert row
    return int(row[0])


@pytest.mark.slow
def test_every_kind_of_load_leaves_nothing_behind(
    server: ThrowawayServer, address: str, searched: Resource
) -> None:
    resource = Resource.objects.create(name="loaded")

    load_text(resource, write_csv(1, _ROWS), key=("key",))
    load_text(resource, write_csv(2, _ROWS))
    load_text(resource, write_csv(3, 100, _ROWS), Mode.APPEND)
    last = load_text(resource, write_csv(4, 200, _ROWS), Mode.UPSERT)

    assert last.state == LoadState.READY
    assert clean_up_loads() == 0
    result = get_result(ask(Client(), {"resource_id": str(resource.pk), "filters": {"version": 4}}))
    assert result["total"] == 200
    dump: Any = Client().get(f"/en/datastore/dump/{resource.pk}")
    assert len(b"".join(dump.streaming_content).splitlines()) == 1 + _ROWS + 200
    assert count_advisory_locks(server) == 0
    assert list_pool_leftovers(address) == set()


def test_a_load_that_fails_leaves_nothing_behind(
    server: ThrowawayServer, address: str, searched: Resource
) -> None:
    resource = Resource.objects.create(name="loaded")
    load_text(resource, write_csv(1, 10), key=("key",))

    with pytest.raises(LoadFailed):
        load_text(resource, write_csv(2, 3_000, 5), Mode.APPEND)

    failed = resource.loads.filter(state=LoadState.FAILED).get()
    report = "".join(write_row_error_report(failed, "en")).splitlines()
    assert len(report) == 1 + 5
    assert list_record_tables(connections["default"]) == set(
        TableVersion.objects.values_list("pk", flat=True)
    )
    assert count_advisory_locks(server) == 0
    assert list_pool_leftovers(address) == set()


@contextmanager
def hold_publishing(server: ThrowawayServer, path: Path) -> Iterator[tuple[Load, list[LoadFailed]]]:
    """Run a load that waits for the lock of its resource until the block ends."""
    resource = Resource.objects.create(name="waited-for")
    path.write_text(write_csv(1, _ROWS))
    job = create_load(resource, LoadOptions(), source="file.csv")
    failures: list[LoadFailed] = []

    def run_job() -> None:
        try:
            run_load(Load.objects.get(pk=job.pk), path)
        except LoadFailed as failure:
            failures.append(failure)
        finally:
            connections["default"].close()

    with psycopg.connect(server.url) as holder:
        holder.execute(
            "SELECT FROM datastore_search_resource WHERE name = 'waited-for' FOR NO KEY UPDATE"
        )
        thread = Thread(target=run_job, daemon=True)
        thread.start()
        wait_until(lambda: waits_for_lock(server, "_resource"))
        assert is_running(connections["default"], job.pk)
        yield job, failures
        thread.join(60)
        assert not thread.is_alive()
    job.refresh_from_db()
    assert not is_running(connections["default"], job.pk)
    assert job.table_version is None
    assert Resource.objects.get(pk=resource.pk).table_version_id is None


@pytest.mark.slow
def test_a_load_is_cancelled_while_the_server_works(
    server: ThrowawayServer, address: str, searched: Resource, tmp_path: Path
) -> None:
    with (
        hold_publishing(server, tmp_path / "file.csv") as (job, failures),
        psycopg.connect(server.url, autocommit=True) as connection,
    ):

        def read_holder() -> tuple[Any, ...] | None:
            """Read the transaction of the session with the locks, unless it runs a statement."""
            return connection.execute(
                "SELECT backend_xid, backend_xmin FROM pg_stat_activity JOIN pg_locks USING (pid)"
                " WHERE locktype = 'advisory' AND classid = %s::bigint::oid"
                " AND state = 'idle in transaction'",
                [_LOAD_LOCK],
            ).fetchone()

        wait_until(read_holder)
        holder = read_holder() or read_holder()
        assert cancel_load(job)

    assert holder == (None, None)  # it keeps no vacuum from its work
    assert [failure.code for failure in failures] == ["load.cancelled"]
    assert job.state == LoadState.CANCELLED
    assert count_advisory_locks(server) == 0
    assert list_pool_leftovers(address) == set()


def test_a_load_that_loses_its_locks_fails_and_changes_nothing(
    server: ThrowawayServer, address: str, tmp_path: Path
) -> None:
    with (
        hold_publishing(server, tmp_path / "file.csv") as (job, failures),
        psycopg.connect(server.url) as connection,
    ):
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
            " WHERE locktype = 'advisory' AND classid = %s::bigint::oid",
            [_LOAD_LOCK],
        )

    assert [failure.code for failure in failures] == ["load.database_lost"]
    assert job.state == LoadState.FAILED


def waits_for_lock(server: ThrowawayServer, statement: str) -> bool:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s",
            [f"%{statement}%"],
        ).fetchone()
    return row is not None


def test_a_lock_that_was_left_behind_ends_a_load_with_its_session_named(
    server: ThrowawayServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MAX_WAIT", timedelta(seconds=1))
    resource = Resource.objects.create(name="locked")
    with psycopg.connect(server.url) as holder:
        number = resource.pk.int % 2**31
        holder.execute("SELECT pg_advisory_lock(%s, %s)", [_RESOURCE_LOCK, number])

        with pytest.raises(LoadFailed) as caught:
            load_text(resource, write_csv(1, 10))

        assert str(holder.info.backend_pid) in str(caught.value)
    failed = resource.loads.get()
    assert (failed.state, failed.error) == (LoadState.FAILED, str(caught.value))
    assert load_text(resource, write_csv(1, 10)).state == LoadState.READY


def test_writes_and_searches_leave_nothing_behind(
    server: ThrowawayServer, address: str, searched: Resource
) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    table = {"resource": {"name": "written"}, "primary_key": ["k"], "records": [{"k": 1}]}
    created = act(Client(), "datastore_create", table, token).json()["result"]
    resource_query = {"resource_id": created["resource_id"]}
    changes = {**resource_query, "records": [{"k": 2}], "include_records": True}
    assert act(Client(), "datastore_upsert", changes, token).status_code == 200
    asked: list[dict[str, Any]] = [{}, {"q": "1"}, {"records_format": "csv"}]
    for parameters in (*asked, {"limit": 2_000}, {"distinct": True}):
        assert ask(Client(), {**resource_query, **parameters}).status_code == 200
    for action, sent in (
        ("datastore_facets", {"facets": ["k"]}),
        ("datastore_aggregate", {"group_by": ["k"]}),
        ("datastore_suggest", {"field": "k", "q": "1"}),
    ):
        assert act(Client(), action, {**resource_query, **sent}).status_code == 200, action
    for page in ("", "chart/?show=count&by=k", "api/", "schema.json"):
        address_of_page = f"/en/datastore/{created['resource_id']}/{page}"
        assert Client().get(address_of_page).status_code == 200, page
    call_command("datastore_cleanup", verbosity=0)

    assert list_pool_leftovers(address) == set()


@contextmanager
def end_at_commit(server: ThrowawayServer, table: str) -> Iterator[None]:
    """End the session of each transaction that changes a table, while it is committed."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$"
        )
        connection.execute(
            f"CREATE CONSTRAINT TRIGGER end_session AFTER INSERT OR UPDATE ON {table}"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session()"
        )
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION end_session CASCADE")


@pytest.fixture
def reported() -> Iterator[list[dict[str, set[str]]]]:
    """The changes that caches in front are purged of."""
    with receive(answers_changed) as calls:
        yield calls


def test_a_commit_without_an_answer_is_503_and_is_purged(
    server: ThrowawayServer, address: str, reported: list[dict[str, set[str]]]
) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    table = {"resource": {"name": "written"}, "primary_key": ["k"], "records": [{"k": 1}]}
    created = get_result(act(Client(), "datastore_create", table, token))
    resource_id = created["resource_id"]
    for action, sent in (
        ("datastore_upsert", {"resource_id": resource_id, "records": [{"k": 2}]}),
        ("datastore_create", {"resource_id": resource_id, "fields": [{"id": "k"}, {"id": "l"}]}),
        ("datastore_records_delete", {"resource_id": resource_id, "filters": {"k": 1}}),
        ("datastore_delete", {"resource_id": resource_id}),
        ("resource_patch", {"id": resource_id, "description": "changed"}),
    ):
        reported.clear()
        with end_at_commit(server, "datastore_search_resource"):
            answer = act(Client(), action, sent, token)
        error = check_error(answer, 503)
        assert "whole or not at all" in error["message"], action
        assert answer["Retry-After"] == "5"
        assert any(resource_id in each["keys"] for each in reported), action

    changes = {"resource_id": resource_id, "records": [{"k": 2}]}
    assert act(Client(), "datastore_upsert", changes, token).status_code == 200


def test_a_commit_without_an_answer_in_the_admin_is_503(
    server: ThrowawayServer, address: str, reported: list[dict[str, set[str]]]
) -> None:
    resource = Resource.objects.create(name="edited")
    browser = Client()
    browser.force_login(make_user("editor", is_superuser=True, is_staff=True))
    path = f"/en/admin/datastore_search/resource/{resource.pk}/delete/"
    reported.clear()
    with end_at_commit(server, "django_admin_log"):
        answer = browser.post(path, {"post": "yes"})
    assert answer.status_code == 503
    assert any(str(resource.pk) in each["keys"] for each in reported)


def test_a_load_whose_commit_has_no_answer_is_purged_and_fails_as_lost(
    server: ThrowawayServer, address: str, reported: list[dict[str, set[str]]]
) -> None:
    resource = Resource.objects.create(name="loaded")
    load_text(resource, write_csv(1, 10), key=("key",))
    reported.clear()
    with end_at_commit(server, "datastore_search_resource"), pytest.raises(LoadFailed) as caught:
        load_text(resource, write_csv(2, 10))
    assert caught.value.code == "load.database_lost"
    assert any(str(resource.pk) in each["keys"] for each in reported)
    assert load_text(resource, write_csv(2, 10)).state == LoadState.READY


@pytest.fixture
def slow(server: ThrowawayServer, address: str) -> Iterator[Resource]:
    """A resource of which every search takes a minute."""
    resource = Resource.objects.create(name="slow")
    table = f"datastore_search_record_{get_version_id(load_text(resource, write_csv(1, 10)))}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO slow")
        connection.execute(
            f"CREATE VIEW {table} AS SELECT slow.*, slow.ctid FROM slow, pg_sleep(60)"
        )
        yield resource
        connection.execute(f"DROP VIEW {table}")
        connection.execute(f"ALTER TABLE slow RENAME TO {table}")


def test_cancelled_searches_end_in_postgresql_and_leave_nothing_behind(
    server: ThrowawayServer, slow: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=1)
    statuses: list[int] = []

    def search() -> None:
        statuses.append(ask(Client(), {"resource_id": str(slow.pk), "q": "1"}).status_code)
        connections["default"].close()

    threads = [Thread(target=search, daemon=True) for _number in range(_POOL_SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    with psycopg.connect(server.url) as connection:
        sleeping = connection.execute(
            "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        ).fetchall()
    assert statuses == [409] * _POOL_SIZE
    assert sleeping == []
    assert list_pool_leftovers(build_database_url()) == set()


@pytest.mark.parametrize(
    "parameters", [{}, pytest.param({"format": "xlsx"}, marks=pytest.mark.slow)]
)
def test_dumps_leave_nothing_behind_even_if_their_client_goes(
    address: str, parameters: dict[str, str]
) -> None:
    resource = Resource.objects.create(name="dumped")
    load_text(resource, write_csv(1, _ROWS))
    path = f"/en/datastore/dump/{resource.pk}"

    whole: Any = Client().get(path, parameters)
    assert whole.status_code == 200
    assert whole.getvalue()
    for blocks_read in (0, 1):
        response: Any = Client().get(path, parameters)
        blocks = iter(response.streaming_content)
        for _block in range(blocks_read):
            next(blocks)
        response.close()
    assert Client().head(path, parameters).status_code == 200

    assert list_pool_leftovers(address) == set()
