"""JSON as portals and programs publish it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.formats.child import read_file
from datastore_search.contrib.files.formats.staging import STAGED_ROWS, StagedTable
from datastore_search.contrib.files.jobs import LoadOptions

from ..failures import fails_with
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
            {"index": [0, 1], "data": ROWS, "columns": ["n", "k"]}, STAGED, id="pandas, split"
        ),
        pytest.param(
            {"meta": {"view": {"columns": [{"name": "n"}]}}, "data": ROWS},
            (("field_1", "field_2"), STAGED[1]),
            id="Socrata, whose names are elsewhere",
        ),
        pytest.param(
            {"meta": {"page": 1}, "data": [["n", "k"], *ROWS]}, STAGED, id="rows below a header"
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
        pytest.param(
            {"total_count": 2, "results": [{"n": 1, "at": {"lon": 1.50, "lat": 2}}, {"n": 2}]},
            "",
            (("n", "at"), [("1", '{"lon":1.5,"lat":2}'), ("2", None)]),
            id="OpenDataSoft",
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
            as_api_answer({"records_format": "csv", "records": "1,x\n", "fields": FIELDS}),
            "json.no_list",
            id="CKAN's answer with records as CSV",
        ),
        pytest.param(
            '{"data":[{"n":1}],"data":[{"n":2}]}', "json.repeated_member", id="two lists of a name"
        ),
        pytest.param(
            {"0": {"n": 1, "k": "x"}, "1": {"n": 2, "k": "y"}}, "json.no_list", id="pandas, index"
        ),
        pytest.param('f({"data":[{"n":1}]});', "json.invalid", id="JSONP"),
        pytest.param('// note\n[{"n":1}]', "json.invalid", id="a comment"),
        pytest.param('[{"n":1},]', "json.invalid", id="a comma too many"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: Any, code: str) -> None:
    with fails_with(code):
        stage(tmp_path, content)


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
def test_json_stat_is_refused_by_name(tmp_path: Path, content: Any) -> None:
    with fails_with("file.save_as_csv") as refusal:
        stage(tmp_path, content)

    assert refusal.value.parameters == {"format": "JSON-stat"}
