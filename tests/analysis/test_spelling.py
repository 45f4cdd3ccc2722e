"""Words and queries that are suggested for a query that finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st

from datastore_search.contrib.analysis import spelling
from datastore_search.contrib.analysis.spelling import (
    build_vocabulary,
    find_similar,
    measure_distance,
    vocabulary_cache,
)
from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.filters.words import WITHOUT_DIACRITICS, remove_diacritics
from datastore_search.models import Resource
from datastore_search.writing import Method, open_writer

from ..builders import get_record_table, make_resource
from .tables import call

pytestmark = pytest.mark.django_db


def suggest(resource: Resource, q: Any, **more: Any) -> dict[str, Any]:
    """Ask for suggestions, which must be all there are."""
    found: dict[str, Any] = call("datastore_suggest", resource, q=q, **more)
    assert found["complete"] is True
    assert found["values"] == []
    return found


def list_words(resource: Resource, q: str) -> dict[str, list[tuple[str, int]]]:
    """Map the words that no record has to the similar ones, with their distances."""
    words = suggest(resource, q)["words"]
    return {
        each["word"]: [(word["word"], word["distance"]) for word in each["suggestions"]]
        for each in words
    }


def list_queries(resource: Resource, q: Any, **more: Any) -> list[tuple[str, int]]:
    return [(each["q"], each["total"]) for each in suggest(resource, q, **more)["queries"]]


MISSPELT: list[tuple[str, dict[str, list[tuple[str, int]]], list[tuple[str, int]]]] = [
    ("rivr", {"rivr": [("river", 1)]}, [("river", 1)]),
    ("RIVRE", {"rivre": [("river", 1)]}, [("river", 1)]),
    ("mamals", {"mamals": [("mammals", 1)]}, [("mammals", 1)]),
    (
        "mmamlas foxse",
        {"mmamlas": [("mammals", 2)], "foxse": [("foxes", 1)]},
        [("mammals foxes", 1)],
    ),
    ("watershde activ", {"watershde": [("watershed", 1)]}, [("watershed activ", 1)]),
    (
        "“Oldd” brigde, level",
        {"brigde": [("bridge", 1)], "oldd": [("old", 1)]},
        [("“old” bridge, level", 1)],
    ),
    ("nuoc sogn", {"sogn": [("sông", 1)]}, [("nuoc sông", 1)]),
    ("đuong hong", {"đuong": [("lượng", 1)]}, []),
    ("khôgn", {"khôgn": [("không", 1)]}, [("không", 1)]),
    ("khog", {"khog": [("không", 1)]}, [("không", 1)]),
    ("xy", {}, []),
    ("12345", {}, []),
    ("river foxes", {}, []),
    ("rivr foxes", {"rivr": [("river", 1)]}, []),
    ("qqqqqqqq", {"qqqqqqqq": []}, []),
    ("qqqqqqqq rivr", {"qqqqqqqq": [], "rivr": [("river", 1)]}, []),
    ("王小明王", {}, []),
    ("' | rivr:*", {"rivr": [("river", 1)]}, [("' | river:*", 1)]),
]


def test_words_that_no_record_has_are_replaced_by_those_of_the_table(resource: Resource) -> None:
    for q, words, queries in MISSPELT:
        assert list_words(resource, q) == words
        assert list_queries(resource, q) == queries


@pytest.mark.parametrize(
    "sent",
    [
        {"plain": False},
        {"q": {"title": "rivr"}},
        {"q": {"title": "x"}, "full_text": "rivr"},
        {"q": ""},
    ],
)
def test_only_plain_words_over_all_fields_are_corrected(
    resource: Resource, sent: dict[str, Any]
) -> None:
    given = {"q": "rivr", "field": "stage", "limit": 0, **sent}
    found = call("datastore_suggest", resource, **given)

    assert (found["words"], found["queries"], found["complete"]) == ([], [], True)


def test_a_suggested_query_finds_records_that_meet_the_filters(resource: Resource) -> None:
    assert list_queries(resource, "wateshed") == [("watershed", 2)]
    assert list_queries(resource, "wateshed", filters={"stage": "closed"}) == [("watershed", 1)]
    assert list_queries(resource, "wateshed", filters={"stage": "planned"}) == []


def test_words_are_as_they_are_written_in_the_order_of_their_distances_and_numbers(
    module_transaction: Any,
) -> None:
    resource = make_resource(
        "text\nstations\nstations\nstation\nnations\nđường\nđường\nduong\nsation\n"
    )

    found = suggest(resource, "statiosn")["words"][0]["suggestions"]
    assert found == [
        {"word": "stations", "distance": 1, "count": 3},
        {"word": "station", "distance": 1, "count": 3},
        {"word": "sation", "distance": 2, "count": 1},
    ]
    assert list_words(resource, "đuống") == {"đuống": [("đường", 0), ("duong", 0)]}
    assert list_queries(resource, "đuống") == [("đường", 2), ("duong", 3)]


# Distances ----------------------------------------------------------------------------------------


@given(
    words=st.lists(st.text("abcdefđô", min_size=3, max_size=8), max_size=30, unique=True),
    word=st.text("abcdefđô", min_size=3, max_size=8),
)
def test_no_similar_word_is_missed(words: list[str], word: str) -> None:
    expected = {
        each
        for each in words
        if measure_distance(remove_diacritics(word), remove_diacritics(each), 2) <= 2
    }

    assert {each for _distance, each in find_similar(build_vocabulary(words), word, 2)} == expected


@pytest.mark.parametrize(
    "text", ["đường Łódź", "Zoë", "résumé", "ÀÉÎ", "ıħŧø", "नि", "ά", "ё", "가나", "plain"]
)
def test_python_and_postgresql_fold_alike(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {WITHOUT_DIACRITICS.format('%s::text')}", [text])
        assert cursor.fetchone() == (remove_diacritics(text),)


# The words of a table -----------------------------------------------------------------------------


@pytest.fixture
def rivers(transactional_db: None) -> Iterator[Resource]:
    """A committed resource; its record tables are dropped after the test."""
    vocabulary_cache.clear()
    yield make_resource("text\nriver\n")
    Resource.objects.all().delete()
    clean_up_loads()
    vocabulary_cache.clear()


def test_the_words_of_a_table_are_read_once_until_it_changes(rivers: Resource) -> None:
    assert list_queries(rivers, "rivr") == [("river", 1)]
    assert len(vocabulary_cache) == 1

    with CaptureQueriesContext(connection) as captured:
        assert list_queries(rivers, "rivfr") == [("river", 1)]
    assert not [query for query in captured if "ts_stat" in query["sql"]]

    with open_writer(rivers) as writer:
        writer.write([{"text": "riven"}], Method.INSERT)
    assert list_queries(rivers, "rivan") == [("riven", 1)]


def test_words_of_a_transaction_are_not_kept(resource: Resource) -> None:
    vocabulary_cache.clear()

    assert list_queries(resource, "rivr") == [("river", 1)]

    assert len(vocabulary_cache) == 0


def test_a_large_table_is_sampled(module_transaction: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = make_resource("text\n" + "".join(f"river w{n:x}q\n" for n in range(5_000)))
    monkeypatch.setattr(spelling, "MAX_SAMPLE_BYTES", 100_000)

    with CaptureQueriesContext(connection) as captured:
        assert list_queries(resource, "rivr") == [("river", 5_000)]

    (query,) = [query["sql"] for query in captured if "ts_stat" in query["sql"]]
    assert "100000" in query


def test_suggestions_that_take_too_long_are_none(resource: Resource, settings: Any) -> None:
    settings.DATASTORE_SEARCH_SUGGESTIONS_TIMEOUT = timedelta(microseconds=1)

    found = call("datastore_suggest", resource, q="rivr")

    assert (found["words"], found["queries"], found["complete"]) == ([], [], False)


def test_many_words_are_corrected_in_few_tries(resource: Resource) -> None:
    words = ["rivr", "mamals", "foxse", "brigde", "activ", "watershde", "plannde", "closde"]
    with CaptureQueriesContext(connection) as captured:
        found = suggest(resource, " ".join(words * 3))

    assert len(found["words"]) == 7
    table = get_record_table(resource)
    assert len([query for query in captured if table in query["sql"]]) < 12


def test_a_rare_word_is_replaced_by_one_that_is_many_times_as_frequent() -> None:
    rows = ["python library"] * 40 + ["pyhton"] + ["libary of maps"] * 2 + ["piston, pistol"] * 3
    table = make_resource("text\n" + "".join(f'"{each}"\n' for each in rows))

    assert list_queries(table, "pyhton") == [("python", 40)]
    assert list_queries(table, "pyhton libary") == [("python library", 40)]
    assert list_words(table, "libary of maps") == {"libary": [("library", 1)]}
    assert list_queries(table, "libary of maps") == []
    assert list_queries(table, "piston") == []
    assert list_queries(table, "python") == []
