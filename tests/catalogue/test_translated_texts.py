"""Titles and descriptions are found in the language of the path, and by ``q`` in all languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..agents.exchange import ROUTE, ask_tool
from ..builders import get_result, make_listed_resource

Find = Callable[[Client, str, str], set[str]]


@pytest.fixture(autouse=True)
def rivers(no_resource: None) -> Resource:
    make_listed_resource("roads", title="Roads", translations={"vi": {"title": "Đường"}})
    return make_listed_resource(
        "rivers",
        title="River levels",
        description="At the old bridge",
        content_language="en",
        translations={
            "vi": {"title": "Mực nước sông", "description": "Ở cầu cũ"},
            "pt": {"title": "Níveis dos rios"},
        },
    )


def search_packages(parameter: str, pattern: str) -> Find:
    def find(client: Client, language: str, word: str) -> set[str]:
        sent = {parameter: pattern.format(word)}
        answer = client.get(f"/{language}/api/3/action/package_search", sent)
        return {each["name"] for each in get_result(answer)["results"]}

    return find


def search_resources(pattern: str) -> Find:
    def find(client: Client, language: str, word: str) -> set[str]:
        sent = {"query": pattern.format(word)}
        answer = client.get(f"/{language}/api/3/action/resource_search", sent)
        results = get_result(answer)["results"]
        return {Resource.objects.get(pk=each["id"]).name for each in results}

    return find


def search_page(client: Client, language: str, word: str) -> set[str]:
    page = client.get(f"/{language}/datastore/", {"q": word}).content.decode()
    return {each.name for each in Resource.objects.all() if f"/datastore/{each.pk}/" in page}


def ask_agent(client: Client, language: str, word: str) -> set[str]:
    text = str(ask_tool(client, "find_tables", path=f"/{language}{ROUTE}", q=word))
    return {each.name for each in Resource.objects.all() if str(each.pk) in text}


@pytest.mark.parametrize(
    ("field", "find"),
    [
        ("", search_packages("q", "{}")),
        ("notes", search_packages("fq", "notes:{}")),
        ("title", search_packages("fq", "res_name:{}")),
        ("title", search_resources("name:{}")),
        ("notes", search_resources("description:{}")),
        ("", search_page),
        ("", ask_agent),
    ],
)
def test_a_text_is_found_in_the_language_of_the_path(
    client: Client, field: str, find: Find
) -> None:
    words: list[tuple[str, str, Any]] = [
        ("title", "levels", {"en", "vi", "pt-br"}),
        ("title", "NƯỚC", {"vi"}),
        ("title", "Níveis", {"pt-br"}),
        ("notes", "bridge", {"en", "vi", "pt-br"}),
        ("notes", "cầu", {"vi"}),
    ]
    for kind, word, languages in words:
        if field in {"", kind}:
            found = {each: find(client, each, word) for each in ("en", "vi", "pt-br")}
            expected = languages if field else found
            assert found == {each: {"rivers"} if each in expected else set() for each in found}, (
                word
            )


def test_a_text_without_a_translation_does_not_match_nothing(client: Client) -> None:
    find = search_packages("q", "-title:{}")

    assert find(client, "vi", "nước") == {"roads"}
    assert find(client, "fr", "Roads") == {"rivers"}
