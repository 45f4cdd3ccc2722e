"""The map of a question: which fields have places, its drawing, clusters, links and limits."""

from __future__ import annotations

import gzip
import html
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.http import HttpResponse
from django.test import Client

from datastore_search.contrib.pages.maps import places as map_data
from datastore_search.contrib.pages.maps.map import MapView, draw_map
from datastore_search.contrib.pages.maps.places import MapData, MapPlace, Path
from datastore_search.filters.places import find_place_fields
from datastore_search.guards import shares
from datastore_search.models import Resource

from ..builders import describe
from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction
from .parsing import SVG, extract_text, list_drawn_links, parse_drawing, parse_table

SITES = """\
code,name,lat,lon,kind
a,Hà Nội,21.0278,105.8342,city
b,Huế,16.4637,107.5909,city
c,Cần Thơ,10.0452,105.7469,city
d,nowhere,,,city
e,beyond,95,200,error
f,Đà Lạt,11.9404,108.4583,town
"""


@pytest.fixture(scope="module")
def _records(module_transaction: ModuleTransaction) -> Resource:
    return make_loaded_resource(SITES, title="Sites")


@pytest.fixture
def sites(_records: Resource, db: None) -> Resource:
    return _records


def open_map(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> Any:
    return client.get(f"/{locale}/datastore/{resource.pk}/map/", query or {})


# One by one ---------------------------------------------------------------------------------------


def test_records_are_points_that_lead_to_them(client: Client, sites: Resource) -> None:
    query = {"lat": "lat", "lon": "lon", "field.kind": "city"}

    response = open_map(client, sites, query)

    assert parse_table(response) == [
        ["name", "Latitude; longitude"],
        ["Hà Nội", "21.0278; 105.8342"],
        ["Huế", "16.4637; 107.5909"],
        ["Cần Thơ", "10.0452; 105.7469"],
    ]
    assert list_drawn_links(response) == {
        "Hà Nội · 21.0278; 105.8342": "../r/1/?field.kind=city",
        "Huế · 16.4637; 107.5909": "../r/2/?field.kind=city",
        "Cần Thơ · 10.0452; 105.7469": "../r/3/?field.kind=city",
    }
    text = extract_text(response)
    assert "3 of 4 records are on the map. Records without a place: 1." in text


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [
        ("Latitude", "Longitude"),
        ("site_lat", "site_long"),
        ("decimalLatitude", "decimalLongitude"),
        ("Vĩ độ", "Kinh độ"),
        ("GPS LAT (deg)", "GPS LNG (deg)"),
        ("Breitengrad", "Längengrad"),
        ("خط العرض", "خط الطول"),
    ],
)
def test_fields_are_recognised_by_their_names(latitude: str, longitude: str) -> None:
    types = {"id": "int4", latitude: "numeric", "n": "numeric", longitude: "float8"}

    assert find_place_fields(types, {}) == (latitude, longitude, "")


@pytest.mark.parametrize(("size", "is_found"), [(90, True), (91, False)])
def test_x_and_y_are_recognised_by_their_range(size: int, is_found: bool) -> None:
    types = {"X": "numeric", "Y": "numeric"}
    profiles: dict[str, dict[str, Any]] = {
        "X": {"min": "-180", "max": 2.5},
        "Y": {"min": 0, "max": size},
    }

    assert find_place_fields(types, profiles) == (("Y", "X", "") if is_found else None)
    assert find_place_fields(types, {}) is None


def test_the_fields_of_a_map_are_proposed(client: Client, db: None) -> None:
    resource = make_loaded_resource("id,lat,n,lon\n1,10.5,7,106.25\n")

    assert parse_table(open_map(client, resource))[1] == ["1", "10.5; 106.25"]
    page = client.get(f"/en/datastore/{resource.pk}/", {"from.n": "1", "sort": "n"})
    assert f'<a href="/en/datastore/{resource.pk}/map/?from.n=1">Map</a>' in page.content.decode()


