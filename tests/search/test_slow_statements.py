"""Statements that have exceeded their time limit are refused at once for a while."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.loading.jobs import clean_up_loads
from datastore_search.models import Resource
from datastore_search.search import slow_statements as module
from datastore_search.search.slow_statements import slow_statements

from ..builders import (
    act,
    check_error,
    get_record_table,
    get_result,
    make_resource,
    make_slow,
    make_user_token,
)

LIMIT = timedelta(milliseconds=200)

#: Each reads all matches, and what is asked instead.
QUESTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "filters": ("datastore_search", {"filters": {"code": "1"}}, {"filters": {"code": "2"}}),
    "a word": ("datastore_search", {"q": "river"}, {"q": "lake"}),
    "a sort": ("datastore_search", {"sort": "code", "limit": 1}, {"sort": "code", "limit": 2}),
    "distinct": (
        "datastore_search",
        {"distinct": True, "fields": "code"},
        {"distinct": True, "fields": "code,text"},
    ),
    "groups": ("datastore_aggregate", {"group_by": ["code"]}, {"group_by": ["text"]}),
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A clock that can be put forward."""
    clock = {"ahead": 0.0}
    monkeypatch.setattr(module, "monotonic", lambda: monotonic() + clock["ahead"])
    monkeypatch.setattr(module, "_REFUSED_LIMITS", 100)  # 20 seconds: the machine may be busy
    return clock


@pytest.fixture
def slow(transactional_db: None, settings: Any) -> Iterator[Resource]:
    """A resource whose every read takes longer than its limit."""
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = LIMIT
    cache.clear()
    slow_statements.forget()
    resource = make_resource("code,text\n1,river\n2,lake\n")
    make_slow(resource, 0.6)
    yield resource
    slow_statements.forget()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE slow CASCADE")
    Resource.objects.all().delete()
    clean_up_loads()


def ask(resource: Resource, action: str, sent: dict[str, Any], token: str = "") -> Any:
    return act(Client(), action, {"resource_id": str(resource.pk), **sent}, token)


def count_reads(queries: CaptureQueriesContext, resource: Resource) -> int:
    return sum(get_record_table(resource) in query["sql"] for query in queries.captured_queries)


def check_refused_at_once(resource: Resource, action: str, sent: dict[str, Any]) -> Any:
    with CaptureQueriesContext(connection) as queries:
        refused = ask(resource, action, sent)

    error = check_error(refused, 409, "Validation Error")
    assert error["query"][0].startswith("This search took too long a moment ago.")
    assert count_reads(queries, resource) == 0
    return refused


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_that_took_too_long_is_refused_at_once(
    slow: Resource, clock: dict[str, float], name: str
) -> None:
    action, sent, other = QUESTIONS[name]

    first = ask(slow, action, sent)
    refused = check_refused_at_once(slow, action, sent)

    assert check_error(first, 409, "Validation Error") == {"query": ["Search took too long"]}
    assert "Retry-After" not in first
    assert 0 < int(refused["Retry-After"]) <= 20
    with CaptureQueriesContext(connection) as queries:  # another one is sent
        check_error(ask(slow, action, other), 409, "Validation Error")
    assert count_reads(queries, slow) == 1


def test_it_is_sent_again_after_a_multiple_of_its_limit(
    slow: Resource, clock: dict[str, float]
) -> None:
    action, sent, _other = QUESTIONS["filters"]
    ask(slow, action, sent)
    clock["ahead"] += LIMIT.total_seconds() * 100

    with CaptureQueriesContext(connection) as queries:
        check_error(ask(slow, action, sent), 409, "Validation Error")

    assert count_reads(queries, slow) == 1
    check_refused_at_once(slow, action, sent)


def test_a_new_version_of_the_resource_is_asked(slow: Resource, clock: dict[str, float]) -> None:
    action, sent, _other = QUESTIONS["filters"]
    ask(slow, action, sent)
    slow.save()  # which changes its version

    with CaptureQueriesContext(connection) as queries:
        check_error(ask(slow, action, sent), 409, "Validation Error")

    assert count_reads(queries, slow) == 1


def test_a_client_with_a_longer_limit_is_not_refused(
    slow: Resource, clock: dict[str, float], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=30)
    action, sent, _other = QUESTIONS["filters"]
    ask(slow, action, sent)

    with CaptureQueriesContext(connection) as queries:
        answered = ask(slow, action, sent, make_user_token("reader"))

    assert get_result(answered)["total"] == 1
    assert count_reads(queries, slow) <= 2  # its longer limit alone: the records, and their number


def test_what_was_cancelled_by_others_is_not_remembered(
    slow: Resource, clock: dict[str, float], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=30)
    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 0  # so the watchdog cancels it
    action, sent, _other = QUESTIONS["filters"]

    for _attempt in range(2):
        check_error(ask(slow, action, sent), 503, "Service Unavailable")

    settings.DATASTORE_SEARCH_MAX_SLOW_STATEMENTS = 1
    assert get_result(ask(slow, action, sent))["total"] == 1


def test_what_is_remembered_is_bounded(slow: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = slow_statements._refused_until
    monkeypatch.setattr(entries, "_max_entries", 2)

    for number in range(4):
        ask(slow, "datastore_search", {"filters": {"code": str(number)}})

    assert len(entries) == 2


def test_a_page_says_when_to_try_again(slow: Resource, clock: dict[str, float]) -> None:
    address = f"/en/datastore/{slow.pk}/?q=river"
    Client().get(address)

    page = Client().get(address)

    assert page.status_code == 503
    assert 5 < int(page["Retry-After"]) <= 20  # 5 where an error names no time
    assert "This search took too long a moment ago." in page.content.decode()
