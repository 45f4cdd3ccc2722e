"""Hostile requests: a short run against a served portal, and what counts as a fault."""

from __future__ import annotations

import http.client
from dataclasses import replace
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import uuid4

import pytest
from django.db import connection
from django.urls import Resolver404, resolve

from benchmarks.hostile.generator import HostileRequest, Targets, generate_requests
from benchmarks.hostile.run import _PRIVATE_WORD, _find_fault
from datastore_search.api.actions import actions
from datastore_search.contrib.agents.tools import get_tools
from datastore_search.models import Resource
from datastore_search.urls import page_urlpatterns

from ..processes import build_database_url
from .programs import run_benchmark

TARGETS = Targets("public", "changeable", "private", "token")
LEAK = 'syntax error at or near "x"'


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_a_short_run_has_no_fault_and_leaves_its_three_tables_alone() -> None:
    process = run_benchmark(
        *("benchmarks.hostile", "--requests", "200", "--rows", "50"),
        database_url=build_database_url(),
    )

    slowest_without, slowest_with, counts = process.stdout.splitlines()
    assert slowest_without.startswith("the slowest without a token: ")
    assert slowest_with.startswith("the slowest with a token: ")
    assert counts.startswith("200 requests; 200: ")
    assert counts.endswith("; 0 faults")
    names = set(Resource.objects.values_list("name", flat=True))
    assert names == {"benchmark-50", "hostile-changed", "hostile-private"}
    connection.close()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_requests_which_reach_every_door() -> None:
    targets = replace(TARGETS, public=str(uuid4()))
    requests = list(islice(generate_requests(targets, 1), 5_000))

    assert requests == list(islice(generate_requests(targets, 1), 5_000))
    assert all(any(f"/action/{name}" in each.path for each in requests) for name in actions)
    assert all(any(f'"{name}"'.encode() in each.body for each in requests) for name in get_tools())
    assert {"dump", "mcp", *(pattern.name for pattern in page_urlpatterns)} <= {
        find_page(each.path) for each in requests
    }
    assert {each.is_trusted for each in requests} == {False, True}


def find_page(path: str) -> str | None:
    try:
        return resolve(unquote(path.partition("?")[0])).url_name
    except Resolver404:
        return None


class _Socket:
    def __init__(self, text: str) -> None:
        self._text = text

    def makefile(self, mode: str) -> BytesIO:
        return BytesIO(self._text.encode())


def answer(status: str, *headers: str) -> http.client.HTTPResponse:
    text = "\r\n".join([f"HTTP/1.1 {status}", *headers, "Content-Length: 0", "", ""])
    socket: Any = _Socket(text)
    response = http.client.HTTPResponse(socket)
    response.begin()
    return response


class Case(NamedTuple):
    """An answer, and whose request it is of."""

    status: str
    body: str = "{}"
    seconds: float = 0.1
    headers: tuple[str, ...] = ()
    sent: str = ""
    is_trusted: bool = False


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        (Case("200 OK"), ""),
        (Case("409 Conflict"), ""),
        (Case("503 Busy", headers=("Retry-After: 5",)), ""),
        (Case("503 Busy"), "503 b'{}'"),
        (Case("500 Error", "oh"), "500 b'oh'"),
        (Case("200 OK", seconds=34), ""),
        (Case("200 OK", seconds=36), "36 seconds"),
        (Case("200 OK", seconds=36, is_trusted=True), ""),
        (Case("200 OK", seconds=90, is_trusted=True), "90 seconds"),
        (Case("200 OK", _PRIVATE_WORD), "the private table"),
        (Case("200 OK", _PRIVATE_WORD, is_trusted=True), ""),
        (Case("409 Conflict", LEAK), "b'syntax error at or near'"),
        (Case("409 Conflict", LEAK, sent=LEAK), ""),
    ],
)
def test_errors_leaks_and_late_answers_are_faults(case: Case, fault: str) -> None:
    request = HostileRequest("POST", "/", {}, case.sent.encode(), case.is_trusted)
    response = answer(case.status, *case.headers)

    assert _find_fault(request, response, case.body.encode(), case.seconds) == fault
