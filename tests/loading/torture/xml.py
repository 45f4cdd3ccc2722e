"""XML, KML and GPX."""

from __future__ import annotations

from datastore_search.loading.jobs import LoadOptions

from .cases import Case
from .delimited import build_bad_rows_message

_RECORDS = "The records are the elements “{}” of the file."
_SEVERAL = "The XML holds several lists: {}. Choose the one that has the records."
_NOT_READ = "Files of the format XML are not read. Save the table as CSV, and load that file."
_BAD_PLACE = "The coordinates of the place cannot be read."


def _build_polygon(position: int) -> list[list[list[int]]]:
    far = position + 1
    return [[[position, position], [far, position], [far, far], [position, position]]]


CASES = [
    Case("books.xml", "XML of any other kind", failure=_NOT_READ),
    Case("entities.xml", "entities within entities", failure=_NOT_READ),
    Case(
        "places.kml",
        "a place without coordinates, which refuses the file",
        failure=build_bad_rows_message(1, 3, _BAD_PLACE),
        notices=[_RECORDS.format("Placemark")],
        row_errors=[(3, "", "", _BAD_PLACE)],
    ),
    Case(
        "places.kml",
        "placemarks with data of both kinds, in folders, without styles",
        options=LoadOptions(bad_rows="skip"),
        fields={
            "name": "text",
            "depth": "numeric",
            "id": "text",
            "folder": "text",
            "description": "text",
            "when": "date",
            "geometry": "json",
        },
        records=[
            [
                *("Hoàn Kiếm", 1.5, None, None, None, None),
                {"type": "Point", "coordinates": [105.8525, 21.0287, 0]},
            ],
            [
                *("Park", 2.5, "p2", "Areas", "<b>green</b>", None),
                {
                    "type": "MultiPolygon",
                    "coordinates": [_build_polygon(0), _build_polygon(2)],
                },
            ],
            ["None", None, None, "Areas", None, "2025-01-01", None],
        ],
        notices=[
            _RECORDS.format("Placemark"),
            "Rows that could not be loaded and were left out: 1.",
        ],
        row_errors=[(3, "", "", _BAD_PLACE)],
    ),
    Case(
        "walk.gpx",
        "waypoints and a track",
        failure=_SEVERAL.format("“gpx.wpt”, “gpx.trk.trkseg.trkpt”"),
    ),
    Case(
        "walk.gpx",
        "the points of a track, with heights, times and extensions",
        options=LoadOptions(records_path="gpx.trk.trkseg.trkpt"),
        fields={
            "trk_name": "text",
            "trkseg": "int4",
            "ele": "numeric",
            "time": "text",
            "extensions": "json",
            "geometry": "json",
        },
        records=[
            [
                *("Walk", 1, 7.0, "2025-01-01T07:00:00Z", None),
                {"type": "Point", "coordinates": [105.85, 21.03, 7.0]},
            ],
            [
                *("Walk", 1, None, "2025-01-01T07:05:00Z", {"hr": "90"}),
                {"type": "Point", "coordinates": [105.86, 21.04]},
            ],
        ],
        notices=[_RECORDS.format("gpx.trk.trkseg.trkpt")],
    ),
]
