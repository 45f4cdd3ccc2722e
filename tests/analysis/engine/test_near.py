"""Records near a place: PostgreSQL, the engine and Python find the same, on all the globe."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given, settings, strategies as st
from psycopg import sql

from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.filters import Clause, Near
from datastore_search.models import Resource
from datastore_search.search import ConsistentRead, Query, bind_query, with_consistent_read

from ...builders import act, get_result, make_resource, make_writer_token
from ...shared import ModuleTransaction
from .records import quickly

pytestmark = pytest.mark.django_db

RADIUS_KM = 6371.0088

#: Degrees of records: ends, both sides of the meridian, what is not on the globe, and no numbers.
LATITUDES = [0, -0.5, 90, -90, 89.999, -89.9999, 48.85, -33.9, 1e-12, 90.0001, -91, 1000]
LONGITUDES = [0, 2.35, 180, -180, 179.999, -179.9999, 90, -90, 151.2, 180.0001, -181, 1000]
NOT_FINITE = ["NaN", "Infinity", "-Infinity", None]

#: Values of GeoJSON that are not a point on the globe.
NOT_POINTS: list[Any] = [
    None,
    1,
    True,
    "x",
    [],
    [{"type": "Point", "coordinates": [0, 0]}],
    {},
    {"type": "Point"},
    {"type": "Point", "coordinates": None},
    {"type": "Point", "coordinates": 5},
    {"type": "Point", "coordinates": {"0": 1}},
    {"type": "Point", "coordinates": []},
    {"type": "Point", "coordinates": [0]},
    {"type": "Point", "coordinates": ["0", "0"]},
    {"type": "Point", "coordinates": [None, 0]},
    {"type": "Point", "coordinates": [[0, 0], [0, 0]]},
    {"type": "Point", "coordinates": [0, 90.1]},
    {"type": "Point", "coordinates": [-180.5, 0]},
    {"type": "point", "coordinates": [0, 0]},
    {"type": "MultiPoint", "coordinates": [[0, 0]]},
    {"type": "LineString", "coordinates": [[0, 0], [1, 1]]},
    {"type": "Feature", "geometry": None},
    {"type": "Feature", "coordinates": [0, 0]},
    {"type": "Feature", "geometry": {"type": "Feature", "geometry": {"coordinates": [0, 0]}}},
    {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [0, 0]}]},
    {"geometry": {"type": "Point", "coordinates": [0, 0]}},
]
NOT_JSON = [
    "",
    "{",
    "{}x",
    '{"type": "Point", "coordinates": [0, 0]',
    "POINT (0 0)",
    '{"a": 1e9999999}',
]
NOT_JSON += [
    '{"type": "Point", "coordinates": [1e400, 0]}',
    '{"type": "Point", "coordinates": [NaN, 0]}',
    '{"type": "\\u0000"}',
    "{" * 100_000,
]

Place = tuple[float, float]


def make_records() -> tuple[list[dict[str, Any]], list[Place | None]]:
    """Make records with the same place in fields of each kind, and list the places."""
    chosen = random.Random(50)
    pairs: list[tuple[Any, Any]] = [(y, x) for y in LATITUDES for x in LONGITUDES]
    pairs += [
        (
            round(math.degrees(math.asin(chosen.uniform(-1, 1))), 6),
            round(chosen.uniform(-180, 180), 6),
        )
        for _place in range(150)
    ]
    pairs += [(y, x) for y in NOT_FINITE for x in (0, *NOT_FINITE)]
    records, places = list[dict[str, Any]](), list[Place | None]()
    for y, x in pairs:
        is_finite = isinstance(y, int | float) and isinstance(x, int | float)
        point = {"type": "Point", "coordinates": [x, y]}
        feature = {"type": "Feature", "properties": {"a": 1}, "geometry": point}
        records.append(
            {
                "lat": y,
                "lon": x,
                "y": y if is_finite else None,
                "x": x if is_finite else None,
                "any_y": y,
                "any_x": x,
                "geometry": point,
                "feature": feature,
                "text": json.dumps(feature if len(records) % 2 else point),
            }
        )
        on_globe = is_finite and abs(y) <= 90 and abs(x) <= 180
        places.append((float(y), float(x)) if on_globe else None)
    for number, value in enumerate([*NOT_POINTS, *NOT_JSON]):
        is_json = number < len(NOT_POINTS)
        text = json.dumps(value) if is_json else value
        records.append({"geometry": value if is_json else None, "text": text})
        places.append(None)
    return records, places


RECORDS, PLACES = make_records()


@pytest.fixture(scope="module")
def located(module_transaction: ModuleTransaction) -> Resource:
    resource = Resource.objects.create(name="places")
    types = {"lat": "float8", "lon": "float8", "y": "numeric", "x": "numeric"}
    types |= {"any_y": "numeric", "any_x": "numeric"}
    types |= {"geometry": "json", "feature": "json", "text": "text"}
    sent = {
        "resource_id": str(resource.pk),
        "fields": [{"id": name, "type": kind} for name, kind in types.items()],
        "records": RECORDS,
    }
    created = act(Client(), "datastore_create", sent, make_writer_token("places"))
    assert created.status_code == 200, created.content
    return Resource.objects.described(resource.pk)


def measure_km(one: Place, other: Place) -> float:
    (y, x), (v, u) = (tuple(map(math.radians, each)) for each in (one, other))
    haversine = math.sin((v - y) / 2) ** 2 + math.cos(y) * math.cos(v) * math.sin((u - x) / 2) ** 2
    return 2 * RADIUS_KM * math.asin(math.sqrt(min(1, haversine)))


def find(resource: Resource, near: Near) -> tuple[set[int], set[int], bool]:
    """Find the ids in PostgreSQL and in the engine, and whether the engine found them alone."""

    def answer(read: ConsistentRead) -> tuple[set[int], set[int], bool]:
        query = Query(limit=None, filters=(near,))
        found = read.fetch_rows(bind_query(read, query).select(Clause(sql.SQL("_id"))))
        source = Source(read, query, ())
        by_engine = source.fetch("SELECT _id FROM matches")
        return {each[0] for each in found}, {each[0] for each in by_engine}, len(source.tables) == 1

    return with_consistent_read(resource.pk, answer)


#: The engine has a type for these; the others are compared by PostgreSQL.
TYPED = [("lat", "lon"), ("y", "x")]
FIELDS = [*TYPED, ("any_y", "any_x"), ("geometry",), ("feature",), ("text",)]

latitudes = st.sampled_from([0, 90, -90, 89.9, -89.5, 48.85]) | st.floats(-90, 90)
longitudes = st.sampled_from([0, 180, -180, 179.95, -179.9]) | st.floats(-180, 180)
distances = st.sampled_from([0.001, 1, 100, 10_007.5, 20_015, 20_037]) | st.floats(0.001, 20_037)


@given(
    latitude=latitudes, longitude=longitudes, kilometers=distances, fields=st.sampled_from(FIELDS)
)
@example(latitude=0, longitude=180, kilometers=1, fields=("lat", "lon"))
@example(latitude=0, longitude=-180, kilometers=1, fields=("lat", "lon"))
@example(latitude=90, longitude=7, kilometers=0.5, fields=("lat", "lon"))
@example(latitude=-89.9999, longitude=0, kilometers=1, fields=("y", "x"))
@example(latitude=0, longitude=0, kilometers=20_037, fields=("text",))
@example(latitude=10, longitude=10.123456789123, kilometers=19_000, fields=("lat", "lon"))
@example(latitude=1e-300, longitude=1e-200, kilometers=1, fields=("y", "x"))
@settings(quickly, max_examples=60)
def test_records_near_a_place_are_found_on_all_the_globe(
    located: Resource, latitude: float, longitude: float, kilometers: float, fields: tuple[str, ...]
) -> None:
    degrees = Decimal(str(latitude)), Decimal(str(longitude))
    near = Near(*degrees, Decimal(str(kilometers)), fields)
    expected, unsure = set(), set()
    for number, place in enumerate(PLACES, 1):
        if place is None:
            continue
        distance = measure_km((latitude, longitude), place)
        if distance <= kilometers:
            expected.add(number)
        if abs(distance - kilometers) < 1e-6:
            unsure.add(number)

    found, by_engine, is_alone = find(located, near)

    assert found ^ expected <= unsure
    assert by_engine == found
    assert is_alone is (fields in TYPED)


def test_all_places_are_within_half_of_the_circumference(located: Resource) -> None:
    on_globe = {number for number, place in enumerate(PLACES, 1) if place}
    for fields in FIELDS:
        assert find(located, Near(-12, 130, 20_037, fields))[0] == on_globe


def test_facets_and_figures_are_of_the_records_near(client: Client) -> None:
    towns = make_resource("lat,lon\n48.8566,2.3522\n48.8049,2.1204\n-18.1416,178.4419\n")
    sent = {
        "resource_id": str(towns.pk),
        "geo": {"latitude": 48.85, "longitude": 2.35, "kilometers": 20},
    }

    facets = act(client, "datastore_facets", sent | {"facets": "lat"})
    figures = act(client, "datastore_aggregate", sent | {"metrics": "count"})

    (found,) = get_result(facets)["facets"]
    assert [each["value"] for each in found["values"]] == [48.8049, 48.8566]
    assert get_result(figures)["records"] == [{"count": 2}]
