"""A portal that reads from a replica, which lags behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.urls import reverse

from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search import storage
from datastore_search.loading.jobs import (
    LoadOptions,
    cancel_load,
    clean_up_loads,
    load_file,
    retry_load,
    submit_load,
)
from datastore_search.models import Load, LoadState, Mode, Resource
from datastore_search.tokens import issue_token

from ..builders import act, ask, check_error, get_result, get_version_id, make_user
from ..failures import fails_with
from ..loading.jobs.workers import DATABASE, PROJECT, build_worker_command
from .portals import empty_portal, migrate_portal, use_databases
from .routers import ChangingRouter, ReplicaRouter
from .servers import Standby, run_own_server, run_standby, wait_until


@pytest.fixture(scope="module")
def servers(django_db_blocker: Any) -> Iterator[tuple[ThrowawayServer, Standby]]:
    with run_own_server() as primary, django_db_blocker.unblock():
        with use_databases({"default": primary.url}):
            migrate_portal()
        # Queries on the standby do not delay its replay.
        with run_standby(primary, max_standby_streaming_delay="0") as standby:
            yield primary, standby


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


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Load]:
    """Load a text into a resource, in a mode."""

    def load(resource: Resource, text: str, mode: Mode = Mode.REPLACE, **options: Any) -> Load:
        path = tmp_path / "file.csv"
        path.write_text(text)
        return load_file(resource, path, options=LoadOptions(mode=mode.value, **options))

    return load


def read_versions(resource: Resource) -> tuple[set[int], int]:
    """Search; return the versions of the records, and their number."""
    result = get_result(ask(Client(), {"resource_id": str(resource.pk), "limit": 100}))
    return {record["version"] for record in result["records"]}, result["total"]


def list_tables() -> set[int]:
    return storage.list_record_tables(connections["default"])


# Loading ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_that_was_just_published_stays(
    standby: Standby, catch_up: Callable[[], None], load: Callable[..., Load]
) -> None:
    resource = Resource.objects.create(name="replaced")
    load(resource, write_csv(1))
    catch_up()

    with standby.pause_replay():
        second = load(resource, write_csv(2))
        dropped = clean_up_loads()
        call_command("datastore_cleanup", verbosity=0)
        assert (dropped, list_tables()) == (0, {get_version_id(second)})
        assert Resource.objects.get().table_version_id == get_version_id(second)

    catch_up()
    assert read_versions(resource) == ({2}, 20)


def test_every_kind_of_load_sees_what_the_one_before_has_left(
    standby: Standby, catch_up: Callable[[], None], load: Callable[..., Load]
) -> None:
    with standby.pause_replay():
        resource = Resource.objects.create(name="new")
        load(resource, "key,version\n1,1\n2,1\n", key=("key",))
        load(resource, "key,version\n3,2\n", Mode.APPEND)
        last = load(resource, "key,version\n2,3\n4,3\n", Mode.UPSERT)
        same = load(resource, "key,version\n2,3\n4,3\n", Mode.UPSERT)
        with fails_with("load.bad_rows"):
            load(resource, "key,version\n1,9\n", Mode.APPEND)

    catch_up()
    assert (last.state, same.state) == (LoadState.READY, LoadState.UNCHANGED)
    result = get_result(ask(Client(), {"resource_id": str(resource.pk)}))
    assert [(record["key"], record["version"]) for record in result["records"]] == [
        (1, 1), (2, 3), (3, 2), (4, 3),
    ]  # fmt: skip


def test_the_command_makes_a_resource_and_loads_it_again(
    standby: Standby, catch_up: Callable[[], None], tmp_path: Path
) -> None:
    path = tmp_path / "file.csv"
    with standby.pause_replay():
        for version in (1, 2):
            path.write_text(write_csv(version))
            call_command("load_resource", str(path), name="by-command", verbosity=0)

    catch_up()
    assert read_versions(Resource.objects.get(name="by-command")) == ({2}, 20)


def test_a_load_is_cancelled_and_retried(standby: Standby, settings: Any, uploads: Path) -> None:
    settings.TASKS = DATABASE
    with standby.pause_replay():
        resource = Resource.objects.create(name="queued")
        first = submit_load(resource, file=ContentFile(write_csv(1).encode(), name="file.csv"))
        assert cancel_load(first)
        assert first.state == LoadState.CANCELLED
        second = retry_load(first)
        assert (second.state, bool(first.file), bool(second.file)) == ("queued", False, True)
        assert not cancel_load(first)


def test_a_worker_runs_what_the_replica_does_not_know_yet(
    servers: tuple[ThrowawayServer, Standby], standby: Standby, settings: Any, uploads: Path
) -> None:
    settings.TASKS = DATABASE
    with standby.pause_replay():
        resource = Resource.objects.create(name="queued")
        load = submit_load(resource, file=ContentFile(write_csv(1).encode(), name="file.csv"))
        process = subprocess.run(
            build_worker_command("--batch"), cwd=PROJECT, check=False, capture_output=True,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "tests.deployment.replica_settings",
                "DATABASE_URL": servers[0].url,
                "REPLICA_URL": standby.url,
                "MEDIA_ROOT": str(uploads),
            },
        )  # fmt: skip
        assert process.returncode == 0, process.stderr.decode()[-3000:]
        load.refresh_from_db()
        resource.refresh_from_db()
        assert (load.state, load.error, load.record_count) == (LoadState.READY, "", 20)
        assert resource.table_version_id == get_version_id(load)
        assert list_tables() == {get_version_id(load)}


# The admin ----------------------------------------------------------------------------------------


def test_staff_load_a_file_and_see_the_result_at_once(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    client = Client()
    make_user("staff", is_staff=True, is_superuser=True).delete()
    client.force_login(make_user("staff", is_staff=True, is_superuser=True))
    catch_up()

    with standby.pause_replay():
        add_response = client.post(
            reverse("admin:datastore_search_resource_add"),
            {
                "title": "Rivers", "name": "rivers", "description": "", "language": "english",
                "aliases-TOTAL_FORMS": "1", "aliases-INITIAL_FORMS": "0",
                "aliases-0-name": "flowing", "_load": "1",
            },
        )  # fmt: skip
        assert add_response.status_code == 302, add_response.context["errors"]
        file = ContentFile(write_csv(1).encode(), name="file.csv")
        choices = {"mode": "replace", "bad_rows": "refuse"}
        draft_response = client.post(add_response["Location"], {"file": file, **choices})
        assert draft_response.status_code == 302, draft_response.context["form"].errors
        preview = client.get(draft_response["Location"])
        seen = preview.context["preview"].digest
        load_response = client.post(
            draft_response["Location"],
            {"load": "1", "bad_rows": "refuse", "seen": seen, "type_0": "", "type_1": ""},
        )
        page = client.get(load_response["Location"])
        assert page.status_code == 200
        assert page.context["load"].state == LoadState.READY
        pk = page.context["load"].pk
        progress = client.get(reverse("admin:datastore_search_load_progress"), {"load": pk})
        assert progress.json()["loads"][str(pk)]["state"] == "ready"
        list_response = client.get(reverse("admin:datastore_search_resource_changelist"))
        assert "rivers" in list_response.content.decode()

    catch_up()
    result = get_result(ask(Client(), {"resource_id": "flowing"}))
    assert result["total"] == 20


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
        refused = act(Client(), "datastore_create", fields, bare)
        assert refused.status_code == 403


def test_a_token_of_a_user_who_was_just_made_is_issued(
    standby: Standby, capsys: pytest.CaptureFixture[str]
) -> None:
    with standby.pause_replay():
        make_user("just-made")
        call_command("create_api_token", "just-made")
    assert capsys.readouterr().out.strip()


# Writing and reading ------------------------------------------------------------------------------


def test_an_answer_holds_what_its_own_call_has_written(
    standby: Standby, catch_up: Callable[[], None]
) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    catch_up()
    client = Client()

    with standby.pause_replay():
        table = {
            "resource": {"name": "written"},
            "primary_key": ["k"],
            "aliases": ["w"],
            "records": [{"k": 1, "v": "a"}],
        }
        created = act(client, "datastore_create", table, token).json()["result"]
        resource_query = {"resource_id": created["resource_id"], "force": True}
        changes = {"records": [{"k": 1, "v": "b"}, {"k": 2}], "include_records": True}
        written = act(client, "datastore_upsert", resource_query | changes, token).json()["result"]
        assert [(r["_id"], r["k"], r["v"]) for r in written["records"]] == [
            (1, 1, "b"), (2, 2, None),
        ]  # fmt: skip
        deletion = {"filters": {"k": 1}, "include_deleted_records": True}
        deleted = act(client, "datastore_records_delete", resource_query | deletion, token).json()[
            "result"
        ]
        assert [record["v"] for record in deleted["deleted_records"]] == ["b"]
        resource_query.pop("force")
        check_error(
            ask(client, resource_query), 404, "Not Found Error"
        )  # the replica has none of it

    catch_up()
    assert get_result(ask(client, resource_query))["total"] == 1
    assert get_result(ask(client, {"resource_id": "w"}))["total"] == 1


def test_a_search_sees_what_the_replica_has_wholly(
    standby: Standby, catch_up: Callable[[], None], load: Callable[..., Load]
) -> None:
    resource = Resource.objects.create(name="searched")
    load(resource, write_csv(1, 20))
    catch_up()
    assert read_versions(resource) == ({1}, 20)

    with standby.pause_replay():
        load(resource, write_csv(2, 30))
        load(resource, write_csv(2, 5), Mode.APPEND)
        assert read_versions(resource) == ({1}, 20)

    catch_up()
    assert read_versions(resource) == ({2}, 35)


@pytest.mark.slow
def test_a_dump_reads_all_from_one_database(
    servers: tuple[ThrowawayServer, Standby],
    standby: Standby,
    catch_up: Callable[[], None],
    load: Callable[..., Load],
) -> None:
    resource = Resource.objects.create(name="dumped")
    load(resource, write_csv(1, 40_000))
    catch_up()
    aliases = {"default": servers[0].url, "replica": standby.url}

    with standby.pause_replay():
        load(resource, write_csv(2, 50_000))
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
    servers: tuple[ThrowawayServer, Standby],
    standby: Standby,
    catch_up: Callable[[], None],
    load: Callable[..., Load],
) -> None:
    resource = Resource.objects.create(name="in-the-way")
    table = f"datastore_search_record_{get_version_id(load(resource, write_csv(1)))}"
    with psycopg.connect(servers[0].url) as primary:
        primary.execute(f"ALTER TABLE {table} RENAME TO slow")
        primary.execute(f"CREATE VIEW {table} AS SELECT slow.*, slow.ctid FROM slow, pg_sleep(2)")
    catch_up()
    answers: list[Any] = []

    def search() -> None:
        answers.append(ask(Client(), {"resource_id": str(resource.pk), "q": "river"}))
        for alias in ("default", "replica"):
            connections[alias].close()

    try:
        thread = Thread(target=search)
        thread.start()
        wait_until(
            lambda: standby.fetch_value(
                "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'slow'::regclass"
            )
        )
        with psycopg.connect(servers[0].url) as primary:
            primary.execute("LOCK TABLE slow IN ACCESS EXCLUSIVE MODE")
            primary.execute("SELECT pg_current_xact_id()")
        thread.join()
    finally:
        with psycopg.connect(servers[0].url) as primary:
            primary.execute(f"DROP VIEW {table}")
            primary.execute("DROP TABLE slow")

    conflicts = standby.fetch_value(
        "SELECT confl_lock FROM pg_stat_database_conflicts WHERE datname = current_database()"
    )
    assert conflicts == 1
    (answer,) = answers
    assert get_result(answer)["total"] == 20
