"""What a portal with replicas answers while servers are cut off, frozen, or refuse connections."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import psutil
import psycopg
import pytest
from django.core.cache import cache
from django.db import connections
from django.test import override_settings
from psycopg import sql

from benchmarks.scale.standbys import Standby, run_standby, wait_until
from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.contrib.scale.routers import get_state

from ..builders import act, ask, check_error, get_result
from .portals import migrate_portal, use_databases
from .servers import run_own_server
from .test_faults import open_client
from .test_replica_reads import (
    Portal,
    answered_from,
    fill_portal,
    forget_states,
    has_receiver,
    route_reads,
    wait_for_replica,
)

#: What is read may be two seconds older than the setting.
LAG = timedelta(seconds=1)
LAG_SECONDS = 3

#: A silent server is asked after two seconds, over a connection that has two; then another answers.
MAX_SECONDS = 10


@pytest.fixture(scope="module")
def servers(django_db_blocker: Any) -> Iterator[tuple[ThrowawayServer, Standby, Standby]]:
    with run_own_server() as primary:
        with django_db_blocker.unblock(), use_databases({"default": primary.url}):
            migrate_portal()
        with run_standby(primary) as standby, run_standby(primary) as other:
            yield primary, standby, other


@pytest.fixture
def portal(
    servers: tuple[ThrowawayServer, Standby, Standby], django_db_blocker: Any
) -> Iterator[Portal]:
    """A portal with one replica, whose receiver waits for a minute."""
    primary, standby, _other = servers
    portal = Portal(primary, standby)
    portal.aliases["default"] += "&connect_timeout=2"  # as the documentation says
    with django_db_blocker.unblock(), fill_portal(portal, LAG):
        yield portal


@pytest.fixture
def other(portal: Portal, servers: tuple[ThrowawayServer, Standby, Standby]) -> Iterator[Standby]:
    other = servers[2]
    aliases = {**portal.aliases, "other": other.url}
    with route_reads(aliases, DATASTORE_SEARCH_MAX_REPLICA_LAG=timedelta(minutes=1)):
        other.wait_for_primary()
        other.catch_up(portal.primary)
        wait_for_replica("other")
        wait_for_replica("replica")
        yield other


def configure(standby: Standby, statement: str) -> None:
    """Change a setting of a standby, and let it read its settings."""
    with psycopg.connect(standby._superuser_url, autocommit=True) as connection:
        connection.execute(statement.encode())
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def cut_off(portal: Portal) -> Iterator[None]:
    """Let the standby receive nothing, and know it."""
    conninfo = sql.Literal(portal.standby.fetch_value("SHOW primary_conninfo")).as_string()
    configure(portal.standby, "ALTER SYSTEM SET primary_conninfo = ''")
    wait_until(lambda: not has_receiver(portal.standby))
    try:
        yield
    finally:
        configure(portal.standby, f"ALTER SYSTEM SET primary_conninfo = {conninfo}")
        portal.standby.wait_for_primary()


@contextmanager
def cut_off_in_silence(portal: Portal) -> Iterator[None]:
    """Let the standby receive nothing, and not know it for a minute, as behind a dead switch."""
    with psycopg.connect(portal.primary.superuser_url, autocommit=True) as connection:
        rows = connection.execute("SELECT pid FROM pg_stat_replication").fetchall()
    with freeze([psutil.Process(pid) for (pid,) in rows]):
        yield


@contextmanager
def freeze(processes: list[psutil.Process]) -> Iterator[None]:
    """Stop processes, as in a machine that is paused."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # a sender that was stopped for a minute ends
                process.send_signal(signal.SIGCONT)


def list_processes(pid: int) -> list[psutil.Process]:
    """List the first process of a server, and all that it has started."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


@contextmanager
def refuse_connections(portal: Portal) -> Iterator[None]:
    """Let the primary refuse the portal's connections, and go on otherwise."""
    portal.primary.superuser_execute("ALTER ROLE portal CONNECTION LIMIT 0")
    connections["default"].close()
    try:
        yield
    finally:
        portal.primary.superuser_execute("ALTER ROLE portal CONNECTION LIMIT -1")


@contextmanager
def freeze_primary(portal: Portal) -> Iterator[None]:
    """Let the primary answer nothing at all."""
    with freeze(list_processes(portal.primary.pid)):
        yield


def make_private(portal: Portal) -> None:
    portal.resource.private = True
    portal.resource.save()


