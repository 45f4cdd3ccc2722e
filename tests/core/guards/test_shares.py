"""Shares of work that may be slow: who is next, who waits, and who is refused."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from psycopg.sql import SQL

from datastore_search.database.sessions import open_session
from datastore_search.database.statements import Clause, RowToLock, _take_turn
from datastore_search.guards import shares
from datastore_search.guards.shares import DISCONNECTED, Client, Shares, StreamSlot, _Request
from datastore_search.messages.availability import (
    ClientDisconnected,
    ServerFull,
    ShareExceeded,
    TemporarilyUnavailable,
    TooManyOwnStreams,
    TooManyStreams,
    WriteBlocked,
)
from datastore_search.models import Resource

from ...builders import act, check_error, make_token, make_user

ANN, BOB, EVE = (Client({"REMOTE_ADDR": f"192.0.2.{number}"}) for number in (1, 2, 3))
OTHERS = [Client({"REMOTE_ADDR": f"198.51.100.{number}"}) for number in range(4)]
MINUTE = timedelta(minutes=1)


class Requests:
    """Requests in threads: in which order they work, and with which error they end."""

    def __init__(self) -> None:
        self.shares = Shares()
        self.worked: list[str] = []
        self.errors: list[Exception] = []
        self._threads: list[threading.Thread] = []

    def send(self, name: str, client: Client, timeout: timedelta = MINUTE) -> None:
        """Send a request, and return once it waits, or has ended."""
        waiting = self._count_waiting(client)
        thread = threading.Thread(target=self._work, args=(name, client, timeout))
        self._threads.append(thread)
        thread.start()
        deadline = time.monotonic() + 30
        while thread.is_alive() and self._count_waiting(client) <= waiting:
            assert time.monotonic() < deadline
            thread.join(0.005)

    def _count_waiting(self, client: Client) -> int:
        return sum(each.key == client.key for each in list(self.shares._waiting))

    def _work(self, name: str, client: Client, timeout: timedelta) -> None:
        try:
            with self.shares.hold(client, timeout):
                self.worked.append(name)
        except TemporarilyUnavailable as error:
            self.errors.append(error)

    def list_errors(self, count: int) -> list[type[Exception]]:
        """Wait for a number of errors, and list their types."""
        deadline = time.monotonic() + 30
        while len(self.errors) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        return [type(error) for error in self.errors]

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def requests(settings: Any) -> Iterator[Requests]:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 2
    settings.DATASTORE_SEARCH_MAX_WAITING = 4
    requests = Requests()
    yield requests
    requests.join()


@contextmanager
def hold(requests: Requests, *clients: Client) -> Iterator[ExitStack]:
    """Hold a slot for each client, in this thread."""
    with ExitStack() as stack:
        for client in clients:
            stack.enter_context(requests.shares.hold(client, MINUTE))
            requests.shares._held.key = ""  # as if in a thread of its own
        yield stack


def test_a_client_waits_for_its_own_slot_and_others_do_not(requests: Requests) -> None:
    with hold(requests, EVE):
        requests.send("eve", EVE)
        requests.send("ann", ANN)

        assert requests.worked == ["ann"]
    requests.join()
    assert requests.worked == ["ann", "eve"]


def test_the_last_slot_is_for_the_client_that_has_used_the_least(requests: Requests) -> None:
    requests.shares._used = {EVE.key: (100.0, time.monotonic())}
    with hold(requests, ANN):
        requests.send("eve", EVE)
        requests.send("bob", BOB)

        assert requests.worked == ["bob"]


def test_a_client_alone_may_hold_more_but_never_the_last_slot(
    requests: Requests, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 3
    with hold(requests, EVE, EVE):
        requests.send("third", EVE)
        requests.send("ann", ANN)

        assert requests.worked == ["ann"]


def test_the_client_that_has_used_the_least_is_next(requests: Requests) -> None:
    now = time.monotonic()
    with hold(requests, *OTHERS[:2]):
        requests.shares._used = {EVE.key: (9.0, now), ANN.key: (0.5, now)}
        for name, client in (("eve", EVE), ("ann", ANN), ("bob", BOB)):
            requests.send(name, client)
        assert requests.worked == []
    requests.join()
    assert requests.worked == ["bob", "ann", "eve"]


def test_heavy_clients_share_half_of_the_slots(requests: Requests, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 3
    heavy = dict.fromkeys((EVE.key, ANN.key), (9.0, time.monotonic()))
    requests.shares._used = heavy | {f"light {number}": (0.3, time.monotonic()) for number in "123"}
    with hold(requests, BOB):
        pass
    with hold(requests, EVE):
        requests.send("ann", ANN)
        requests.send("bob", BOB)

        assert requests.worked == ["bob"]
    requests.join()
    assert requests.worked == ["bob", "ann"]


def test_others_do_not_wait_for_heavy_clients(requests: Requests) -> None:
    with hold(requests, EVE, ANN):
        requests.send("bob", BOB)
        assert requests.worked == []
        for request in requests.shares._working:
            request.began_at -= 2 * shares._HEAVY_SECONDS

        requests.join()

        assert requests.worked == ["bob"]


def test_at_most_twice_as_many_requests_work(requests: Requests) -> None:
    with hold(requests, EVE, ANN):
        for request in requests.shares._working:
            request.began_at -= 2 * shares._HEAVY_SECONDS
        with hold(requests, *OTHERS[:2]):
            for request in requests.shares._working:
                request.began_at -= 2 * shares._HEAVY_SECONDS
            requests.send("bob", BOB)

            assert requests.worked == []


def test_where_all_use_much_none_is_heavy(requests: Requests, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 3
    requests.shares._used = dict.fromkeys((EVE.key, ANN.key, BOB.key), (9.0, time.monotonic()))
    with hold(requests, BOB):
        pass
    with hold(requests, EVE):
        requests.send("ann", ANN)

        assert requests.worked == ["ann"]


@pytest.mark.django_db(transaction=True)
def test_parallel_workers_are_not_used_while_others_work(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "process_shares", requests.shares)
    setting = SQL("SELECT current_setting('max_parallel_workers_per_gather')")

    def read() -> str:
        with open_session(connection, MINUTE, 2**20, EVE) as session:
            ((value,),) = session.fetch_rows(Clause(setting))
        return str(value)

    with requests.shares.hold(EVE, MINUTE):
        alone = read()
        requests.shares._waiting.append(shares._Request(BOB.key, time.monotonic()))
        among_others = read()
        requests.shares._waiting.clear()
        requests.shares._used = {EVE.key: (9.0, time.monotonic())}
        heavy = read()

    assert int(alone) > 0
    assert (among_others, heavy) == ("0", "0")


def test_used_time_is_forgotten(requests: Requests) -> None:
    now = time.monotonic()
    requests.shares._used = {EVE.key: (64.0, now - 6 * shares._HALF_LIFE_SECONDS)}

    assert requests.shares._get_used(EVE.key, now) == pytest.approx(1.0)


def test_the_number_of_known_clients_is_bounded(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "_MAX_CLIENTS", 10)
    requests.shares._used = {EVE.key: (9.0, time.monotonic())}
    for number in range(50):
        with requests.shares.hold(Client({"REMOTE_ADDR": f"198.51.100.{number}"}), MINUTE):
            pass

    assert len(requests.shares._used) <= 10
    assert EVE.key in requests.shares._used


def test_more_than_its_share_of_the_queue_is_refused_to_a_client(requests: Requests) -> None:
    with hold(requests, EVE, ANN):
        for _request in range(3):
            requests.send("eve", EVE)

        assert [type(error) for error in requests.errors] == [ShareExceeded]
        requests.send("bob", BOB)
        assert len(requests.shares._waiting) == 3


def test_a_full_queue_makes_room_at_the_cost_of_the_client_with_the_most(
    requests: Requests,
) -> None:
    with hold(requests, EVE, ANN):
        for client in (EVE, EVE, *OTHERS[:3]):
            requests.send("", client)
        assert requests.list_errors(1) == [ShareExceeded]

        requests.send("", OTHERS[3])

        assert requests.list_errors(2) == [ShareExceeded, ServerFull]


def test_a_client_with_many_requests_is_heavy_before_its_first_one_ends(requests: Requests) -> None:
    requests.shares._used = {client.key: (0.4, time.monotonic()) for client in (ANN, BOB)}
    with hold(requests, EVE, BOB):
        for _request in range(8):  # which need no time: six are refused at once
            requests.send("eve", EVE)

        requests.send("ann", ANN)

        assert requests.worked == ["ann"]
        assert [type(error) for error in requests.errors] == [ShareExceeded] * 6


def test_only_the_one_request_of_a_client_takes_a_slot_beside_those_of_heavy_ones(
    requests: Requests,
) -> None:
    requests.shares._used = {EVE.key: (100.0, time.monotonic())}
    with hold(requests, EVE):
        requests.shares._used[BOB.key] = 0.0, time.monotonic()
        with hold(requests, BOB):
            requests.shares._used[BOB.key] = 100.0, time.monotonic()  # both are heavy now
            with requests.shares._condition:  # two arrive before one of them may work
                waiting = [_Request(ANN.key, time.monotonic()) for _ in range(2)]
                requests.shares._waiting += waiting
                assert not any(map(requests.shares._may_work, waiting))
                requests.shares._waiting.remove(waiting[1])
                assert requests.shares._may_work(waiting[0])
                requests.shares._waiting.clear()

            requests.send("other", OTHERS[0])

            assert requests.worked == ["other"]


def test_requests_of_others_do_not_count_for_a_client(requests: Requests) -> None:
    with hold(requests, EVE, BOB):
        for _request in range(8):
            requests.send("eve", EVE)
        now = time.monotonic()

        assert requests.shares._get_used(BOB.key, now) < 1
        assert requests.shares._get_used(EVE.key, now) > 1


@pytest.mark.parametrize("is_heavy", [True, False])
def test_in_a_full_queue_of_different_clients_a_heavy_one_makes_room(
    requests: Requests, is_heavy: bool
) -> None:
    with hold(requests, ANN, BOB):
        if is_heavy:
            requests.shares._used[EVE.key] = 100.0, time.monotonic()
        for client in (EVE, *OTHERS[:3]):
            requests.send(client.key, client)

        requests.send("newcomer", OTHERS[3])

        assert requests.list_errors(1) == [ShareExceeded if is_heavy else ServerFull]
    requests.join()
    assert ("newcomer" in requests.worked) == is_heavy
    assert (EVE.key in requests.worked) != is_heavy


def test_of_two_requests_at_once_each_second_counts_once_for_each(
    requests: Requests, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 4
    with hold(requests, EVE):
        with hold(requests, EVE):
            for each in requests.shares._working:
                each.began_at -= 5

        assert requests.shares._get_used(EVE.key, time.monotonic()) == pytest.approx(10, abs=1)


def test_the_client_with_the_most_requests_makes_no_room_for_itself(
    requests: Requests, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_WAITING = 6
    with hold(requests, EVE, ANN):
        for client in (EVE, EVE, *OTHERS[:2], *OTHERS[:2]):
            requests.send("early", client)

        requests.send("late", EVE)

        assert requests.list_errors(1) == [ShareExceeded]
    requests.join()
    assert requests.worked == ["early"] * 6


def test_a_client_that_is_gone_leaves_the_queue(requests: Requests) -> None:
    gone = threading.Event()
    with hold(requests, EVE, ANN):
        requests.send("bob", Client({"REMOTE_ADDR": "192.0.2.2", DISCONNECTED: gone}))
        gone.set()
        requests.join()

        assert [type(error) for error in requests.errors] == [ClientDisconnected]
        assert requests.shares._waiting == []


def test_a_request_waits_no_longer_than_its_statement_may_run(requests: Requests) -> None:
    with hold(requests, EVE, ANN):
        requests.send("bob", BOB, timedelta(milliseconds=20))
        requests.join()

        assert [type(error) for error in requests.errors] == [ServerFull]


def test_a_block_within_a_block_needs_no_other_slot(requests: Requests, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 1
    with requests.shares.hold(ANN, MINUTE):
        with requests.shares.hold(ANN, MINUTE):
            assert len(requests.shares._working) == 1
        assert len(requests.shares._working) == 1
    assert not requests.shares._working


def test_the_program_itself_needs_no_slot(settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = 1
    with shares.process_shares.hold(ANN, MINUTE), shares.process_shares.hold(None, MINUTE):
        assert len(shares.process_shares._working) == 1


def test_a_process_that_is_forked_has_all_slots() -> None:
    with shares.process_shares.hold(ANN, MINUTE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if child == 0:
            os._exit(len(shares.process_shares._working))
        _pid, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


# Streams ------------------------------------------------------------------------------------------


def test_a_client_may_have_half_of_the_streams(settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 4
    slots = []
    for client in (EVE, ANN):
        with shares.process_shares.hold(client, MINUTE):
            slots += [StreamSlot(), StreamSlot()]
            with pytest.raises(TooManyOwnStreams):
                StreamSlot()
    with shares.process_shares.hold(BOB, MINUTE), pytest.raises(TooManyStreams):
        StreamSlot()

    slots.pop(0).release()
    with shares.process_shares.hold(EVE, MINUTE):
        slots.append(StreamSlot())
        with pytest.raises(TooManyOwnStreams):
            StreamSlot()

    for slot in slots:
        slot.release()


# Entrances ----------------------------------------------------------------------------------------

#: What may be slow, and what never waits.
HEAVY = (
    "/en/api/action/datastore_search?resource_id={}&q=river",
    "/en/api/action/datastore_search?resource_id={}&sort=title",
    "/en/api/action/datastore_search?resource_id={}&limit=101",
    "/en/api/action/datastore_facets?resource_id={}&facets=stage&q=river",
    "/en/api/action/datastore_aggregate?resource_id={}&group_by=stage",
    "/en/api/action/datastore_suggest?resource_id={}&field=title&prefix=r",
    "/en/api/action/package_search",
    "/en/datastore/dump/{}",
    "/en/datastore/?q=river",
    "/en/datastore/{}/?q=river",
    "/en/datastore/{}/chart/",
)
LIGHT = (
    "/en/api/action/datastore_search?resource_id={}&limit=5",
    '/en/api/action/datastore_search?resource_id={}&filters={{"_id": 1}}',
    "/en/api/action/datastore_info?resource_id={}",
    "/en/api/action/status_show",
    "/en/datastore/{}/",
)


@pytest.mark.parametrize("address", HEAVY)
def test_what_may_be_slow_is_429_for_a_client_beyond_its_share(
    client: Browser, resource: Resource, full: None, address: str
) -> None:
    response = client.get(address.format(resource.pk))

    assert response.status_code == 429
    assert response["Retry-After"] == "5"
    text = str(ShareExceeded())
    if "/api/" in address or "/dump/" in address:
        assert check_error(response, 429) == {"message": text}
    else:
        assert text in response.content.decode()


@pytest.mark.parametrize("address", LIGHT)
def test_light_reads_never_wait(
    client: Browser, resource: Resource, full: None, address: str
) -> None:
    assert client.get(address.format(resource.pk)).status_code == 200


@pytest.mark.parametrize("action", ["datastore_records_delete", "datastore_upsert"])
def test_calls_that_write_have_a_share(
    client: Browser, resource: Resource, full: None, action: str
) -> None:
    user = make_user("writer", permissions=("change_resource",))
    for each in (*shares.process_shares._waiting, *shares.process_shares._working):
        each.key = f"user:{user.pk}"

    sent = {"resource_id": str(resource.pk), "force": True}
    sent |= {"filters": {}} if action == "datastore_records_delete" else {"records": []}

    check_error(act(client, action, sent, make_token(user)), 429)


# Clients ------------------------------------------------------------------------------------------


def test_all_tokens_and_addresses_of_a_user_are_one_client(client: Browser, db: None) -> None:
    user = make_user("ann")
    keys = set()
    for address in ("192.0.2.1", "192.0.2.2"):
        environ = {"REMOTE_ADDR": address, "HTTP_AUTHORIZATION": make_token(user)}
        keys.add(Client(environ, lambda: user).key)

    assert keys == {f"user:{user.pk}"}
    assert Client({"REMOTE_ADDR": "192.0.2.1", "HTTP_AUTHORIZATION": "x"}).key == "192.0.2.1"


def test_one_thread_of_a_process_waits_for_a_resource_and_others_are_refused() -> None:
    row, other = (RowToLock("datastore_search_resource", number) for number in (1, 2))
    with _take_turn(row), _take_turn(row):
        with pytest.raises(WriteBlocked), _take_turn(row):
            raise AssertionError
        with _take_turn(other):
            pass
    with _take_turn(row), _take_turn(row):
        pass
