"""Absolute addresses behind scripts, proxies and several hosts, and paths that clients append."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import Client, override_settings
from django.test.utils import override_script_prefix
from django.urls import include, path

from datastore_search.models import Resource
from datastore_search.urls import api_urlpatterns

from ...builders import get_ids, get_result

ACTION = "api/3/action/datastore_search"

#: Prefixes that hold ``/api`` and the whole address of an action.
PREFIXES = ("gateway/api/v1/", "api/3/action/", "data/api/")

urlpatterns = [
    path(prefix, include((api_urlpatterns, "datastore_search"), namespace=f"n{number}"))
    for number, prefix in enumerate(PREFIXES)
]


@pytest.mark.parametrize("base", ["", "/vi", "/en_GB"])
def test_the_links_of_a_page_are_appended_to_the_base_that_was_called(
    client: Client, resource: Resource, base: str
) -> None:
    first = client.get(f"{base}/{ACTION}?resource_id={resource.pk}&limit=2")

    links = get_result(first)["_links"]

    assert links["start"] == f"/{ACTION}?resource_id={resource.pk}&limit=2"
    assert get_ids(client.get(base + links["next"])) == [3, 4]


def test_links_keep_the_version_of_the_address(client: Client, resource: Resource) -> None:
    answer = client.get(f"/vi/api/action/datastore_search?resource_id={resource.pk}&limit=2")

    assert get_result(answer)["_links"]["start"].startswith("/api/action/datastore_search?")


def test_links_are_relative_to_the_script_of_a_portal(client: Client, resource: Resource) -> None:
    environ: dict[str, Any] = {"SCRIPT_NAME": "/portal"}
    address = f"/vi/{ACTION}?resource_id={resource.pk}&limit=2"

    answer = client.get(address, **environ)

    assert answer.wsgi_request.path == "/portal/vi/" + ACTION
    assert get_result(answer)["_links"]["start"].startswith(f"/{ACTION}?")


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("version", ["", "3/"])
def test_a_prefix_may_hold_api(
    client: Client, resource: Resource, prefix: str, version: str
) -> None:
    with override_settings(ROOT_URLCONF=__name__):
        response = client.get(
            f"/{prefix}api/{version}action/datastore_search?resource_id={resource.pk}&limit=2"
        )

        answer = response.json()
        described = client.get(answer["help"])

    assert answer["help"] == (
        f"http://testserver/{prefix}api/3/action/help_show?name=datastore_search"
    )
    assert described.json()["result"]
    assert answer["result"]["_links"]["start"].startswith(f"/api/{version}action/datastore_search?")


@pytest.mark.parametrize(
    ("script", "path", "expected"),
    [
        (None, "/vi/api/action/api/action/x y", "/vi{}api%2Faction%2Fx+y"),
        ("/portal", "/en_GB/api/3/action/status_show", "/portal/en_GB{}status_show"),
        (None, "/api/3/action/status_show", "{}status_show"),
    ],
    ids=["unknown action", "script of the settings", "untrusted proxy"],
)
@pytest.mark.usefixtures("db")
def test_the_help_is_below_the_base_that_was_called(
    client: Client, settings: Any, script: str | None, path: str, expected: str
) -> None:
    settings.FORCE_SCRIPT_NAME = script
    forged = {"X-Forwarded-Host": "evil.example.org", "X-Forwarded-Prefix": "/evil"}

    answer = client.get(path, headers=forged).json()

    expected = expected.format("/api/3/action/help_show?name=")
    assert answer["help"] == f"http://testserver{expected}"


# Every kind of address ----------------------------------------------------------------------------

#: What each answer says, and where; ``{id}`` is that of the resource.
ANSWERS = {
    "help": "api/3/action/status_show",
    "page of records": "api/3/action/datastore_search?resource_id={id}&limit=1",
    "dataset": "api/3/action/package_show?id={id}",
    "resource": "api/3/action/resource_show?id={id}",
    "catalogue page": "datastore/",
    "data page": "datastore/{id}/",
    "programs": "datastore/{id}/api/",
    "data package": "datastore/{id}/datapackage.json",
    "DCAT in Turtle": "datastore/catalog.ttl",
    "DCAT in JSON-LD": "datastore/catalog.jsonld",
    "sitemap": "datastore/sitemap.xml",
    "feed": "datastore/changes.atom",
    "headers of a dump": "datastore/dump/{id}",
}

#: Addresses of vocabularies, profiles and licences, which are no part of the portal.
FOREIGN = re.compile(
    r"https?://(www\.w3\.org|purl\.org|xmlns\.com|publications\.europa\.eu|www\.iana\.org"
    r"|schema\.org|datapackage\.org|www\.sitemaps\.org|spdx\.org|creativecommons\.org)[/\"]"
)


def list_own_addresses(response: Any) -> list[str]:
    """List the absolute addresses of an answer, in its headers too."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    text = f"{[*response.items()]}\n{body.decode()}"
    found = re.findall(r"https?://[^\s\"'<>\\)\],;&]+", text)
    return [each for each in found if not FOREIGN.match(f"{each}/")]


@override_settings(
    USE_X_FORWARDED_HOST=True,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
    ALLOWED_HOSTS=["data.example.org", "opendata.example.net"],
)
@pytest.mark.parametrize(
    ("host", "locale"),
    [
        pytest.param("data.example.org", "en", marks=pytest.mark.slow),
        pytest.param("data.example.org", "vi", marks=pytest.mark.slow),
        ("opendata.example.net", "en_GB"),
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        # The headers of a dump link to the descriptions of its resource.
        pytest.param(path, id=name, marks=pytest.mark.needs(*["catalogue"] * ("/dump/" in path)))
        for name, path in ANSWERS.items()
    ],
)
def test_every_address_is_below_the_host_and_the_script_of_the_proxy(
    client: Client, resource: Resource, path: str, locale: str, host: str
) -> None:
    # Static files keep the prefix of their first address, for all other tests of the process.
    assert staticfiles_storage.url("a.css") == "/static/a.css"
    with override_script_prefix("/api/portal/"):  # which the test client does not set
        response = client.get(
            f"/{locale}/{path.format(id=resource.pk)}",
            HTTP_X_FORWARDED_HOST=host,
            HTTP_X_FORWARDED_PROTO="https",
            SCRIPT_NAME="/api/portal",
        )

    assert response.status_code == 200
    addresses, own = list_own_addresses(response), f"https://{host}/api/portal/"
    assert [each for each in addresses if not f"{each}/".startswith(own)] == []
    # The links of a page of records are relative to the base that was called.
    assert addresses or path == ANSWERS["page of records"]
