"""XML, KML and GPX."""

from __future__ import annotations

from datastore_search.loading.jobs import LoadOptions

from .cases import Case
from .delimited import build_bad_rows_message

_RECORDS = "The records are the elements “{}” of the file."
_SEVERAL = "The XML holds several lists: {}. Choose the one that has the records."
_ENTITIES = (
    "The XML declares or uses entities of its own, which are not read. Write the texts in their"
    " places."
)
_BAD_PLACE = "The coordinates of the place cannot be read."


def _build_polygon(position: int) -> list[list[list[int]]]:
    far = position + 1
    return [[[position, position], [far, position], [far, far], [position, position]]]


CASES = [
    Case(
        "books.xml",
        "attributes, namespaces, repeated and nested elements, nil, and blanks of texts",
        fields={
            "id": "text",
            "title": "text",
            "author": "text",
            "price": "numeric",
            "note": "text",
            "id_2": "text",
            "text": "text",
        },
        records=[
            [
                *("b1", '{"@lang":"vi","#text":"Số đỏ"}', "Vũ Trọng Phụng", 1.50),
                *("over\n      lines", None, None),
            ],
            ["b2", "A & B <i>", '["An","Ben"]', None, " kept ", "own", "<b>"],
        ],
        notices=[
            _RECORDS.format("catalog.book"),
            "Names that were there already got a number: id_2.",
        ],
        labels={"id_2": "id"},
    ),
    Case(
        "several_lists.xml",
        "two lists",
        failure=_SEVERAL.format("“data.towns.town”, “data.rivers.river”"),
    ),
    Case(
        "several_lists.xml",
        "one of two lists, by choice",
        options=LoadOptions(records_path="data.rivers.river"),
        fields={"km": "int4"},
        records=[[7], [8]],
        notices=[_RECORDS.format("data.rivers.river")],
    ),
    Case(
        "several_lists.xml",
        "a list that is not there",
        options=LoadOptions(records_path="data.hills"),
        failure="The XML has no elements at “data.hills”.",
    ),
    Case(
        "windows_1251.xml",
        "an encoding that the document declares, and texts without elements of their own",
        fields={"i": "text"},
        records=[["Мир"], ["7"]],
        notices=[_RECORDS.format("r.i")],
    ),
    Case("entities.xml", "entities within entities", failure=_ENTITIES),
    Case("external_entity.xml", "an entity that is declared elsewhere", failure=_ENTITIES),
    Case("damaged.xml", "a wrong end", failure="The file is not valid XML (line 3, column 7)."),
    Case(
        "no_list.xml",
        "nothing that repeats",
        failure="The XML holds no repeated elements to make records of.",
    ),
    Case(
        "no_list.xml",
        "one element, by choice",
        options=LoadOptions(records_path="r.i"),
        fields={"i": "text"},
        records=[["a"]],
        notices=[_RECORDS.format("r.i")],
    ),
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
