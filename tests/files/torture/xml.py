"""XML, KML and GPX."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

_NOT_READ = "Files of the format XML are not read. Save the table as CSV, and load that file."


def _build_polygon(position: int) -> list[list[list[int]]]:
    far = position + 1
    return [[[position, position], [far, position], [far, far], [position, position]]]


_PARK = {"type": "MultiPolygon", "coordinates": [_build_polygon(0), _build_polygon(2)]}

CASES = [
    Case("entities.xml", "entities within entities", failure=_NOT_READ),
    Case("entities.kml", "a KML that declares entities", failure=_NOT_READ),
    Case(
        "places.kml",
        "placemarks with data of both kinds, in folders, without styles",
        fields={
            "folder": "text",
            "id": "text",
            "name": "text",
            "description": "text",
            "timestamp": "timestamp",
            "depth": "numeric",
            "geometry": "json",
        },
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
        fields={"name": "text", "depth": "numeric", "geometry": "json"},
        records=[["Hoàn Kiếm", 1.5, {"type": "Point", "coordinates": [105.8525, 21.0287, 0]}]],
    ),
    Case(
        "walk.gpx",
        "the points of a track, with heights and times",
        options=LoadOptions(sheet="track_points"),
        fields={
            "track_fid": "int4",
            "track_seg_id": "int4",
            "track_seg_point_id": "int4",
            "ele": "int4",
            "time": "timestamptz",
            "geometry": "json",
        },
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
