"""The catalogue for harvesters: DCAT-AP in Turtle and JSON-LD, page by page."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import rdflib
from django.test import Client
from pyshacl import validate
from rdflib.compare import to_isomorphic
from rdflib.namespace import DCAT, DCTERMS, FOAF, RDF, RDFS

from datastore_search.contrib.catalogue.views import DcatView
from datastore_search.models import Resource

from ..builders import make_listed_resource

TURTLE = "/en/datastore/catalog.ttl"
JSON_LD = "/en/datastore/catalog.jsonld"
SHAPES = Path(__file__).with_name("shapes")
HYDRA = rdflib.Namespace("http://www.w3.org/ns/hydra/core#")

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
    monkeypatch.setattr(DcatView, "page_size", 2)
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
