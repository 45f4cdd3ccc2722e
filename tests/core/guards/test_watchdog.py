"""Slow statements: which are cancelled, the answers to the client, and that no other is hit."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from datastore_search.database.statements import execute
from datastore_search.guards import watchdog
from datastore_search.guards.shares import DISCONNECTED, Client
from datastore_search.guards.watchdog import Watched
from datastore_search.messages.availability import ClientDisconnected, QueryTooSlow
from datastore_search.models import Resource

from ...builders import ask, make_slow, make_token

API = "/en/api/action/datastore_search"


def watch(environ: Mapping[str, Any] | None = None, **options: Any) -> Watched:
    return Watched(connections["default"], Client(environ or {}), **options)


def sleep(seconds: float) -> None:
    execute(connection, "SELECT pg_sleep(%s)", [seconds])


# Time limits --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        f"{API}?resource_id={{id}}",
        "/en/api/action/datastore_facets?resource_id={id}&facets=stage,subject&q=river",
        "/en/api/action/datastore_aggregate?resource_id={id}&records_format=csv",
        "/en/datastore/dump/{id}",
    ],
)
def test_only_a_valid_token_has_more_time_than_an_anonymous_client(
    client: Browser, committed: Resource, settings: Any, address: str
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=0.7)
    make_slow(committed, 1.2)

    for token, status in (("", 409), ("nonsense", 409), (make_token(), 200)):
        headers = {"Authorization": token}
        response = client.get(address.format(id=committed.pk), headers=headers)

        assert response.status_code == status


def test_the_reader_of_a_private_resource_has_the_longer_limit_from_the_start(
    client: Browser, committed: Resource, settings: Any
) -> None:
    Resource.objects.update(private=True)
    parameters, headers = {"resource_id": str(committed.pk)}, {"Authorization": make_token()}
    assert ask(client, parameters, **headers).status_code == 200
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=0.7)
    make_slow(committed, 1.2)

    with CaptureQueriesContext(connection) as captured:
        assert ask(client, parameters, **headers).status_code == 200

    reads = [query for query in captured if "datastore_search_record_" in query["sql"]]
    assert len(reads) == 1


# What is cancelled --------------------------------------------------------------------------------


def test_a_statement_ends_when_its_client_is_gone(transactional_db: None) -> None:
    gone = threading.Event()
    timer = threading.Timer(0.2, gone.set)
    timer.start()

    with pytest.raises(ClientDisconnected), watch({DISCONNECTED: gone}):
        sleep(30)

    assert connection.is_usable()


def test_a_dump_ends_before_its_first_block_when_its_client_is_gone(
    client: Browser, committed: Resource
) -> None:
    make_slow(committed, 5)
    environ: dict[str, Any] = {DISCONNECTED: threading.Event()}
    environ[DISCONNECTED].set()

    response = client.get(f"/en/datastore/dump/{committed.pk}", **environ)

    assert response.status_code == 503


def test_a_statement_whose_client_waits_goes_on(transactional_db: None) -> None:
    with watch({DISCONNECTED: threading.Event()}):
        sleep(1)


def test_a_cancellation_that_comes_between_two_statements_is_sent_again(
    transactional_db: None,
) -> None:
    limit = timedelta(seconds=0.1)

    def begin_late() -> None:
        with watch(limit=limit):
            time.sleep(1)  # there is no statement to cancel yet
            sleep(30)

    with pytest.raises(QueryTooSlow):
        begin_late()


@pytest.mark.slow
def test_a_cancellation_never_reaches_the_next_statement(transactional_db: None) -> None:
    running: list[Watched] = []
    is_over = threading.Event()

    def cancel() -> None:
        while not is_over.is_set():
            for watch in running[-1:]:
                watch.check(time.monotonic() + 1_000)

    thread = threading.Thread(target=cancel)
    thread.start()
    ends = {"cancelled": 0, "finished": 0}
    try:
        for turn in range(400):
            statement = watch(limit=timedelta(seconds=500))
            with suppress(QueryTooSlow), statement:
                running.append(statement)
                sleep(max(0, turn % 40 - 20) / 2_000)  # half of them end at once
                ends["finished"] += 1
            for _statement in range(3):
                sleep(0.001)  # raises if a cancellation is late
    finally:
        is_over.set()
        thread.join(30)

    ends["cancelled"] = 400 - ends["finished"]
    assert ends["cancelled"] > 20, ends
    assert ends["finished"] > 20, ends


# The thread ---------------------------------------------------------------------------------------


def test_a_process_that_is_forked_has_a_watchdog_of_its_own(transactional_db: None) -> None:
    with watch():  # and a thread that checks it
        sleep(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if child == 0:  # the connection belongs to the parent
            inherited = watchdog._watchdog.watched or watchdog._watchdog._thread
            os._exit(bool(inherited))
        _pid, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


def test_no_thread_wakes_while_nothing_runs(transactional_db: None) -> None:
    with watch():
        sleep(0)
    deadline = time.monotonic() + 30

    while not watchdog._watchdog.is_idle:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_thread_that_cannot_start_fails_no_statement_and_is_started_later(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    watchdog._watchdog.reset()
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", fail)
        with watch():
            sleep(0)
    assert "no thread can start" in caplog.text

    with pytest.raises(QueryTooSlow), watch(limit=timedelta(seconds=0.2)):
        sleep(30)
