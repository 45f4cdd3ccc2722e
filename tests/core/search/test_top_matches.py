"""Kept top matches: pages by rank are those of plain SQL, and a change is seen at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from datastore_search.database.statements import execute
from datastore_search.filters import Comparison, In
from datastore_search.messages.access import RecordsIncomplete
from datastore_search.models import Resource
from datastore_search.search import Query, plan
from datastore_search.search.plan import top_matches_cache
from datastore_search.writing import Method, open_writer

from ...builders import act, fetch_page, fill_table, get_record_table, make_resource

#: As many ids are kept in these tests.
MAX_TOP_IDS = 4

KIND_A = In("kind", ("a",))


@pytest.fixture(autouse=True)
def few_top_ids(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MAX_TOP_IDS", MAX_TOP_IDS)
    top_matches_cache.clear()


@pytest.fixture
def bridges() -> Resource:
    """A resource of which five records have the word “bridge”, the last one twice."""
    return make_resource(
        "text,kind\nold bridge,a\nold bridge,b\nriver,a\nold bridge,b\nold bridge,a\n"
        "bridge bridge,a\n"
    )


BRIDGE = Query(limit=2, q="bridge", fields=("_id", "rank"))
BY_RANK = [6, 1, 2, 4, 5]


def fetch_ids(resource: Resource, query: Query) -> list[int]:
    return [record["_id"] for record in json.loads(fetch_page(resource, query).text)]


def delete_first_match(resource: Resource) -> None:
    execute(connection, f"DELETE FROM {get_record_table(resource)} WHERE _id = 6")


def count_rankings(captured: CaptureQueriesContext) -> int:
    return sum("@@" in query["sql"] for query in captured)


# Compared with plain SQL --------------------------------------------------------------------------

WORDS = ("sup", "supp", "support", "supports", "supporting", "Café", "cafés", "Häuser", "haus", "7")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
ROWS = st.lists(st.tuples(TEXTS, st.sampled_from("ab")), min_size=3, max_size=25)
QUESTIONS = st.sampled_from(
    ["support", "sup", "supports", "cafe", "Häuser", "haus", "7", "sup haus", "support cafe", "x"]
)
CHANGES = st.sampled_from(["none", "insert", "update", "upsert", "delete", "replace"])


def rank_in_sql(resource: Resource, query: Query, language: str) -> list[tuple[int, float]]:
    """
    Rank all matches by plain SQL; filters are either none or one of ``kind``.

    A whole value counts 10, the words as written 1 and more, other matches less.
    """
    q = query.q
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT _id, CASE WHEN exact > 1e-10 THEN 1 + (exact * 1e8::float8)::int / 1e8::float8"
            " ELSE ts_rank(search, forms) / ln(length(search) + 2) / 2 END"
            " + CASE WHEN ARRAY[data ->> 'text', data ->> 'kind'] && %s THEN 10 ELSE 0 END FROM"
            f" {get_record_table(resource)}, datastore_search_tsquery(%s, %s::regconfig) AS forms,"
            " CAST(ts_rank(search, datastore_search_tsquery(%s, 'simple', false))"
            " / ln(length(search) + 2) AS float8) AS exact"
            " WHERE search @@ forms AND (%s OR data ->> 'kind' = 'a') ORDER BY 2 DESC, 1",
            [[q, q.lower(), q.upper(), q.title()], q, language, q, not query.filters],
        )
        return [(number, float(rank)) for number, rank in cursor.fetchall()]


def check_pages(resource: Resource, q: str, language: str) -> None:
    for filters in ((), (KIND_A,)):
        query = Query(limit=2, q=q, fields=("_id", "rank"), filters=filters)
        expected = rank_in_sql(resource, query, language)
        for offset, include_total in [(0, False), (0, True), (2, True), (1, False), (3, True)]:
            asked = replace(query, offset=offset, include_total=include_total)
            page = fetch_page(resource, asked)
            records = [(each["_id"], each["rank"]) for each in json.loads(page.text)]
            assert records == expected[offset : offset + 2]
            assert page.total == (len(expected) if include_total else None)


def change_records(resource: Resource, kind: str, rows: Sequence[tuple[str, str]]) -> None:
    records: list[dict[str, Any]] = [{"text": text, "kind": value} for text, value in rows]
    if kind == "replace":
        load_rows(resource, rows)
    elif kind == "delete":
        with open_writer(resource) as writer:
            writer.delete([KIND_A])
    elif kind != "none":
        if kind != "insert":
            records = [{"_id": number, **record} for number, record in enumerate(records[:3], 1)]
        with open_writer(resource) as writer:
            writer.write(records, Method(kind))


def load_rows(resource: Resource, rows: Sequence[tuple[str, str]]) -> None:
    fill_table(resource, "text,kind\n" + "".join(f"{text},{kind}\n" for text, kind in rows))


@pytest.mark.parametrize("language", ["english", pytest.param("german", marks=pytest.mark.slow)])
@hypothesis_settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(ROWS, ROWS, CHANGES, st.lists(QUESTIONS, min_size=2, max_size=2, unique=True))
def test_pages_by_rank_are_those_of_plain_sql(
    language: str,
    rows: list[tuple[str, str]],
    others: list[tuple[str, str]],
    change: str,
    questions: list[str],
) -> None:
    resource = Resource.objects.create(name="generated", language=language)
    try:
        load_rows(resource, rows)
        for q in questions:
            check_pages(resource, q, language)
        change_records(resource, change, others)
        for q in questions:
            check_pages(resource, q, language)
    finally:
        resource.delete()


# What is kept -------------------------------------------------------------------------------------


def test_matches_are_ranked_once_for_all_pages(bridges: Resource) -> None:
    first = fetch_page(bridges, BRIDGE)

    with CaptureQueriesContext(connection) as captured:
        pages = [fetch_page(bridges, replace(BRIDGE, offset=offset)) for offset in (0, 1, 2)]
        count = fetch_page(bridges, replace(BRIDGE, limit=0))

    assert count_rankings(captured) == 0
    assert pages[0] == first
    assert [page.total for page in (*pages, count)] == [5] * 4
    ids = [[record["_id"] for record in json.loads(page.text)] for page in pages]
    assert ids == [BY_RANK[:2], BY_RANK[1:3], BY_RANK[2:4]]


def test_pages_after_the_kept_ids_are_ranked(bridges: Resource) -> None:
    fetch_page(bridges, BRIDGE)

    with CaptureQueriesContext(connection) as captured:
        assert fetch_ids(bridges, replace(BRIDGE, offset=3)) == BY_RANK[3:]

    assert count_rankings(captured) == 1


def test_matches_that_were_not_counted_are_counted_when_their_number_is_asked(
    bridges: Resource,
) -> None:
    uncounted = replace(BRIDGE, include_total=False)
    assert fetch_page(bridges, uncounted).total is None

    assert fetch_page(bridges, BRIDGE).total == 5

    with CaptureQueriesContext(connection) as captured:
        assert fetch_page(bridges, BRIDGE).total == 5
        assert fetch_page(bridges, uncounted).total is None
    assert count_rankings(captured) == 0


def test_few_matches_are_kept_and_counted_too(bridges: Resource) -> None:
    river = replace(BRIDGE, q="river", include_total=False)
    fetch_page(bridges, river)

    with CaptureQueriesContext(connection) as captured:
        page = fetch_page(bridges, replace(river, include_total=True))

    assert page.total == 1
    assert [record["_id"] for record in json.loads(page.text)] == [3]
    assert count_rankings(captured) == 0


def test_other_questions_are_not_answered_from_it(bridges: Resource) -> None:
    for query, expected in (
        (replace(BRIDGE, filters=(KIND_A,)), [6, 1]),
        (replace(BRIDGE, filters=(Comparison("kind", "ne", "a"),)), [2, 4]),
        (replace(BRIDGE, q="river"), [3]),
        (replace(BRIDGE, q="bridge | river", plain=False), [1, 2]),
        (replace(BRIDGE, q="", q_fields={"kind": "b"}, fields=("_id",)), [2, 4]),
        (replace(BRIDGE, language="simple"), [6, 1]),
    ):
        top_matches_cache.clear()
        fetch_page(bridges, BRIDGE)
        with CaptureQueriesContext(connection) as captured:
            assert fetch_ids(bridges, query) == expected
        assert count_rankings(captured) == 1, query


def test_records_of_other_formats_and_fields_are_looked_up_too(bridges: Resource) -> None:
    fetch_page(bridges, BRIDGE)

    with CaptureQueriesContext(connection) as captured:
        page = fetch_page(bridges, replace(BRIDGE, fields=("text", "kind")))

    assert json.loads(page.text) == [
        {"text": "bridge bridge", "kind": "a"},
        {"text": "old bridge", "kind": "a"},
    ]
    assert count_rankings(captured) == 0


def test_what_has_no_match_or_is_rarely_asked_is_not_kept(bridges: Resource) -> None:
    for query in (
        replace(BRIDGE, q="harbour"),
        replace(BRIDGE, offset=3),
        replace(BRIDGE, limit=None),
        replace(BRIDGE, limit=0),
        replace(BRIDGE, filters=(In("text", tuple(map(str, range(1_000)))),)),
    ):
        fetch_page(bridges, query)
        assert len(top_matches_cache) == 0, query


def test_what_a_transaction_rolls_back_is_not_kept(bridges: Resource) -> None:
    for _time in range(2):
        with transaction.atomic():
            delete_first_match(bridges)  # as a writer does before the version increases
            assert fetch_ids(bridges, BRIDGE) == BY_RANK[1:3]
            transaction.set_rollback(True)

        assert fetch_ids(bridges, BRIDGE) == BY_RANK[:2]


def test_lost_records_of_a_kept_page_are_an_error(bridges: Resource) -> None:
    fetch_page(bridges, BRIDGE)
    delete_first_match(bridges)

    with pytest.raises(RecordsIncomplete):
        fetch_page(bridges, BRIDGE)


def test_a_resource_that_has_turned_private_is_refused(bridges: Resource) -> None:
    sent = {"resource_id": str(bridges.pk), "q": "bridge", "limit": 2}
    assert act(Client(), "datastore_search", sent).status_code == 200
    Resource.objects.filter(pk=bridges.pk).update(private=True)

    assert act(Client(), "datastore_search", sent).status_code == 403