def test_other_fields_are_not_taken_for_places(client: Client, db: None) -> None:
    for row in (
        "lat,n\n1.5,2",
        "lat,lon\n1.5,700",
        "start_lat,end_lon\n1,2",
        "platform,salon\n1,2",
    ):
        resource = make_loaded_resource(f"{row}\n")

        assert "No field suits a map." in extract_text(open_map(client, resource))
        assert "map/" not in client.get(f"/en/datastore/{resource.pk}/").content.decode()
        file = open_map(client, resource, {"format": "svg"})
        assert file.status_code == 400
        assert "There is nothing to draw." in extract_text(file)


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        ("state,place", "place"),  # all different
        ("state,kind,name", "name"),  # called a name
        ("state,kind", "kind"),  # more than one value
        ("state", "No."),
    ],
)
def test_points_are_titled_by_the_names_of_records(
    client: Client, db: None, columns: str, title: str
) -> None:
    values = {"state": "Utah Utah Utah", "place": "b a c", "kind": "sea sea air", "name": "x y x"}
    names = columns.split(",")
    rows = zip(*(values[name].split() for name in names), strict=True)
    csv = "".join(f"{','.join(row)},{10 + at},106\n" for at, row in enumerate(rows))
    resource = make_loaded_resource(f"{columns},lat,lon\n{csv}")

    response = open_map(client, resource)
    table = parse_table(response)

    ids = re.findall(r' id="([^"]+)"', response.content.decode())
    assert len(ids) == len(set(ids))
    assert table[0][0] == title
    expected = values[title].split() if title in values else ["1", "2", "3"]
    assert [row[0] for row in table[1:]] == expected


# GeoJSON ------------------------------------------------------------------------------------------

SHAPES = {
    "point": {"type": "Point", "coordinates": [106, 10]},
    "line": {"type": "LineString", "coordinates": [[100, 10], [110, 10], [110, 20]]},
    "area": {
        "type": "Feature",
        "geometry": {
            "type": "MultiPolygon",
            "coordinates": [[[[100, 10], [104, 10], [104, 14], [100, 10]]]],
        },
    },
    "collection": {
        "type": "GeometryCollection",
        "geometries": [
            {"type": "MultiPoint", "coordinates": [[101, 11], [102, 12, 5]]},
            {"type": "MultiLineString", "coordinates": [[[100, 10], [105, 15]]]},
        ],
    },
}
NO_SHAPES = [
    {"type": "Point", "coordinates": [200, 10]},
    {"type": "Point", "coordinates": ["x", None]},
    {"type": "Point", "coordinates": "12.5, 106"},
    {"type": "Polygon", "coordinates": 5},
    {"type": "LineString", "coordinates": [[1], {}]},
    {"kind": "Point"},
    [1, 2],
]


def make_shapes(kind: str) -> Resource:
    rows = [*SHAPES.items(), *((f"none {n}", shape) for n, shape in enumerate(NO_SHAPES))]
    lines = [f'{name},"{json.dumps(shape).replace(chr(34), chr(34) * 2)}"' for name, shape in rows]
    return make_loaded_resource(
        "name,geometry\n" + "\n".join(lines) + "\nempty,\n", types={"geometry": kind}
    )


@pytest.mark.parametrize("kind", ["json", "text"])
def test_geojson_is_drawn_as_points_lines_and_areas(client: Client, db: None, kind: str) -> None:
    resource = make_shapes(kind)
    response = open_map(client, resource)

    drawing = parse_drawing(response)
    assert len(drawing.findall(f".//{SVG}a/{SVG}circle")) == 3
    lines = drawing.findall(f".//{SVG}a/{SVG}path[@fill='none']")
    areas = drawing.findall(f".//{SVG}a/{SVG}path[@class='area']")
    assert [str(each.get("d")).count("L") for each in lines] == [2, 1]
    assert [str(each.get("d"))[-1] for each in areas] == ["Z"]
    assert [row[0] for row in parse_table(response)[1:]] == list(SHAPES)
    assert f"Records without a place: {len(NO_SHAPES) + 1}." in extract_text(response)
    script = open_map(client, resource, {"format": "places.json"})
    places = {place["title"]: place for place in script.json()["places"]}
    point = {"title": "point", "link": "../r/1/", "count": 1, "points": [[10.0, 106.0]]}
    assert places["point"] == {**point, "lines": [], "areas": []}
    assert places["line"]["lines"] == [[[10.0, 100.0], [10.0, 110.0], [20.0, 110.0]]]
    assert places["area"]["areas"] == [[[10.0, 100.0], [10.0, 104.0], [14.0, 104.0], [10.0, 100.0]]]