def read_publicly(portal: Portal) -> list[Any]:
    """Search, look at the page and download, without a token; return the answers."""
    address = f"/en/datastore/{portal.resource.pk}/"
    dump = f"/en/datastore/dump/{portal.resource.pk}"
    search = f"/en/api/action/datastore_search?resource_id={portal.resource.pk}"
    answers = [open_client().get(path) for path in (search, address, dump)]
    for answer in answers:
        text = b"".join(answer) if answer.streaming else answer.content
        assert b"river" not in text
    return answers


def check_unavailable(answer: Any) -> None:
    """Expect 503; what is known to be private without a database is 403."""
    assert answer.status_code in {403, 503}
    assert answer.status_code == 403 or int(answer["Retry-After"]) > 0


def wait_for_answer(portal: Portal) -> None:
    """Wait until the replica answers, which a busy machine may leave out for a moment."""
    wait_until(lambda: answered_from(portal.resource) == "replica")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began_at = monotonic()
    yield
    assert monotonic() - began_at < seconds


# What is private stays private --------------------------------------------------------------------


@pytest.mark.parametrize("fail", [refuse_connections, freeze_primary])
@pytest.mark.parametrize("cut", [cut_off, cut_off_in_silence])
def test_a_standby_that_is_cut_off_publishes_nothing_old(
    portal: Portal, cut: Callable[[Portal], Any], fail: Callable[[Portal], Any]
) -> None:
    with cut(portal):
        make_private(portal)
        cache.clear()  # as after the time for which positions are kept
        sleep(LAG_SECONDS)
        forget_states()
        for answer in read_publicly(portal):
            assert answer.status_code == 403
        with fail(portal):
            for _attempt in range(3):
                with within(3 * MAX_SECONDS):
                    for answer in read_publicly(portal):
                        check_unavailable(answer)
                sleep(1)  # every server is asked again


def test_a_standby_that_is_cut_off_answers_for_as_long_as_it_may_lag(portal: Portal) -> None:
    def is_unavailable() -> bool:
        answer = ask(open_client(), {"resource_id": str(portal.resource.pk)})
        assert answer.status_code in {200, 503}
        return bool(answer.status_code == 503)

    with override_settings(DATASTORE_SEARCH_MAX_REPLICA_LAG=timedelta(seconds=8)):
        wait_for_replica("replica")
        known_at = monotonic()
        with cut_off(portal), refuse_connections(portal):
            cut_at = monotonic()
            wait_until(is_unavailable)
            assert monotonic() - known_at > 6
            assert monotonic() - cut_at < 10 + MAX_SECONDS


def test_a_standby_that_has_stood_still_is_not_believed_when_it_goes_on(portal: Portal) -> None:
    processes = list_processes(portal.standby._process.pid)
    with refuse_connections(portal):
        with freeze(processes):
            sleep(LAG_SECONDS)
        with psycopg.connect(portal.primary.superuser_url, autocommit=True) as connection:
            connection.execute("UPDATE datastore_search_resource SET private = true")
        with cut_off(portal):
            for answer in read_publicly(portal):
                check_unavailable(answer)


def test_a_receiver_with_a_short_limit_is_believed_without_a_primary(
    portal: Portal, servers: tuple[ThrowawayServer, Standby, Standby]
) -> None:
    configure(portal.standby, "ALTER SYSTEM SET wal_receiver_timeout = '1s'")
    try:
        with refuse_connections(portal):
            deadline = monotonic() + 2 * LAG_SECONDS
            while monotonic() < deadline:
                wait_for_replica("replica")
                sleep(0.2)
            wait_for_answer(portal)
    finally:
        configure(portal.standby, "ALTER SYSTEM RESET wal_receiver_timeout")


def test_a_dropped_table_is_gone_for_everyone(portal: Portal) -> None:
    query = {"resource_id": str(portal.resource.pk), "force": True}
    with portal.standby.pause_replay():
        get_result(act(open_client(), "datastore_delete", query, portal.token))
        forget_states()
        answer = ask(open_client(), {"resource_id": str(portal.resource.pk)})
        check_error(answer, 404)


def test_a_dataset_that_is_no_longer_public_is_gone_for_everyone(portal: Portal) -> None:
    values = {"id": "own", "name": "own", "title": "Own", "is_public": True}
    sync_dataset(Dataset(**values), [portal.private])
    portal.catch_up()
    cache.clear()
    show = {"id": "own"}
    assert act(open_client(), "package_show", show).status_code == 200
    with portal.standby.pause_replay():
        sync_dataset(Dataset(**{**values, "is_public": False}), [portal.private])
        forget_states()
        assert act(open_client(), "package_show", show).status_code == 404


