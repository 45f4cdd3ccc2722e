"""Which words of a query are rare, by the statistics of a loaded table."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datastore_search.models import Resource
from datastore_search.search import Query, with_consistent_read
from datastore_search.search.top_matches import has_rare_word
from datastore_search.writing import Method, open_writer

from ...builders import make_resource

#: Records with “bridge”, with “run”, and all.
BRIDGES, RUNS, ALL = 20, 12, 40


@pytest.fixture
def survey(transactional_db: None) -> Resource:
    words = ["bridge"] * BRIDGES + ["run fast"] * RUNS + ["đường dài"] * (ALL - BRIDGES - RUNS - 1)
    return make_resource("\n".join(["text,kind", *(f"{word},a" for word in words), "harbour,a\n"]))


def find_out(resource: Resource, query: Query, limit: int = 10) -> bool:
    return with_consistent_read(resource.pk, lambda read: has_rare_word(read, query, limit=limit))


#: Queries, and whether one of their words is rare.
QUERIES = [
    (Query(limit=1, q="harbour"), True),
    (Query(limit=1, q="bridge harbour"), True),
    (Query(limit=1, q="bridge"), False),
    (Query(limit=1, q="Bridges"), False),  # another form of a common word
    (Query(limit=1, q="running"), False),  # its stem is shorter
    (Query(limit=1, q="bridge run"), False),
    (Query(limit=1, q="harb"), False),  # so short a beginning may have many words
    (Query(limit=1, q="hải-cảng"), False),
    (Query(limit=1, q=""), False),
    (Query(limit=1, q_fields={"text": "harbour"}), True),
    (Query(limit=1, q="harbour | bridge", plain=False), False),
    (Query(limit=1, q="harbour", substrings=True), False),
]


def test_a_rare_word_is_one_that_few_records_have(survey: Resource) -> None:
    for query, expected in QUERIES:
        assert find_out(survey, query) is expected, query
    assert find_out(survey, Query(limit=1, q="bridge"), limit=ALL + 1)


def test_the_statistics_are_read_once_for_each_version(survey: Resource) -> None:
    query = Query(limit=1, q="harbour")
    find_out(survey, query)

    with CaptureQueriesContext(connection) as captured:
        assert find_out(survey, query)
    assert not any("pg_stats" in each["sql"] for each in captured)

    with open_writer(survey) as writer:
        writer.write([{"text": "pier"}], Method.INSERT)
    with CaptureQueriesContext(connection) as captured:
        find_out(survey, query)
    assert any("pg_stats" in each["sql"] for each in captured)
