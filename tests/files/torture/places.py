"""GeoPackages, shapefiles in zips, KML, GPX and other XML."""

from __future__ import annotations

from typing import Any

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

_BYTES = "The field “{}” has bytes that are not text; they are written in hexadecimal."
_HANOI = {"type": "Point", "coordinates": [105.8525, 21.0287]}
_RING = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 0.0]]
_HOLE = [[2.0, 1.0], [3.0, 1.0], [3.0, 2.0], [2.0, 1.0]]


def _build_shape(kind: str, coordinates: list[Any]) -> dict[str, Any]:
    return {"type": kind, "coordinates": coordinates}


_POINT = _build_shape("Point", [1.0, 2.0])
_HIGH_POINT = _build_shape("Point", [105.8525, 21.0287, 12.5])

_PLACE = (
    "code: text, name: text, people: int4, share: numeric, day: date, capital: bool, geometry: json"
)
_OUTER = [[0, 0, 5], [0, 4, 6], [4, 4, 7], [4, 0, 8.5], [0, 0, 5]]
_INNER = [[1, 1, 1], [2, 1, 2], [2, 2, 3], [1, 1, 1]]
_SECOND: list[object] = ["12", "Đà Nẵng", None, None, None, False, None]


def _build_records(longitude: float, latitude: float) -> list[list[object]]:
    point = {"type": "Point", "coordinates": [longitude, latitude]}
    return [["007", "Hà Nội", 8053663, 8.25, "2024-03-05", True, point], _SECOND]


def _build_polygon(position: int) -> list[list[list[int]]]:
    far = position + 1
    return [[[position, position], [far, position], [far, far], [position, position]]]


_PARK = {"type": "MultiPolygon", "coordinates": [_build_polygon(0), _build_polygon(2)]}

CASES = [
    Case(
        "places.gpkg",
        "the types of its columns, beside a view and the styles of QGIS",
        fields=(
            "fid: int8, code: text, name: text, people: int4, total: int8, share: float8, "
            "capital: bool, day: date, moment: timestamptz, photo: text, twice: int8, "
            "void: int4, geometry: json"
        ),
        records=[
            [
                *(7, "007", "Hà Nội", 8053663, 2**53 + 1, 8.25, True, "2024-03-05"),
                *("2024-03-05T10:11:12.500+00:00", r"\x89504e4700", 16107326, None, _HANOI),
            ],
            [9, "12", "", None, None, 2.5e-7, False, None, None, None, None, None, None],
        ],
        notices=[_BYTES.format("photo")],
    ),
    Case(
        "layers.gpkg",
        "a layer by its name",
        options=LoadOptions(sheet='po"ints'),
        fields="fid: int8, geometry: json",
        records=[[1, _HANOI]],
    ),
    Case(
        "layers.gpkg",
        "a table without geometry, by its number",
        options=LoadOptions(sheet="3"),
        fields='code: text, the "name": text',
        records=[["01", "one"], ["02", None]],
    ),
    Case(
        "shapes.gpkg",
        "all kinds of shapes",
        fields="kind: text, geometry: json",
        records=[
            ["point Z", _build_shape("Point", [1.0, 2.0, 3.5])],
            ["point M", _POINT],
            ["line ZM", _build_shape("LineString", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])],
            ["polygon", _build_shape("Polygon", [_RING, _HOLE])],
            ["points", _build_shape("MultiPoint", [[1.0, 2.0]])],
            ["lines", _build_shape("MultiLineString", [[[1.0, 2.0], [3.0, 4.0]]])],
            ["polygons", _build_shape("MultiPolygon", [[_RING]])],
            [
                "collection",
                {
                    "type": "GeometryCollection",
                    "geometries": [{"type": "GeometryCollection", "geometries": [_POINT]}, _HANOI],
                },
            ],
            ["empty point", None],
            ["empty polygon", None],
            ["empty collection", None],
        ],
    ),
    Case(
        "mercator.gpkg",
        "coordinates of web maps, with a height",
        fields="geometry: json",
        records=[[_HIGH_POINT]],
        notices=["The coordinates were converted from WGS 84 / Pseudo-Mercator to WGS 84."],
    ),
    Case(
        "vn2000.gpkg",
        "coordinates of Vietnam, known by their code alone, to and fro within a millimetre",
        fields="geometry: json",
        records=[[_build_shape("Point", [105.852500004, 21.028699998, 12.5])]],
        notices=["The coordinates were converted from VN-2000 / UTM zone 48N to WGS 84."],
    ),
    Case(
        "wal.gpkg",
        "a record in a file beside it",
        fields="code: text",
        records=[["a"]],
        notices=[
            (
                "The GeoPackage was saved in SQLite's WAL mode: its last changes may be in a file"
                " beside it, which is not read. To be sure, close it in all programs or export it,"
                " and load it again."
            )
        ],
    ),
    Case(
        "places_shp.zip",
        "the types of a DBF, and a record without a shape",
        fields=_PLACE,
        records=_build_records(105.8525, 21.0287),
    ),
    Case(
        "heights_shp.zip",
        "polygons with heights, of which one has measures",
        fields="n: int4, geometry: json",
        records=[
            [1, {"type": "Polygon", "coordinates": [_OUTER, _INNER]}],
            [2, {"type": "Polygon", "coordinates": [_OUTER]}],
        ],
    ),
    Case(
        "two_shp.zip",
        "one of two shapefiles, by choice",
        options=LoadOptions(member="others.shp"),
        fields=_PLACE,
        records=_build_records(105.8525, 21.0287),
    ),
    Case(
        "places.kml",
        "placemarks with data of both kinds, in folders, without styles",
        fields=(
            "folder: text, id: text, name: text, description: text, timestamp: timestamp, "
            "depth: numeric, geometry: json"
        ),
        records=[
            [
                *("Places", None, "Hoàn Kiếm", None, None, 1.5),
                {"type": "Point", "coordinates": [105.8525, 21.0287, 0]},
            ],
            ["Areas", "p2", "Park", "<b>green</b>", None, 2.5, _PARK],
            ["Areas", None, "Bad", None, None, None, None],
            ["Areas", None, "None", None, "2025-01-01T00:00:00.000", None, None],
        ],
    ),
    Case(
        "places.kml",
        "the placemarks of one folder",
        options=LoadOptions(sheet="Places"),
        fields="name: text, depth: numeric, geometry: json",
        records=[["Hoàn Kiếm", 1.5, {"type": "Point", "coordinates": [105.8525, 21.0287, 0]}]],
    ),
    Case(
        "walk.gpx",
        "the points of a track, with heights and times",
        options=LoadOptions(sheet="track_points"),
        fields=(
            "track_fid: int4, track_seg_id: int4, track_seg_point_id: int4, ele: int4, "
            "time: timestamptz, geometry: json"
        ),
        records=[
            [
                *(0, 0, 0, 7, "2025-01-01T07:00:00.000+00:00"),
                {"type": "Point", "coordinates": [105.85, 21.03, 7.0]},
            ],
            [
                *(0, 0, 1, None, "2025-01-01T07:05:00.000+00:00"),
                {"type": "Point", "coordinates": [105.86, 21.04]},
            ],
        ],
    ),
]
