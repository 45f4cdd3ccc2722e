"""Tables and charts in a frame of another page: what they show, and who may frame them."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..builders import make_resource, make_user
from .parsing import extract_text, parse_table

PORTAL = "https://www.example.org"


def open_embedded(client: Client, resource: Resource, path: str = "", **query: Any) -> Any:
    address = f"/en/datastore/{resource.pk}/{path}"
    return client.get(address, {**query, "embed": "1"}, follow=True)


def list_links(response: Any) -> dict[str, tuple[str, str | None]]:
    """Return the address and the target of each link by its text."""
    found = re.findall(
        r'<a (?:rel="\w+" )?href="([^"]*)"(?: target="(\w+)")?[^>]*>(.*?)</a>',
        response.content.decode(),
    )
    return {
        html.unescape(re.sub("<[^>]*>", "", text)): (html.unescape(address), target or None)
        for address, target, text in found
    }


def parse_policy(response: Any) -> dict[str, set[str]]:
    parts = map(str.split, response["Content-Security-Policy"].split(";"))
    return {name: set(sources) for name, *sources in parts}


def parse_embed_code(response: Any) -> dict[str, str]:
    """Return the attributes of the frame that a page offers."""
    (code,) = re.findall(
        "<summary>Embed</summary>.*?<code>(.*?)</code>", response.content.decode(), re.DOTALL
    )
    frame = html.unescape(code)
    assert frame.startswith("<iframe ")
    found = re.findall(r' (\w+)="([^"]*)"', frame)
    return {name: html.unescape(value) for name, value in found}


# What is shown ------------------------------------------------------------------------------------


def test_an_embedded_table_stands_alone(client: Client, resource: Resource) -> None:
    response = open_embedded(client, resource, q="river", sort="amount desc")
    page = response.content.decode()

    assert parse_table(response)[1][1:4] == ["001", "watershed", "active"]
    for absent in ('role="search"', "<header", "<details", "Sign in", "Download", "/chart/"):
        assert absent not in page
    assert '<meta name="robots" content="noindex">' in page
    assert '<base target="_blank">' in page
    caption = re.search("<caption>(.*?)</caption>", page)
    assert caption
    assert re.sub("<[^>]*>", "", caption[1]) == "1–1 of 1 · Search: river · Sorted by amount ↓"


def test_links_within_an_embedded_table_stay_in_its_frame(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(1, 66)]
    rows = f"{','.join('1' * 65)}\n" * 60
    resource = make_resource(f"{','.join(names)}\n{rows}")

    response = open_embedded(client, resource, page="2", columns="19")
    links, page = list_links(response), response.content.decode()

    assert '<button form=ask name=set value="sort=f19"><bdi>f19</bdi></button>' in page
    path = f"/en/datastore/{resource.pk}/"
    assert '<form id="ask" action="./" hidden target="_self">' in page
    assert links["Previous"] == (f"{path}?columns=19&embed=1", "_self")
    assert links["Next"] == (f"{path}?columns=19&embed=1&page=3", "_self")
    assert '<button form=ask name=set value="columns=37">Next columns</button>' in page
    # These leave the frame, and show whole pages.
    assert links["26"] == ("r/26/?columns=19&at=26", None)
    assert links["Open the whole page"] == ("?columns=19", None)


def test_an_embedded_chart_stands_alone(client: Client, resource: Resource) -> None:
    response = open_embedded(client, resource, "chart/", by="stage", q="active")
    page = response.content.decode()

    assert "<h1><bdi>Number of records by stage</bdi></h1>" in page
    assert "<svg" in page
    assert "The highest is 4 (active)" in page
    for absent in ('role="search"', "<header", "download>", "Other charts"):
        assert absent not in page
    whole = list_links(response)["Open the whole page"]
    assert whole == ("?q=active&show=count&by=stage&per=each", None)
    assert list_links(response)["active"] == ("../?q=active&field.stage=active", None)


@pytest.fixture
def sites(db: None) -> Resource:
    return make_resource("name,lat,lon\nHanoi,21.03,105.85\nHue,16.46,107.59\n", title="Sites")


def test_an_embedded_map_stands_alone(client: Client, sites: Resource) -> None:
    response = open_embedded(client, sites, "map/", q="hue")
    page = response.content.decode()

    assert "<h1><bdi>Map of Sites</bdi></h1>" in page
    assert "Search: hue" in extract_text(response)
    assert "1 of 1 records are on the map." in extract_text(response)
    for absent in ('role="search"', "<header", "<script", "<button", "download>", "embed=1"):
        assert absent not in page
    links = list_links(response)
    assert links["Open the whole page"] == ("?q=hue&lat=lat&lon=lon&title=name", None)
    assert links["Hue"] == ("../r/2/?q=hue", None)
    assert parse_policy(response)["frame-ancestors"] == {"'self'"}


@pytest.mark.parametrize("path", ["", "chart/"])
def test_what_cannot_be_asked_is_said_in_the_frame(
    client: Client, resource: Resource, path: str
) -> None:
    response = open_embedded(client, resource, path, **{"from.amount": "many"})

    assert response.status_code == 400
    assert "many" in extract_text(response)
    assert "Open the whole page" in extract_text(response)


def test_an_error_in_a_frame_has_no_header(client: Client, db: None) -> None:
    private = make_resource("salary\n1\n", private=True, title="Salaries")

    response = open_embedded(client, private)

    assert response.status_code == 403
    assert "This resource is private." in extract_text(response)
    (link,) = re.findall('<a href="([^"]*)" target="_top">Sign in</a>', response.content.decode())
    page = f"/en/datastore/{private.pk}/"
    assert dict(parse_qsl(urlsplit(html.unescape(link)).query)) == {"next": page}
    assert "Salaries" not in extract_text(response)
    assert "<header" not in response.content.decode()
    assert parse_policy(response)["frame-ancestors"] == {"'self'"}
    client.force_login(make_user())
    assert "Sign in" not in open_embedded(client, private).content.decode()


# The code to copy ---------------------------------------------------------------------------------


def test_a_page_offers_its_own_frame(client: Client, db: None) -> None:
    resource = make_resource(title='"Rivers" </code><b>', name="rivers")
    response = client.get(
        f"/en/datastore/{resource.pk}/", {"q": "river & lake", "page": "1"}, follow=True
    )

    assert parse_embed_code(response) == {
        "src": f"http://testserver/en/datastore/{resource.pk}/?q=river+%26+lake&embed=1",
        "title": '"Rivers" </code><b>',
        "width": "100%",
        "height": "600",
        "loading": "lazy",
    }
    assert "Pages of other sites may not show it, unless" in extract_text(response)
    # The frame itself is below its code.
    frames = re.findall('</pre>\\s*<iframe src="(.*?)"', response.content.decode())
    assert client.get(html.unescape(frames[0])).status_code == 200


@pytest.mark.parametrize(
    ("sites", "sources"), [([], {"'none'"}), (["'self'", PORTAL], {"'self'", PORTAL})]
)
def test_a_chart_offers_a_frame_to_those_sites_that_may_frame_it(
    client: Client, resource: Resource, settings: Any, sites: list[str], sources: set[str]
) -> None:
    settings.DATASTORE_SEARCH_FRAME_ANCESTORS = sites
    path = f"/en/datastore/{resource.pk}/chart/"

    whole = client.get(path, {"by": "stage"})
    embedded = open_embedded(client, resource, "chart/", by="stage")

    if sites:
        source = f"http://testserver{path}?show=count&by=stage&per=each&embed=1"
        assert parse_embed_code(whole)["src"] == source
        text = f"into a page of: {PORTAL} . If that page has a Content-Security-Policy, its"
        assert f"{text} frame-src must have http://testserver." in extract_text(whole)
    else:
        assert "No page may show it in a frame" in extract_text(whole)
    assert ("<iframe" in whole.content.decode()) == bool(sites)
    assert ("What the frame shows" in extract_text(whole)) == (not sites)
    # The policy of the portal holds but for its frame ancestors.
    policy = parse_policy(whole)
    assert (policy["frame-ancestors"], policy["default-src"]) == ({"'none'"}, {"'self'"})
    assert parse_policy(embedded) == {**policy, "frame-ancestors": sources}


# Who may frame it ---------------------------------------------------------------------------------


def test_a_portal_without_a_policy_sends_the_frame_ancestors(
    client: Client, resource: Resource, settings: Any
) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "policy" not in name]

    assert open_embedded(client, resource)["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert "Content-Security-Policy" not in client.get(f"/en/datastore/{resource.pk}/")


def test_a_page_is_sent_again_when_other_sites_may_frame_it(
    client: Client, resource: Resource, settings: Any
) -> None:
    path = f"/en/datastore/{resource.pk}/"
    embedded, whole = open_embedded(client, resource), client.get(path)

    def ask_again() -> Any:
        headers = {"If-None-Match": embedded["ETag"]}
        return client.get(path, {"embed": "1"}, headers=headers)

    assert embedded["ETag"] != whole["ETag"]
    assert ask_again().status_code == 304
    settings.DATASTORE_SEARCH_FRAME_ANCESTORS = [PORTAL]
    assert parse_policy(ask_again())["frame-ancestors"] == {PORTAL}
