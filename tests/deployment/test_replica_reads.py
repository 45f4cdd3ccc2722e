"""A portal with ``ReplicaRouter``: reads from a standby, and without its primary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from operator import gt
from time import monotonic, sleep
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.db import close_old_connections, connections
from django.test import Client, override_settings
from knox.models import get_token_model
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from benchmarks.scale.standbys import Standby, run_standby, wait_until
from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.scale import reading, routers
from datastore_search.contrib.scale.reading import route_request
from datastore_search.contrib.scale.routers import ReplicaRouter, choose_replica, get_state, states
from datastore_search.contrib.scale.writes import remember_write
from datastore_search.downloads.formats import formats
from datastore_search.models import Resource
from datastore_search.signals import answers_changed, request_answered
from datastore_search.web.tokens import issue_token
from datastore_search.web.views import request_router

from ..agents.exchange import ask_tool
from ..builders import act, ask, check_error, get_result, make_user, receive, search
from ..core.ckan.cases import READING
from ..core.ckan.comparison import Comparison
from ..core.ckan.test_replay import RECORDED, Site, describe, is_documented
from ..files.builders import load_csv
from ..processes import find_free_port
from .faults import make_read_only
from .portals import empty_portal, migrate_portal, use_databases
from .servers import run_own_server
from .test_faults import OF_RESOURCE, PAGES, SEARCHES, open_client

CSV = "code,text\na,river\nb,lake\n"


class Portal:
    """A portal with a primary and a replica, and a user with a token and a session."""

    def __init__(self, primary: ThrowawayServer, standby: Standby) -> None:
        self.primary, self.standby = primary, standby
        self.aliases = {"default": primary.url, "replica": standby.url}

    def fill(self) -> None:
        self.resource = load_csv(Resource.objects.create(name="public"), CSV)
        self.private = load_csv(Resource.objects.create(name="private", private=True), CSV)
        self.user = get_user_model().objects.create_superuser("boss")
        self.token = issue_token(self.user)
        self.client = Client()
        self.client.force_login(self.user)
        self.catch_up()
        cache.clear()

    def catch_up(self) -> None:
        self.standby.catch_up(self.primary)
        wait_for_replica("replica")
        forget_states()

    def send_record(self, code: str) -> Any:
        sent = {
            "resource_id": str(self.resource.pk), "method": "insert", "force": True,
            "records": [{"code": code}],
        }  # fmt: skip
        return act(open_client(), "datastore_upsert", sent, self.token)

    def insert(self, code: str) -> None:
        get_result(self.send_record(code))

    def count(self, token: str = "", resource: Resource | None = None) -> int:
        query = {"resource_id": str((resource or self.resource).pk)}
        answer = act(open_client(), "datastore_search", query, token)
        return int(get_result(answer)["total"])


def forget_states() -> None:
    """Ask every server again, as a second later."""
    states.clear()


def wait_for_replica(alias: str) -> None:
    """Wait until a replica is known to be fresh: it has been asked twice."""

    def is_chosen() -> bool:
        forget_states()
        return choose_replica([alias], 0, (), is_away=True) == alias

    wait_until(is_chosen)


def forget_servers() -> None:
    """Forget all that was known of other servers of these names."""
    routers._known.clear()
    routers._moments.clear()
    forget_states()


def answered_from(resource: Resource, **environ: Any) -> str:
    """Search as a client without a token; return the database that has answered."""
    address = f"/en/api/action/datastore_search?resource_id={resource.pk}"
    with receive(request_answered) as calls:
        get_result(open_client().get(address, **environ))
    return str(calls[-1]["database"])


class LostCache(BaseCache):
    """A cache whose server is away."""

    def __init__(self, _location: str, parameters: dict[str, Any]) -> None:
        super().__init__(parameters)

    def get_many(self, *_arguments: Any, **_options: Any) -> Any:
        raise ConnectionError

    set_many = get_many


class Counter:
    tables = 0

    def __call__(self, execute: Any, sql: Any, *arguments: Any) -> Any:
        self.tables += "datastore_search_resource" in str(sql)
        return execute(sql, *arguments)


@contextmanager
def route_reads(urls: Mapping[str, str], **settings: Any) -> Iterator[None]:
    with (
        use_databases(urls, router=ReplicaRouter),
        override_settings(
            DATASTORE_SEARCH_REPLICAS=[alias for alias in urls if alias != "default"], **settings
        ),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(request_router, "entry", route_request)
        forget_states()
        yield


@pytest.fixture(scope="module")
def servers(django_db_blocker: Any) -> Iterator[tuple[ThrowawayServer, Standby]]:
    with run_own_server() as primary:
        with django_db_blocker.unblock(), use_databases({"default": primary.url}):
            migrate_portal()
        with run_standby(primary, wal_receiver_timeout="5s") as standby:
            yield primary, standby


@contextmanager
def fill_portal(portal: Portal, lag: timedelta) -> Iterator[Portal]:
    """Use a migrated portal, which has its resources and its user within the block."""
    with route_reads(portal.aliases, DATASTORE_SEARCH_MAX_REPLICA_LAG=lag):
        forget_servers()
        portal.standby.wait_for_primary()
        portal.fill()
        try:
            yield portal
        finally:
            empty_portal()


@pytest.fixture
def portal(servers: tuple[ThrowawayServer, Standby], django_db_blocker: Any) -> Iterator[Portal]:
    lag = timedelta(minutes=1)  # a busy machine may need more than ten seconds for a load
    with django_db_blocker.unblock(), fill_portal(Portal(*servers), lag) as portal:
        yield portal


@contextmanager
def without_primary(portal: Portal) -> Iterator[None]:
    """Let nothing listen where the portal looks for its primary."""
    dead = f"postgres://portal@127.0.0.1:{find_free_port()}/portal?connect_timeout=2"
    with route_reads({**portal.aliases, "default": dead}):
        yield


# Reads need no primary ----------------------------------------------------------------------------


def check_every_read(portal: Portal) -> None:
    for headers in ({}, {"Authorization": portal.token}):
        for action, parameters in SEARCHES.items():
            for resource in (portal.resource, portal.private)[: 1 + bool(headers)]:
                identity = {"id": str(resource.pk)} if action in OF_RESOURCE else {}
                sent = {**identity, **parameters}
                answer = act(open_client(), action, sent, headers.get("Authorization", ""))
                assert answer.status_code == 200, (action, answer.json())
        address = f"/en/datastore/dump/{portal.private.pk}"
        assert open_client().get(address, headers=headers).status_code == (200 if headers else 403)
    for client in (Client(), portal.client):
        close_old_connections()
        for name, kind in formats.items():
            dump: Any = client.get(f"/en/datastore/dump/{portal.resource.pk}?format={name}")
            assert dump.status_code == (409 if kind.needs_places else 200), name
            assert kind.needs_places or b"".join(dump.streaming_content), name
        for path in PAGES:
            assert client.get(f"/en/datastore/{portal.resource.pk}/{path}").status_code == 200
        for path in ("/en/datastore/", "/en/datastore/catalog.ttl", "/en/api/3", "/en/api/schema/"):
            assert client.get(path).status_code == 200, path
    private = f"/en/datastore/{portal.private.pk}/"
    assert portal.client.get(private).status_code == 200
    assert Client().get(private).status_code == 403
    table = portal.resource
    assert "public" in ask_tool(open_client(), "find_tables")
    assert "code" in ask_tool(open_client(), "describe_table", table)
    assert "river" in ask_tool(open_client(), "search_records", table)


def test_every_read_is_answered_without_a_primary(portal: Portal) -> None:
    with without_primary(portal):
        wait_for_replica("replica")
        check_every_read(portal)

        written = portal.send_record("c")
        check_error(written, 503)
        assert int(written["Retry-After"]) > 0
        missing = ask(open_client(), {"resource_id": "nowhere"})
        check_error(missing, 404)


@pytest.mark.slow
def test_the_replica_answers_like_ckan_or_the_difference_is_documented(portal: Portal) -> None:
    site = Site()
    portal.catch_up()

    with without_primary(portal):
        compared = [
            Comparison(name, request, ckan, site.ask(request))
            for case in READING
            for (name, request), ckan in zip(
                case.steps, RECORDED[case.name]["answers"], strict=True
            )
        ]

    assert len(compared) > 1000
    assert [describe(each) for each in compared if each.differing and not is_documented(each)] == []


# A client reads what it has written ---------------------------------------------------------------


def test_a_client_that_has_written_sees_its_write(portal: Portal) -> None:
    with portal.standby.pause_replay():
        portal.insert("c")
        forget_states()
        assert (portal.count(portal.token), portal.count()) == (3, 2)

    portal.catch_up()
    with without_primary(portal):
        assert portal.count(portal.token) == 3


def test_without_a_cache_the_primary_answers(portal: Portal) -> None:
    lost = {"default": {"BACKEND": "tests.deployment.test_replica_reads.LostCache"}}
    with portal.standby.pause_replay(), override_settings(CACHES=lost):
        portal.insert("c")
        assert (portal.count(portal.token), portal.count()) == (3, 3)


def test_what_the_replica_does_not_know_yet_is_looked_up_in_the_primary(portal: Portal) -> None:
    with portal.standby.pause_replay():
        token = issue_token(make_user("new", is_superuser=True))
        assert portal.count(token, portal.private) == 2
        client = open_client()
        client.force_login(portal.user)
        assert client.get(f"/en/datastore/{portal.private.pk}/").status_code == 200
        made = load_csv(Resource.objects.create(name="made"), CSV)
        assert portal.count(resource=made) == 2
        page = open_client().get(f"/en/datastore/{made.pk}/")
        assert page.status_code == 200


def test_a_session_that_the_replica_does_not_have_is_kept(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_checked_at", [math.inf])
    with portal.standby.pause_replay():
        client = open_client()
        client.force_login(portal.user)
        assert client.get(f"/en/datastore/{portal.private.pk}/").status_code == 403
        assert client.cookies["sessionid"].value


def test_unknown_names_reach_the_primary_a_few_times_each_second(portal: Portal) -> None:
    reading._checked_at.extend([0] * 5)
    counters, asked_both, began_at = (Counter(), Counter()), 0, monotonic()
    primary, replica = (connections[alias].execute_wrapper for alias in ("default", "replica"))
    with primary(counters[0]), replica(counters[1]):
        for number in range(40):
            before = [counter.tables for counter in counters]
            check_error(ask(open_client(), {"resource_id": f"no-{number}"}), 404)
            after = [counter.tables for counter in counters]
            asked_both += all(map(gt, after, before))

    assert 0 < asked_both <= 5 * (1 + int(monotonic() - began_at))


@pytest.mark.parametrize("path", ["/en/api/action/datastore_info?id=no", "/en/datastore/no/"])
def test_a_request_that_is_answered_again_counts_once(
    portal: Portal, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    counted = []

    class Count(BaseThrottle):
        def allow_request(self, request: Any, view: Any) -> bool:
            counted.append(1)
            return True

    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_CLASSES", [Count])
    reading._checked_at.extend([0] * 5)
    asked = Counter()
    with connections["default"].execute_wrapper(asked):
        assert open_client().get(path).status_code == 404

    assert asked.tables  # the replica had not found it
    assert counted == [1]


def test_a_revoked_right_holds_at_once(portal: Portal) -> None:
    with portal.standby.pause_replay():
        get_token_model().objects.using("default").all().delete()
        forget_states()
        query = {"resource_id": str(portal.private.pk)}
        answer = act(open_client(), "datastore_search", query, portal.token)
        check_error(answer, 403)
        portal.resource.private = True
        portal.resource.save()
        answer = search(open_client(), portal.resource)
        check_error(answer, 403)


def test_the_page_of_a_loaded_resource_shows_the_load(portal: Portal) -> None:
    with portal.standby.pause_replay():
        load_csv(portal.resource, CSV + "c,sea\n")
        forget_states()
        address = f"/en/datastore/{portal.resource.pk}/"
        page = open_client().get(address, REMOTE_ADDR="192.0.2.1").content.decode()
        assert "sea" in page
        assert portal.count() == 2


def test_no_cache_in_front_keeps_an_answer_that_is_older_than_a_change(portal: Portal) -> None:
    address = f"/en/api/action/datastore_search?resource_id={portal.resource.pk}"
    answers_changed.connect(remember_write)
    try:
        with override_settings(DATASTORE_SEARCH_SURROGATE_MAX_AGE=timedelta(minutes=1)):
            assert "Surrogate-Control" in open_client().get(address)
            with portal.standby.pause_replay():
                portal.insert("c")
                forget_states()
                old = open_client().get(address)
                assert (get_result(old)["total"], "Surrogate-Control" in old) == (2, False)
            portal.catch_up()
            assert "Surrogate-Control" in open_client().get(address)
    finally:
        answers_changed.disconnect(remember_write)


# Replicas that lag or are gone --------------------------------------------------------------------


def test_a_replica_that_lags_is_left_out_until_it_has_caught_up(portal: Portal) -> None:
    with override_settings(DATASTORE_SEARCH_MAX_REPLICA_LAG=timedelta(seconds=0.2)):
        with portal.standby.pause_replay():
            portal.insert("c")
            cache.clear()
            wait_until(lambda: portal.count() == 3)
        portal.catch_up()
        with without_primary(portal):
            assert portal.count() == 3


def test_a_replica_that_is_gone_is_left_out_and_comes_back(portal: Portal) -> None:
    assert portal.count() == 2
    portal.standby.stop_immediately()
    try:
        assert portal.count() == 2
        for path in PAGES:
            page = open_client().get(f"/en/datastore/{portal.resource.pk}/{path}")
            assert page.status_code == 200
        assert open_client().get(f"/en/datastore/dump/{portal.resource.pk}").status_code == 200
    finally:
        portal.standby.start()
    portal.standby.wait_for_primary()
    wait_until(lambda: get_state("replica"))
    with without_primary(portal):
        assert portal.count() == 2


def test_an_idle_primary_is_no_lag(portal: Portal) -> None:
    with override_settings(DATASTORE_SEARCH_MAX_REPLICA_LAG=timedelta(0)):
        sleep(3)  # longer than what is read may be old
        wait_for_replica("replica")
        assert answered_from(portal.resource) == "replica"


# Without the primary, and with another one --------------------------------------------------------


@pytest.fixture
def two_hosts(django_db_blocker: Any) -> Iterator[Portal]:
    """A portal of its own, whose address of the primary names both servers."""
    with django_db_blocker.unblock(), run_own_server() as primary, run_standby(primary) as standby:
        portal = Portal(primary, standby)
        portal.aliases["default"] = (
            f"{primary.url},{standby.folder}&target_session_attrs=read-write&connect_timeout=2"
        )
        # The test may take so long on a busy machine.
        lag = timedelta(minutes=5)
        with route_reads(portal.aliases, DATASTORE_SEARCH_MAX_REPLICA_LAG=lag):
            forget_servers()
            migrate_portal()
            standby.wait_for_primary()
            portal.fill()
            yield portal


@pytest.mark.slow
def test_reads_go_on_while_the_primary_is_dead_and_writes_after_a_promotion(
    two_hosts: Portal,
) -> None:
    portal = two_hosts
    portal.insert("c")
    portal.catch_up()

    portal.primary.stop_immediately()
    try:
        wait_until(lambda: not has_receiver(portal.standby))
        forget_states()
        refused = portal.send_record("d")
        check_error(refused, 503)
        assert int(refused["Retry-After"]) > 0
        check_every_read(portal)

        portal.standby.promote()
        portal.insert("d")
        assert (portal.count(), portal.count(portal.token)) == (4, 4)
    finally:
        portal.primary.start()


@pytest.mark.slow
def test_a_write_leaves_a_server_that_has_become_read_only(two_hosts: Portal) -> None:
    portal = two_hosts
    portal.insert("c")
    portal.catch_up()
    portal.standby.promote()

    with make_read_only(portal.primary):
        check_error(portal.send_record("d"), 503)
        portal.insert("d")
        assert portal.count() == 4
        connections["default"].close()


def has_receiver(standby: Standby) -> bool:
    return bool(standby.fetch_value("SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)"))
