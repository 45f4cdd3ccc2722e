"""Pages that the engine finds are the same as those that PostgreSQL finds."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from datastore_search.contrib.analysis.engine import source
from datastore_search.contrib.analysis.engine.process import EngineUnavailable
from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.filters import parse_filters
from datastore_search.filters.names import SortKey
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.models import Resource
from datastore_search.search import (
    ConsistentRead,
    Query,
    RecordsFormat,
    plan,
    read_answer,
    with_consistent_read,
)

from .records import FIELDS, filters, quickly

pytestmark = pytest.mark.django_db

sort_keys = st.builds(
    SortKey, st.sampled_from(["_id", *FIELDS]), st.booleans(), st.sampled_from([None, True, False])
)
queries = st.builds(
    Query,
    limit=st.integers(0, 100),
    offset=st.integers(0, 100),
    filters=st.just(()) | filters.map(parse_filters),
    sort=st.lists(sort_keys, max_size=3).map(tuple),
    fields=st.sampled_from([(), ("text", "_id"), ("wide",)]),
    include_total=st.booleans(),
    include_next_page=st.booleans(),
    records_format=st.sampled_from(RecordsFormat),
)

FOUND: list[bool] = []


@pytest.fixture(autouse=True)
def _all_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_MIN_SCANNED_RECORDS", 0)
    monkeypatch.setattr(plan, "_MAX_SORTED_MATCHES", -1)
    monkeypatch.setattr(plan, "_has_index", lambda *_asked: False)


@pytest.fixture
def opened(typed: Resource, monkeypatch: pytest.MonkeyPatch) -> Resource:
    """A resource whose records the engine has; the transaction of a test has no version."""
    version = property(lambda _read: ("typed",), lambda _read, _none: None)
    monkeypatch.setattr(ConsistentRead, "version_key", version, raising=False)
    with_consistent_read(typed.pk, lambda read: Source(read, Query(limit=0), ()))
    return typed


def answer(resource: Resource, query: Query, finder: Any) -> tuple[Any, ...]:
    def find(*asked: Any) -> Any:
        found = finder(*asked) if finder else None
        FOUND.append(found is not None)
        return found

    with patch.object(plan.page_finder, "entry", find):
        found = with_consistent_read(
            resource.pk, lambda read: read_answer(read, query), as_snapshot=query.is_copied
        )
        return found.text, found.total, found.next_page, found.record_count


@given(query=queries)
@quickly
def test_a_page(opened: Resource, query: Query) -> None:
    try:
        expected = answer(opened, query, None)
    except InvalidParameters:
        return
    assert answer(opened, query, source.find_page) == expected


def test_the_engine_finds_many_of_them() -> None:
    assert sum(FOUND) > len(FOUND) / 5


ASKED = Query(limit=5, filters=parse_filters({"text": {"contains": "s"}}))


def test_a_search_waits_for_no_table(typed: Resource) -> None:
    expected = answer(typed, ASKED, None)
    FOUND.clear()
    with patch("datastore_search.contrib.analysis.engine.process.Engine.has", return_value=False):
        assert answer(typed, ASKED, source.find_page) == expected
    assert FOUND == [False]


def test_postgresql_answers_where_the_engine_fails(opened: Resource) -> None:
    expected = answer(opened, ASKED, None)
    FOUND.clear()
    with patch("datastore_search.contrib.analysis.engine.process.Engine.ask") as ask:
        ask.side_effect = EngineUnavailable
        assert answer(opened, ASKED, source.find_page) == expected
    assert FOUND == [False]
