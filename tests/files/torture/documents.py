"""JSON in its forms."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case, explain_skipped_rows

_SKIP = LoadOptions(bad_rows="skip")
_NO_OBJECT = "It is not an object, unlike the others."
_TWICE = "An object has the member “{0}” twice."
_NUL = "The value cannot be stored: it has the character U+0000, or is not valid JSON."


def build_point(*coordinates: float) -> dict[str, object]:
    return {"type": "Point", "coordinates": list(coordinates)}


CASES = [
    Case(
        "texts.json",
        "texts that look like numbers stay texts, dates among them are dates",
        fields="code: text, n: int4, day: date, empty: text, both: text",
        records=[["007", 7, "2024-03-05", "", "1"], ["12", 12, "2024-03-06", "x", "1"]],
    ),
    Case(
        "repeated_member.json",
        "an object with a member twice: which one counts cannot be known",
        options=_SKIP,
        fields="k: text, n: int4",
        records=[["a", 1]],
        notices=[explain_skipped_rows(2)],
        row_errors=[(2, "", "", _TWICE.format("n")), (3, "", "", _TWICE.format("x"))],
    ),
    Case(
        "nested.json",
        "lists and objects within",
        fields="k: text, tags: json, at: json",
        records=[["a", ["x", 1.10, None], {"lat": 21.0, "deep": [[{}]]}], ["b", [], None]],
    ),
    Case(
        "scalars.json",
        "a list of objects and what is none",
        options=_SKIP,
        fields="n: int4",
        records=[[1], [5]],
        notices=[explain_skipped_rows(4)],
        row_errors=[
            (2, "", "2", _NO_OBJECT),
            (3, "", '"three"', _NO_OBJECT),
            (4, "", "null", _NO_OBJECT),
            (5, "", "[4]", _NO_OBJECT),
        ],
    ),
    Case(
        "two_lists.json",
        "one of two lists, by choice",
        options=LoadOptions(records_path="pupils"),
        fields="n: int4",
        records=[[2]],
        notices=["The records are the list “pupils” of the file."],
    ),
    Case(
        "ckan_dump.json",
        "rows below the names of their fields, as CKAN dumps them",
        fields="_id_2: int4, province: text",
        records=[[1, "Hanoi"], [2, "Da Nang"]],
        notices=[
            "The records are the list “records” of the file.",
            "Repeated names got a number: _id_2.",
        ],
        labels={"_id_2": "_id"},
    ),
    Case(
        "rows.json",
        "a list of lists with a header, one of them short",
        options=_SKIP,
        fields="province: text, n: int4",
        records=[["Hanoi", 1], ["Da Nang", 2]],
        notices=[explain_skipped_rows(1)],
        row_errors=[(3, "", "", "The header has 2 cells; the row has 1.")],
    ),
    Case(
        "rows_without_header.json",
        "a list of lists without a header",
        fields="field_1: text, field_2: int4",
        records=[["Hanoi", 1], ["Hue", 2]],
        notices=[
            "The first row has values that cannot be names, so it was read as a record.",
            "Fields without a name were named by their position: field_1, field_2.",
        ],
    ),
    Case(
        "nul.json",
        "characters that PostgreSQL does not have",
        options=_SKIP,
        fields="k: text, n: int4",
        records=[["c", 3]],
        notices=[explain_skipped_rows(2)],
        row_errors=[(1, "k", "a�b", _NUL), (2, "k", "�", _NUL)],
    ),
    Case(
        "deep.json",
        "lists within lists, 150 of them",
        failure=(
            "Rows that cannot be loaded: 1. The first: Line 1: It nests"
            " lists and objects more than 100 deep."
        ),
        row_errors=[(1, "", "", "It nests lists and objects more than 100 deep.")],
    ),
    Case(
        "broken_line.ndjson",
        "lines that are no JSON, or no object, and an empty one",
        options=_SKIP,
        fields="n: int4",
        records=[[1], [3]],
        notices=[explain_skipped_rows(2)],
        row_errors=[(3, "", '{"n": 2', "The line is not valid JSON."), (5, "", "null", _NO_OBJECT)],
    ),
    Case(
        "places.geojson",
        "features: without geometry, without properties, with a property called geometry",
        fields="id: int4, name: text, geometry_2: text, area: numeric, geometry: json",
        records=[
            [1, "Hanoi", "point", None, build_point(105.80, 21.0)],
            [2, "Nowhere", None, 1.50, None],
            [3, None, None, None, build_point()],
        ],
        notices=["Repeated names got a number: geometry_2."],
        labels={"geometry_2": "geometry"},
    ),
    Case(
        "features.ndjson",
        "a feature on each line",
        fields="name: text, geometry: json",
        records=[["Hanoi", build_point(105.8, 21)], ["Hue", None]],
    ),
]
