"""Each request ends once: its slot, its report and Django's signal, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import close_old_connections
from django.dispatch import Signal
from django.test.client import ClientHandler, RequestFactory

from datastore_search.guards.shares import StreamSlot
from datastore_search.models import Resource
from datastore_search.search.records import MAX_MEMORY_BYTES
from datastore_search.signals import request_answered

from ...builders import make_resource

SEARCH = "/en/api/3/action/datastore_search?resource_id={}&limit=32000"
DUMP = "/en/datastore/dump/{}"

#: Requests of each entrance; answers of the first four are streamed.
ADDRESSES = (
    DUMP,
    f"{DUMP}?format=xlsx",
    f"{DUMP}?format=json&gzip=true",
    SEARCH,
    f"{SEARCH}&records_format=csv",
    "/en/api/3/action/datastore_search?resource_id={}&limit=5",
    "/en/api/3/action/datastore_search?resource_id={}&limit=nothing",
    "/en/api/3",
    "/en/datastore/",
    "/en/datastore/{}/",
    "/en/datastore/{}/schema.json",
    f"{DUMP}?format=nothing",
)


@pytest.fixture(scope="module")
def _large(module_transaction: Any) -> Resource:
    row = "x" * 30_000  # more does not fit into a cell of Excel
    rows = range(MAX_MEMORY_BYTES * 12 // 10 // len(row))
    return make_resource("n,text\n" + "".join(f"{n},{row}\n" for n in rows))


@pytest.fixture
def large(_large: Resource, db: None, settings: Any) -> Resource:
    """A resource whose answers are streamed, of which one may be sent at a time."""
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    return _large


@pytest.fixture
def ends() -> Iterator[list[str]]:
    """What has ended: ``finished`` is Django's signal, ``answered`` that of this app."""
    names: list[str] = []
    receivers: list[tuple[Signal, Any]] = [
        (request_finished, lambda **_: names.append("finished")),
        (request_answered, lambda **_: names.append("answered")),
    ]
    request_finished.disconnect(close_old_connections)  # the connection is that of the test
    for signal, receive in receivers:
        signal.connect(receive, weak=False)
    yield names
    for signal, receive in receivers:
        signal.disconnect(receive)
    request_finished.connect(close_old_connections)


def send(method: str, address: str) -> Any:
    """Send a request as a server does, which closes the response itself."""
    request = RequestFactory().generic(method, address)
    handler = ClientHandler()
    handler.load_middleware()
    return handler.get_response(request)


def end(response: Any, blocks_read: int | None) -> None:
    """Read some blocks of an answer, or all, and close it as a server does."""
    blocks = iter(response)
    while blocks_read is None or blocks_read:
        if next(blocks, None) is None:
            break
        blocks_read = blocks_read and blocks_read - 1
    response.close()


@pytest.mark.parametrize(
    ("method", "blocks_read"), [("HEAD", 0), ("HEAD", None), ("GET", None), ("GET", 0), ("GET", 1)]
)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_request_ends_once(
    large: Resource, ends: list[str], address: str, method: str, blocks_read: int | None
) -> None:
    for _request in range(2):  # the second one needs the slot of the first
        response = send(method, address.format(large.pk))
        assert response.status_code in {200, 409}
        assert ends == ["answered"]

        end(response, blocks_read)

        assert ends == ["answered", "finished"]
        ends.clear()
    StreamSlot().release()


@pytest.mark.parametrize("address", [each for each in ADDRESSES if "/api/" in each or DUMP in each])
def test_a_head_request_has_ended_its_work_before_it_is_answered(
    large: Resource, ends: list[str], address: str
) -> None:
    response = send("HEAD", address.format(large.pk))

    StreamSlot().release()
    assert b"".join(response) == b""
    response.close()
