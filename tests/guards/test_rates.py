"""Limits of how often one client may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework.settings import api_settings

from datastore_search.guards.rates import WindowThrottle
from datastore_search.models import Resource

from ..builders import act, check_error, make_user, make_user_token

#: The beginning of an hour, and of a day.
MIDNIGHT = 1_700_006_400

PATHS = (
    "/en/api/3/action/datastore_search?resource_id={}",
    "/en/api/3/action/status_show",
    "/en/api/3/action/unknown",
    "/en/datastore/dump/{}",
    "/en/datastore/",
    "/en/datastore/{}/",
    "/en/datastore/{}/chart/",
    "/en/datastore/{}/schema.json",
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A clock that stands still, at a beginning of all windows."""
    clock = {"now": MIDNIGHT}
    monkeypatch.setattr(WindowThrottle, "timer", staticmethod(lambda: clock["now"]))
    return clock


@pytest.fixture(autouse=True)
def rates(settings: Any, clock: dict[str, int]) -> Iterator[None]:
    settings.DATASTORE_SEARCH_THROTTLE_RATES = {
        "anonymous": ["2/minute", "5/day"],
        "authenticated": ["3/minute"],
    }
    cache.clear()
    yield
    cache.clear()


def get_statuses(client: Client, path: str, count: int, **headers: str) -> list[int]:
    return [client.get(path, headers=headers).status_code for _ in range(count)]


@pytest.mark.parametrize("path", PATHS)
def test_one_request_too_many_is_429_with_the_seconds_to_wait(
    client: Client, resource: Resource, clock: dict[str, int], path: str
) -> None:
    address = path.format(resource.pk)
    get_statuses(client, address, 2)
    clock["now"] += 15

    refused = client.get(address)

    assert refused.status_code == 429
    assert refused["Retry-After"] == "45"
    assert refused["RateLimit-Policy"] == '"2/minute";q=2;w=60, "5/day";q=5;w=86400'
    assert refused["RateLimit"] == '"2/minute";r=0;t=45, "5/day";r=2;t=86385'
    if "/api/" in path or "/dump/" in path:
        error = check_error(refused, 429, "Too Many Requests")
        assert error == {"message": "Too many requests. Try again in 45 seconds."}
    else:
        assert "Too many requests. Try again in 45 seconds." in refused.content.decode()
        assert "no-store" in refused["Cache-Control"]


def test_a_counted_answer_says_what_is_left(client: Client, resource: Resource) -> None:
    response = client.get(PATHS[0].format(resource.pk))

    assert response.status_code == 200
    assert response["RateLimit"] == '"2/minute";r=1;t=60, "5/day";r=4;t=86400'


def test_the_next_window_begins_anew_and_the_day_goes_on(
    client: Client, db: None, clock: dict[str, int]
) -> None:
    statuses = []
    for _ in range(3):
        statuses.append(get_statuses(client, "/en/datastore/", 2))
        clock["now"] += 60
    refused = client.get("/en/datastore/")
    clock["now"] = MIDNIGHT + 86_400

    assert statuses == [[200, 200], [200, 200], [200, 429]]
    assert refused["Retry-After"] == str(86_400 - 180)
    assert get_statuses(client, "/en/datastore/", 1) == [200]


def test_pages_dumps_and_the_api_are_counted_together(client: Client, resource: Resource) -> None:
    statuses = [client.get(path.format(resource.pk)).status_code for path in PATHS]

    assert statuses == [200, 200, *[429] * 6]


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
    assert get_statuses(client, "/en/datastore/", 4) == [200, 200, 200, 429]


def test_a_write_is_counted_before_it_is_done(client: Client, resource: Resource) -> None:
    token = make_user_token("writer", "change")
    sent = {"resource_id": str(resource.pk), "force": True, "records": [{"code": "7"}]}
    sent["method"] = "insert"

    statuses = [act(client, "datastore_upsert", sent, token).status_code for _ in range(4)]

    assert statuses == [200, 200, 200, 429]


@pytest.mark.parametrize(
    ("num_proxies", "expected"), [(None, [200, 200, 429]), (0, [200, 200, 429]), (1, [200] * 3)]
)
def test_a_forwarded_address_counts_only_behind_named_proxies(
    client: Client,
    db: None,
    monkeypatch: pytest.MonkeyPatch,
    num_proxies: int | None,
    expected: list[int],
) -> None:
    monkeypatch.setattr(api_settings, "NUM_PROXIES", num_proxies)

    statuses = [
        client.get(
            "/en/datastore/", headers={"X-Forwarded-For": f"9.9.9.9, 10.0.0.{number}"}
        ).status_code
        for number in range(3)
    ]

    assert statuses == expected


def test_what_a_client_forges_before_its_proxy_does_not_count(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_settings, "NUM_PROXIES", 1)

    statuses = [
        client.get(
            "/en/datastore/", headers={"X-Forwarded-For": f"10.0.0.{number}, 9.9.9.9"}
        ).status_code
        for number in range(3)
    ]

    assert statuses == [200, 200, 429]


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
def test_addresses_are_compared_as_networks(
    rf: Any, one: str, other: str, *, is_same: bool
) -> None:
    throttle = WindowThrottle("1/day")

    idents = {throttle.get_ident(rf.get("/", REMOTE_ADDR=each)) for each in (one, other)}

    assert (len(idents) == 1) is is_same
    assert all(ident and " " not in ident for ident in idents)


def test_nothing_is_counted_without_rates(client: Client, db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_THROTTLE_RATES = {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WindowThrottle, "__init__", None)
        response = client.get("/en/datastore/")

    assert response.status_code == 200
    assert "RateLimit" not in response


def test_a_kind_of_client_without_rates_is_not_limited(
    client: Client, resource: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_THROTTLE_RATES = {"anonymous": ["1/day"]}
    path = PATHS[0].format(resource.pk)

    statuses = get_statuses(client, path, 3, Authorization=make_user_token("reader"))

    assert statuses == [200] * 3
    assert get_statuses(client, path, 2) == [200, 429]
