"""Addresses below ``api/`` in a portal with a catch-all, such as Wagtail's."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import check_error, get_ids

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(autouse=True)
def _catch_all(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.core.web.catch_all_urls"
    settings.DEBUG = True


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "address",
    [
        "/api", "/api/", "/api/nothing", "/api/1/action/datastore_search", "/api/3/nothing/",
        "/en/api", "/en/api/nothing", "/en/api/4/action/datastore_search", "/vi/api/3/actions",
        "/xx/api/3/action/datastore_search", "/xx_YY/api/3/action/datastore_search",
        "/xx_Latn_YY/api/3/action/x", "/xx-yy/api/action/x/y", "/xx/datastore/dump/nothing",
        "/en/api//3/action/datastore_search",
    ],
)  # fmt: skip
def test_an_unknown_address_of_the_api_is_404_in_the_envelope(
    client: Client, db: None, method: str, address: str
) -> None:
    check_error(getattr(client, method)(address), 404)


def test_the_api_and_the_catch_all_answer_as_before(client: Client, resource: Resource) -> None:
    for base in ("", "/en", "/vi"):
        found = client.get(f"{base}/api/3/action/datastore_search?id={resource.pk}")
        assert len(get_ids(found)) == 6
    assert client.get("/en/datastore/dump/nothing").status_code == 404
    assert client.get("/en/apiary/news/").content == b"<h1>apiary/news/</h1>"
    assert client.get("/apiary").status_code in {301, 302}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("language", ["en", "vi"])
def test_a_dump_without_a_language_is_redirected_as_in_a_portal_without_a_catch_all(
    client: Client, resource: Resource, method: str, language: str
) -> None:
    address = f"/datastore/dump/{resource.pk}?format=json"

    response = getattr(client, method)(address, headers={"accept-language": language})

    if method == "get":
        assert (response.status_code, response["Location"]) == (302, f"/{language}{address}")
    else:
        check_error(response, 404)
    check_error(client.get(f"/xx{address}"), 404)