#: Prints whether changes are watched: of a table that no permission depends on, and of guardian's.
_GUARDIAN = """
from django.conf import settings
settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "guardian"]
import django
django.setup()
from django.contrib.contenttypes.models import ContentType
from django.db.models.signals import post_delete, post_save
from guardian.models import GroupObjectPermission, UserObjectPermission
for model in (ContentType, GroupObjectPermission, UserObjectPermission):
    print(*(each.has_listeners(model) for each in (post_save, post_delete)))
"""


def test_permissions_of_objects_are_watched() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _GUARDIAN], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"] * 2 + ["True"] * 4


# A server that is frozen --------------------------------------------------------------------------


def test_no_request_waits_for_a_frozen_replica(portal: Portal) -> None:
    wait_for_answer(portal)
    with freeze(list_processes(portal.standby._process.pid)):
        for _attempt in range(5):
            with within(MAX_SECONDS):
                assert answered_from(portal.resource) == "default"
            with within(MAX_SECONDS):
                dump: Any = open_client().get(f"/en/datastore/dump/{portal.resource.pk}")
                assert b"river" in b"".join(dump)
            sleep(0.5)
    wait_for_replica("replica")


def test_no_thread_waits_for_a_frozen_replica(portal: Portal) -> None:
    """A statement that is running when the server stops, in several threads at once."""
    answers: list[int] = []

    def search() -> None:
        try:
            for _attempt in range(20):
                answer = ask(open_client(), {"resource_id": str(portal.resource.pk)})
                answers.append(answer.status_code)
        finally:
            for alias in portal.aliases:
                connections[alias].close()

    threads = [Thread(target=search, daemon=True) for _number in range(4)]
    for thread in threads:
        thread.start()
    sleep(0.2)
    with freeze(list_processes(portal.standby._process.pid)):
        for thread in threads:
            thread.join(4 * MAX_SECONDS)
            assert not thread.is_alive()
    assert answers == [200] * 80


def test_a_slow_statement_of_a_replica_that_answers_goes_on(portal: Portal) -> None:
    with connections["replica"].cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")
        assert cursor.fetchall()


# A network that is parted ------------------------------------------------------------------------


