"""The parameter ``geo``: which records it finds, which fields it takes, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from datastore_search import interface
from datastore_search.models import Resource

from ...builders import (
    act,
    check_error,
    get_ids,
    get_result,
    make_resource,
    make_user_token,
    search,
)

#: Two towns 15 km from each other, one on the other side of the meridian, and no places.
TOWNS = """\
name,lat,lon,end_lat,end_lon,geometry,point
Paris,48.8566,2.3522,0,0,here,"{""type"":""Point"",""coordinates"":[2.3522,48.8566]}"
Versailles,48.8049,2.1204,0,0,,"{""type"":""Feature"",""geometry"":{""type"":""Point"",""coordinates"":[2.1204,48.8049]}}"
Suva,-18.1416,178.4419,48.85,2.35,{,"{""type"":""Point"",""coordinates"":[178.4419,-18.1416]}"
Apia,-13.8333,-171.7667,0,0,null,"{""type"":""LineString"",""coordinates"":[[2,48],[3,49]]}"
nowhere,,,0,0,,
beyond,,2.35,0,0,,"{""type"":""Point"",""coordinates"":[2.35,95]}"
"""
TYPES = dict.fromkeys(("lat", "lon", "end_lat", "end_lon"), "float8") | {"point": "text"}
PARIS = {"latitude": 48.85, "longitude": 2.35, "kilometers": 10}


@pytest.fixture
def towns(db: None) -> Resource:
    return make_resource(TOWNS, types=TYPES)


@pytest.mark.parametrize(
    ("geo", "expected"),
    [
        ({}, [1]),
        ({"kilometers": 20}, [1, 2]),
        ({"kilometers": 0.001}, []),
        ({"latitude": -16, "longitude": 180, "kilometers": 1_000}, [3, 4]),
        ({"latitude": -16, "longitude": -180, "kilometers": 1_000}, [3, 4]),
        ({"kilometers": 20_037}, [1, 2, 3, 4]),
        ({"fields": ["end_lat", "end_lon"]}, [3]),
        ({"fields": "end_lat,end_lon"}, [3]),
        ({"kilometers": 20, "fields": ["point"]}, [1, 2]),
        ({"kilometers": 20_037, "fields": ["point"]}, [1, 2, 3]),
        ({"kilometers": 20_037, "fields": ["geometry"]}, []),
        ({"latitude": "48.85", "longitude": "2.35", "kilometers": "1e1"}, [1]),
    ],
)
def test_records_near_a_place(
    client: Client, towns: Resource, geo: dict[str, Any], expected: list[int]
) -> None:
    assert get_ids(search(client, towns, geo={**PARIS, **geo})) == expected


def test_all_conditions_hold(client: Client, towns: Resource) -> None:
    wide = {**PARIS, "kilometers": 20}

    assert get_ids(search(client, towns, geo=wide, filters={"name": "Versailles"})) == [2]
    assert get_ids(search(client, towns, geo=wide, q="suva")) == []
    assert get_ids(search(client, towns, geo=None)) == [1, 2, 3, 4, 5, 6]


def test_a_link_and_a_dump_ask_for_the_same_place(client: Client, towns: Resource) -> None:
    sent: dict[str, Any] = {
        "resource_id": str(towns.pk),
        "geo": json.dumps({**PARIS, "kilometers": 20}),
        "limit": 1,
    }

    first = client.get("/en/api/action/datastore_search", sent)
    following = client.get(f"/en{get_result(first)['_links']['next']}")
    asked = {"geo": sent["geo"], "fields": "name"}
    dump = client.get(f"/en/datastore/dump/{towns.pk}", asked)

    assert [get_ids(first), get_ids(following)] == [[1], [2]]
    content = b"".join(dump).decode()
    assert content.split() == ["name", "Paris", "Versailles"]


def test_python_code_asks_for_a_place(towns: Resource) -> None:
    found = interface.search(AnonymousUser(), towns.pk, geo=PARIS, fields="name")
    records = interface.iterate(AnonymousUser(), towns.pk, geo={**PARIS, "kilometers": 20})

    assert found.records == [{"name": "Paris"}]
    assert [each["_id"] for each in records] == [1, 2]


@pytest.mark.parametrize(
    ("geo", "message"),
    [
        ({"latitude": 91}, "latitude: Must be a number from -90 to 90."),
        ({"latitude": "NaN"}, "latitude: Must be a number from -90 to 90."),
        ({"latitude": True}, "latitude: Must be a number from -90 to 90."),
        ({"latitude": None}, "latitude: Missing value"),
        ({"longitude": -180.5}, "longitude: Must be a number from -180 to 180."),
        ({"longitude": [1]}, "longitude: Must be a number from -180 to 180."),
        ({"kilometers": 0}, "kilometers: Must be a number from 0.001 to 20037."),
        ({"kilometers": -1}, "kilometers: Must be a number from 0.001 to 20037."),
        ({"kilometers": 20_037.5}, "kilometers: Must be a number from 0.001 to 20037."),
        ({"kilometers": "far"}, "kilometers: Must be a number from 0.001 to 20037."),
        ({"miles": 1}, "There is no parameter “miles”."),
        ({"fields": ["a", "b", "c"]}, "fields: There are more than 2 names."),
        ({"fields": 5}, "fields: Must be a list of names, or names separated by commas."),
        ({"fields": ["no"]}, "Unknown field: “no”"),
        ({"fields": ["lat", "no"]}, "Unknown field: “no”"),
        (
            {"fields": ["lat"]},
            "Field “lat” is of type float8. Degrees are numbers, and a geometry is JSON or text.",
        ),
        (
            {"fields": ["lat", "name"]},
            "Field “name” is of type text. Degrees are numbers, and a geometry is JSON or text.",
        ),
        ("48.85,2.35,10", "Cannot parse JSON"),
        ('{"latitude": NaN}', "Cannot parse JSON"),
        ("[1, 2, 3]", "Must be an object."),
        ("5", "Must be an object."),
    ],
)
def test_a_wrong_member_or_what_is_not_an_object_is_refused(
    client: Client, towns: Resource, geo: dict[str, Any] | str, message: str
) -> None:
    response = search(client, towns, geo=geo if isinstance(geo, str) else {**PARIS, **geo})

    assert check_error(response, 409) == {"geo": [message]}


def test_a_resource_without_places_is_refused(client: Client, db: None) -> None:
    resource = make_resource("name,n\na,1\n")
    message = (
        "No fields have names of places. Name them with “fields”: latitude and longitude, or one"
        " with GeoJSON."
    )

    for name in (str(resource.pk), "_table_metadata"):
        response = act(client, "datastore_search", {"resource_id": name, "geo": PARIS})
        assert check_error(response, 409) == {"geo": [message]}


def test_nothing_is_said_about_a_private_resource(client: Client, db: None) -> None:
    resource = make_resource(TOWNS, types=TYPES, private=True)

    for fields in ({}, {"fields": ["no"]}, {"fields": ["lat"]}):
        response = search(client, resource, geo={**PARIS, **fields})
        check_error(response, 403)
        assert b"lat" not in response.content.replace(b"latitude", b"")
    token = make_user_token("reader", "view")
    assert get_ids(search(client, resource, token, geo=PARIS)) == [1]
