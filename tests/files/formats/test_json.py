"""JSON that is read piece by piece."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.formats import json_parser, row_writer
from datastore_search.contrib.files.formats.child import read_file
from datastore_search.contrib.files.formats.json import read_json, read_ndjson
from datastore_search.contrib.files.formats.staging import StagedTable
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed

from ..builders import fails_with
from .staging import Errors, Rows, get_read_failure, read_content, temporary_staging_area


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def read_text(path: Path, text: str, **options: Any) -> tuple[StagedTable, Rows, Errors]:
    return read_content(read_json, path, text.encode(), **options)


def get_failure(path: Path, text: str) -> LoadFailed:
    return get_read_failure(read_json, path, text.encode())


# Pieces -------------------------------------------------------------------------------------------


@pytest.fixture(params=[1, 7])
def block_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(json_parser, "_BLOCK_LENGTH", request.param)
    return int(request.param)


@pytest.mark.parametrize(
    "cell",
    [
        *('"a, b: [c] {d}"', r'"\"\\\u00e9\ud83d\ude00"', "12345.678900", "-1.5e-7"),
        *("true", "null", '{"a": [1, {"b": []}]}', "NaN", "-Infinity"),
    ],
)
def test_a_value_may_be_cut_by_the_end_of_a_block(path: Path, block_bytes: int, cell: str) -> None:
    whole = read_text(path, f'[ {{"k" : {cell} , "n":1}} ,\n{{"k":{cell},"n":23456}} ]')
    fresh = json_parser.Parser().parse_value(cell)
    expected = fresh if isinstance(fresh, str | None) else json_parser.format_json(fresh)

    assert whole[1] == [(1, expected, "1"), (2, expected, "23456")]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[{"n": 1},\n {"n": x}]', 2, 8),
        ('[{"n": 1}\n{"n": 2}]', 2, 1),
        ('[{"n" 1}]', 1, 7),
        ('{"data": [1], data: 2}', 1, 15),
        ('[{"n": 01}]', 1, 9),
        (r'[{"n": "\x"}]', 1, 9),
        ("[1}", 1, 3),
    ],
)
def test_what_is_wrong_is_found_at_its_place(
    path: Path, block_bytes: int, text: str, line: int, column: int
) -> None:
    failure = get_failure(path, text)

    assert failure.code == "json.invalid"
    assert failure.parameters == {"line": line, "column": column}


@pytest.mark.parametrize(
    "text", ["[", "[{", '[{"n', '[{"n": 1', '[{"n": 1}', '[{"n": 1},', '{"data": [', '{"data"']
)
def test_half_a_file_is_distinguished_from_a_wrong_one(
    path: Path, block_bytes: int, text: str
) -> None:
    assert get_failure(path, text).code == "json.truncated"


def test_a_value_may_not_be_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_parser, "MAX_VALUE_LENGTH", 1_000)
    monkeypatch.setattr(json_parser, "_BLOCK_LENGTH", 100)

    failure = get_failure(path, '[{"n": 1},\n{"k": "' + "x" * 5_000 + '"}]')

    assert failure.code == "json.long_value"
    assert failure.parameters["line"] == 2


def test_a_record_may_not_be_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_writer, "MAX_ROW_BYTES", 1_000)

    _table, rows, errors = read_text(path, json.dumps([{"k": "x" * 2_000}, {"k": "y"}]))

    assert rows == [(2, "y")]
    assert errors == [(1, "", "", "row.too_long")]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(path: Path) -> None:
    def measure_peak_bytes(count: int) -> int:
        record = json.dumps({"k": "x" * 500, "n": 1})
        with path.open("w") as file:
            file.write("[" + record)
            for _ in range(count - 1):
                file.write("," + record)
            file.write("]")
        with temporary_staging_area() as staging_area:
            tracemalloc.start()
            read_json(path, LoadOptions(), staging_area)
            _now, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return peak_bytes

    assert measure_peak_bytes(24_000) < 1.5 * measure_peak_bytes(6_000)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '[{"k":' * 50_000])
def test_endless_nesting_is_refused(path: Path, text: str) -> None:
    assert get_failure(path, text).code in {"json.too_deep", "json.no_list", "json.truncated"}


# Fields -------------------------------------------------------------------------------------------


def test_fields_stand_in_the_order_in_which_they_appear(path: Path) -> None:
    table, rows, _errors = read_text(path, '[{"b": 1}, {"a": 2, "b": 3}, {"c": 4, "a": 5}]')

    assert table.names == ("b", "a", "c")
    assert rows == [(1, "1", None, None), (2, "3", "2", None), (3, None, "5", "4")]


@pytest.mark.parametrize(
    ("values", "declared_type"),
    [
        ("1, -2147483648", "int4"),
        ("1, 2147483648", "int8"),
        ("1, 9223372036854775808", "numeric"),
        ("1, 1.0", "numeric"),
        ("1, 1e2", "numeric"),
        ("1, NaN", "numeric"),
        ("true, false", "bool"),
        ("true, 1", "text"),
        ('1, "1"', "text"),
        ('"a", null', "text"),
        ("null, null", None),
        ("[1], {}", "json"),
        ("[1], null", "json"),
        ('[1], "a"', "text"),
    ],
)
def test_the_file_declares_the_type_of_a_field(
    path: Path, values: str, declared_type: str | None
) -> None:
    text = ", ".join(f'{{"k": {value}}}' for value in values.split(", "))

    assert read_text(path, f"[{text}]")[0].declared_types == (declared_type,)


def test_texts_that_mean_nothing_do_not_make_numbers_texts(path: Path) -> None:
    table, *_rest = read_text(path, '[{"k": 1}, {"k": "NA"}]', nulls=("NA",))

    assert table.declared_types == ("int4",)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "\\N", "NULL", ' " ', "a\r\nb\rc\nd", "\\", "a,b;c\td", "“”", "\u2028"),
        "x" * 100_000,
    ],
)
def test_texts_are_staged_as_they_are(path: Path, text: str) -> None:
    _table, rows, _errors = read_text(path, json.dumps([{"a": text, "b": None, "c": text}]))

    assert rows == [(1, text, None, text)]


# Which list ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": {"c": [{"n": 1}]}}}',
        '{"meta": [{"x": 1}], "data": [{"n": 1}]}',
        '{"data": [{"n": 1}], "data": "twice"}',
        '{"data": "twice", "data": [{"n": 1}]}',
        '{"empty": [], "words": ["a"], "it": [{"n": 1}], "after": {"x": [1, 2]}}',
    ],
)
def test_the_list_within_is_found(path: Path, text: str) -> None:
    table, rows, _errors = read_text(path, text)

    assert (table.names, rows) == (("n",), [(1, "1")])


@pytest.mark.parametrize("text", ["5", '"text"', "null", '{"a": 1}', '{"a": [1]}', "{}"])
def test_what_holds_no_list_is_refused(path: Path, text: str) -> None:
    assert get_failure(path, text).code == "json.no_list"


def test_several_lists_are_named(path: Path) -> None:
    failure = get_failure(path, '{"a": [{"n": 1}], "b": {"c": [[1]]}}')

    assert failure.code == "json.several_lists"
    assert failure.parameters == {"paths": "“a”, “b.c”"}


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_a_file_without_a_value_is_empty(path: Path, content: bytes) -> None:
    assert get_read_failure(read_json, path, content).code in {
        "file.empty",
        "json.truncated",
        "json.no_list",
    }


# Encodings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("text", ['[{"k": "số"}]', '{"k": "số"}\n{"k": "số"}\n'])
def test_unicode_is_read_in_any_encoding(path: Path, encoding: str, text: str) -> None:
    assert read_content(read_json, path, text.encode(encoding))[1][0] == (1, "số")


def test_another_encoding_is_read_by_choice(path: Path) -> None:
    content = b'[{"k": "s\xf4"}]'

    assert read_content(read_json, path, content, encoding="cp1258")[1] == [(1, "sô")]
    assert get_read_failure(read_json, path, content).code == "file.unknown_encoding"


# Lines and features -------------------------------------------------------------------------------


def test_a_line_that_is_too_long_is_the_fault_of_its_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.files.formats.json.MAX_VALUE_LENGTH", 50)
    content = b'{"n": 1}\n{"n": "' + b"x" * 500 + b'"}\n{"n": 3}'

    _table, rows, errors = read_content(read_ndjson, path, content)

    assert rows == [(1, "1"), (3, "3")]
    assert errors == [(2, "", "", "row.too_long")]


def test_lines_may_end_as_on_windows_and_without_an_end(path: Path) -> None:
    _table, rows, _errors = read_content(read_ndjson, path, b'{"n": 1}\r\n\r\n{"n": 2}')

    assert rows == [(1, "1"), (3, "2")]


def test_other_members_of_a_feature_are_fields(path: Path) -> None:
    feature = {"type": "Feature", "bbox": [1], "when": "now", "properties": {"when": 5}}

    table, rows, _errors = read_text(
        path, json.dumps({"type": "FeatureCollection", "features": [feature]})
    )

    assert table.names == ("when", "when_2", "geometry")
    assert rows == [(1, "5", "now", None)]


def test_what_is_no_feature_among_features_is_a_fault(path: Path) -> None:
    features = [{"type": "Feature", "properties": {"n": 1}}, {"n": 2}]

    _table, rows, errors = read_text(path, json.dumps({"features": features}))

    assert rows == [(1, "1", None)]
    assert errors == [(2, "", '{"n":2}', "row.not_an_object")]


# GeoJSON ------------------------------------------------------------------------------------------


def _name(system: str) -> dict[str, object]:
    """Name a system of coordinates, as GeoJSON had it before 2016."""
    return {"type": "name", "properties": {"name": system}}


_EPSG, _ZONE = _name("urn:ogc:def:crs:EPSG::25832"), "ETRS89 / UTM zone 32N"
_UTM, _HAMBURG = (565000.5, 5934000.2), (9.98, 53.55)
_SWISS = "http://www.opengis.net/def/crs/EPSG/0/2056"


def build_features(*geometries: object, **members: object) -> bytes:
    features = [
        {"type": "Feature", "properties": {"n": "A"}, "geometry": each} for each in geometries
    ]
    return json.dumps({"type": "FeatureCollection", **members, "features": features}).encode()


def build_point(*coordinates: float) -> dict[str, object]:
    return {"type": "Point", "coordinates": coordinates}


@pytest.mark.parametrize(
    ("crs", "point", "converted", "name"),
    [
        (_EPSG, _UTM, _HAMBURG, _ZONE),
        (_EPSG, (*_UTM, 7.5), (*_HAMBURG, 7.5), _ZONE),
        ({"type": "EPSG", "properties": {"code": 25832}}, _UTM, _HAMBURG, _ZONE),
        (_name("EPSG:3857"), (1113194.908, 6446275.841), (10, 50), "WGS 84 / Pseudo-Mercator"),
        (_name(_SWISS), (2600000, 1200000), (7.44, 46.95), "CH1903+ / LV95"),
        # Longitudes come first in GeoJSON, whatever the system says.
        (_name("urn:ogc:def:crs:EPSG::4326"), (10.5, 50.25), (10.5, 50.25), ""),
        (_name("urn:ogc:def:crs:OGC:1.3:CRS84"), (10.5, 50.25), (10.5, 50.25), ""),
        (_name("EPSG:4326"), (10.5, 50.25), (10.5, 50.25), ""),
        (_name("CRS84"), (10.5, 50.25), (10.5, 50.25), ""),
        (_name("urn:ogc:def:crs:EPSG::4258"), (10.5, 50.25), (10.5, 50.25), "ETRS89"),
        (None, (10.5, 50.25), (10.5, 50.25), ""),
    ],
)
def test_the_coordinates_of_a_geojson_are_converted(
    path: Path, crs: object, point: tuple[float, ...], converted: object, name: str
) -> None:
    content = build_features(build_point(*point), None, crs=crs)

    table, rows, errors = read_content(read_json, path, content)

    found = json.loads(rows[0][2])
    assert found["type"] == "Point"
    assert found["coordinates"] == pytest.approx(converted, abs=0.01)
    assert (rows[1], errors) == ((2, "A", None), [])
    assert [(each.code, each.parameters["name"]) for each in table.notices] == (
        [("notice.coordinates_converted", name)] if name else []
    )


def test_the_system_of_a_geojson_may_be_named_last(path: Path) -> None:
    content = build_features(build_point(*_UTM))
    content = content[:-1] + b', "crs": ' + json.dumps(_EPSG).encode() + b"}"

    _table, rows, _errors = read_content(read_json, path, content)

    assert json.loads(rows[0][2])["coordinates"] == pytest.approx(_HAMBURG, abs=0.01)


def test_geometries_that_cannot_be_converted_are_bad_rows(path: Path) -> None:
    content = build_features(
        build_point(*_UTM), {"type": "Point"}, build_point(1e300, 1), {}, crs=_EPSG
    )

    _table, rows, errors = read_content(read_json, path, content)

    assert [line for line, *_cells in rows] == [1]
    assert [(line, code) for line, _name, _value, code in errors] == [
        (line, "row.bad_geometry") for line in (2, 3, 4)
    ]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        *(
            (build_features(build_point(1, 2), crs=crs), "geo.unknown_coordinates")
            for crs in (
                _name("urn:ogc:def:crs:EPSG::999999"),
                _name("http://127.0.0.1/system"),
                _name("/etc/passwd"),
                {"type": "link", "properties": {"href": "http://127.0.0.1/system"}},
                {"type": "name"},
                "EPSG:25832",
            )
        ),
        (build_features(), "geo.no_features"),
        (b'{"type": "FeatureCollection"}', "geo.no_features"),
        (b'{"features": [], "type": "FeatureCollection"}', "geo.no_features"),
        (b'{"type": "FeatureCollection", "features": null}', "geo.no_features"),
        *(
            (json.dumps(document).encode(), "geo.no_collection")
            for document in (
                {"type": "GeometryCollection", "geometries": [build_point(1, 2)]},
                {"geometries": [build_point(1, 2)], "type": "GeometryCollection"},
                {"type": "GeometryCollection", "geometries": []},
                build_point(1, 2),
                {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]},
                {
                    "type": "Feature",
                    "properties": {},
                    "geometry": {"type": "LineString", "coordinates": [[1, 2], [3, 4]]},
                },
            )
        ),
    ],
)
def test_a_geojson_that_is_not_a_table_of_places_is_refused(
    path: Path, content: bytes, code: str
) -> None:
    assert get_read_failure(read_json, path, content).code == code


# As portals and programs publish it ---------------------------------------------------------------


def stage(path: Path, content: Any, **options: Any) -> tuple[tuple[str, ...], Rows]:
    """Stage a text, or what is written as JSON; return the names, and the rows without lines."""
    text = content if isinstance(content, str) else json.dumps(content)
    table, rows, _errors = read_content(read_file, path, text.encode(), **options)
    return table.names, [row[1:] for row in rows]


FIELDS = [{"id": "n", "type": "int"}, {"id": "k", "type": "text"}]
ROWS = [[1, "x"], [2, "y"]]
STAGED = (("n", "k"), [("1", "x"), ("2", "y")])


def as_api_answer(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"help": "https://…/help_show?name=datastore_search", "success": True, "result": result}


#: What is published, with the names and the rows of its table.
PUBLISHED: Mapping[str, tuple[Any, object]] = {
    "CKAN's dump": ({"fields": FIELDS, "records": ROWS}, STAGED),
    "CKAN's API, lists, with the fields after them": (
        as_api_answer({"records_format": "lists", "records": ROWS, "fields": FIELDS}),
        STAGED,
    ),
    "CKAN's API, objects": (
        as_api_answer({"fields": FIELDS, "records": [{"n": 1, "k": "x"}], "total": 1}),
        (("n", "k"), [("1", "x")]),
    ),
    "pandas, split": ({"index": [0, 1], "data": ROWS, "columns": ["n", "k"]}, STAGED),
    "Socrata, whose names are elsewhere": (
        {"meta": {"view": {"columns": [{"name": "n"}]}}, "data": ROWS},
        (("field_1", "field_2"), STAGED[1]),
    ),
    "rows below a header": ({"meta": {"page": 1}, "data": [["n", "k"], *ROWS]}, STAGED),
    "pandas, a Table Schema": (
        {"schema": {"fields": [{"name": "n"}]}, "data": [{"n": 1}]},
        (("n",), [("1",)]),
    ),
    "names that are none": (
        {"columns": [["n", 1], ["k", 2]], "data": [["a", "b"], ["1", "x"]]},
        (("a", "b"), [("1", "x")]),
    ),
    "no names at all": ({"fields": [], "records": [["n", "k"], *ROWS]}, STAGED),
    "OpenDataSoft": (
        {"total_count": 2, "results": [{"n": 1, "at": {"lon": 1.50, "lat": 2}}, {"n": 2}]},
        (("n", "at"), [("1", '{"lon":1.5,"lat":2}'), ("2", None)]),
    ),
    "numbers beyond doubles": (
        '[{"n":1e400},{"n":123456789012345678901234567890},{"n":-0.10}]',
        (("n",), [("1e400",), ("123456789012345678901234567890",), ("-0.10",)]),
    ),
    "numbers that are none within a list": (
        '[{"n":[NaN,1.0]},{"n":["-Infinity"]}]',
        (("n",), [('["NaN",1.0]',), ('["-Infinity"]',)]),
    ),
    "halves of surrogate pairs": (
        '[{"n":"\\ud83d\\ude00"},{"n":"\\ud83d"},{"n":["\\ude00"]}]',
        (("n",), [("😀",)]),
    ),
}


@pytest.mark.parametrize(("content", "staged"), PUBLISHED.values(), ids=PUBLISHED)
def test_json_is_read_as_published(path: Path, content: Any, staged: object) -> None:
    assert stage(path, content) == staged


def test_names_in_a_path_may_have_points(path: Path) -> None:
    staged = stage(path, {"a.b": {"c.d": [{"n": 1}]}}, records_path="a.b.c.d")

    assert staged == (("n",), [("1",)])


REFUSED: Mapping[str, tuple[Any, str]] = {
    "an empty list": ({"data": []}, "json.no_records"),
    "CKAN's answer without records": (
        as_api_answer({"fields": FIELDS, "records": [], "total": 0}),
        "json.no_records",
    ),
    "CKAN's answer with records as CSV": (
        as_api_answer({"records_format": "csv", "records": "1,x\n", "fields": FIELDS}),
        "json.no_list",
    ),
    "two lists of a name": ('{"data":[{"n":1}],"data":[{"n":2}]}', "json.repeated_member"),
    "pandas, index": ({"0": {"n": 1, "k": "x"}, "1": {"n": 2, "k": "y"}}, "json.no_list"),
    "JSONP": ('f({"data":[{"n":1}]});', "json.invalid"),
    "a comment": ('// note\n[{"n":1}]', "json.invalid"),
    "a comma too many": ('[{"n":1},]', "json.invalid"),
}


@pytest.mark.parametrize(("content", "code"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_table_is_refused(path: Path, content: Any, code: str) -> None:
    with fails_with(code):
        stage(path, content)


# JSON-stat ----------------------------------------------------------------------------------------

CUBE: dict[str, Any] = {
    "version": "2.0",
    "class": "dataset",
    "id": ["year"],
    "size": [2],
    "dimension": {"year": {"category": {"index": ["2023", "2024"]}}},
    "value": [1.5, 2],
}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CUBE | {"extension": {"annotation": [{"type": "x"}]}}, id="Eurostat"),
        pytest.param(
            {"version": "2.0", "class": "collection", "link": {"item": [CUBE]}}, id="a collection"
        ),
    ],
)
def test_json_stat_is_refused_by_name(path: Path, content: Any) -> None:
    with fails_with("file.save_as_csv") as refusal:
        stage(path, content)

    assert refusal.value.parameters == {"format": "JSON-stat"}
