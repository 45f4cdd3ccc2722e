"""How long readers, writers, staff and loads wait for the locks of other transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.database import sessions, statements, tables
from datastore_search.database.statements import execute, fetch_value
from datastore_search.models import Alias, Resource
from datastore_search.writing import Method, open_writer

from ...builders import act, check_error, get_ids, make_user_token, search
from ..admin.test_resources import build_form, build_inlines

API = "/en/api/action/datastore_search"
BEING_CHANGED = "The resource is being changed, and cannot be read now. Try again in a moment."
NOT_ENDED = "Another change of the resource has not ended yet. Try again in a moment."

LOCK_RESOURCE = "SELECT FROM datastore_search_resource FOR UPDATE"


@contextmanager
def hold_locks(statement: str) -> Iterator[None]:
    """Hold the locks of a statement in a transaction of another connection."""
    other = connection.copy("other")
    other.inc_thread_sharing()  # a thread may close it
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(statement)
        yield
    finally:
        other.close()


@pytest.fixture
def short_lock_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "WRITE_LOCK_TIMEOUT", timedelta(milliseconds=200))


def read_lock_timeout() -> str:
    return str(fetch_value(connection, "SELECT current_setting('lock_timeout')"))


# Readers ------------------------------------------------------------------------------------------


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sessions, "_READ_LOCK_TIMEOUT", timedelta(milliseconds=200))
    sessions._build_settings.cache_clear()
    yield
    sessions._build_settings.cache_clear()


@pytest.mark.usefixtures("short_reads")
@pytest.mark.needs("analysis", "pages")
def test_a_reader_of_a_locked_table_gets_503(client: Client, committed: Resource) -> None:
    of_resource = f"?resource_id={committed.pk}"
    # The engine has what this asks for, of the present version.
    known = [f"/en/api/action/datastore_facets{of_resource}&facets=code"]
    addresses = [
        f"{API}{of_resource}",
        f"{API}{of_resource}&limit=2000",
        f"/en/api/action/datastore_info{of_resource}",
        f"/en/datastore/dump/{committed.pk}",
        f"/en/datastore/{committed.pk}/",
    ]
    assert {client.get(address).status_code for address in known + addresses} == {200}

    with hold_locks(f"LOCK TABLE datastore_search_record_{committed.table_version_id}"):
        for address in addresses:
            response = client.get(address)
            assert (response.status_code, response["Retry-After"]) == (503, "5"), address
            assert BEING_CHANGED in response.content.decode()
            if "/api/" in address or "dump" in address:
                error = check_error(response, 503)
                assert error == {"message": BEING_CHANGED}
        assert {client.get(address).status_code for address in known} == {200}

    assert {client.get(address).status_code for address in addresses} == {200}


def test_a_reader_waits_longer_than_a_writer_that_waits_for_readers() -> None:
    assert sessions._READ_LOCK_TIMEOUT > tables.LOCK_TIMEOUT


# Writers ------------------------------------------------------------------------------------------


def build_writes(resource: Resource) -> list[tuple[str, dict[str, Any]]]:
    target = {"resource_id": str(resource.pk), "force": True}
    return [
        ("datastore_upsert", {**target, "method": "insert", "records": [{"code": "9"}]}),
        ("datastore_create", {**target, "records": [{"code": "9"}]}),
        ("datastore_create", {**target, "private": True}),
        ("datastore_records_delete", {**target, "filters": {}}),
        ("datastore_delete", target),
    ]


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_write_is_refused_while_another_one_is_open(client: Client, committed: Resource) -> None:
    token = make_user_token("writer", "view", "change", "delete")

    with hold_locks(LOCK_RESOURCE):
        for action, parameters in build_writes(committed):
            response = act(client, action, parameters, token)

            assert check_error(response, 503) == {"message": NOT_ENDED}
            assert response["Retry-After"] == "5"

    assert get_ids(search(client, committed)) == [1, 2, 3, 4, 5, 6]
    for action, parameters in build_writes(committed):
        assert act(client, action, parameters, token).status_code == 200, action


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_call_that_changes_aliases_waits_for_another_for_a_limited_time(
    client: Client, committed: Resource
) -> None:
    token = make_user_token("writer", "change")
    parameters = {"resource_id": str(committed.pk), "force": True, "aliases": ["rivers"]}

    with hold_locks(f"SELECT pg_advisory_xact_lock({statements._ALIAS_LOCK})"):
        response = act(client, "datastore_create", parameters, token)

    assert check_error(response, 503) == {"message": NOT_ENDED}
    assert not Alias.objects.exists()


def test_a_write_waits_for_one_that_ends_in_time(client: Client, committed: Resource) -> None:
    token = make_user_token("writer", "change")
    action, parameters = build_writes(committed)[0]
    statuses: list[int] = []

    def write() -> None:
        try:
            statuses.append(act(Client(), action, parameters, token).status_code)
        finally:
            connections.close_all()

    thread = threading.Thread(target=write)
    with hold_locks(LOCK_RESOURCE):
        thread.start()
        time.sleep(0.5)
        assert statuses == []
    thread.join(30)

    assert statuses == [200]


@pytest.mark.parametrize("before", ["0", "7s"])
def test_the_limit_ends_with_the_write(committed: Resource, before: str) -> None:
    with transaction.atomic() if before == "7s" else nullcontext():
        if before == "7s":
            execute(connection, "SET LOCAL lock_timeout = '7s'")
        for is_permanent in (True, False):
            with open_writer(committed) as writer:
                assert read_lock_timeout() == "10s"
                writer.write([{"code": "9"}], Method.INSERT)
                if not is_permanent:
                    writer.roll_back()

            assert read_lock_timeout() == before


def test_locking_the_resource_takes_one_statement(committed: Resource) -> None:
    with CaptureQueriesContext(connection) as captured, open_writer(committed):
        pass

    statements = [query["sql"] for query in captured]
    assert [text for text in statements if "lock_timeout" in text] == [statements[1]]
    assert [text for text in statements if "FOR NO KEY UPDATE" in text] == [statements[1]]


# Staff --------------------------------------------------------------------------------------------


def post_change(client: Client, resource: Resource) -> Any:
    path = f"/en/admin/datastore_search/resource/{resource.pk}/change/"
    parameters = {**build_form(title="Changed"), **build_inlines(resource)}
    return client.post(path, parameters, follow=True)


def post_delete(client: Client, resource: Resource) -> Any:
    path = f"/en/admin/datastore_search/resource/{resource.pk}/delete/"
    return client.post(path, {"post": "yes"}, follow=True)


def post_delete_selected(client: Client, resource: Resource) -> Any:
    chosen = {"action": "delete_selected", "_selected_action": [str(resource.pk)], "post": "yes"}
    return client.post("/en/admin/datastore_search/resource/", chosen, follow=True)


@pytest.mark.usefixtures("short_lock_timeout")
@pytest.mark.parametrize("post", [post_change, post_delete, post_delete_selected])
def test_the_admin_says_that_another_change_has_not_ended(
    client: Client, committed: Resource, post: Callable[[Client, Resource], Any]
) -> None:
    client.force_login(get_user_model().objects.create_superuser("staff"))

    with hold_locks(LOCK_RESOURCE):
        response = post(client, committed)

    assert response.status_code == 200
    assert NOT_ENDED in response.content.decode()
    assert list(Resource.objects.values_list("title", flat=True)) == [""]

    post(client, committed)
    assert list(Resource.objects.values_list("title", flat=True)) in ([], ["Changed"])
