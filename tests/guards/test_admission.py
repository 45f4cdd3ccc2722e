"""Admission of searches: which are refused during a flood of slow ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client as Browser

from datastore_search.exceptions.availability import TooManySlowSearches
from datastore_search.guards import admission
from datastore_search.models import Resource
from datastore_search.search import Query, read_page, with_consistent_read

from ..builders import check_error, make_resource, make_slow

API = "/en/api/action/datastore_search"

#: Requests that take milliseconds in any table.
LIGHT_ADDRESSES = [
    f"{API}?resource_id={{id}}",
    f"{API}?resource_id={{id}}&limit=5&offset=3",
    f"{API}?resource_id={{id}}&limit=0",
    f'{API}?resource_id={{id}}&filters={{{{"_id": [1, 2]}}}}',
    f"{API}?resource_id={{id}}&sort=_id desc",
    "/en/api/action/datastore_info?id={id}",
    '/en/api/action/datastore_facets?id={id}&facets={{"stage": {{"min_count": 2}}}}',
    "/en/api/action/datastore_suggest?id={id}&field=stage&limit=1",
    "/en/datastore/{id}/",
]

#: Requests that may be slow.
HEAVY_ADDRESSES = [
    f"{API}?resource_id={{id}}&limit=101",
    f"{API}?resource_id={{id}}&q=river",
    f'{API}?resource_id={{id}}&q={{{{"subject": "a"}}}}',
    f'{API}?resource_id={{id}}&filters={{{{"subject": "air"}}}}',
    f'{API}?resource_id={{id}}&filters={{{{"_id": {{{{"gt": 1}}}}}}}}',
    f"{API}?resource_id={{id}}&sort=subject",
    f"{API}?resource_id={{id}}&distinct=true&fields=subject",
    "/en/api/action/datastore_facets?id={id}&facets=stage&q=river",
    "/en/api/action/datastore_facets?id={id}&facets=amount",
    "/en/api/action/datastore_suggest?id={id}&field=stage&prefix=a",
    "/en/api/action/datastore_suggest?id={id}&q=rivr",
    "/en/api/action/datastore_aggregate?id={id}",
    "/en/api/action/datastore_aggregate?id={id}&group_by=stage&records_format=csv",
    "/en/datastore/dump/{id}",
    "/en/datastore/{id}/?q=river",
]


def begin_flood() -> None:
    """Note three statements without a slot."""
    for _statement in range(3):
        admission.note_no_slot()


@pytest.fixture
def no_free_slot(settings: Any) -> Iterator[None]:
    """All slots are taken by searches that may be slow."""
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 2
    with ExitStack() as stack:
        for _search in range(2):
            stack.enter_context(admission.admit_search())
        yield


@pytest.fixture
def flood(no_free_slot: None) -> None:
    """A flood of slow searches without a free slot."""
    begin_flood()


@pytest.mark.parametrize("address", HEAVY_ADDRESSES)
def test_searches_that_may_be_slow_are_refused_in_a_flood(
    client: Browser, resource: Resource, flood: None, address: str
) -> None:
    response = client.get(address.format(id=resource.pk))

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "The search takes long, and others that take long are running already" in (
        response.content.decode()
    )


@pytest.mark.parametrize("address", LIGHT_ADDRESSES)
def test_light_requests_are_answered_in_a_flood(
    client: Browser, resource: Resource, flood: None, address: str
) -> None:
    assert client.get(address.format(id=resource.pk)).status_code == 200


@pytest.mark.parametrize("address", [*LIGHT_ADDRESSES, *HEAVY_ADDRESSES])
def test_every_request_is_answered_without_a_flood(
    client: Browser, resource: Resource, no_free_slot: None, address: str
) -> None:
    response = client.get(address.format(id=resource.pk))

    assert response.status_code == 200
    b"".join(response)  # a dump that is not read to its end closes its connection


@pytest.mark.parametrize("address", HEAVY_ADDRESSES)
def test_searches_that_may_be_slow_run_in_a_flood_with_a_free_slot(
    client: Browser, resource: Resource, settings: Any, address: str
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 2
    with admission.admit_search():
        begin_flood()

        response = client.get(address.format(id=resource.pk))

        assert response.status_code == 200
        b"".join(response)  # a dump releases its slot, too


def test_three_searches_without_a_slot_begin_a_flood(
    client: Browser, resource: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 0
    other = make_resource()
    address = f"{API}?resource_id={other.pk}&q=river"
    make_slow(resource)
    with admission.admit_search():
        for _search in range(3):
            assert client.get(address).status_code == 200
            check_error(client.get(f"{API}?resource_id={resource.pk}"), 503, "Service Unavailable")

        check_error(client.get(address), 503, "Service Unavailable")
    assert client.get(address).status_code == 200


@pytest.fixture
def advance_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that advances the clock of the admission by some seconds."""
    now = [1000.0]
    monkeypatch.setattr(admission, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def is_refused() -> bool:
    try:
        with admission.admit_search():
            return False
    except TooManySlowSearches:
        return True


def test_a_flood_ends(advance_clock: Callable[[float], None], no_free_slot: None) -> None:
    begin_flood()
    advance_clock(4.9)
    assert is_refused()

    advance_clock(0.2)
    assert not is_refused()


def test_a_flood_lasts_while_searches_are_refused(
    advance_clock: Callable[[float], None], no_free_slot: None
) -> None:
    begin_flood()
    for _time in range(10):
        advance_clock(1.0)
        assert is_refused()

    advance_clock(5.1)
    assert not is_refused()


def test_fast_searches_at_the_same_time_do_not_prolong_a_flood(
    advance_clock: Callable[[float], None], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 1
    begin_flood()
    for _time in range(4):
        advance_clock(1.0)
        with admission.admit_search():
            advance_clock(0.05)
            assert is_refused()

    advance_clock(1.0)
    with admission.admit_search():
        assert not is_refused()


def test_an_unchanged_answer_is_304_in_a_flood(
    client: Browser, resource: Resource, no_free_slot: None
) -> None:
    address = f"{API}?resource_id={resource.pk}&q=river"
    tag = client.get(address)["ETag"]
    begin_flood()

    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304


def test_a_failed_search_releases_its_slot(
    client: Browser, resource: Resource, flood: None
) -> None:
    slots = len(admission._searches.begun)

    for address in ("?q=river&sort=nope", "?q=river", "?filters=nope"):
        response = client.get(f"{API}{address}&resource_id={resource.pk}")
        assert response.status_code in {409, 503}

    assert len(admission._searches.begun) == slots


def test_an_unknown_resource_is_404_in_a_flood(client: Browser, db: None, flood: None) -> None:
    check_error(client.get(f"{API}?resource_id={uuid4()}&q=a"), 404, "Not Found Error")


def test_a_search_without_a_request_is_never_refused(resource: Resource, flood: None) -> None:
    page = with_consistent_read(
        resource.pk, lambda read: read_page(read, Query(limit=5, q="river"))
    )

    with closing(page):
        assert page.total is not None
    with pytest.raises(TooManySlowSearches), admission.admit_search():
        pass
