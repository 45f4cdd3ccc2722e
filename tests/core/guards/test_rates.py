"""Limits of how often one client may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework.settings import api_settings

from datastore_search.guards.rates import AddressThrottle, UserThrottle
from datastore_search.guards.shares import find_address
from datastore_search.models import Resource

from ...builders import act, check_error, make_user, make_user_token

NOW = 1_700_006_400.0

PATHS = (
    "/en/api/3/action/datastore_search?resource_id={}",
    "/en/api/3/action/unknown",
    "/en/datastore/dump/{}",
    "/en/datastore/",
    "/en/datastore/{}/schema.json",
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A clock that stands still."""
    clock = {"now": NOW}
    for throttle in (AddressThrottle, UserThrottle):
        monkeypatch.setattr(throttle, "timer", staticmethod(lambda: clock["now"]))
    return clock


@pytest.fixture(autouse=True)
def rates(settings: Any, clock: dict[str, float]) -> Iterator[None]:
    settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": [
            "datastore_search.guards.rates.AddressThrottle",
            "datastore_search.guards.rates.UserThrottle",
        ],
        "DEFAULT_THROTTLE_RATES": {"anon": "2/minute", "user": "3/minute"},
    }
    cache.clear()
    yield
    cache.clear()


def get_statuses(client: Client, path: str, count: int, **headers: str) -> list[int]:
    return [client.get(path, headers=headers).status_code for _ in range(count)]


@pytest.mark.parametrize("path", PATHS)
def test_one_request_too_many_is_429_with_the_seconds_to_wait(
    client: Client, resource: Resource, clock: dict[str, float], path: str
) -> None:
    address = path.format(resource.pk)
    get_statuses(client, address, 2)
    clock["now"] += 15

    refused = client.get(address)

    assert refused.status_code == 429
    assert refused["Retry-After"] == "45"
    if "/api/" in path or "/dump/" in path:
        error = check_error(refused, 429)
        assert error == {"message": "Too many requests. Try again in 45 seconds."}
    else:
        assert "Too many requests. Try again in 45 seconds." in refused.content.decode()
        assert "no-store" in refused["Cache-Control"]


def test_too_many_requests_are_refused_in_the_language_of_the_path(
    client: Client, db: None
) -> None:
    path = "/vi/api/3/action/unknown"
    get_statuses(client, path, 2)

    error = check_error(client.get(path), 429)

    assert error == {"message": "Quá nhiều yêu cầu. Hãy thử lại sau 60 giây."}


def test_a_large_body_counts_as_several_requests(client: Client, resource: Resource) -> None:
    token = make_user_token("writer", "change")
    record = {"code": "7", "title": "x" * 70_000}
    sent = {"resource_id": str(resource.pk), "force": True, "records": [record]}
    sent["method"] = "insert"

    statuses = [act(client, "datastore_upsert", sent, token).status_code for _ in range(3)]

    assert statuses == [200, 200, 429]


@pytest.mark.needs("pages")
def test_pages_dumps_and_the_api_are_counted_together(client: Client, resource: Resource) -> None:
    statuses = [client.get(path.format(resource.pk)).status_code for path in PATHS]

    assert statuses == [200, 400, 429, 429, 429]


def test_users_have_their_own_rate_by_any_token_and_by_session(
    client: Client, resource: Resource
) -> None:
    token = make_user_token("reader")
    path = PATHS[0].format(resource.pk)

    assert get_statuses(client, path, 4, Authorization=token) == [200, 200, 200, 429]
    assert get_statuses(client, path, 3) == [200, 200, 429]
    assert get_statuses(client, path, 1, Authorization="wrong") == [429]
    user = make_user("other")
    client.force_login(user)
    assert get_statuses(client, "/en/datastore/dump/x", 4) == [404, 404, 404, 429]


@pytest.mark.parametrize(
    ("num_proxies", "forwarded", "expected"),
    [
        (None, "9.9.9.9, 10.0.0.{}", [404, 404, 429]),
        (0, "9.9.9.9, 10.0.0.{}", [404, 404, 429]),
        (1, "9.9.9.9, 10.0.0.{}", [404] * 3),
        (1, "10.0.0.{}, 9.9.9.9", [404, 404, 429]),  # what a client forges does not count
    ],
)
@pytest.mark.usefixtures("db")
def test_a_forwarded_address_counts_only_behind_named_proxies(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    num_proxies: int | None,
    forwarded: str,
    expected: list[int],
) -> None:
    monkeypatch.setattr(api_settings, "NUM_PROXIES", num_proxies)

    statuses = [
        client.get(
            "/en/datastore/dump/x", headers={"X-Forwarded-For": forwarded.format(number)}
        ).status_code
        for number in range(3)
    ]

    assert statuses == expected


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("", "", True),
        ("192.0.2.1:80", "192.0.2.1:81", False),
    ],
)
def test_addresses_are_compared_as_networks(one: str, other: str, *, is_same: bool) -> None:
    found = {find_address({"REMOTE_ADDR": each}) for each in (one, other)}

    assert (len(found) == 1) is is_same
    assert all(address and " " not in address for address in found)


def test_a_kind_of_client_without_a_rate_is_not_limited(
    client: Client, resource: Resource, settings: Any
) -> None:
    settings.REST_FRAMEWORK = {
        **settings.REST_FRAMEWORK,
        "DEFAULT_THROTTLE_RATES": {"anon": "1/minute"},
    }
    path = PATHS[0].format(resource.pk)

    assert get_statuses(client, path, 3, Authorization=make_user_token("reader")) == [200] * 3
    assert get_statuses(client, path, 2) == [200, 429]
