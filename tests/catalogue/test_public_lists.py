"""The lists of public resources for machines: DCAT-AP page by page, the sitemap, the feed."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
import rdflib
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import etree
from pyshacl import validate
from rdflib.compare import to_isomorphic
from rdflib.namespace import DCAT, DCTERMS, FOAF, RDF, RDFS

from datastore_search.contrib.catalogue.views import FeedView, JsonLdView, SitemapView
from datastore_search.models import Resource
from datastore_search.search.reads import descriptions

from ..builders import make_listed_resource

SITEMAP = "/en/datastore/sitemap.xml"
FEED = "/en/datastore/changes.atom"
TURTLE = "/en/datastore/catalog.ttl"
JSON_LD = "/en/datastore/catalog.jsonld"
SHAPES = Path(__file__).with_name("shapes")
HYDRA = rdflib.Namespace("http://www.w3.org/ns/hydra/core#")
CATALOGUE = "http://testserver/en/datastore/"

NAMES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "x": "http://www.w3.org/1999/xhtml",
    "a": "http://www.w3.org/2005/Atom",
}


def fetch_xml(client: Client, path: str) -> ET.Element:
    response = client.get(path)
    assert response.status_code == 200, response.content
    return ET.fromstring(response.content)


def list_texts(root: ET.Element, path: str) -> list[str]:
    return [str(each.text) for each in root.findall(path, NAMES)]


def build_address(resource: Resource, language: str = "en") -> str:
    return f"http://testserver/{language}/datastore/{resource.pk}/"


# Schemas ------------------------------------------------------------------------------------------

SCHEMAS = Path(__file__).with_name("schemas")
SITEMAP_SCHEMA = etree.XMLSchema(etree.parse(SCHEMAS / "sitemap.xsd"))
SITE_INDEX_SCHEMA = etree.XMLSchema(etree.parse(SCHEMAS / "siteindex.xsd"))
ATOM_SCHEMA = etree.RelaxNG(etree.parse(SCHEMAS / "atom.rng"))


def list_problems(schema: Any, content: bytes) -> list[str]:
    schema.validate(etree.fromstring(content))
    return [str(problem.message) for problem in schema.error_log]


@pytest.mark.parametrize("languages", ["one", "three"])
def test_each_page_of_the_sitemap_is_valid(
    client: Client,
    no_resource: None,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    languages: str,
) -> None:
    if languages == "three":
        settings.LANGUAGES = [("en", "English"), ("vi", "Vietnamese"), ("pt-br", "Portuguese")]
    assert list_problems(SITEMAP_SCHEMA, client.get(SITEMAP).content) == []
    monkeypatch.setattr(SitemapView, "page_size", 2)
    for number in range(3):
        make_listed_resource(f"r{number}")

    index = client.get(SITEMAP).content

    assert list_problems(SITE_INDEX_SCHEMA, index) == []
    for page_number in ("1", "2"):
        page = client.get(SITEMAP, {"page": page_number}).content
        assert list_problems(SITEMAP_SCHEMA, page) == []


@pytest.mark.parametrize("values", [{}, {"publisher": "A & B", "tags": ["a", "b"], "title": "<i>"}])
def test_each_page_of_the_feed_is_valid(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    assert list_problems(ATOM_SCHEMA, client.get(FEED).content) == []
    monkeypatch.setattr(FeedView, "page_size", 2)
    for number in range(3):
        make_listed_resource(f"r{number}", description="\u0001All", **values)

    for page_number in ("1", "2"):
        page = client.get(FEED, {"page": page_number}).content
        assert list_problems(ATOM_SCHEMA, page) == []


# The sitemap --------------------------------------------------------------------------------------


def test_the_sitemap_has_the_catalogue_and_each_page_in_every_language(
    client: Client, no_resource: None, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "English"), ("vi", "Vietnamese"), ("pt-br", "Portuguese")]
    resource = make_listed_resource("waters")

    root = fetch_xml(client, "/vi/datastore/sitemap.xml")

    assert root.tag == f"{{{NAMES['s']}}}urlset"
    catalogue, page = root.findall("s:url", NAMES)
    assert [each.text for each in catalogue] == ["http://testserver/vi/datastore/"]
    assert page.findtext("s:loc", "", NAMES) == build_address(resource, "vi")
    resource.refresh_from_db()
    modified = datetime.fromisoformat(page.findtext("s:lastmod", "", NAMES))
    assert modified == resource.modified_at.replace(microsecond=0)
    links = [each.attrib for each in page.findall("x:link", NAMES)]
    assert links == [
        {"rel": "alternate", "hreflang": code, "href": build_address(resource, code)}
        for code in ("en", "vi", "pt-br")
    ]


def test_a_sitemap_of_several_pages_has_an_index(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SitemapView, "page_size", 2)
    resources = [make_listed_resource(f"r{number}") for number in range(5)]

    index = fetch_xml(client, SITEMAP)
    pages = list_texts(index, "s:sitemap/s:loc")
    found = [
        address for page in pages for address in list_texts(fetch_xml(client, page), ".//s:loc")
    ]

    assert index.tag == f"{{{NAMES['s']}}}sitemapindex"
    assert pages == [f"http://testserver{SITEMAP}?page={number}" for number in (1, 2, 3)]
    assert found == [CATALOGUE, *sorted(build_address(each) for each in resources)]


# The feed -----------------------------------------------------------------------------------------


def test_the_feed_has_the_members_that_atom_requires(
    client: Client, no_resource: None, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_SITE_TITLE = "Portal of waters"
    resource = make_listed_resource(
        "waters",
        title="Waters <b>\u0007& more",
        description="All\u0001 <of> them",
        publisher="Office",
        tags=["a\u0002b"],
    )

    feed = fetch_xml(client, FEED)

    [entry] = feed.findall("a:entry", NAMES)
    resource.refresh_from_db()
    assert feed.findtext("a:title", "", NAMES) == "Portal of waters"
    assert feed.findtext("a:id", "", NAMES) == CATALOGUE
    assert feed.findtext("a:author/a:name", "", NAMES) == "Portal of waters"
    assert {each.get("rel"): each.get("href") for each in feed.findall("a:link", NAMES)} == {
        "alternate": CATALOGUE,
        "self": f"http://testserver{FEED}",
    }
    assert entry.findtext("a:title", "", NAMES) == "Waters <b>�& more"
    assert entry.findtext("a:summary", "", NAMES) == "All� &lt;of&gt; them"
    assert entry.findtext("a:id", "", NAMES) == build_address(resource)
    assert entry.findtext("a:author/a:name", "", NAMES) == "Office"
    assert [each.get("term") for each in entry.findall("a:category", NAMES)] == ["a�b"]
    for node in (feed, entry):
        updated = datetime.fromisoformat(node.findtext("a:updated", "", NAMES))
        assert updated == resource.modified_at


def test_the_feed_begins_with_the_last_change_and_leads_to_older_ones(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FeedView, "page_size", 2)
    for number in range(3):
        make_listed_resource(f"r{number}")
    changed = Resource.objects.get(name="r0")
    changed.title = "Changed"
    changed.save()

    first = fetch_xml(client, FEED)
    next_page = first.find("a:link[@rel='next']", NAMES)
    assert next_page is not None
    second = fetch_xml(client, next_page.get("href", ""))

    assert list_texts(first, "a:entry/a:title") == ["Changed", "r2"]
    assert list_texts(second, "a:entry/a:title") == ["r1"]
    assert second.find("a:link[@rel='next']", NAMES) is None


# DCAT ---------------------------------------------------------------------------------------------

DESCRIBED: dict[str, Any] = {
    "title": 'Waters "of" <all> \\ kinds\u0007',
    "description": "First line\nsecond\tline 😀",
    "license": "CC-BY-4.0",
    "source": "https://example.org/a b?x={y}",
    "publisher": "Bộ Tài nguyên",
    "contact": "Office",
    "contact_email": "office@example.org",
    "tags": ["water", 'a "quoted" tag'],
    "temporal_start": date(2019, 1, 1),
    "temporal_end": date(2020, 12, 31),
    "spatial": "Hà Nội",
    "frequency": "Monthly",
    "content_language": "en",
    "translations": {"vi": {"title": "Sông", "description": "Các sông"}},
    "version_date": date(2021, 2, 3),
}


def fetch_graph(client: Client, path: str = TURTLE, **headers: str) -> rdflib.Graph:
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.content
    kind = "turtle" if urlsplit(path).path.endswith(".ttl") else "json-ld"
    return rdflib.Graph().parse(data=response.content.decode(), format=kind)


def list_identifiers(graph: rdflib.Graph) -> set[str]:
    return {str(each) for each in graph.objects(None, DCTERMS.identifier)}


@pytest.fixture
def described(no_resource: None) -> Resource:
    return make_listed_resource("waters", **DESCRIBED)


@pytest.mark.parametrize("values", [DESCRIBED, {}, {"source": "the archive", "license": "MIT"}])
@pytest.mark.parametrize("path", [TURTLE, JSON_LD])
def test_the_catalogue_conforms_to_the_shapes_of_dcat_ap(
    client: Client, no_resource: None, path: str, values: dict[str, Any]
) -> None:
    make_listed_resource("waters", **values)
    graph = fetch_graph(client, path)

    for name in ("shapes", "range"):
        shapes = rdflib.Graph().parse(SHAPES / f"dcat-ap-3.0.0-{name}.ttl")
        conforms, _report, text = validate(graph, shacl_graph=shapes, allow_warnings=True)
        assert conforms, text


def test_both_notations_have_the_same_triples(client: Client, described: Resource) -> None:
    turtle = fetch_graph(client, TURTLE)
    as_json = fetch_graph(client, JSON_LD)
    for graph, ending in ((turtle, "ttl"), (as_json, "jsonld")):
        for page in list(graph.subjects(RDF.type, HYDRA.PagedCollection)):
            assert str(page) == f"http://testserver/en/datastore/catalog.{ending}?page=1"
            graph.remove((page, None, None))

    assert to_isomorphic(turtle) == to_isomorphic(as_json)


def test_texts_keep_every_character(client: Client, described: Resource) -> None:
    graph = fetch_graph(client)
    dataset = rdflib.URIRef(f"http://testserver/en/datastore/{described.pk}/")

    literal = rdflib.Literal
    assert set(graph.objects(dataset, DCTERMS.title)) == {
        literal(DESCRIBED["title"], "en"),
        literal("Sông", "vi"),
    }
    assert set(graph.objects(dataset, DCTERMS.description)) == {
        literal(DESCRIBED["description"], "en"),
        literal("Các sông", "vi"),
    }
    assert {str(each) for each in graph.objects(dataset, DCAT.keyword)} == {*DESCRIBED["tags"]}
    provenance = graph.value(dataset, DCTERMS.provenance)
    assert str(graph.value(provenance, RDFS.label)) == DESCRIBED["source"]
    assert str(graph.value(provenance, RDFS.seeAlso)) == "https://example.org/a%20b?x=%7By%7D"
    publisher = graph.value(dataset, DCTERMS.publisher)
    assert str(graph.value(publisher, FOAF.name)) == "Bộ Tài nguyên"


def test_pages_lead_through_all_datasets(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JsonLdView, "page_size", 2)
    resources = {str(make_listed_resource(f"r{n}").pk) for n in range(5)}

    found: list[set[str]] = []
    address: Any = TURTLE
    while address:
        graph = fetch_graph(client, str(address).removeprefix("http://testserver"))
        found.append(list_identifiers(graph))
        page = graph.value(None, RDF.type, HYDRA.PagedCollection)
        assert int(str(graph.value(page, HYDRA.totalItems))) == 5
        address = graph.value(page, HYDRA.next)

    assert [len(each) for each in found] == [2, 2, 1]
    assert set.union(*found) == resources


# All of them --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SITEMAP, FEED, TURTLE, JSON_LD])
def test_an_unloaded_resource_is_in_no_list(client: Client, no_resource: None, path: str) -> None:
    loaded = make_listed_resource("loaded")
    unloaded = Resource.objects.create(name="unloaded")

    text = client.get(path).content.decode()

    assert str(loaded.pk) in text
    assert str(unloaded.pk) not in text


@pytest.mark.parametrize("path", [SITEMAP, FEED, TURTLE, JSON_LD])
def test_a_list_is_read_by_two_statements_and_304_by_one(
    client: Client, no_resource: None, path: str
) -> None:
    for number in range(5):
        made = make_listed_resource(f"r{number}", tags=["a"], publisher="Office")

    counts = []
    tag = ""
    for _attempt in range(2):
        with CaptureQueriesContext(connection) as statements:
            response = client.get(path, headers={"if-none-match": tag} if tag else {})
        counts.append(sum("datastore_search_resource" in each["sql"] for each in statements))
        tag = response["ETag"]

    assert (counts, response.status_code) == ([2, 1], 304)
    made.title = "Other waters"
    made.save()
    assert client.get(path, headers={"if-none-match": tag}).status_code == 200


def test_times_are_the_same_in_a_portal_without_zones(
    client: Client, described: Resource, settings: Any
) -> None:
    paths = (SITEMAP, FEED, TURTLE, JSON_LD, f"/en/datastore/{described.pk}/")

    def list_times() -> list[list[str]]:
        contents = [client.get(path).content.decode() for path in paths]
        contents[-1] = contents[-1].partition("ld+json")[2].partition("</script>")[0]
        return [re.findall(r"\d{4}-\d\d-\d\dT[^<\"]+", content) for content in contents]

    before = list_times()
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Ho_Chi_Minh"
    descriptions.clear()

    assert list_times() == before
    assert all(before)
    assert client.get(CATALOGUE).status_code == 200
