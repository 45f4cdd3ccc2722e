"""Redis as Django's cache: stopped, refused, frozen, full.  No answer waits for it, or fails."""

from __future__ import annotations

import logging
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from rest_framework.throttling import SimpleRateThrottle

from datastore_search.contrib.scale.writes import find_written, remember_write
from datastore_search.guards.cache import CacheUnavailable, SharedCache, shared_cache
from datastore_search.models import Resource

from ..builders import act, ask, check_error, get_result, make_user, make_writer_token
from ..processes import find_free_port

_MAX_WAIT_SECONDS = 0.1

_REDIS = "django.core.cache.backends.redis.RedisCache"

_RATES = {
    "DEFAULT_THROTTLE_RATES": {"anon": "100/minute", "user": "100/minute", "login": "2/minute"},
    "DEFAULT_THROTTLE_CLASSES": [
        "datastore_search.guards.rates.AddressThrottle",
        "datastore_search.guards.rates.UserThrottle",
        "rest_framework.throttling.AnonRateThrottle",
    ],
}


class Redis:
    """A server of Redis, which can be frozen, stopped and started again."""

    def __init__(self) -> None:
        self.port = find_free_port()
        self.start()

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client = ["redis-cli", "-p", str(self.port), "ping"]
        deadline = time.monotonic() + 30
        while subprocess.run(client, capture_output=True, check=False).stdout != b"PONG\n":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self.thaw()
        self.process.kill()
        self.process.wait(30)

    def limit_memory(self, max_bytes: int) -> None:
        command = ["redis-cli", "-p", str(self.port), "config", "set", "maxmemory", str(max_bytes)]
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    server = Redis()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def redis(server: Redis, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Redis:
    settings.CACHES = {
        "default": {"BACKEND": _REDIS, "LOCATION": f"redis://127.0.0.1:{server.port}"}
    }
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **_RATES}
    # REST framework reads the rates once, when its throttles are imported.
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", _RATES["DEFAULT_THROTTLE_RATES"])
    caches["default"].clear()
    return server


#: What happens to Redis, and how it ends.
_OUTAGES: dict[str, tuple[Callable[[Redis], None], Callable[[Redis], None]]] = {
    "stopped": (Redis.stop, Redis.start),
    "frozen": (Redis.freeze, Redis.thaw),
    "full": (lambda redis: redis.limit_memory(1), lambda redis: redis.limit_memory(0)),
}


@pytest.fixture(params=_OUTAGES)
def outage(redis: Redis, request: pytest.FixtureRequest) -> Iterator[None]:
    begin, end = _OUTAGES[request.param]
    shared_cache.set("known", 1)  # over a connection that is open when Redis goes
    begin(redis)
    try:
        yield
    finally:
        end(redis)
        forget_failure()


def forget_failure() -> None:
    shared_cache.__init__()  # type: ignore[misc] # as in another process


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that each call of the cache takes."""
    waits: list[float] = []
    call = SharedCache._call

    def measure(*args: Any, **options: Any) -> Any:
        began_at = time.monotonic()
        try:
            return call(*args, **options)
        finally:
            waits.append(time.monotonic() - began_at)

    monkeypatch.setattr(SharedCache, "_call", measure)
    return waits


@pytest.mark.parametrize(
    "path",
    [
        "/en/api/3/action/datastore_search?resource_id={}",
        "/en/api/3/action/datastore_info?id={}",
        "/en/api/3/action/package_search",
        "/en/datastore/dump/{}",
        "/en/datastore/",
        "/en/datastore/{}/",
        "/en/datastore/{}/chart/?show=count",
        "/en/datastore/{}/schema.json",
    ],
)
def test_reads_are_answered_uncounted_and_at_once(
    resource: Resource, outage: None, waits: list[float], path: str, caplog: Any
) -> None:
    for _time in range(3):
        response: Any = Client().get(path.format(resource.pk))
        assert response.status_code == 200
        assert response.getvalue()
    assert waits
    assert max(waits) < _MAX_WAIT_SECONDS
    logged = [each for each in caplog.records if each.name == "datastore_search.guards.cache"]
    assert [each.levelno for each in logged] == [logging.WARNING]


def test_writes_and_marks_are_not_refused_and_not_delayed(
    resource: Resource, outage: None, waits: list[float]
) -> None:
    token = make_writer_token()
    sent = {"resource_id": str(resource.pk), "force": True, "records": [{}], "method": "insert"}
    get_result(act(Client(), "datastore_upsert", sent, token))
    remember_write(["client"])
    assert find_written("client") in {0, 2**64}  # one that is full is still read
    assert 0 < sum(waits) < _MAX_WAIT_SECONDS


def test_logins_are_answered_uncounted(db: None, outage: None, settings: Any) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE, "datastore_search.contrib.operations.middleware.LoginRateMiddleware",
    ]  # fmt: skip
    make_user("editor", is_staff=True)
    form = {"username": "editor", "password": "secret"}
    for _time in range(4):
        response = Client().post("/en/admin/login/?next=/en/admin/", form)
        assert response.status_code == 302


def test_counting_goes_on_when_redis_is_back(
    resource: Resource, redis: Redis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SharedCache, "retry_seconds", 0.0)
    settings.REST_FRAMEWORK = {
        **settings.REST_FRAMEWORK,
        "DEFAULT_THROTTLE_CLASSES": ["datastore_search.guards.rates.AddressThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "2/hour"},
    }
    parameters = {"resource_id": str(resource.pk)}
    assert ask(Client(), parameters).status_code == 200
    redis.freeze()
    assert [ask(Client(), parameters).status_code for _ in range(3)] == [200] * 3
    redis.thaw()
    monkeypatch.setattr(SharedCache, "max_wait_seconds", 5.0)
    forget_failure()
    assert ask(Client(), parameters).status_code == 200
    check_error(ask(Client(), parameters), 429)


def test_a_frozen_redis_is_asked_by_one_request_a_second(redis: Redis, waits: list[float]) -> None:
    redis.freeze()
    try:
        for _time in range(1_000):
            with pytest.raises(CacheUnavailable):
                shared_cache.get("known")
    finally:
        redis.thaw()
    # Another one may wait for the processor.
    assert sorted(waits)[-3] < _MAX_WAIT_SECONDS / 10
    assert max(waits) < _MAX_WAIT_SECONDS


def test_a_shorter_limit_of_the_portal_holds_and_the_portal_keeps_its_own(
    redis: Redis, settings: Any
) -> None:
    configured = {**settings.CACHES["default"], "OPTIONS": {"socket_timeout": 0.01}}
    settings.CACHES = {"default": configured}
    shared_cache.get("known")
    options = shared_cache._caches.settings["default"]["OPTIONS"]
    assert options == {"socket_timeout": 0.01, "socket_connect_timeout": 0.05}
    assert configured["OPTIONS"] == {"socket_timeout": 0.01}
