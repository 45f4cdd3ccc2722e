"""The view of the document: built once, with an ``ETag``."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from datastore_search.openapi.views import _documents


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each document that was built."""
    _documents.clear()
    built: list[None] = []
    build: Any = SchemaGenerator.get_schema

    def get_schema(self: Any, **options: Any) -> Any:
        built.append(None)
        return build(self, **options)

    monkeypatch.setattr(SchemaGenerator, "get_schema", get_schema)
    return built


def test_a_document_is_built_once_for_each_language_and_format(
    client: Client, built: list[None]
) -> None:
    for address in ("/en/api/schema/", "/vi/api/schema/", "/en/api/schema/?format=json") * 2:
        assert client.get(address).status_code == 200

    assert len(built) == 3


@pytest.mark.parametrize("query", ["version=1", "lang=xx", "a=1"])
def test_no_parameter_of_a_client_makes_another_document(
    client: Client, built: list[None], query: str
) -> None:
    first, second = client.get("/en/api/schema/"), client.get(f"/en/api/schema/?{query}")

    assert first.content == second.content
    assert len(built) == 1


def test_a_client_that_has_the_document_gets_304(client: Client, built: list[None]) -> None:
    first = client.get("/en/api/schema/")
    again = client.get("/en/api/schema/", headers={"If-None-Match": first["ETag"]})
    other = client.get("/vi/api/schema/", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content, other.status_code) == (304, b"", 200)
    assert again["Vary"] == first["Vary"]
