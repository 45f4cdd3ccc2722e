"""The catalogue: its entries, search, pages and permissions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from lxml.html import document_fromstring

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.models import Field, Resource

from ..builders import (
    act,
    get_result,
    make_listed_resource,
    make_resource,
    make_user,
    make_writer_token,
)
from .parsing import extract_text, open_page

PATH = "/en/datastore/"


def list_titles(client: Client, **parameters: Any) -> list[str]:
    response = client.get(PATH, parameters)
    assert response.status_code == 200
    return re.findall(r'<h2><a href="[^"]+"><bdi>(.*?)</bdi>', response.content.decode())


def test_an_entry_describes_a_resource(client: Client, no_resource: None) -> None:
    resource = make_resource(name="waters", title="Waters & <more>", description="All <b>of</b> it")

    page = client.get(PATH).content.decode()

    assert (
        f'<a href="/en/datastore/{resource.pk}/"><bdi>Waters &amp; &lt;more&gt;</bdi></a>' in page
    )
    assert "All &lt;b&gt;of&lt;/b&gt; it" in page
    assert "6 records" in page
    assert "6 fields" in page
    frame = client.get(f"/en/datastore/{resource.pk}/?embed=1").content.decode()
    for html in (page, frame, open_page(client, resource)):
        assert re.search(r'<time datetime="\d{4}-\d\d-\d\d">Loaded on', html)


def test_the_markdown_of_a_description_is_rendered(client: Client, no_resource: None) -> None:
    make_resource(name="waters", description="Levels of **three** stations")

    assert "Levels of <strong>three</strong> stations" in client.get(PATH).content.decode()


def test_what_was_never_loaded_is_not_listed(client: Client, no_resource: None) -> None:
    Resource.objects.create(name="empty")

    assert list_titles(client) == []
    assert "There are no resources yet." in extract_text(client.get(PATH))


WORDS: dict[str, list[str]] = {
    "river": ["River"],
    "RIV gaug": ["River"],
    "gauge nothing": [],
    "flow-rate": ["River"],
    "debit": ["River"],
    "forest-name": ["Forest"],
    "50%": ["Forest"],
    "_": ["River"],
    "  ": ["Forest", "River"],
}


def test_resources_are_found_by_words_of_their_description(
    client: Client, no_resource: None
) -> None:
    river = make_resource("flow-rate,no_1\n1,2\n", name="r", title="River", description="Gauges")
    Field.objects.filter(resource=river, name="flow-rate").update(label="Débit debit")
    make_resource("a\n1\n", name="forest-name", title="Forest", description="to 50% of 100%")

    assert {q: list_titles(client, q=q) for q in WORDS} == WORDS


NAMES = ("Office", "Ministry")


def list_options(client: Client, name: str) -> list[str]:
    """Return the options of a choice but for the first, with their numbers."""
    page = client.get(PATH).content.decode()
    return re.findall(r'<option value="[^"]+">([^<]*)', page.partition(f'id="{name}"')[2])


def test_publishers_and_topics_are_chosen_and_counted_as_they_are(
    client: Client, no_resource: None
) -> None:
    make_resource(title="River", publisher="Office", tags=["water"])
    make_resource(title="Lake", publisher="Ministry", tags=["water", "fish"])
    make_resource(title="Secret", publisher="Ministry", tags=["secret"], private=True)

    assert list_options(client, "publisher")[:2] == ["Ministry (1)", "Office (1)"]
    assert list_options(client, "topic")[:2] == ["water (2)", "fish (1)"]
    page = client.get(PATH).content.decode()
    values = dict(re.findall(r'<option value="([^"]+)">(\w+) \(', page))
    office, ministry = (next(k for k, v in values.items() if v == name) for name in NAMES)
    assert list_titles(client, publisher=office) == ["River"]
    assert list_titles(client, topic="Water") == ["Lake", "River"]
    assert list_titles(client, topic="water", publisher=ministry, sort="modified") == ["Lake"]
    assert list_titles(client, publisher="a\0b", topic="") == ["Lake", "River"]
    sea = make_resource(title="Sea", publisher="Office")
    assert list_options(client, "publisher")[:2] == ["Office (2)", "Ministry (1)"]
    Dataset.objects.filter(resource=sea).update(publisher="Ministry")
    assert list_options(client, "publisher")[:2] == ["Ministry (2)", "Office (1)"]
    client.force_login(make_user(permissions=("view_resource",)))
    assert "Ministry (3)" in list_options(client, "publisher")


@pytest.mark.parametrize("q", ["x" * 201, "a\0b"])
def test_a_text_that_cannot_be_searched_is_refused(
    client: Client, resource: Resource, q: str
) -> None:
    response = client.get(PATH, {"q": q})

    assert response.status_code == 400
    assert 'id="q-error" role="alert"' in response.content.decode()
    assert resource.name not in response.content.decode()


def test_the_catalogue_has_pages(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.pages.catalogue.ENTRIES_PER_PAGE", 2)
    for name in ("n1", "n2", "n3", "other"):
        make_resource("a\n1\n", name=name)

    first = client.get(PATH, {"q": "n"}).content.decode()
    second = client.get(PATH, {"q": "n", "page": "2"}).content.decode()

    assert "1–2 of 3" in first
    assert f'rel="next" href="{PATH}?q=n&amp;page=2"' in first
    assert 'rel="prev"' not in first
    assert "3–3 of 3" in second
    assert f'rel="prev" href="{PATH}?q=n"' in second
    assert 'rel="next"' not in second


@pytest.mark.parametrize("page", ["0", "2", "-1", "x", "1.0", "٢", "9" * 30, "<script>"])
def test_a_page_that_is_not_there_is_404(client: Client, resource: Resource, page: str) -> None:
    response = client.get(PATH, {"page": page})

    assert response.status_code == 404
    assert "There is no page" in extract_text(response)
    assert "<script>" not in response.content.decode()


# Privacy ------------------------------------------------------------------------------------------


def test_a_private_resource_is_listed_only_for_those_who_may_read_it(
    client: Client, no_resource: None
) -> None:
    make_resource("salary\n1\n", title="Hidden", private=True)
    make_resource("a\n1\n", title="Open")

    assert list_titles(client) == ["Open"]
    client.force_login(make_user("nobody"))
    assert list_titles(client) == ["Open"]
    client.force_login(make_user("reader", permissions=("view_resource",)))
    assert list_titles(client) == ["Hidden", "Open"]


def test_only_the_anonymous_catalogue_may_be_stored_by_a_shared_cache(
    client: Client, resource: Resource
) -> None:
    anonymous = client.get(PATH)
    client.force_login(make_user())
    signed_in = client.get(PATH)

    assert anonymous["Cache-Control"] == "max-age=0, must-revalidate, public"
    assert signed_in["Cache-Control"] == "max-age=0, must-revalidate, private"
    assert "Cookie" in anonymous["Vary"]


# Addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "language", "direction"),
    [
        ("en", "en", "ltr"),
        ("en_GB", "en-gb", "ltr"),
        ("EN_gb", "en-gb", "ltr"),
        ("vi", "vi", "ltr"),
        ("ar", "ar", "rtl"),
    ],
)
def test_a_page_says_its_language_and_its_links_keep_the_locale_as_it_was_spelled(
    client: Client, resource: Resource, locale: str, language: str, direction: str
) -> None:
    headers = {"Accept-Language": "de"}
    response = client.get(f"/{locale}/datastore/", {"q": resource.name}, headers=headers)
    page = response.content.decode()

    assert response["Content-Language"] == language
    assert f'<html lang="{language}" dir="{direction}">' in page
    assert f'href="/{locale}/datastore/{resource.pk}/"' in page
    assert f'action="/{locale}/datastore/"' in page
    assert f'<a href="/{locale}/datastore/">' in page


def test_the_first_page_leads_to_changes_topics_and_publishers(
    client: Client, no_resource: None, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_SITE_TITLE = "Data of Hue"
    for number in range(9):
        publisher = ("Water board", "City of Hue")[number % 2]
        make_listed_resource(f"r{number}", publisher=publisher, tags=["all", f"t{number}"])

    page = document_fromstring(client.get(PATH).content)
    ways = {
        str(way.findtext("h2")): [str(link.get("href")) for link in way.iter("a")]
        for way in page.iter("section")
    }

    assert page.findtext(".//h1") == "Data of Hue"
    assert list(ways) == ["Latest changes", "Topics", "Publishers"]
    newest = Resource.objects.order_by("-modified_at").values_list("pk", flat=True)
    assert ways["Latest changes"] == [f"/en/datastore/{pk}/" for pk in newest[:8]]
    assert ways["Topics"][0] == "?topic=all"
    assert ways["Publishers"] == ["?publisher=water-board", "?publisher=city-of-hue"]
    for address in (*ways["Topics"], *ways["Publishers"]):
        found = document_fromstring(client.get(f"{PATH}{address}").content)
        assert not list(found.iter("section"))
        assert found.findtext(".//h1") == "Resources"


@pytest.mark.parametrize("locale", ["", "/vi"])
def test_addresses_of_ckan_lead_to_the_pages(
    client: Client, no_resource: None, locale: str
) -> None:
    lakes = make_listed_resource("lakes-of-hue", publisher="City of Hue")
    home = f"{locale or '/en'}/datastore/"

    for address, page in (
        ("dataset", home),
        ("dataset/?q=hue&sort=name+asc", f"{home}?q=hue&sort=name+asc"),
        ("dataset/lakes-of-hue", f"{home}?q=lakes-of-hue"),
        (f"dataset/{lakes.pk}", f"{home}?q={lakes.pk}"),
        (f"dataset/any/resource/{lakes.pk}", f"{home}{lakes.pk}/"),
        ("organization/city-of-hue", f"{home}?publisher=city-of-hue"),
    ):
        response = client.get(f"{locale}/{address}", follow=True)
        assert response.status_code == 200
        assert response.wsgi_request.get_full_path() == page
        assert f"{home}{lakes.pk}/" in response.content.decode()


def test_only_a_known_format_is_a_fact_of_a_link(client: Client, no_resource: None) -> None:
    resources = [{"url": "http://x.org/a.pdf"}, {"url": "http://x.org/b"}]
    get_result(
        act(
            client,
            "package_create",
            {"name": "papers", "resources": resources},
            make_writer_token(),
        )
    )

    page = client.get("/en/datastore/").content.decode()

    assert (page.count("<bdi>PDF</bdi>"), page.count("<bdi></bdi>")) == (1, 0)
