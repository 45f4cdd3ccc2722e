"""Connections that psycopg has closed below Django: no request finds one, and none is a 500."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection, connections, transaction
from django.db.utils import OperationalError
from django.test import Client as Browser
from psycopg import sql

from datastore_search.database.sessions import Session, open_session
from datastore_search.database.statements import Clause, execute
from datastore_search.guards.shares import Client
from datastore_search.guards.watchdog import Watched
from datastore_search.messages.availability import QueryTooSlow
from datastore_search.models import Resource
from datastore_search.search import reads

from ...builders import act, ask, get_result, make_slow, make_user, make_writer_token

#: A text that psycopg renders with its connection.
_STATEMENT = Clause(sql.SQL("SELECT {}").format(sql.Literal("ü")))

open_snapshot = partial(open_session, as_snapshot=True)
each_kind_of_session = pytest.mark.parametrize("begin", [open_session, open_snapshot])


@pytest.fixture
def no_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that lets no cancellation through."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise psycopg.errors.CancellationTimeout

    monkeypatch.setattr(psycopg.Connection, "cancel_safe", fail)


def sleep_too_long() -> None:
    with Watched(connections["default"], Client({}), limit=timedelta(seconds=0.1)):
        execute(connection, "SELECT pg_sleep(0.5)")


def close_below_django() -> None:
    connection.ensure_connection()
    connection.connection.close()


@pytest.mark.parametrize(
    "path",
    [
        "/en/api/action/datastore_search?resource_id={id}&q=river&sort=_id",
        "/en/api/action/datastore_search?resource_id={id}&records_format=csv",
        "/en/api/action/datastore_info?id={id}",
        "/en/api/action/package_search",
        "/en/api/action/resource_show?id={id}",
        "/en/datastore/dump/{id}",
        "/en/datastore/dump/{id}?format=json",
        "/en/datastore/{id}/",
        "/en/datastore/{id}/chart/?show=count",
        "/en/datastore/{id}/schema.json",
        "/en/datastore/",
        "/en/admin/login/",
    ],
)
def test_a_read_works_over_a_connection_that_was_closed(committed: Resource, path: str) -> None:
    path = path.format(id=committed.pk)
    for prepare in (None, close_below_django, reads.descriptions.clear, close_below_django):
        if prepare:
            prepare()

        response: Any = Browser().get(path)

        assert response.status_code == 200
        assert response.getvalue()


def test_a_write_and_a_login_work_over_a_connection_that_was_closed(committed: Resource) -> None:
    make_user("editor", is_staff=True)
    token = make_writer_token()
    sent = {"resource_id": str(committed.pk), "force": True, "records": [{}], "method": "insert"}
    close_below_django()
    get_result(act(Browser(), "datastore_upsert", sent, token))
    close_below_django()
    form = {"username": "editor", "password": "secret"}
    assert Browser().post("/en/admin/login/?next=/en/admin/", form).status_code == 302


@each_kind_of_session
def test_a_session_begins_with_an_open_connection(
    transactional_db: None, begin: Callable[..., AbstractContextManager[Session]]
) -> None:
    close_below_django()

    with begin(connection, timedelta(seconds=5), 2**20) as session:
        assert session.fetch_rows(_STATEMENT) == [("ü",)]
        if begin is open_session:
            close_below_django()  # as another statement may
            assert session.fetch_rows(_STATEMENT) == [("ü",)]


@each_kind_of_session
def test_a_closed_connection_of_a_transaction_is_an_error_of_the_database(
    transactional_db: None, begin: Callable[..., AbstractContextManager[Session]]
) -> None:
    def read() -> None:
        with transaction.atomic(), begin(connection, timedelta(seconds=5), 2**20) as session:
            close_below_django()
            session.fetch_rows(_STATEMENT)

    with pytest.raises(OperationalError):
        read()
    connection.close_if_unusable_or_obsolete()
    connection.ensure_connection()
    assert not connection.connection.closed


def test_a_connection_that_a_cancellation_may_still_reach_is_forgotten_by_django(
    committed: Resource, settings: Any, no_cancellation: None
) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=30)
    sent = {"resource_id": str(committed.pk), "sort": "_id"}

    sleep_too_long()

    assert connection.connection is None
    assert ask(Browser(), sent).status_code == 200


def test_a_transaction_that_loses_its_connection_so_is_not_committed_in_silence(
    committed: Resource, no_cancellation: None
) -> None:
    def write() -> None:
        with transaction.atomic():
            Resource.objects.update(title="changed")
            sleep_too_long()

    with pytest.raises(QueryTooSlow):
        write()
    committed.refresh_from_db()
    assert committed.title != "changed"


def test_a_statement_that_is_not_read_to_its_end_closes_nothing_below_django(
    transactional_db: None, no_cancellation: None
) -> None:
    numbers = Clause(sql.SQL("SELECT n::text FROM generate_series(1, 1000000) AS n"))
    with open_session(connection, timedelta(seconds=5), 2**20) as session:
        assert session.fetch_texts(numbers, next, batch_rows=1).last == [b"1"]

    execute(connection, "SELECT 1")


@pytest.mark.slow
def test_a_dump_that_is_cut_off_so_leaves_the_next_one_whole(
    committed: Resource, settings: Any, no_cancellation: None
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=0.3)
    path = f"/en/datastore/dump/{committed.pk}"
    expected = Browser().get(path).getvalue()
    make_slow(committed, 1)
    assert Browser().get(path).status_code in {200, 409, 503}
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=30)
    assert Browser().get(path).getvalue() == expected
