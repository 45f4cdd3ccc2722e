"""JSON as portals and programs publish it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers.formats import read_file
from datastore_search.loading.readers.staging import StagedTable
from datastore_search.loading.readers.stored_rows import STAGED_ROWS

from ...failures import fails_with
from .staging import temporary_staging_area


def stage(
    folder: Path, content: Any, records_path: str = ""
) -> tuple[StagedTable, list[tuple[str | None, ...]]]:
    """Stage a content: bytes, a text, or what is written as JSON."""
    path = folder / "file.json"
    if not isinstance(content, bytes):
        text = content if isinstance(content, str) else json.dumps(content)
        content = text.encode()
    path.write_bytes(content)
    with temporary_staging_area() as staging_area:
        table = read_file(path, LoadOptions(records_path=records_path), staging_area)
        columns = ", ".join(table.columns)
        query = f"SELECT {columns} FROM {STAGED_ROWS} ORDER BY line"
        return table, table.connection.execute(query).fetchall()


# Rows with names beside them ----------------------------------------------------------------------

FIELDS = [{"id": "n", "type": "int"}, {"id": "k", "type": "text"}]
ROWS = [[1, "x"], [2, "y"]]
STAGED = (("n", "k"), [("1", "x"), ("2", "y")])


def as_api_answer(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"help": "https://…/help_show?name=datastore_search", "success": True, "result": result}


@pytest.mark.parametrize(
    ("content", "staged"),
    [
        pytest.param({"fields": FIELDS, "records": ROWS}, STAGED, id="CKAN's dump"),
        pytest.param(
            as_api_answer({"records_format": "lists", "records": ROWS, "fields": FIELDS}),
            STAGED,
            id="CKAN's API, lists, with the fields after them",
        ),
        pytest.param(
            as_api_answer({"fields": FIELDS, "records": [{"n": 1, "k": "x"}], "total": 1}),
            (("n", "k"), [("1", "x")]),
            id="CKAN's API, objects",
        ),
        pytest.param(
            as_api_answer({"records_format": "csv", "records": "1,x\n2,y\n", "fields": FIELDS}),
            STAGED,
            id="CKAN's API, CSV",
        ),
        pytest.param(
            as_api_answer({"fields": FIELDS, "records": '1\t"x\t,"\n', "records_format": "tsv"}),
            (("n", "k"), [("1", "x\t,")]),
            id="CKAN's API, TSV",
        ),
        pytest.param(
            {"meta": {"view": {"columns": [{"id": -1, "name": "n"}, {"name": "k"}]}}, "data": ROWS},
            STAGED,
            id="Socrata",
        ),
        pytest.param({"columns": ["n", "k"], "index": [0, 1], "data": ROWS}, STAGED, id="pandas"),
        pytest.param(
            {"columns": ["n", "k"], "index": ["a", "b"], "data": ROWS},
            (("index", "n", "k"), [("a", "1", "x"), ("b", "2", "y")]),
            id="pandas with an index of its own",
        ),
        pytest.param(
            {"index": [0, 1], "columns": [0, 1], "data": ROWS, "index_names": [None]},
            (("0", "1"), [("1", "x"), ("2", "y")]),
            id="pandas, tight, with numbers as names",
        ),
        pytest.param(
            {"schema": {"fields": [{"name": "n"}]}, "data": [{"n": 1}]},
            (("n",), [("1",)]),
            id="pandas, a Table Schema",
        ),
        pytest.param(
            {"columns": [["n", 1], ["k", 2]], "data": [["a", "b"], ["1", "x"]]},
            (("a", "b"), [("1", "x")]),
            id="names that are none",
        ),
        pytest.param({"fields": [], "records": [["n", "k"], *ROWS]}, STAGED, id="no names at all"),
    ],
)
def test_rows_get_the_names_beside_them(tmp_path: Path, content: Any, staged: object) -> None:
    table, rows = stage(tmp_path, content)

    assert (table.names, rows) == staged


def test_a_row_beyond_the_index_has_too_few_cells(tmp_path: Path) -> None:
    content = {"columns": ["n"], "index": ["a"], "data": [[1], [2]]}

    _table, rows = stage(tmp_path, content)

    assert rows == [("a", "1")]  # the other one is bad


# Objects ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "path", "staged"),
    [
        pytest.param(
            {"data": {"items": [{"n": 1}], "others": [{"n": 2}]}},
            "data.others",
            (("n",), [("2",)]),
            id="by path",
        ),
        pytest.param(
            {"a.b": {"c.d": [{"n": 1}]}}, "a.b.c.d", (("n",), [("1",)]), id="points in names"
        ),
        pytest.param({"n": 1, "k": "x"}, ".", (("n", "k"), [("1", "x")]), id="one object"),
        pytest.param(
            {"type": "Feature", "id": 7, "properties": {"n": 1}, "geometry": None},
            ".",
            (("id", "n", "geometry"), [("7", "1", None)]),
            id="one feature",
        ),
        pytest.param(
            {"total_count": 2, "results": [{"n": 1, "at": {"lon": 1.50, "lat": 2}}, {"n": 2}]},
            "",
            (("n", "at"), [("1", '{"lon":1.5,"lat":2}'), ("2", None)]),
            id="OpenDataSoft",
        ),
        pytest.param(
            {"0": {"n": 1, "k": "x"}, "1": {"n": 2, "k": "y"}},
            "",
            (("key", "n", "k"), [("0", "1", "x"), ("1", "2", "y")]),
            id="pandas, index",
        ),
        pytest.param(
            {"n": {"0": 1, "1": 2}, "k": {"0": "x", "1": "y"}}, "", STAGED, id="pandas, columns"
        ),
        pytest.param({"n": [1, 2], "k": ["x", "y"]}, "", STAGED, id="a list for each field"),
        pytest.param([["n", "k"], *ROWS], "", STAGED, id="rows below their header"),
        pytest.param('\ufeff[{"n":1}]', "", (("n",), [("1",)]), id="a mark"),
        pytest.param(
            '[{"n":"số"}]'.encode("utf-32"), "", (("n",), [("số",)]), id="UTF-32 with a mark"
        ),
        pytest.param(
            '{"n":"số"}\n{"n":""}\n'.encode("utf-16"), "", (("n",), [("số",), ("",)]), id="UTF-16"
        ),
        pytest.param(
            '[{"n":1e400},{"n":123456789012345678901234567890},{"n":-0.10}]',
            "",
            (("n",), [("1e400",), ("123456789012345678901234567890",), ("-0.10",)]),
            id="numbers beyond doubles",
        ),
        pytest.param(
            '[{"n":[NaN,1.0]},{"n":["-Infinity"]}]',
            "",
            (("n",), [('["NaN",1.0]',), ('["-Infinity"]',)]),
            id="numbers that are none within a list",
        ),
        pytest.param(
            '[{"n":"\\ud83d\\ude00"},{"n":"\\ud83d"},{"n":["\\ude00"]}]',
            "",
            (("n",), [("😀",)]),
            id="halves of surrogate pairs",
        ),
    ],
)
def test_objects_are_read_as_published(
    tmp_path: Path, content: Any, path: str, staged: object
) -> None:
    table, rows = stage(tmp_path, content, path)

    assert (table.names, rows) == staged


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param({"data": []}, "json.no_records", id="an empty list"),
        pytest.param(
            as_api_answer({"fields": FIELDS, "records": [], "total": 0}),
            "json.no_records",
            id="CKAN's answer without records",
        ),
        pytest.param(
            {"success": False, "error": {"__type": "Not Found Error"}},
            "json.no_list",
            id="an error",
        ),
        pytest.param(
            '{"data":[{"n":1}],"data":[{"n":2}]}', "json.repeated_member", id="two lists of a name"
        ),
        pytest.param({"n": [1, 2], "k": ["x"]}, "json.no_list", id="columns of other lengths"),
        pytest.param('f({"data":[{"n":1}]});', "json.invalid", id="JSONP"),
        pytest.param('// note\n[{"n":1}]', "json.invalid", id="a comment"),
        pytest.param('[{"n":1},]', "json.invalid", id="a comma too many"),
        pytest.param(
            {"fields": FIELDS, "records": "1,\ud800\n"}, "file.wrong_encoding", id="half a pair"
        ),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: Any, code: str) -> None:
    with fails_with(code):
        stage(tmp_path, content)


# JSON-stat ----------------------------------------------------------------------------------------

YEAR = {"category": {"index": ["2023", "2024"]}}
AREA = {"category": {"index": {"HU": 1, "HN": 0}, "label": {"HN": "Hanoi"}}}
SIZES = {"id": ["year", "area"], "size": [2, 2]}
DIMENSIONS = {"year": YEAR, "area": AREA}
CUBE = {"class": "dataset", **SIZES, "dimension": DIMENSIONS, "value": [1.5, 2, None, 4]}
OLD_CUBE = {"dimension": {**SIZES, **DIMENSIONS}, "value": {"0": 1.5, "1": 2, "3": 4}}
CELLS = [
    ("2023", "HN", "Hanoi", "1.5"),
    ("2023", "HU", None, "2"),
    ("2024", "HN", "Hanoi", None),
    ("2024", "HU", None, "4"),
]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        pytest.param(CUBE, "", id="2.0"),
        pytest.param(CUBE | {"value": OLD_CUBE["value"]}, "", id="values by position"),
        pytest.param({"dataset": OLD_CUBE}, "", id="1.x"),
        pytest.param({"dataset": OLD_CUBE}, "dataset", id="1.x by path"),
        pytest.param({"other": {}, "a": OLD_CUBE, "b": CUBE}, "b", id="one of several"),
    ],
)
def test_a_cube_has_a_record_for_each_value(tmp_path: Path, content: Any, path: str) -> None:
    table, rows = stage(tmp_path, content, path)

    assert table.names == ("year", "area", "area label", "value")
    assert rows == CELLS


@pytest.mark.parametrize(
    ("status", "statuses"),
    [
        ({"1": "e"}, [None, "e", None, None]),
        (["p", None, "x", "e"], ["p", None, "x", "e"]),
        (["p"], ["p"] * 4),
        ("p", ["p"] * 4),
    ],
)
def test_a_cube_has_the_status_of_each_value(
    tmp_path: Path, status: object, statuses: list[str | None]
) -> None:
    _table, rows = stage(tmp_path, CUBE | {"status": status})

    assert rows == [(*cell, each) for cell, each in zip(CELLS, statuses, strict=True)]


def test_dimensions_may_be_called_as_what_a_cube_has(tmp_path: Path) -> None:
    names = ["area", "area label", "value"]
    dimension = {"area": AREA, "area label": YEAR, "value": {"category": {"label": {"T": "All"}}}}
    cube = CUBE | {"id": names, "size": [2, 2, 1], "dimension": dimension}

    table, rows = stage(tmp_path, cube)

    assert table.names == ("area", "area label", "area label_2", "value", "value label", "value_2")
    assert rows[0] == ("HN", "Hanoi", "2023", "T", "All", "1.5")


@pytest.mark.parametrize(
    "changes",
    [
        {"value": [1]},
        {"value": {"4": 1}},
        {"value": "1"},
        {"status": ["a", "b"]},
        {"status": {"x": "a"}},
        {"size": [2]},
        {"size": [2, 3]},
        {"size": [1_000_000_000, 2]},
        {"size": [-2, -2]},
        {"id": "ya"},
        {"id": ["year", "year"]},
        {"dimension": {"year": YEAR}},
        {"dimension": {"year": 5, "area": []}},
        {"dimension": DIMENSIONS | {"area": {"category": {"index": {"HN": 0, "HU": 0}}}}},
        {"dimension": DIMENSIONS | {"area": {"category": {"index": {"HN": 0, "HU": 9}}}}},
        {"dimension": DIMENSIONS | {"area": {"category": {"index": ["HN", "HN"]}}}},
        {"dimension": DIMENSIONS | {"area": {"category": {"index": [["HN"], {"x": 1}]}}}},
        {"dimension": DIMENSIONS | {"area": {"category": {"index": ["HN", "HU"], "label": [1]}}}},
    ],
)
def test_a_cube_that_does_not_fit_is_refused(tmp_path: Path, changes: Mapping[str, Any]) -> None:
    with fails_with("json.invalid_cube"):
        stage(tmp_path, {**CUBE, **changes})


def test_one_of_several_cubes_must_be_chosen(tmp_path: Path) -> None:
    with fails_with("json.several_lists") as refusal:
        stage(tmp_path, {"a": OLD_CUBE, "b": OLD_CUBE})
    assert refusal.value.parameters == {"paths": "“a”, “b”"}

    with fails_with("json.several_cubes"):
        stage(tmp_path, {"class": "collection", "link": {"item": [CUBE, CUBE]}})
