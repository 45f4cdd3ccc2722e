"""Facets that were counted last: what is kept, how much, and that a change is seen at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from datastore_search.contrib.analysis import facets as module
from datastore_search.contrib.analysis import time_budget
from datastore_search.contrib.analysis.facets import facet_cache
from datastore_search.models import Resource
from datastore_search.writing import Method, open_writer

from ..builders import fill_table, get_record_table, make_resource, make_slow
from .tables import call

#: Numbers of which a load stores too little.
NUMBERS = "amount,code\n" + "".join(f"{n % 4}.50,{n}\n" for n in range(12))


@pytest.fixture
def numbers(transactional_db: None) -> Iterator[Resource]:
    """A committed resource; its record tables are dropped after the test."""
    facet_cache.clear()
    resource = make_resource(NUMBERS)
    yield resource
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS slow CASCADE")
    Resource.objects.all().delete()
    facet_cache.clear()


def count_amounts(resource: Resource) -> dict[str, int]:
    (facet,) = call("datastore_facets", resource, facets=["amount"])["facets"]
    assert facet["complete"] is True
    return {str(each["value"]): each["count"] for each in facet["values"]}


BEFORE = {"0.50": 3, "1.50": 3, "2.50": 3, "3.50": 3}


def test_facets_of_all_records_are_counted_once(numbers: Resource) -> None:
    facets = ["amount", {"field": "code", "bins": 3}, {"field": "amount", "sort": "value"}]
    first = call("datastore_facets", numbers, facets=facets)

    with CaptureQueriesContext(connection) as captured:
        again = call("datastore_facets", numbers, facets=facets)

    assert again == first
    assert not [query for query in captured if get_record_table(numbers) in query["sql"]]
    assert not [query for query in captured if "profiles" in query["sql"]]
    assert len(facet_cache) == 3


def test_facets_of_a_question_are_not_kept(numbers: Resource) -> None:
    for question in ({"q": "5"}, {"filters": {"code": 1}}, {"filters": {"code": {"gt": 2}}}):
        call("datastore_facets", numbers, facets=["amount"], **question)

    assert len(facet_cache) == 0


def insert_record(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"amount": "0.50"}], Method.INSERT)


def update_record(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"_id": 1, "amount": "9.00"}], Method.UPDATE)


def replace_records(resource: Resource) -> None:
    fill_table(resource, "amount\n7.25\n7.25\n")


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (insert_record, {**BEFORE, "0.50": 4}),
        (update_record, {**BEFORE, "0.50": 2, "9.00": 1}),
        (replace_records, {"7.25": 2}),
    ],
)
def test_a_change_of_the_records_is_seen_at_once(
    numbers: Resource, change: Callable[[Resource], None], after: dict[str, int]
) -> None:
    assert count_amounts(numbers) == count_amounts(numbers) == BEFORE

    change(numbers)

    assert count_amounts(numbers) == after


def test_what_a_transaction_rolls_back_is_not_kept(numbers: Resource) -> None:
    for _time in range(2):
        with transaction.atomic():
            with connection.cursor() as cursor:  # as a writer does before the version increases
                cursor.execute(f"DELETE FROM {get_record_table(numbers)} WHERE _id = 1")
            assert count_amounts(numbers)["0.50"] == 2
            transaction.set_rollback(True)

        assert count_amounts(numbers) == BEFORE


#: Two facets of all records, each of which needs a read of the table.
FACETS = ["amount", {"field": "code", "bins": 3}]

#: The seconds of a call at which its time begins, and at which a statement is sent: with nine
#: seconds left, or with ten milliseconds, which a slow table exceeds.
BEGIN, ENOUGH, TOO_LATE = 0.0, 0.0, 8.99


def call_at(
    monkeypatch: pytest.MonkeyPatch,
    resource: Resource,
    facets: list[Any],
    *seconds: float,
    **question: Any,
) -> list[bool]:
    """Call while the clock of the time limit shows these seconds; return which are complete."""
    moments = iter((BEGIN, *seconds))
    monkeypatch.setattr(time_budget, "monotonic", lambda: next(moments))
    found = call("datastore_facets", resource, facets=facets, **question)["facets"]
    assert next(moments, None) is None  # as many statements as expected
    return [facet["complete"] for facet in found]


@pytest.fixture
def slow(numbers: Resource, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Resource:
    """A resource whose facets take longer than ten milliseconds, of nine seconds that they have."""
    settings.DATASTORE_SEARCH_FACETS_TIMEOUT = timedelta(seconds=9)
    monkeypatch.setattr(module, "_REFUSED_LIMITS", 100)  # the machine may be busy
    make_slow(numbers, 0.1)
    return numbers


def test_facets_of_all_records_are_counted_one_by_one_over_several_calls(
    slow: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call_at(monkeypatch, slow, FACETS, ENOUGH, TOO_LATE) == [True, False]
    assert call_at(monkeypatch, slow, FACETS, ENOUGH) == [True, True]
    assert len(facet_cache) == 2


def test_a_facet_that_took_too_long_by_itself_is_counted_again_after_a_while(
    slow: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call_at(monkeypatch, slow, FACETS[:1], TOO_LATE) == [False]
    assert call_at(monkeypatch, slow, FACETS[:1]) == [False]
    # Another list of the same values is another facet.
    assert call_at(monkeypatch, slow, [{"field": "amount", "limit": 2}], ENOUGH) == [True]

    monkeypatch.setattr(module, "monotonic", lambda: monotonic() + 901)

    assert call_at(monkeypatch, slow, FACETS[:1], ENOUGH) == [True]
