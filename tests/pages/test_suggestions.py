"""Suggestions of a data page: other queries where nothing is found, and values of its inputs."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.pages import facets
from datastore_search.messages.availability import ShareExceeded
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .parsing import open_page

pytestmark = pytest.mark.django_db


def list_suggested(page: str) -> list[tuple[str, str, str]]:
    """List the suggested queries: text, link, and the number of records."""
    found = re.findall(r'<li><a href="([^"]*)"><bdi>([^<]*)</bdi></a> \((.*?)\)', page)
    return [(html.unescape(text), html.unescape(link), count) for link, text, count in found]


# Other queries ------------------------------------------------------------------------------------


def test_a_query_that_finds_nothing_has_links_to_others(client: Client, loaded: Resource) -> None:
    page = open_page(client, loaded, {"q": "rivr"})

    assert list_suggested(page) == [("river", "?q=river", "1 record")]
    assert "Did you mean:" in page
    assert "<mark>River</mark> level" in open_page(client, loaded, {"q": "river"})


def test_a_link_keeps_conditions_order_and_columns(client: Client, loaded: Resource) -> None:
    query = {"q": "wateshed", "field.stage": "active", "sort": "code desc", "hide": "amount"}

    ((text, link, count),) = list_suggested(open_page(client, loaded, query))

    assert (text, count) == ("watershed", "1 record")
    assert link == "?field.stage=active&sort=code+desc&hide=amount&q=watershed"


@pytest.mark.parametrize(
    "query", [{"q": "qqqqqqqq"}, {"field.stage": "gone"}, {"q": "river foxes"}]
)
def test_a_page_without_suggestions_names_none(
    client: Client, loaded: Resource, query: dict[str, str]
) -> None:
    page = open_page(client, loaded, query)

    assert "No record matches." in page
    assert "Did you mean" not in page


def test_suggestions_that_fail_are_left_out_and_such_a_page_is_not_kept_by_caches(
    client: Client,
    loaded: Resource,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"
    address = f"/en/datastore/{loaded.pk}/?q=rivr"
    assert "ETag" in client.get(address)

    def refuse(*_given: object) -> None:
        raise ShareExceeded

    for name, value in (("MAX_SUGGESTION_SECONDS", 0.000_1), ("suggest_queries", refuse)):
        monkeypatch.setattr(facets, name, value)
        response = client.get(address)
        assert "No record matches." in response.content.decode()
        assert "Did you mean" not in response.content.decode()
        assert "ETag" not in response
    assert "No queries were suggested on a page" in caplog.text


# Values of inputs ---------------------------------------------------------------------------------


def list_options(page: str) -> dict[str, list[str]]:
    """Map the names of the inputs that have a list to its values."""
    lists = {
        key: [html.unescape(value) for value in re.findall(r'<option value="([^"]*)">', options)]
        for key, options in re.findall(r'<datalist id="([^"]*)">(.*?)</datalist>', page)
    }
    names = dict(re.findall(r'<input id="[^"]*" name="([^"]*)"[^>]* list="([^"]*)"', page))
    assert set(names.values()) == set(lists)
    return {html.unescape(name): lists[key] for name, key in names.items()}


def test_an_input_offers_the_common_values_of_a_text_with_few(client: Client) -> None:
    rows = "".join(f'{"ab"[n % 2]},"v & ""{n % 4}""",{n},t{n},\n' for n in range(80))
    resource = make_loaded_resource(f"letter,quoted,number,unique,empty\n{rows}")

    options = list_options(open_page(client, resource))

    assert sorted(options) == ["contains.letter", "contains.quoted"]
    assert sorted(options["contains.letter"]) == ["a", "b"]
    assert sorted(options["contains.quoted"]) == [f'v & "{n}"' for n in range(4)]


# Parts of texts -----------------------------------------------------------------------------------


def test_a_text_that_no_value_equals_is_offered_as_a_part(client: Client) -> None:
    birds = make_loaded_resource("name,year\nCanada goose,1\nSnow goose,2\nSnow goose,1\nOwl,1\n")

    page = open_page(client, birds, {"field.name": "goose", "from.year": "1", "to.year": "1"})

    (link, count), *others = re.findall(
        'No value is exactly “<bdi>goose</bdi>”: <a href="([^"]*)">([^<]*)</a>', page
    )
    assert (count, others) == ("2 contain it", [])
    address = f"/en/datastore/{birds.pk}/{html.unescape(link)}"
    assert "1–2 of 2" in client.get(address).content.decode()
    for query in ({"field.name": "snow goose"}, {"field.name": "x"}, {"contains.name": "x"}):
        assert "No value is exactly" not in open_page(client, birds, query)


# Accents ------------------------------------------------------------------------------------------


def test_a_part_that_is_found_nowhere_is_searched_without_accents(client: Client) -> None:
    officers = make_loaded_resource("name,unit\nAn Nguyễn,a\nBình Nguyễn,b\nĐặng Chi,b\n")
    page = open_page(client, officers, {"contains.name": "nguyen", "field.unit": "b"})

    (link,) = re.findall('<a href="([^"]*)">Search again, ignoring accents</a>', page)
    found = client.get(f"/en/datastore/{officers.pk}/{html.unescape(link)}").content.decode()

    assert "name contains “nguyen” (ignoring accents)" in html.unescape(found)
    assert "Bình Nguyễn" in found
    assert "An Nguyễn" not in found
    for query in ({"contains.name": "nguyễn"}, {"contains.name": "guyễn"}, {"field.unit": "c"}):
        assert "ignoring accents" not in open_page(client, officers, query)
