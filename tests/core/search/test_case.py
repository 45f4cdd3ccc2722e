"""Letters whose case is more than one letter: filters that ignore case find what ``q`` finds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import ask, get_result, make_resource

TEXTS = (
    *("ΟΔΟΣ", "οδος", "οδός", "Οδὸς", "ΟΔΌΣ"),
    *("Straße", "STRASSE", "strasse", "STRAẞE", "Straßenmessung", "STRASSENMESSUNG"),
    *("İSTANBUL", "istanbul", "Istanbul", "Diyarbakır", "DIYARBAKIR", "Şışlı", "ŞIŞLI"),
    *("½", "1/2", "2/1", "5½", "5 1/2", "1 5/2", "⅔", "2/3", "3/2"),
    *("Café", "CAFE", "river", "RIVER", ""),
)


@pytest.fixture
def texts(db: None) -> Resource:
    return make_resource("text\n" + "".join(f'"{text}"\n' for text in TEXTS))


def find(resource: Resource, **parameters: object) -> set[str]:
    result = get_result(ask(Client(), {"resource_id": str(resource.pk), "limit": 99, **parameters}))
    return {record["text"] for record in result["records"]}


STREETS = ("Straße", "STRASSE", "strasse", "STRAẞE")
ROADS = ("ΟΔΟΣ", "οδος", "οδός", "Οδὸς", "ΟΔΌΣ")
ISTANBUL = ("İSTANBUL", "istanbul", "Istanbul")


@pytest.mark.parametrize("operator", ["ieq", "icontains", "istartswith", "ucontains"])
@pytest.mark.parametrize(
    "group", [ROADS, STREETS, ISTANBUL, ("Straßenmessung", "STRASSENMESSUNG"), ("river", "RIVER")]
)
def test_each_spelling_finds_all(texts: Resource, operator: str, group: Sequence[str]) -> None:
    longer = {"Straßenmessung", "STRASSENMESSUNG"} if group is STREETS else set()
    expected = {*group} | (longer if operator != "ieq" else set())

    for asked in group:
        assert find(texts, filters={"text": {operator: asked}}) == expected, asked
        if operator == "ieq":
            assert find(texts, q=asked) >= expected
            assert find(texts, filters={"text": {"ine": asked}}).isdisjoint(expected)


@pytest.mark.parametrize("group", [("Diyarbakır", "DIYARBAKIR"), ("Şışlı", "ŞIŞLI")])
def test_a_whole_text_is_found_with_either_i(texts: Resource, group: Sequence[str]) -> None:
    for asked in group:
        assert find(texts, filters={"text": {"ieq": asked}}) == {*group}
    assert find(texts, filters={"text": {"icontains": group[0]}}) == {*group}


def test_accents_of_other_letters_count(texts: Resource) -> None:
    assert find(texts, filters={"text": {"ieq": "CAFÉ"}}) == {"Café"}
    assert find(texts, filters={"text": {"icontains": "cafe"}}) == {"CAFE"}
    assert find(texts, filters={"text": {"icontains": "δΟς"}}) == {*ROADS}
    assert find(texts, filters={"text": {"icontains": "ass"}}) == {
        *STREETS,
        "Straßenmessung",
        "STRASSENMESSUNG",
    }


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("½", {"½", "1/2", "5½", "5 1/2"}),
        ("1/2", {"½", "1/2", "5½", "5 1/2"}),
        ("1⁄2", {"½", "1/2", "5½", "5 1/2"}),
        ("5½", {"5½", "5 1/2"}),
        ("⅔", {"⅔", "2/3"}),
        ('"½"', {"½", "1/2", "5½", "5 1/2"}),
    ],
)
def test_the_parts_of_a_fraction_keep_their_order(
    texts: Resource, q: str, expected: set[str]
) -> None:
    assert find(texts, q=q) == expected
    if '"' not in q:
        assert find(texts, q={"text": q}) == expected
    if q[0] not in '"5':  # the query language has neither such phrases nor blanks
        assert find(texts, q=q, plain=False) == expected