def test_only_so_much_geojson_is_read(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_shapes("json")
    monkeypatch.setattr(map_data, "MAX_SHAPES", 2)
    assert len(parse_table(open_map(client, resource))) == 3
    monkeypatch.setattr(map_data, "MAX_SHAPES_BYTES", 150)

    response = open_map(client, resource)

    assert [row[0] for row in parse_table(response)[1:]] == ["point"]
    assert "The first ones are shown" in extract_text(response)


# Clusters -----------------------------------------------------------------------------------------


@pytest.fixture
def many(db: None, monkeypatch: pytest.MonkeyPatch) -> Resource:
    """Sixty records around two places, and one far away."""
    monkeypatch.setattr(map_data, "MAX_PLACES", 40)
    rows = [f"{10 + n % 5 / 100},{106 + n / 1000},{n}" for n in range(30)]
    rows += [f"{21 + n % 5 / 100},{105 + n / 1000},{n}" for n in range(29)]
    return make_loaded_resource("lat,lon,n\n" + "\n".join([*rows, "0,0,7", "0,0,8"]) + "\n")


def test_many_records_are_clusters_that_lead_into_them(client: Client, many: Resource) -> None:
    response = open_map(client, many)

    rows = parse_table(response)[1:]
    assert [row[1] for row in rows] == ["30", "29", "2"]
    assert rows[0][0] == "10.0200; 106.0145"
    assert "61 of 61 records are on the map, in 3 clusters." in extract_text(response)
    links = list_drawn_links(response)
    assert links["2 · 0.0000; 0.0000"].startswith("../?from.lat=0")  # of one place
    link = links["30 · 10.0200; 106.0145"]
    inner = open_map(client, many, dict(re.findall("[?&]([^=]*)=([^&]*)", link)))
    assert "30 of 30 records are on the map." in extract_text(inner)
    assert re.findall("<bdi>(.*?)</bdi><button", inner.content.decode()) == [
        "lat ≥ 10.0", "lat ≤ 10.04", "lon ≥ 106.0", "lon ≤ 106.029",
    ]  # fmt: skip
    translated = open_map(client, many, locale="vi").content.decode()
    found = re.findall('<td class="n"><a href="([^"]*)">', translated)
    for path, count in zip(found, (30, 29, 2), strict=True):
        address = f"/vi/datastore/{many.pk}/{html.unescape(path).removeprefix('../')}&limit=100"
        assert len(parse_table(client.get(address))) == 1 + count


def test_few_places_among_many_records_are_points(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_data, "MAX_PLACES", 4)

    for places in ("", "1,2,3\n"):
        resource = make_loaded_resource(
            "n,lat,lon\n" + "7,,\n" * 5 + places, types={"lat": "numeric", "lon": "numeric"}
        )
        response = open_map(client, resource, {"lat": "lat", "lon": "lon"})
        assert "Records without a place: 5." in extract_text(response)
        assert ("<circle" in response.content.decode()) == bool(places)


def test_a_file_says_what_it_shows_and_from_whom(client: Client, sites: Resource) -> None:
    describe(sites, publisher="Office <of> Water")
    title = "Rivers and their gauges between the mountains and the sea, as they were in the last"
    Resource.objects.filter(pk=sites.pk).update(title=f"{title} hundred years or so")

    svg = open_map(client, sites, PLACES | {"format": "svg"}).content
    png = open_map(client, sites, PLACES | {"format": "png"})
    page = open_map(client, sites, PLACES)

    file = ET.fromstring(svg)
    texts = [each.text or "" for each in file.findall(f"{SVG}text")]
    assert " ".join(texts[:2]) == f"Map of {title} hundred years or so"
    assert texts[2].startswith(f"Source: {title[:40]}")
    assert "Office <of> Water" in " ".join(texts)
    assert any(each.startswith("Last changed on ") for each in texts)
    assert f"http://testserver/en/datastore/{sites.pk}/map/?lat=lat" in "".join(texts)
    # The map is between them, and no text is below the edge.
    (drawn,) = file.findall(f"{SVG}svg")
    height = float(file.get("viewBox", "").split()[-1])
    assert float(drawn.get("y", "")) == 2 * 18
    assert max(float(each.get("y", "")) for each in file.findall(f"{SVG}text")) < height
    assert png.content[:4] == b"\x89PNG"
    assert "Source:" not in page.content.decode()


# Outlines -----------------------------------------------------------------------------------------


PLACES = {"lat": "lat", "lon": "lon"}


def test_a_map_shows_where_its_places_are(client: Client, sites: Resource, settings: Any) -> None:
    drawing = parse_drawing(open_map(client, sites, PLACES | {"field.kind": "city"}, "vi"))

    names = [each.text for each in drawing.findall(f"{SVG}g[@class='names']/{SVG}text")]
    assert {"Lào", "Campuchia", "Hanoi"} <= {*names}
    outlines = "../../outlines.svg"
    links = [each.get("href") for each in drawing.findall(f".//{SVG}use")]
    assert links == [f"{outlines}#land", f"{outlines}#borders"]
    # A file has the outlines in it.
    file = ET.fromstring(open_map(client, sites, PLACES | {"format": "svg"}).content)
    (land,) = file.findall(f".//{SVG}path[@class='land']")
    assert len(land.get("d", "")) > 50_000
    assert not file.findall(f".//{SVG}use")
    # A portal leaves out borders and names.
    settings.DATASTORE_SEARCH_MAP_TILES = {"outlines": "land"}
    drawing = parse_drawing(open_map(client, sites, PLACES))
    assert [each.get("class") for each in drawing.findall(f".//{SVG}use")] == ["land"]
    assert not drawing.findall(f"{SVG}g[@class='names']")


@pytest.mark.parametrize("encoding", ["gzip, br", ""])
def test_outlines_are_sent_as_the_client_reads_them(client: Client, encoding: str) -> None:
    response = client.get("/en/datastore/outlines.svg", headers={"accept-encoding": encoding})

    content = gzip.decompress(response.content) if encoding else response.content
    assert len(gzip.compress(content)) < 100_000
    assert [each.get("id") for each in ET.fromstring(content).findall(f"{SVG}path")] == [
        "land",
        "borders",
    ]
    assert "lM" not in content.decode()  # a line without steps would end its path


# The drawing --------------------------------------------------------------------------------------


def make_places(*positions: tuple[float, float]) -> MapData:
    places = tuple(MapPlace((Path((each,)),), "t", "p", "l", "l") for each in positions)
    return MapData(places, len(places), 0)


def test_a_drawing_has_true_shapes_and_a_scale() -> None:
    drawing = draw_map(make_places((0, 60), (10, 60), (0, 65)), "")

    assert drawing
    west, east, north = ((float(mark.x), float(mark.y)) for mark in drawing.marks)
    wide, high = east[0] - west[0], west[1] - north[1]
    # Five degrees of latitude, and ten of longitude at 62.5 degrees north.
    assert wide / high == pytest.approx(10 * 0.46175 / 5, abs=0.01)
    assert re.findall(">([^<]+)<", drawing.labels) == [
        "0°", "2° E", "4° E", "6° E", "8° E", "10° E",  # no room for 2° W and 12° E at the edges
        "60° N", "62° N", "64° N",
        "100 km",
    ]  # fmt: skip


def test_a_map_is_drawn_and_its_page_rendered_within_a_slot_of_its_client(
    client: Client, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_loaded_resource("name,lat,lon\na,10.5,20.5\n")
    holders = []
    render_page = MapView.render_page

    def render(*args: Any, **options: Any) -> HttpResponse:
        holders.append(shares.process_shares.held_key)
        return render_page(*args, **options)

    monkeypatch.setattr(MapView, "render_page", render)
    page = client.get(f"/en/datastore/{resource.pk}/map/", REMOTE_ADDR="192.0.2.7")
    wrong = client.get(f"/en/datastore/{resource.pk}/map/?format=gif", REMOTE_ADDR="192.0.2.7")

    assert page.status_code == 200
    assert wrong.status_code == 400
    assert "format: Value must be one of svg" in wrong.content.decode()
    assert holders == ["192.0.2.7"] * 2
    assert not shares.process_shares.held_key
