"""The read path: the plan of a query, and the text of its records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from datastore_search.filters import In
from datastore_search.models import Resource
from datastore_search.search import Query, build_relation
from datastore_search.search.plan import IndexScan, KeyScan, Plan, RankSort, Sort
from datastore_search.search.sql import BoundQuery

from ..builders import fetch_page, make_resource


@pytest.fixture(scope="module")
def clustered(django_db_setup: None, django_db_blocker: Any) -> Any:
    """30,000 records; a rare value and a rare word are at the end, a common one everywhere."""
    rows = [f"{i},{'rare' if i >= 29_900 else 'common'},word{i % 7}" for i in range(30_000)]
    with django_db_blocker.unblock():
        resource = make_resource("n,kind,text\n" + "\n".join(rows) + "\n", name="clustered")
        yield Resource.objects.described(resource.pk)
        resource.delete()


def explain(resource: Resource, query: Query, plan: Callable[[BoundQuery], Plan]) -> str:
    statement = plan(BoundQuery(build_relation(resource), query, connection)).select_texts()
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT json) " + statement.text.as_string(), statement.parameters)
        return json.dumps(cursor.fetchone()[0])


def test_few_matches_are_read_from_the_index_and_sorted(db: None, clustered: Resource) -> None:
    plan = explain(clustered, Query(limit=100, filters=(In("kind", ("rare",)),)), Sort)

    assert "_data_idx" in plan
    assert "_pkey" not in plan


def test_many_matches_are_found_while_the_key_is_scanned(db: None, clustered: Resource) -> None:
    plan = explain(clustered, Query(limit=5, filters=(In("kind", ("common",)),)), IndexScan)

    assert "_pkey" in plan
    assert '"Sort"' not in plan


def test_a_rare_word_is_read_from_the_index(db: None, clustered: Resource) -> None:
    plan = explain(clustered, Query(limit=5, q="29950"), RankSort)

    assert "_search_idx" in plan


def test_a_deep_offset_skips_keys_without_reading_records(db: None, clustered: Resource) -> None:
    plan = explain(clustered, Query(limit=5, offset=25_000), KeyScan)

    assert "Index Only Scan" in plan
    assert '"Sort"' not in plan


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        (Query(limit=2), [1, 2]),
        (Query(limit=2, offset=29_999), [30_000]),
        (Query(limit=2, filters=(In("kind", ("rare",)),)), [29_901, 29_902]),
        (Query(limit=2, filters=(In("kind", ("common",)),), offset=25_000), [25_001, 25_002]),
        (Query(limit=1, filters=(In("kind", ("rare", "common")),), offset=29_899), [29_900]),
        (Query(limit=2, filters=(In("n", tuple(range(0, 29_999, 1000))),)), [1, 1001]),
        (Query(limit=2, filters=(In("_id", (7, 5, None, 2**70)),)), [5, 7]),
        (Query(limit=9, q="29950"), [29_951]),
    ],
)  # fmt: skip
def test_every_plan_gives_the_records_in_order(
    db: None, clustered: Resource, query: Query, ids: list[int]
) -> None:
    page = fetch_page(clustered, query)

    assert [record["_id"] for record in json.loads(page.text)] == ids


def test_the_total_is_exact(db: None, clustered: Resource) -> None:
    assert fetch_page(clustered, Query(limit=0)).total == 30_000
    assert fetch_page(clustered, Query(limit=0, filters=(In("kind", ("rare",)),))).total == 100
    assert fetch_page(clustered, Query(limit=0, q="word3")).total == 4286
    assert fetch_page(clustered, Query(limit=1, include_total=False)).total is None


def test_all_digits_come_back(db: None) -> None:
    digits = "12345678901234567890.12345678901234567890", "9223372036854775807"
    resource = make_resource(f"n,i\n{digits[0]},{digits[1]}\n")

    page = fetch_page(resource, Query(limit=1))

    assert page.text == f'[{{"_id":1,"n":{digits[0]},"i":{digits[1]}}}]'.encode()


def test_a_read_leaves_the_connection_as_it_was(db: None, clustered: Resource) -> None:
    fetch_page(clustered, Query(limit=1))

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        assert cursor.fetchone() == ("0",)
