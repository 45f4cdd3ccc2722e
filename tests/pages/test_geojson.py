"""GeoJSON: which fields have the places, exact numbers, and what is no place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..builders import check_error, make_resource
from ..core.downloads.files import read_file, request_file

SITES = """\
name,lat,lon,open,amount,tags
Hà Nội,21.0278,105.8342,true,12345678901234567890.10,"[1.50, null]"
"a ""b"" c",,,,,
"""


@pytest.fixture
def sites(db: None) -> Resource:
    types = {"lat": "numeric", "lon": "numeric", "amount": "numeric", "tags": "json"}
    return make_resource(SITES, types=types)


def read_features(response: Any) -> list[Any]:
    document = json.loads(read_file(response), parse_float=Decimal)
    assert document["type"] == "FeatureCollection"
    return list(document["features"])


def test_a_pair_of_degrees_is_recognised_and_every_number_is_exact(
    client: Client, sites: Resource
) -> None:
    response = request_file(client, sites, "geojson")

    assert response["Content-Type"] == "application/geo+json; charset=utf-8"
    assert read_file(response).decode() == (
        '{"type":"FeatureCollection","features":[\n'
        '{"type":"Feature","id":1,'
        '"geometry":{"type":"Point","coordinates":[105.8342,21.0278]},'
        '"properties":{"name":"Hà Nội","lat":21.0278,"lon":105.8342,"open":true,'
        '"amount":12345678901234567890.10,"tags":[1.50, null]}},\n'
        '{"type":"Feature","id":2,"geometry":null,'
        '"properties":{"name":"a \\"b\\" c","lat":null,"lon":null,"open":null,'
        '"amount":null,"tags":null}}\n'
        "]}\n"
    )


def test_the_place_needs_no_field_among_those_that_are_asked_for(
    client: Client, sites: Resource
) -> None:
    response = request_file(client, sites, "geojson", fields="name", filters={"open": True})

    assert read_features(response) == [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [Decimal("105.8342"), Decimal("21.0278")]},
            "properties": {"name": "Hà Nội"},
        }
    ]


@pytest.mark.parametrize("kind", ["json", "text"])
@pytest.mark.parametrize(
    ("value", "geometry"),
    [
        (
            '{"type": "LineString", "coordinates": [[1.10, 2], [3, 4]]}',
            {"type": "LineString", "coordinates": [[Decimal("1.10"), 2], [3, 4]]},
        ),
        (
            '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [1.10, 2]}}',
            {"type": "Point", "coordinates": [Decimal("1.10"), 2]},
        ),
        ('{"type": "Point", "coordinates": [500000, 2300000]}', None),
        ('{"type": ["Point"], "coordinates": [1, 2]}', None),
        ('{"type": "Point", "coordinates": "12.5, 106"}', None),
        ('{"type": "Point", "coordinates": ["1", "2"]}', None),
        ('{"type": "Point", "coordinates": [true, 2]}', None),
        ("null", None),
    ],
)
def test_a_field_with_geojson_becomes_the_geometry(
    client: Client, db: None, kind: str, value: str, geometry: Any
) -> None:
    quoted = value.replace('"', '""')
    resource = make_resource(f'code,geom\na,"{quoted}"\n', types={"geom": kind})

    (feature,) = read_features(request_file(client, resource, "geojson"))

    assert feature["geometry"] == geometry
    assert feature["properties"] == {"code": "a"}


def test_a_text_that_is_not_geojson_is_no_place(client: Client, db: None) -> None:
    nan = '"{""type"": ""Point"", ""coordinates"": [NaN, 1]}"'
    resource = make_resource(f"code,geom\na,POINT(1 2)\nb,{nan}\n", types={"geom": "text"})

    features = read_features(request_file(client, resource, "geojson", geometry="geom"))

    assert [each["geometry"] for each in features] == [None, None]


def test_fields_that_are_not_recognised_can_be_named(client: Client, db: None) -> None:
    resource = make_resource(
        'a,b,c\n1.5,2.5,"{""type"": ""Point"", ""coordinates"": [3, 4]}"\n', types={"c": "json"}
    )

    (pair,) = read_features(request_file(client, resource, "geojson", lat="a", lon="b"))
    (shape,) = read_features(request_file(client, resource, "geojson", geometry="c"))

    assert pair["geometry"]["coordinates"] == [Decimal("2.5"), Decimal("1.5")]
    assert shape["geometry"]["coordinates"] == [3, 4]


def test_degrees_beyond_the_globe_are_no_place(client: Client, db: None) -> None:
    resource = make_resource("lat,lon\n95,20\n10,200\n90,-180\n")

    features = read_features(request_file(client, resource, "geojson", lat="lat", lon="lon"))

    assert [each["geometry"] and each["geometry"]["coordinates"] for each in features] == [
        None,
        None,
        [-180, 90],
    ]


NO_PLACES = (
    "GeoJSON needs a field with GeoJSON, or two fields with degrees of latitude and longitude."
    " Name them with “geometry”, or with “lat” and “lon”."
)
NO_DEGREES = "Field “name” is of type text. Degrees are numbers, and a geometry is JSON or text."


@pytest.mark.parametrize(
    ("sent", "parameter", "message"),
    [
        ({}, "format", NO_PLACES),
        ({"lat": "a"}, "format", NO_PLACES),
        ({"geometry": "z"}, "geometry", "Unknown field: “z”"),
        ({"lat": "a", "lon": "name"}, "lon", NO_DEGREES),
        ({"lat": "a", "lon": "b", "fields": "name", "distinct": "true"}, "format", NO_PLACES),
    ],
)
def test_records_without_places_are_refused(
    client: Client, db: None, sent: dict[str, str], parameter: str, message: str
) -> None:
    resource = make_resource("name,a,b\nx,1.5,2.5\n")

    response = request_file(client, resource, "geojson", **sent)

    assert check_error(response, 409) == {parameter: [message]}


def test_a_page_offers_geojson_only_where_records_have_places(
    client: Client, sites: Resource, resource: Resource
) -> None:
    offered = client.get(f"/en/datastore/{sites.pk}/").content.decode()
    elsewhere = client.get(f"/en/datastore/{resource.pk}/").content.decode()

    assert 'value="geojson"' in offered
    assert 'value="geojson"' not in elsewhere
    assert 'value="ndjson"' in elsewhere