class Link:
    """A TCP proxy in front of the socket of a server, which goes silent as a network does."""

    def __init__(self, path: Path) -> None:
        self.path, self.passes = path, Event()
        self.passes.set()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgres://portal@127.0.0.1:{self.listening.getsockname()[1]}/portal"
        self.ends: list[socket.socket] = [self.listening]
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, far = self.listening.accept()[0], socket.socket(socket.AF_UNIX)
                self.ends += [near, far]
                far.connect(str(self.path))
                for pair in ((near, far), (far, near)):
                    Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while sent := source.recv(65_536):
                self.passes.wait()
                target.sendall(sent)
            self.passes.wait()
            target.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Forward nothing, neither bytes nor the end of a connection, within the block."""
        self.passes.clear()
        try:
            yield
        finally:
            self.passes.set()

    def close(self) -> None:
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def link(portal: Portal) -> Iterator[Link]:
    """The network between the portal and its replica."""
    link = Link(portal.standby.folder / ".s.PGSQL.5432")
    aliases = {**portal.aliases, "replica": link.url}
    try:
        with route_reads(aliases, DATASTORE_SEARCH_MAX_REPLICA_LAG=LAG):
            wait_for_replica("replica")
            yield link
    finally:
        link.close()


@pytest.mark.slow
def test_a_parted_network_holds_no_request_and_publishes_nothing(
    portal: Portal, link: Link
) -> None:
    wait_for_answer(portal)
    address = f"/en/api/action/datastore_search?resource_id={portal.resource.pk}"
    answers: list[tuple[float, float, int, bool]] = []
    is_over = Event()

    def search() -> None:
        try:
            while not is_over.is_set():
                began_at = monotonic()
                answer = open_client().get(address)
                is_shown = b"river" in answer.content
                answers.append((began_at, monotonic(), answer.status_code, is_shown))
        finally:
            for alias in portal.aliases:
                connections[alias].close()

    threads = [Thread(target=search, daemon=True) for _number in range(3)]
    with cut_off_in_silence(portal):
        for thread in threads:
            thread.start()
        wait_until(lambda: len(answers) > 10)
        with link.part():
            parted_at = monotonic()
            wait_until(lambda: sum(began > parted_at for began, *_more in answers) > 10)
            make_private(portal)
            private_at = monotonic()
            wait_until(lambda: sum(began > private_at for began, *_more in answers) > 10)
            is_over.set()
            for thread in threads:
                thread.join(MAX_SECONDS)
                assert not thread.is_alive()
            sleep(LAG_SECONDS)  # for so long the standby may answer without what was committed
            cache.clear()
            with refuse_connections(portal):
                for _attempt in range(3):
                    with within(3 * MAX_SECONDS):
                        for answer in read_publicly(portal):
                            check_unavailable(answer)
        with refuse_connections(portal):  # the network is whole, and the standby is old
            for _attempt in range(3):
                for answer in read_publicly(portal):
                    check_unavailable(answer)
                sleep(1)
    assert max(ended - began for began, ended, *_more in answers) < MAX_SECONDS
    assert {status for _began, _ended, status, _shown in answers} == {200, 403}
    assert not [began for began, _ended, _status, shown in answers if shown and began > private_at]


# A client does not go back ------------------------------------------------------------------------


def find_client_of(portal: Portal, alias: str) -> dict[str, Any]:
    """Find an address whose requests a replica answers."""
    for number in range(50):
        client = {"REMOTE_ADDR": f"192.0.2.{number}"}
        if answered_from(portal.resource, **client) == alias:
            return client
    raise AssertionError


def count(portal: Portal, client: dict[str, Any]) -> int:
    address = f"/en/api/action/datastore_search?resource_id={portal.resource.pk}"
    return int(get_result(open_client().get(address, **client))["total"])


def test_a_client_does_not_go_back_when_its_replica_dies(portal: Portal, other: Standby) -> None:
    near, far = find_client_of(portal, "replica"), find_client_of(portal, "other")
    with other.pause_replay():
        portal.insert("c")
        portal.standby.catch_up(portal.primary)
        forget_states()
        assert (count(portal, near), count(portal, far)) == (3, 2)
        portal.standby.stop_immediately()
        try:
            forget_states()
            assert (count(portal, near), count(portal, far)) == (3, 2)
        finally:
            portal.standby.start()
    other.catch_up(portal.primary)
    forget_states()
    assert answered_from(portal.resource, **near) == "other"
    portal.standby.wait_for_primary()
    wait_for_replica("replica")
    forget_states()
    assert answered_from(portal.resource, **near) == "replica"


def test_a_client_does_not_go_back_to_a_replica_that_lags(portal: Portal, other: Standby) -> None:
    client = find_client_of(portal, "replica")
    portal.standby.stop_immediately()
    try:
        forget_states()
        assert answered_from(portal.resource, **client) in {"other", "default"}
        portal.insert("c")
        other.catch_up(portal.primary)
        forget_states()
        assert count(portal, client) == 3
    finally:
        portal.standby.start()
    with portal.standby.pause_replay():
        portal.insert("d")
        other.catch_up(portal.primary)
        forget_states()
        assert count(portal, client) == 4
        portal.standby.wait_for_primary()
        for _attempt in range(3):
            forget_states()
            assert count(portal, client) == 4


# A standby that must confirm each write -----------------------------------------------------------


@contextmanager
def require_dead_standby(portal: Portal) -> Iterator[None]:
    """Let each COMMIT wait for a standby that does not exist."""
    portal.primary.superuser_execute("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
    portal.primary.superuser_execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        portal.primary.superuser_execute("ALTER SYSTEM RESET synchronous_standby_names")
        portal.primary.superuser_execute("SELECT pg_reload_conf()")


def test_a_write_without_its_standby_ends_and_says_what_is_stored(portal: Portal) -> None:
    answers: list[Any] = []

    def write() -> None:
        answers.append(portal.send_record("c"))
        connections["default"].close()

    with require_dead_standby(portal), override_settings(DATASTORE_SEARCH_MAX_SLOTS=1):
        thread = Thread(target=write, daemon=True)
        with within(40):
            thread.start()
            sleep(2)
            query = {"resource_id": str(portal.resource.pk), "q": "river"}
            assert get_result(ask(open_client(), query))["total"] == 1
            assert thread.is_alive()  # it waits for the standby, and holds no slot
            thread.join(60)
    (answer,) = answers
    assert "The change is stored" in check_error(answer, 503)["message"]
    assert portal.count(portal.token) == 3


# What operators are told --------------------------------------------------------------------------


def test_a_replica_that_does_not_answer_is_logged(
    portal: Portal, caplog: pytest.LogCaptureFixture
) -> None:
    get_state("replica")
    portal.standby.stop_immediately()
    try:
        forget_states()
        assert answered_from(portal.resource) == "default"
    finally:
        portal.standby.start()
    assert "The database “replica” does not answer" in caplog.text
