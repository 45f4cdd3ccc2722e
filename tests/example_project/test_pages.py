"""The portal's own pages, and the Content-Security-Policy of all pages."""

from __future__ import annotations

import pytest
from django.test import Client

from datastore_search.models import Resource


@pytest.mark.django_db
def test_the_first_page_asks_in_its_language(client: Client) -> None:
    page = client.get("/de/").content.decode()

    assert 'placeholder="Titel, Einträge durchsuchen"' in page


def test_an_unknown_address_is_answered_in_its_language(client: Client) -> None:
    response = client.get("/vi/nowhere/")

    assert response.status_code == 404
    assert "<h1>Không tìm thấy</h1>" in response.content.decode()
    assert 'href="/vi/"' in response.content.decode()


@pytest.mark.parametrize(
    "path", ["/en/datastore/", "/en/datastore/{id}/", "/en/admin/login/", "/en/api/docs/"]
)
def test_a_page_has_a_strict_policy(client: Client, resource: Resource, path: str) -> None:
    policy = client.get(path.format(id=resource.pk)).headers["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_an_answer_of_the_api_has_none(client: Client, resource: Resource) -> None:
    response = client.get(f"/en/api/action/datastore_search?resource_id={resource.pk}")

    assert response.status_code == 200
    assert "Content-Security-Policy" not in response.headers
