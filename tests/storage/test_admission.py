"""A flood of slow searches: what is refused at once meanwhile, and what is answered as ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client as Browser

from datastore_search.exceptions.availability import TooManySlowSearches
from datastore_search.models import Resource
from datastore_search.search import Query, read_page, with_consistent_read
from datastore_search.storage import admission

from ..builders import check_error, make_resource, make_slow

API = "/en/api/action/datastore_search"

#: What takes milliseconds in any table.
LIGHT = [
    f"{API}?resource_id={{id}}",
    f"{API}?resource_id={{id}}&limit=5&offset=3",
    f"{API}?resource_id={{id}}&limit=0",
    f'{API}?resource_id={{id}}&filters={{{{"_id": [1, 2]}}}}',
    f"{API}?resource_id={{id}}&sort=_id desc",
    "/en/api/action/datastore_info?id={id}",
    "/en/datastore/{id}/",
]

#: What may be slow.
HEAVY = [
    f"{API}?resource_id={{id}}&limit=101",
    f"{API}?resource_id={{id}}&q=river",
    f'{API}?resource_id={{id}}&q={{{{"subject": "a"}}}}',
    f'{API}?resource_id={{id}}&filters={{{{"subject": "air"}}}}',
    f'{API}?resource_id={{id}}&filters={{{{"_id": {{{{"gt": 1}}}}}}}}',
    f"{API}?resource_id={{id}}&sort=subject",
    f"{API}?resource_id={{id}}&distinct=true&fields=subject",
    "/en/datastore/dump/{id}",
    "/en/datastore/{id}/?q=river",
]


def begin_flood() -> None:
    """Let three statements find no slot."""
    for _statement in range(3):
        admission.note_no_slot()


@pytest.fixture
def full(settings: Any) -> Iterator[None]:
    """As many searches that may be slow as there are slots."""
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 2
    with ExitStack() as stack:
        for _search in range(2):
            stack.enter_context(admission.admit_search())
        yield


@pytest.fixture
def flood(full: None) -> None:
    """A flood of slow searches, all slots of which are taken."""
    begin_flood()


@pytest.mark.parametrize("address", HEAVY)
def test_what_may_be_slow_is_refused_at_once_in_a_flood(
    client: Browser, resource: Resource, flood: None, address: str
) -> None:
    response = client.get(address.format(id=resource.pk))

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "The search takes long, and others that take long are running already" in (
        response.content.decode()
    )


@pytest.mark.parametrize("address", LIGHT)
def test_what_is_light_is_answered_in_a_flood(
    client: Browser, resource: Resource, flood: None, address: str
) -> None:
    assert client.get(address.format(id=resource.pk)).status_code == 200


@pytest.mark.parametrize("address", [*LIGHT, *HEAVY])
def test_everything_is_begun_while_there_is_no_flood(
    client: Browser, resource: Resource, full: None, address: str
) -> None:
    response = client.get(address.format(id=resource.pk))

    assert response.status_code == 200
    b"".join(response)  # a dump that is left half-read ends its connection


@pytest.mark.parametrize("address", HEAVY)
def test_what_may_be_slow_is_begun_in_a_flood_that_has_left_a_slot(
    client: Browser, resource: Resource, settings: Any, address: str
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 2
    with admission.admit_search():
        begin_flood()

        response = client.get(address.format(id=resource.pk))

        assert response.status_code == 200
        b"".join(response)  # a dump, too, gives its place back


def test_three_searches_that_found_no_slot_begin_a_flood(
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
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the time of admission pass; what it gives lets more seconds pass."""
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


def test_a_flood_ends(clock: Callable[[float], None], full: None) -> None:
    begin_flood()
    clock(4.9)
    assert is_refused()

    clock(0.2)
    assert not is_refused()


def test_a_flood_lasts_while_slow_searches_keep_others_out(
    clock: Callable[[float], None], full: None
) -> None:
    begin_flood()
    for _time in range(10):
        clock(1.0)
        assert is_refused()

    clock(5.1)
    assert not is_refused()


def test_fast_searches_that_meet_make_no_flood_last(
    clock: Callable[[float], None], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 1
    begin_flood()
    for _time in range(4):
        clock(1.0)
        with admission.admit_search():
            clock(0.05)
            assert is_refused()

    clock(1.0)
    with admission.admit_search():
        assert not is_refused()


def test_what_the_client_has_already_is_not_searched_for_in_a_flood(
    client: Browser, resource: Resource, full: None
) -> None:
    address = f"{API}?resource_id={resource.pk}&q=river"
    tag = client.get(address)["ETag"]
    begin_flood()

    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304


def test_what_fails_gives_its_place_back(client: Browser, resource: Resource, flood: None) -> None:
    places = len(admission._searches.begun)

    for address in ("?q=river&sort=nope", "?q=river", "?filters=nope"):
        response = client.get(f"{API}{address}&resource_id={resource.pk}")
        assert response.status_code in {409, 503}

    assert len(admission._searches.begun) == places


def test_a_resource_that_is_not_there_is_not_found_in_a_flood(
    client: Browser, db: None, flood: None
) -> None:
    check_error(client.get(f"{API}?resource_id={uuid4()}&q=a"), 404, "Not Found Error")


def test_the_program_itself_is_never_refused(resource: Resource, flood: None) -> None:
    page = with_consistent_read(
        resource.pk, lambda read: read_page(read, Query(limit=5, q="river"))
    )

    with closing(page):
        assert page.total is not None
    with pytest.raises(TooManySlowSearches), admission.admit_search():
        pass
