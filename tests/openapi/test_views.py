"""The view of the document: built once, with an ``ETag``."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from drf_spectacular.generators import SchemaGenerator
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticatedOrReadOnly

from datastore_search.contrib.openapi.views import SchemaView, _documents
from datastore_search.urls import api_urlpatterns


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each document that was built; each document has its number."""
    _documents.clear()
    built: list[None] = []

    def get_schema(self: Any, **options: Any) -> Any:
        built.append(None)
        return {"number": len(built)}

    monkeypatch.setattr(SchemaGenerator, "get_schema", get_schema)
    return built


def test_a_document_is_built_once_for_each_language_and_format(
    client: Client, built: list[None]
) -> None:
    for address in ("/en/api/schema/", "/vi/api/schema/", "/en/api/schema/?format=json") * 2:
        assert client.get(address).status_code == 200

    assert len(built) == 3


def test_no_parameter_of_a_client_makes_another_document(client: Client, built: list[None]) -> None:
    for query in ("", "?version=1", "?lang=xx", "?a=1"):
        assert client.get(f"/en/api/schema/{query}").status_code == 200

    assert len(built) == 1


def test_a_client_that_has_the_document_gets_304(client: Client, built: list[None]) -> None:
    first = client.get("/en/api/schema/")
    again = client.get("/en/api/schema/", headers={"If-None-Match": first["ETag"]})
    other = client.get("/vi/api/schema/", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content, other.status_code) == (304, b"", 200)
    assert again["Vary"] == first["Vary"]


class TitledGenerator(SchemaGenerator):
    """A generator of a portal's own."""


class OtherView(SchemaView):
    """A view of a portal's own."""


def show_document(
    view: type[SchemaView] = SchemaView, request_urlconf: str = "", **options: Any
) -> Any:
    request = RequestFactory().get("/en/api/schema/", {"format": "json"})
    request.user = AnonymousUser()
    if request_urlconf:
        request.urlconf = request_urlconf
    response: Any = view.as_view(**options)(request)
    return response.render() if hasattr(response, "render") else response


@pytest.mark.parametrize(
    "options",
    [
        {"patterns": api_urlpatterns},
        {"urlconf": "datastore_search.contrib.operations.health.urls"},
        {"api_version": "2"},
    ],
)
def test_a_view_of_other_addresses_builds_its_document_for_each_request(
    built: list[None], options: dict[str, Any]
) -> None:
    whole = show_document().content

    for number in (2, 3):
        assert json.loads(show_document(**options).content) == {"number": number}
    assert show_document().content == whole


@pytest.mark.parametrize(
    "options",
    [
        {"generator_class": TitledGenerator},
        {"view": OtherView},
        {"request_urlconf": "example_project.urls"},
    ],
)
def test_each_kind_of_view_and_of_request_has_its_document(
    built: list[None], options: dict[str, Any]
) -> None:
    for _ in range(2):
        show_document()
        show_document(**options)

    assert len(built) == 2


class Internal(BasePermission):
    """A permission of a portal's own."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return True


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "public"),
        ({"permission_classes": [AllowAny, Internal]}, "private"),
        ({"permission_classes": [IsAuthenticatedOrReadOnly]}, "private"),
        ({"serve_public": False}, "private"),
        ({"custom_settings": {"TITLE": "Other"}}, "public"),
    ],
)
def test_only_a_document_that_anyone_may_read_is_in_shared_caches(
    built: list[None], options: dict[str, Any], expected: str
) -> None:
    cache_control = show_document(**options)["Cache-Control"]

    assert set(cache_control.split(", ")) == {"max-age=0", "must-revalidate", expected}


@pytest.mark.parametrize("path", ["/en/api/schema/", "/en/api/docs/"])
def test_the_documents_of_the_example_portal_check_no_password(
    client: Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    checked: list[str] = []
    monkeypatch.setattr(
        ModelBackend, "authenticate", lambda _backend, _request, **sent: checked.append(str(sent))
    )
    credentials = b64encode(b"admin:guess").decode()

    response = client.get(path, headers={"Authorization": f"Basic {credentials}"})

    assert (response.status_code, checked) == (200, [])
