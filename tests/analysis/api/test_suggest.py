"""``datastore_suggest``: its parameters, its refusals, and who may call it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..tables import call, refuse

pytestmark = pytest.mark.django_db

ADDRESS = "/en/api/3/action/datastore_suggest"


read_suggestions = partial(call, "datastore_suggest")
read_fault = partial(refuse, "datastore_suggest")


def test_an_answer_has_values_words_and_queries(resource: Resource) -> None:
    assert read_suggestions(resource, q="rivr", field="stage") == {
        "resource_id": str(resource.pk),
        "values": [],
        "words": [
            {"word": "rivr", "suggestions": [{"word": "river", "distance": 1, "count": 1}]},
        ],
        "queries": [{"q": "river", "total": 1}],
        "complete": True,
    }


def test_get_answers_like_post(client: Client, resource: Resource) -> None:
    sent: dict[str, Any] = {"field": "title", "prefix": "chat", "limit": 5}
    expected = read_suggestions(resource, **sent)

    assert client.get(ADDRESS, {"id": str(resource.pk), **sent}).json()["result"] == expected
    assert expected["values"] == [{"value": "Chất lượng không khí Hà Nội", "count": 1}]


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({}, {"field": ["Give a field, or a full-text query."]}),
        ({"prefix": "x"}, {"field": ["Give a field, or a full-text query."]}),
        ({"q": ""}, {"field": ["Give a field, or a full-text query."]}),
        ({"field": "nothing"}, {"field": ["Unknown field: “nothing”"]}),
        ({"field": "_id"}, {"field": ["Unknown field: “_id”"]}),
        ({"field": ["stage"]}, {"field": ["Must be text."]}),
        ({"field": "stage", "prefix": ["x"]}, {"prefix": ["Must be text."]}),
        ({"field": "stage", "limit": -1}, {"limit": ["Must be a natural number"]}),
        ({"field": "stage", "offset": 1}, {"__extras": ["There is no parameter “offset”."]}),
        (
            {"field": "nothing", "q": "x", "language": "klingon", "filters": {"nowhere": 1}},
            {
                "field": ["Unknown field: “nothing”"],
                "filters": ["Unknown field: “nowhere”"],
                "language": ["PostgreSQL has no text search configuration “klingon”."],
            },
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    resource: Resource, sent: dict[str, Any], fault: dict[str, Any]
) -> None:
    assert read_fault(resource, **sent) == fault


@pytest.mark.parametrize("kind", ["bool", "json", "_text", "_int4", "_bool"])
def test_values_without_a_beginning_are_refused(typed: Resource, kind: str) -> None:
    assert read_fault(typed, field=kind, prefix="x") == {
        "field": [f"Field “{kind}” has type {kind}. Its values cannot be found by their beginning."]
    }


def test_words_of_another_resource_are_not_suggested(resource: Resource, typed: Resource) -> None:
    assert read_suggestions(resource, q="mamals")["queries"]
    assert read_suggestions(typed, q="mamals")["words"] == [{"word": "mamals", "suggestions": []}]


def test_an_answer_has_an_etag_of_its_question(client: Client, resource: Resource) -> None:
    address = f"{ADDRESS}?id={resource.pk}&field=stage"
    etag = client.get(address)["ETag"]

    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(f"{address}&prefix=a")["ETag"] != etag


def test_values_that_are_too_large_together_are_refused(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.analysis.suggestions.MAX_MEMORY_BYTES", 20)

    fault = read_fault(resource, field="title", prefix="r", q="river")

    assert fault["limit"][0].startswith("The answer would have more than 20 bytes.")
