"""Shapefiles in zips."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

_FIELDS = {
    "code": "text",
    "name": "text",
    "people": "int4",
    "share": "numeric",
    "day": "date",
    "capital": "bool",
    "geometry": "json",
}
_OUTER = [[0, 0, 5], [0, 4, 6], [4, 4, 7], [4, 0, 8.5], [0, 0, 5]]
_INNER = [[1, 1, 1], [2, 1, 2], [2, 2, 3], [1, 1, 1]]
_SECOND: list[object] = ["12", "Đà Nẵng", None, None, None, False, None]


def _build_records(longitude: float, latitude: float) -> list[list[object]]:
    point = {"type": "Point", "coordinates": [longitude, latitude]}
    return [["007", "Hà Nội", 8053663, 8.25, "2024-03-05", True, point], _SECOND]


CASES = [
    Case(
        "places_shp.zip",
        "the types of a DBF, and a record without a shape",
        fields=_FIELDS,
        records=_build_records(105.8525, 21.0287),
    ),
    Case(
        "places_utm_shp.zip",
        "coordinates in metres",
        fields=_FIELDS,
        records=_build_records(105.8525, 21.0287),
        notices=["The coordinates were converted from WGS 84 / UTM zone 48N to WGS 84."],
    ),
    Case(
        "heights_shp.zip",
        "polygons with heights, of which one has measures",
        fields={"n": "int4", "geometry": "json"},
        records=[
            [1, {"type": "Polygon", "coordinates": [_OUTER, _INNER]}],
            [2, {"type": "Polygon", "coordinates": [_OUTER]}],
        ],
    ),
    Case(
        "no_prj_shp.zip",
        "coordinates of an unknown kind",
        failure=("The coordinate system of the shapefile is unknown: its part “.prj” is missing."),
    ),
    Case(
        "damaged_shp.zip",
        "a cut DBF",
        failure="The file is damaged or incomplete: it cannot be read as Shapefile.",
    ),
    Case(
        "two_shp.zip",
        "one of two shapefiles, by choice",
        options=LoadOptions(member="others.shp"),
        fields=_FIELDS,
        records=_build_records(105.8525, 21.0287),
    ),
]
