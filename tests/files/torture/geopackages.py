"""GeoPackages."""

from __future__ import annotations

from typing import Any

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

_UNKNOWN = "The coordinate system of the file is unknown."
_DAMAGED = "The file is damaged or incomplete: it cannot be read as GeoPackage."
_BYTES = "The field “{}” has bytes that are not text; they are written in hexadecimal."
_HANOI = {"type": "Point", "coordinates": [105.8525, 21.0287]}
_RING = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 0.0]]
_HOLE = [[2.0, 1.0], [3.0, 1.0], [3.0, 2.0], [2.0, 1.0]]
_LAYERS = '“po"ints”, “rivers”, “codes”'


def _build_shape(kind: str, coordinates: list[Any]) -> dict[str, Any]:
    return {"type": kind, "coordinates": coordinates}


_POINT = _build_shape("Point", [1.0, 2.0])
_HIGH_POINT = _build_shape("Point", [105.8525, 21.0287, 12.5])

CASES = [
    Case(
        "places.gpkg",
        "the types of its columns, beside a view and the styles of QGIS",
        fields={
            "fid": "int8",
            "code": "text",
            "name": "text",
            "people": "int4",
            "total": "int8",
            "share": "float8",
            "capital": "bool",
            "day": "date",
            "moment": "timestamptz",
            "photo": "text",
            "twice": "int8",
            "void": "int4",
            "geometry": "json",
        },
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
        "several layers",
        failure=f"The file has several layers: {_LAYERS}. Choose one of them.",
    ),
    Case(
        "layers.gpkg",
        "a layer by its name",
        options=LoadOptions(sheet='po"ints'),
        fields={"fid": "int8", "geometry": "json"},
        records=[[1, _HANOI]],
    ),
    Case(
        "layers.gpkg",
        "a table without geometry, by its number",
        options=LoadOptions(sheet="3"),
        fields={"code": "text", 'the "name"': "text"},
        records=[["01", "one"], ["02", None]],
    ),
    Case(
        "layers.gpkg",
        "a layer that is not there",
        options=LoadOptions(sheet="4"),
        failure=f"The file has no layer “4”. It has: {_LAYERS}.",
    ),
    Case(
        "shapes.gpkg",
        "all kinds of shapes",
        fields={"kind": "text", "geometry": "json"},
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
                    "geometries": [
                        {"type": "GeometryCollection", "geometries": [_POINT]},
                        _HANOI,
                    ],
                },
            ],
            ["empty point", None],
            ["empty polygon", None],
            ["empty collection", None],
        ],
    ),
    Case(
        "curves.gpkg",
        "a curve",
        failure=(
            "The layer has curves or surfaces, which GeoJSON does not have. Convert them to lines"
            " and polygons."
        ),
    ),
    Case(
        "mercator.gpkg",
        "coordinates of web maps, with a height",
        fields={"geometry": "json"},
        records=[[_HIGH_POINT]],
        notices=["The coordinates were converted from WGS 84 / Pseudo-Mercator to WGS 84."],
    ),
    Case(
        "vn2000.gpkg",
        "coordinates of Vietnam, known by their code alone, to and fro within a millimetre",
        fields={"geometry": "json"},
        records=[[_build_shape("Point", [105.852500004, 21.028699998, 12.5])]],
        notices=["The coordinates were converted from VN-2000 / UTM zone 48N to WGS 84."],
    ),
    Case("no_system.gpkg", "coordinates of an unknown kind", failure=_UNKNOWN),
    Case(
        "tiles.gpkg",
        "pictures of maps alone",
        failure="The file has no layer with records.",
    ),
    Case(
        "wal.gpkg",
        "a record in a file beside it",
        fields={"code": "text"},
        records=[["a"]],
        notices=[
            (
                "The GeoPackage was saved in SQLite's WAL mode: its last changes may be in a file"
                " beside it, which is not read. To be sure, close it in all programs or export it,"
                " and load it again."
            )
        ],
    ),
    Case("cut.gpkg", "a page that is missing", failure=_DAMAGED),
]
