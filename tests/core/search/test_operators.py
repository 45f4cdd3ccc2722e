"""Phrases, OR and excluded words in a plain full-text query."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.filters.full_text import Term, parse_terms
from datastore_search.models import Resource

from ...builders import ask, get_result, make_resource, search

TEXTS = (
    "climate change policy",
    "change of climate policy",
    "climate changes",
    "the Klimawandel of Zürich",
    "Zürich stadt",
    "stadt Zürich",
    "or -5 degrees",
    "王小明在北京",
    '5" pipe',
    "a wi-fi router of 192.168.10.1 since 2024-03-12",
)


@pytest.fixture
def texts(db: None) -> Resource:
    return make_resource(
        "text\n" + "".join('"' + each.replace('"', '""') + '"\n' for each in TEXTS)
    )


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ('"climate change"', {0}),
        ('"climate change', {0, 1, 2}),
        ('"change"', {0, 1}),
        ('policy -"climate change"', {1}),
        ("climate -policy", {2}),
        ("climate - policy", {0, 1}),
        ("-climate -stadt -pipe", {3, 6, 7, 9}),
        ("klimawandel OR stadt", {3, 4, 5}),
        ("changes or degrees", set()),
        ("or degrees", {6}),
        ("OR degrees", {6}),
        ("degrees OR", {6}),
        ("-5 degrees", {6}),
        ("change policy OR stadt -zürich", {0, 1}),
        ('"zurich stadt"', {4, 5}),
        ('"Zürich stadt"', {4}),
        ('"小明在"', {7}),
        ('"王明"', set()),
        ('"" climate change', {0, 1, 2}),
        ('5" pipe', {8}),
        ("' OR 1=1 --", set()),
        ("climate-change", {0, 2}),
        ("change-climate", {2}),
        ("climates-change", {0, 1, 2}),
        ("fi-routers", {9}),
        ("routers-fi", set()),
        ("fi-ro", {9}),
        ("ro-fi", set()),
        ('"\\\' & !x | y:*"', set()),
    ],
)
def test_a_query_with_operators_finds(
    client: Client, texts: Resource, q: str, found: set[int]
) -> None:
    for asked in (q, {"text": q}):
        assert find(client, texts, q=asked) == found, asked


def test_operators_are_characters_without_the_parameter(client: Client, texts: Resource) -> None:
    assert find(client, texts, q='"change climate"', websearch=False) == {0, 1, 2}
    assert find(client, texts, q="climate -policy", websearch=False) == {0, 1}
    assert find(client, texts, q="or OR degrees", websearch=False) == {6}


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("wi-fi", {9}),
        ("wi-fi & router", {9}),
        ("'wi-fi router'", {9}),
        ("fi-wi", set()),
        ("192.168.10.1", {9}),
        ("192.168.1.10", set()),
        ("2024-03-12 & !wi-fi | zürich", {3, 4, 5}),
        ("climate <-> change", {0}),
    ],
)
def test_the_query_language_splits_terms_as_records_are_split(
    client: Client, texts: Resource, q: str, found: set[int]
) -> None:
    assert find(client, texts, q=q, plain=False) == found


def test_a_phrase_in_the_query_language_says_how_to_write_it(
    client: Client, texts: Resource
) -> None:
    asked = {"resource_id": str(texts.pk), "q": '"climate change"', "plain": False}

    answer = ask(client, asked)

    assert answer.status_code == 409
    assert "with “plain” true" in answer.json()["error"]["q"][0]


def test_excluded_words_lower_no_rank_of_a_field(client: Client, texts: Resource) -> None:
    ranks = [
        get_result(search(client, texts, q={"text": q}))["records"][0]
        for q in ("stadt", "stadt -climate")
    ]

    assert ranks[0]["rank text"] == ranks[1]["rank text"] > 0.01


@pytest.mark.needs("analysis")
def test_excluded_words_are_not_marked(client: Client, texts: Resource) -> None:
    answer = search(client, texts, q='climate -"stadt" OR degrees', highlight=True)

    result = get_result(answer)
    marked = {
        record["text"][start:end]
        for record, highlight in zip(result["records"], result["highlights"], strict=True)
        for start, end in highlight.get("text", ())
    }
    assert marked == {"climate", "degrees"}


def test_a_text_is_parsed_into_alternatives() -> None:
    assert parse_terms('a -b "c d" OR -"e" OR') == [
        [Term("a"), Term("b", is_excluded=True), Term("c d", is_phrase=True)],
        [Term("e", is_phrase=True, is_excluded=True), Term("OR")],
    ]


def find(client: Client, resource: Resource, **parameters: Any) -> set[int]:
    answer = search(client, resource, fields=["text"], **parameters)
    return {TEXTS.index(record["text"]) for record in get_result(answer)["records"]}
