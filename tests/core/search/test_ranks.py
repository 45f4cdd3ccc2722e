"""The order of the matches of a full-text query: a whole value, the words as written, others."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from datastore_search.filters import In
from datastore_search.models import Resource
from datastore_search.search import Query

from ...builders import fetch_page, fill_table, make_resource

LONG = "with many other words that have nothing to do with what a reader asks for"

#: Each has the better match later, so that the order is not that of the table.
TEXTS = (
    f"gitolite and {LONG}",
    f"a client of git, {LONG}",
    "a client of git",
    "git",
    f"river of the far north, {LONG}, level of water",
    f"the river level, {LONG}, of the far north",
    "The Level",
    "snow in Hà Nội",
    "HÀ NỘI",
)


def make_texts(indexes: Sequence[str] = ("filters", "words")) -> Resource:
    lines = [f'"{text}",{number % 2}\n' for number, text in enumerate(TEXTS)]
    return make_resource("text,odd\n" + "".join(lines), indexes=list(indexes))


def rank(resource: Resource, query: Query) -> list[tuple[int, float]]:
    page = fetch_page(resource, query)
    return [(each["_id"] - 1, each["rank"]) for each in json.loads(page.text)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("git", [3, 2, 1, 0]),
        ("GIT", [3, 2, 1, 0]),
        ("river level", [5, 4]),
        ("the level", [6, 5, 4]),
        ("hà nội", [8, 7]),
        ("git -gitolite", [3, 2, 1]),
        ("client OR level -the", [2, 1]),
        ("-git -river -level", [0, 7, 8]),
        ("gits", [3, 2, 1]),
    ],
)
def test_matches_are_ordered_by_how_well_they_match(q: str, expected: list[int]) -> None:
    resource = make_texts()
    query = Query(limit=10, q=q, fields=("_id", "rank"))

    found = rank(resource, query)

    assert [number for number, _rank in found] == expected
    for offset in range(len(expected)):
        page = Query(limit=1, offset=offset, q=q, fields=("_id", "rank"))
        assert rank(resource, page) == found[offset : offset + 1]
    odd = Query(limit=10, q=q, fields=("_id", "rank"), filters=(In("odd", ("1",)),))
    assert rank(resource, odd) == [each for each in found if each[0] % 2]


@pytest.mark.django_db
def test_ranks_tell_what_matched() -> None:
    ranks = dict(rank(make_texts(), Query(limit=10, q="git", fields=("_id", "rank"))))

    assert 0 < ranks[0] < 1 < ranks[1] < ranks[2] < 2
    assert 11 < ranks[3] < 12


@pytest.mark.django_db
def test_whole_values_are_not_looked_for_without_an_index() -> None:
    found = rank(make_texts(indexes=["words"]), Query(limit=10, q="git", fields=("_id", "rank")))

    assert [number for number, _rank in found] == [3, 2, 1, 0]
    assert found[0][1] < 2


@pytest.mark.django_db
def test_words_of_a_field_with_a_weight_come_first_in_the_next_table() -> None:
    lines = "title,text,year\nthe bridge gauge,a river of the north,2020\n"
    lines += "the river gauge,a bridge of the north,2020\nno gauge,no river of the north,\n"
    resource = make_resource(lines)
    query = Query(limit=10, q="river", fields=("_id", "rank"))
    assert [number for number, _rank in rank(resource, query)] == [2, 0, 1]
    for name, weight in (("title", 10), ("year", 4), ("text", 3)):
        field = resource.fields.get(name=name)
        field.info = {"weight": weight}
        field.save()
    assert [number for number, _rank in rank(resource, query)] == [2, 0, 1]

    resource = fill_table(resource, lines)

    found = dict(rank(resource, query))
    assert list(found) == [1, 2, 0]
    assert found[1] - 1 > 5 * (found[0] - 1)
    years = Query(limit=9, q="2020", fields=("_id", "rank"))
    assert [number for number, _rank in rank(resource, years)] == [0, 1]
