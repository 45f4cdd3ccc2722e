"""Long questions: pages that would be too large are refused before they are drawn."""

from __future__ import annotations

import json

from django.test import Client

from datastore_search.contrib.pages.question import (
    MAX_CONDITIONS,
    MAX_QUESTION_LENGTH,
    Pair,
    QueryString,
)
from datastore_search.models import Resource

from .parsing import extract_text

PAGES = ("", "chart/", "map/", "api/", "r/1/")


def build_query(pairs: list[Pair]) -> str:
    return QueryString(tuple(pairs)).query


TOO_MANY_CONDITIONS: list[list[Pair]] = [
    [("not.code", f"{number}") for number in range(MAX_CONDITIONS + 1)],
    [("filters", json.dumps({f"f{number}": "" for number in range(MAX_CONDITIONS + 1)}))],
    [
        ("not.code", "1"),
        ("filters", json.dumps({f"f{number}": "" for number in range(MAX_CONDITIONS)})),
    ],
]


def test_more_conditions_than_a_page_shows_are_refused_before_it_is_drawn(
    client: Client, resource: Resource
) -> None:
    for pairs in TOO_MANY_CONDITIONS:
        for page in PAGES:
            response = client.get(f"/en/datastore/{resource.pk}/{page}{build_query(pairs)}")

            assert response.status_code == 400
            assert len(response.content) < 5_000
            assert "A page has at most 40 conditions." in extract_text(response)


def test_a_longer_question_than_links_repeat_is_refused_before_it_is_drawn(
    client: Client, resource: Resource
) -> None:
    name = "field.code"
    longest = "x" * (MAX_QUESTION_LENGTH - len(build_query([(name, "")])))
    for page in PAGES:
        path = f"/en/datastore/{resource.pk}/{page}"

        assert client.get(f"{path}{build_query([(name, longest)])}").status_code == 200
        response = client.get(f"{path}{build_query([(name, f'{longest}x')])}")

        assert response.status_code == 413
        assert len(response.content) < 5_000
        assert "Leave some conditions out" in extract_text(response)
