"""A portal that reads from a replica, which lags behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.urls import reverse

from benchmarks.scale.standbys import Standby, run_standby, wait_until
from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.contrib.files.models import LoadState, Mode
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource
from datastore_search.models.base import PrimaryManager
from datastore_search.web.tokens import issue_token

from ..builders import act, ask, check_error, get_result, make_user
from ..files.builders import fails_with, get_version_id, load_text
from .portals import empty_portal, use_databases
from .routers import ChangingRouter, ReplicaRouter


@pytest.fixture(scope="module")
def servers(portal_server: ThrowawayServer) -> Iterator[tuple[ThrowawayServer, Standby]]:
    # Queries on the standby do not delay its replay.
    with run_standby(portal_server, max_standby_streaming_delay="0") as standby:
        yield portal_server, standby


@pytest.fixture
def catch_up(
    servers: tuple[ThrowawayServer, Standby], django_db_blocker: Any
) -> Iterator[Callable[[], None]]:
    """A portal that reads from the standby; call the value to let the standby catch up."""
    primary, standby = servers
    aliases = {"default": primary.url, "replica": standby.url}
    with django_db_blocker.unblock(), use_databases(aliases, router=ReplicaRouter):
        try:
            yield lambda: standby.catch_up(primary)
        finally:
            empty_portal()


@pytest.fixture
def standby(servers: tuple[ThrowawayServer, Standby], catch_up: Callable[[], None]) -> Standby:
    return servers[1]


def write_csv(version: int, rows: int = 20) -> str:
    return "version,text\n" + "".join(f"{version},river {row}\n" for row in range(rows))


def read_versions(resource: Resource) -> tuple[set[int], int]:
    """Search; return the versions of the records, and their number."""
    result = get_result(ask(Client(), {"resource_id": str(resource.pk), "limit": 100}))
    return {record["version"] for record in result["records"]}, result["total"]


# Loads and staff read from the primary ------------------------------------------------------------


def test_every_model_reads_from_the_primary() -> None:
    for model in apps.get_app_config("datastore_search").get_models():
        assert isinstance(model._default_manager, PrimaryManager), model
        assert isinstance(model._base_manager, PrimaryManager), model


@pytest.mark.slow
def test_a_table_that_was_just_published_stays(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    resource = Resource.objects.create(name="replaced")
    load_text(resource, write_csv(1))
    catch_up()

    with standby.pause_replay():
        second = load_text(resource, write_csv(2))
        dropped = clean_up_loads()
        call_command("datastore_cleanup", verbosity=0)
        tables = list_record_tables(connections["default"])
        assert (dropped, tables) == (0, {get_version_id(second)})
        assert Resource.objects.get().table_version_id == get_version_id(second)

    catch_up()
    assert read_versions(resource) == ({2}, 20)


def test_every_kind_of_load_sees_what_the_one_before_has_left(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    with standby.pause_replay():
        resource = Resource.objects.create(name="new")
        load_text(resource, "key,version\n1,1\n2,1\n", key=("key",))
        load_text(resource, "key,version\n3,2\n", Mode.APPEND)
        last = load_text(resource, "key,version\n2,3\n4,3\n", Mode.UPSERT)
        same = load_text(resource, "key,version\n2,3\n4,3\n", Mode.UPSERT)
        with fails_with("load.bad_rows"):
            load_text(resource, "key,version\n1,9\n", Mode.APPEND)

    catch_up()
    assert (last.state, same.state) == (LoadState.READY, LoadState.UNCHANGED)
    result = get_result(ask(Client(), {"resource_id": str(resource.pk)}))
    assert [(record["key"], record["version"]) for record in result["records"]] == [
        (1, 1), (2, 3), (3, 2), (4, 3),
    ]  # fmt: skip


def test_a_token_is_shown_when_it_is_issued_and_revoked_at_once(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    client = Client()
    user = make_user("issuer", is_staff=True, is_superuser=True)
    client.force_login(user)
    resource = Resource.objects.create(name="private", private=True)
    catch_up()

    with standby.pause_replay():
        issued = client.post(reverse("admin:knox_authtoken_add"), {"user": user.pk})
        assert issued.status_code == 302
        listed = client.get(issued["Location"])
        (token,) = listed.context["cl"].result_list
        bare = issue_token(user)
        fields = {"resource_id": str(resource.pk), "fields": [{"id": "a"}], "force": True}
        assert act(Client(), "datastore_create", fields, bare).status_code == 200
        user.auth_token_set.using("default").exclude(pk=token.pk).delete()
        assert act(Client(), "datastore_create", fields, bare).status_code == 403
        make_user("just-made")
        call_command("create_api_token", "just-made")


# Writing and reading ------------------------------------------------------------------------------


def test_an_answer_holds_what_its_own_call_has_written(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    catch_up()
    client = Client()

    with standby.pause_replay():
        table = {
            "resource": {"name": "written"}, "primary_key": ["k"], "aliases": ["w"],
            "records": [{"k": 1, "v": "a"}],
        }  # fmt: skip
        created = get_result(act(client, "datastore_create", table, token))
        query = {"resource_id": created["resource_id"]}
        changes = {"records": [{"k": 1, "v": "b"}, {"k": 2}], "include_records": True}
        sent = {**query, "force": True, **changes}
        written = get_result(act(client, "datastore_upsert", sent, token))
        assert [(r["_id"], r["k"], r["v"]) for r in written["records"]] == [
            (1, 1, "b"), (2, 2, None),
        ]  # fmt: skip
        check_error(ask(client, query), 404)  # the replica has none of it

    catch_up()
    assert get_result(ask(client, {"resource_id": "w"}))["total"] == 2


def test_a_search_sees_what_the_replica_has_wholly(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    resource = Resource.objects.create(name="searched")
    load_text(resource, write_csv(1, 20))
    catch_up()
    assert read_versions(resource) == ({1}, 20)

    with standby.pause_replay():
        load_text(resource, write_csv(2, 30))
        load_text(resource, write_csv(2, 5), Mode.APPEND)
        assert read_versions(resource) == ({1}, 20)

    catch_up()
    assert read_versions(resource) == ({2}, 35)


@pytest.mark.slow
def test_a_dump_reads_all_from_one_database(
    servers: tuple[ThrowawayServer, Standby], standby: Standby, catch_up: Callable[[], None]
) -> None:
    resource = Resource.objects.create(name="dumped")
    load_text(resource, write_csv(1, 40_000))
    catch_up()
    aliases = {"default": servers[0].url, "replica": standby.url}

    with standby.pause_replay():
        load_text(resource, write_csv(2, 50_000))
        with use_databases(aliases, router=ChangingRouter):
            for _time in range(8):
                dump: Any = Client().get(f"/en/datastore/dump/{resource.pk}")
                assert not any(connections[alias].in_atomic_block for alias in aliases)
                text = b"".join(dump.streaming_content).decode()
                lines = [line.split(",")[1] for line in text.splitlines()[1:]]
                assert lines in (["1"] * 40_000, ["2"] * 50_000)
                assert read_versions(resource) in (({1}, 40_000), ({2}, 50_000))


@pytest.mark.slow
def test_a_search_that_the_standby_ends_is_made_again(
    servers: tuple[ThrowawayServer, Standby], standby: Standby, catch_up: Callable[[], None]
) -> None:
    resource = Resource.objects.create(name="in-the-way")
    table = f"datastore_search_record_{get_version_id(load_text(resource, write_csv(1)))}"
    run_on_primary(
        servers[0],
        f"ALTER TABLE {table} RENAME TO slow",
        f"CREATE VIEW {table} AS SELECT slow.*, slow.ctid FROM slow, pg_sleep(2)",
    )
    catch_up()
    answers: list[Any] = []

    def search() -> None:
        answers.append(ask(Client(), {"resource_id": str(resource.pk), "q": "river"}))
        for alias in ("default", "replica"):
            connections[alias].close()

    thread = Thread(target=search, daemon=True)
    try:
        thread.start()
        wait_until(
            lambda: standby.fetch_value(
                "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'slow'::regclass"
            )
        )
        run_on_primary(
            servers[0], "LOCK TABLE slow IN ACCESS EXCLUSIVE MODE", "SELECT pg_current_xact_id()"
        )
        thread.join(60)
    finally:
        run_on_primary(servers[0], f"DROP VIEW {table}", "DROP TABLE slow")

    conflicts = standby.fetch_value(
        "SELECT confl_lock FROM pg_stat_database_conflicts WHERE datname = current_database()"
    )
    assert conflicts == 1
    (answer,) = answers
    assert get_result(answer)["total"] == 20


def run_on_primary(primary: ThrowawayServer, *statements: str) -> None:
    """Run statements in one transaction, which waits for no lock for long."""
    with psycopg.connect(primary.url) as connection:
        for statement in ("SET LOCAL lock_timeout = '30s'", *statements):
            connection.execute(statement.encode())
