"""Faults of PostgreSQL: what each door answers meanwhile, and that all recovers by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from socket import socket
from time import sleep
from typing import Any, NamedTuple

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import InternalError, close_old_connections, connection
from django.test import Client

from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.api.actions import actions
from datastore_search.api.actions.users import user_actions
from datastore_search.contrib.catalogue.groups import group_actions
from datastore_search.contrib.files.jobs import load_file, retry_load, submit_load
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token
from example_project.management.commands import serve

from ..builders import READING, act, check_error, get_result
from ..files.builders import fails_with, get_version_id, load_csv, load_text
from ..files.sources.server import build_answer, run_server
from .faults import fill_disk, make_read_only, occupy_connections, stop_server, use_small_disk
from .portals import empty_portal, use_databases

#: Actions, and what each is sent beside the id of the resource.
SEARCHES: dict[str, dict[str, Any]] = {
    **READING,
    "datastore_search": {"q": "river"},
    "package_list": {},
    "package_show": {},
    "package_search": {"q": "river"},
    "current_package_list_with_resources": {},
    "resource_show": {},
    "resource_view_list": {},
    "resource_search": {"query": "name:served"},
    "package_autocomplete": {"q": "served"},
    "group_list": {},
    "organization_list": {},
    "tag_list": {},
    "tag_search": {"query": "a"},
    "tag_autocomplete": {"query": "a"},
    "format_autocomplete": {"q": "csv"},
}
WRITES: dict[str, dict[str, Any]] = {
    "datastore_create": {"fields": [{"id": "code", "type": "text"}, {"id": "more"}]},
    "datastore_upsert": {"method": "insert", "records": [{"code": "c"}]},
    "datastore_records_delete": {"filters": {"code": "c"}},
}

OF_RESOURCE = {*READING, *WRITES, "package_show", "resource_show", "resource_view_list"}

#: The actions that read nothing from the database.
WITHOUT_DATABASE = {"help_show", "license_list", "site_read", "status_show", "vocabulary_list"}

#: Those that delete the resource, need an organization, a user or a statement: as others of their
#: kind.
OTHERS = {
    *(action.name for action in (*group_actions, *user_actions)),
    *("group_show", "group_package_show", "tag_show"),
    *("organization_list_for_user", "group_list_authz"),
    "datastore_search_sql",
    "datastore_delete",
    "organization_show",
    "resource_create",
    "resource_delete",
    "resource_patch",
    "resource_update",
    *(f"resource_view_{each}" for each in ("create", "delete", "reorder", "show", "update")),
    "package_create",
    "package_update",
    "package_patch",
    "package_revise",
    "package_delete",
    "package_resource_reorder",
    "dataset_purge",
    "datapusher_submit",
    "task_status_show",
}

PAGES = ("", "api/", "chart/", "map/", "r/1/", "schema.json")

#: Pages of the admin, of which only the first is the app's, as staff open them.
DJANGO_PAGES = (
    "admin/datastore_search/resource/",
    "admin/",
    "admin/login/",
    "admin/auth/user/",
    "admin/password_change/",
    "admin/jsi18n/",
)

#: Beyond 10,000 rows a load copies over several connections.
_ROWS = 12_000

#: A disk of 8 MiB has no room for these.
_MANY_ROWS = 60_000


class Portal(NamedTuple):
    """A portal with one resource, and somebody who may write."""

    server: ThrowawayServer
    resource: Resource
    token: str
    session: str

    def call(self, action: str, parameters: dict[str, Any]) -> Any:
        client = open_client()
        identity = {"id": str(self.resource.pk)} if action in OF_RESOURCE else {}
        force = {"force": True} if action in WRITES else {}
        token = self.token if action in WRITES else ""
        return act(client, action, {**identity, **parameters, **force}, token)

    def open_page(self, path: str, *, session: str = "", language: str = "en") -> Any:
        return open_client(session).get(f"/{language}/datastore/{self.resource.pk}/{path}")

    def write(self, action: str) -> Any:
        return self.call(action, WRITES[action])

    def count_records(self) -> int:
        return int(get_result(self.call("datastore_search", {}))["total"])


def open_client(session: str = "") -> Client:
    """Make a client; as before each request of a server, a connection that failed is closed."""
    close_old_connections()
    client = Client(raise_request_exception=False)
    if session:
        client.cookies["sessionid"] = session
    return client


@pytest.fixture
def portal(portal_server: ThrowawayServer, django_db_blocker: Any) -> Iterator[Portal]:
    with django_db_blocker.unblock(), use_databases({"default": portal_server.url}):
        try:
            yield make_portal(portal_server)
        finally:
            empty_portal()


def make_portal(server: ThrowawayServer) -> Portal:
    resource = load_csv(Resource.objects.create(name="served"), "code,text\na,river\nb,lake\n")
    user = get_user_model().objects.create_superuser("operator")
    client = Client()
    client.force_login(user)
    return Portal(server, resource, issue_token(user), client.cookies["sessionid"].value)


Fault = Callable[[ThrowawayServer], AbstractContextManager[Any]]


def check_unavailable(response: Any) -> dict[str, Any]:
    error = check_error(response, 503)
    assert int(response["Retry-After"]) > 0
    return error


def check_pages_unavailable(portal: Portal) -> None:
    for session in ("", portal.session):
        for path in PAGES:
            page = portal.open_page(path, session=session)
            assert page.status_code == 503, (path, session)
            assert int(page["Retry-After"]) > 0, path
    for path in DJANGO_PAGES:
        page = open_client(portal.session).get(f"/vi/{path}")
        assert (page.status_code, page["Retry-After"]) == (503, "5"), path
        assert "Không thể kết nối" in page.content.decode()
    signed_in = open_client().post("/en/admin/login/", {"username": "operator", "password": "x"})
    assert (signed_in.status_code, signed_in["Retry-After"]) == (503, "5")
    page = portal.open_page("", language="vi")
    assert page["Content-Language"] == "vi"
    assert 'lang="vi"' in page.content.decode()
    assert "Không thể kết nối" in page.content.decode()


def check_recovered(portal: Portal) -> None:
    """Expect that everything is answered, without a restart of anything."""
    for action, parameters in (SEARCHES | WRITES).items():
        answer = portal.call(action, parameters)
        assert answer.status_code == 200, (action, answer.json())
    for session in ("", portal.session):
        assert [portal.open_page(path, session=session).status_code for path in PAGES] == [200] * 6
    for path in DJANGO_PAGES:
        page = open_client(portal.session).get(f"/en/{path}", follow=True)
        assert page.status_code == 200, path


def test_every_action_is_tried_in_a_fault() -> None:
    assert set(actions) == SEARCHES.keys() | WRITES.keys() | WITHOUT_DATABASE | OTHERS


@pytest.mark.slow
@pytest.mark.parametrize("fault", [stop_server, occupy_connections])
def test_without_a_connection_every_door_is_503_until_the_fault_ends(
    portal: Portal, fault: Fault
) -> None:
    connection.close()
    with fault(portal.server):
        for action, parameters in (SEARCHES | WRITES).items():
            assert check_unavailable(portal.call(action, parameters)) == {
                "message": "The database cannot be reached. Try again in a moment."
            }, action
        check_unavailable(open_client().get(f"/en/datastore/dump/{portal.resource.pk}"))
        check_pages_unavailable(portal)
        for action in ("status_show", "site_read", "license_list"):
            assert portal.call(action, {}).status_code == 200

    check_recovered(portal)
    assert portal.count_records() == 2


@pytest.mark.slow
def test_a_restart_is_not_noticed_by_searches_and_a_write_is_never_sent_twice(
    portal: Portal,
) -> None:
    assert portal.count_records() == 2  # over a connection that the restart ends
    with stop_server(portal.server):
        pass
    assert portal.count_records() == 2

    for action, parameters in (SEARCHES | WRITES).items():
        end_sessions(portal.server)
        answer = portal.call(action, parameters)
        if answer.status_code != 200:
            check_unavailable(answer)
            answer = portal.call(action, parameters)
        assert answer.status_code == 200, action
    assert portal.count_records() == 2  # one was added and deleted


def end_sessions(server: ThrowawayServer) -> None:
    """End all other sessions of a server, as its restart does."""
    with psycopg.connect(server.url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )


def test_a_database_that_is_read_only_answers_reads_and_refuses_writes(portal: Portal) -> None:
    with make_read_only(portal.server):
        connection.close()
        for action, parameters in SEARCHES.items():
            assert portal.call(action, parameters).status_code == 200, action
        for action, parameters in WRITES.items():
            assert check_unavailable(portal.call(action, parameters)) == {
                "message": "The database is read-only at the moment. Nothing was changed."
            }, action
        assert [portal.open_page(path).status_code for path in PAGES] == [200] * 6
        assert not serve._clean_up()  # which ends nothing that is served

    connection.close()
    check_recovered(portal)
    assert portal.count_records() == 2


@pytest.mark.slow
def test_a_full_disk_refuses_writes_and_loads_which_can_be_retried(
    portal: Portal, uploads: Path
) -> None:
    before = portal.resource.table_version_id
    with use_small_disk(portal.server) as folder:
        connection.close()  # the settings of a server are read by new connections
        filled = load_csv(Resource.objects.create(name="filled"), "code,text\nd,sea\n")
        with fill_disk(folder):
            records = [{"code": f"c{number}", "text": "x" * 1000} for number in range(500)]
            written = {"resource_id": str(filled.pk), "method": "insert", "records": records}
            refused = act(Client(), "datastore_upsert", {**written, "force": True}, portal.token)
            assert check_unavailable(refused)["message"].startswith("The database’s disk is full")
            load = submit_load(
                portal.resource,
                file=ContentFile(write_rows(_MANY_ROWS).encode(), name="second.csv"),
            )
            assert portal.count_records() == 2
        load.refresh_from_db()
        assert load.state == LoadState.FAILED
        assert load.failure is not None
        assert load.failure["code"] == "load.disk_full"
        portal.resource.refresh_from_db()
        assert portal.resource.table_version_id == before
        assert list_record_tables(connection) == {before, filled.table_version_id}
        assert filled.table_version is not None
        filled.table_version.refresh_from_db()
        assert filled.table_version.record_count == 1
        filled.delete()
        connection.close()

    again = retry_load(load)
    again.refresh_from_db()
    assert (again.state, again.record_count) == (LoadState.READY, _MANY_ROWS)
    assert portal.count_records() == _MANY_ROWS
    assert list_record_tables(connection) == {get_version_id(again)}


def write_rows(count: int = _ROWS) -> str:
    return "code,text\n" + "".join(f"{row},river\n" for row in range(count))


def test_a_write_that_exceeds_a_limit_of_the_role_is_503_and_changes_nothing(
    portal: Portal,
) -> None:
    portal.server.superuser_execute("ALTER ROLE portal SET transaction_timeout = '200ms'")
    connection.close()
    try:
        with psycopg.connect(portal.server.superuser_url) as other:
            other.execute("SELECT FROM datastore_search_resource FOR UPDATE")
            for action in WRITES:
                check_unavailable(portal.write(action))
    finally:
        portal.server.superuser_execute("ALTER ROLE portal RESET transaction_timeout")
        connection.close()

    assert portal.count_records() == 2


@pytest.mark.slow
def test_a_file_may_arrive_later_than_an_idle_session_is_ended(
    portal: Portal, settings: Any
) -> None:
    def answer(client: socket) -> None:
        sleep(3)
        client.sendall(build_answer(b"code,text\na,river\n"))

    portal.server.superuser_execute("ALTER ROLE portal SET idle_session_timeout = '1500ms'")
    connection.close()
    try:
        with run_server() as files:
            settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [files.host]
            files.answers["/a.csv"] = answer
            load = submit_load(portal.resource, url=files.url("/a.csv"))
    finally:
        portal.server.superuser_execute("ALTER ROLE portal RESET idle_session_timeout")
        connection.close()

    load.refresh_from_db()
    assert (load.state, load.failure, load.record_count) == (LoadState.READY, None, 1)


@pytest.mark.slow
def test_a_load_names_the_limit_of_temporary_files(portal: Portal) -> None:
    portal.server.superuser_execute("ALTER ROLE portal SET temp_file_limit = 0")
    try:
        connection.close()
        with fails_with("load.temp_file_limit"):
            rows = (f"{row},{'x' * 20}{row * 7919 % 100_003} lake\n" for row in range(100_000))
            load_text(portal.resource, "code,text\n" + "".join(rows))
    finally:
        portal.server.superuser_execute("ALTER ROLE portal RESET temp_file_limit")
        connection.close()

    assert portal.count_records() == 2


@pytest.mark.slow
def test_a_load_without_a_connection_fails_with_a_reason_and_can_be_retried(portal: Portal) -> None:
    before = portal.resource.table_version_id

    with occupy_connections(portal.server), fails_with("load.database_lost"):
        # Over the one connection that the portal has.
        load_text(portal.resource, write_rows())

    load = Load.objects.latest("created_at")
    assert (load.state, load.failure) == (
        LoadState.FAILED,
        {"code": "load.database_lost", "parameters": {}},
    )
    assert portal.count_records() == 2
    assert list_record_tables(connection) == {before}
    load_text(portal.resource, write_rows())
    assert portal.count_records() == _ROWS


def test_a_read_only_database_refuses_a_load_before_it_begins(
    portal: Portal, tmp_path: Path
) -> None:
    path = tmp_path / "second.csv"
    path.write_text(write_rows())
    with make_read_only(portal.server):
        connection.close()
        with pytest.raises(InternalError, match="read-only transaction"):
            load_file(portal.resource, path)
        for name in (portal.resource.name, "another"):
            with pytest.raises(CommandError) as refusal:
                call_command("load_resource", str(path), "--name", name, verbosity=0)
            assert str(refusal.value) == (
                "The database is read-only at the moment. Nothing was changed."
            )
        assert portal.count_records() == 2

    connection.close()
    assert not Load.objects.exclude(state=LoadState.READY).exists()
    load_file(portal.resource, path)
    assert portal.count_records() == _ROWS
