"""Predicates over two answers to one request, for documented differences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .comparison import Comparison, normalize_value, parse_cells
from .exchange import read_json
from .tables import PLACES, TABLES

Expectation = Callable[[Comparison], bool]

#: Cells that hold JSON: a list, an object, a number.
_JSON = re.compile(r"\[.*\]|\{.*\}|-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+][0-9]+)?")

_TABLES = {table.name: table for table in TABLES}


def refuses(*members: str) -> Expectation:
    return lambda comparison: (
        comparison.ours["status"] == 409 and comparison.ours["error"].keys() == {*members}
    )


def fails(status: int) -> Expectation:
    """Ours fails with this status, and says why."""
    return lambda comparison: (
        comparison.ours["status"] == status and comparison.ours["error"].keys() == {"message"}
    )


def describes_our_indexes(comparison: Comparison) -> bool:
    """Ours describes the same fields, all indexed, with figures, and a key of one as unique."""
    expected = [
        {
            **_replace_nested(field),
            "schema": {
                "native_type": _replace_nested(field)["type"],
                "notnull": False,
                "is_index": True,
                "uniquekey": field["schema"]["is_index"],
            },
        }
        for field in comparison.ckan["result"]["fields"]
    ]
    found = [
        {name: value for name, value in field.items() if name != "profile"}
        for field in comparison.ours["result"]["fields"]
    ]
    return comparison.differing == {"fields"} and found == expected


def _replace_nested(description: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the type nested, as CKAN calls it here, by json."""
    return {name: "json" if value == "nested" else value for name, value in description.items()}


def finds(*ids: int, total: int | None = None) -> Expectation:
    expected_total = len(ids) if total is None else total

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, "records", "total")
        found = [record["_id"] for record in result.get("records", ())]
        in_order = found if comparison.request.in_order else sorted(found)
        return in_order == sorted(ids) and bool(result.get("total") == expected_total)

    return holds


def finds_more(*ids: int) -> Expectation:
    """Ours finds these records, and all that CKAN finds are among them."""
    return lambda comparison: finds(*ids)(comparison) and _list_ckan_ids(comparison) < {*ids}


def finds_empty_cells(comparison: Comparison) -> bool:
    """Ours finds what CKAN finds, and the records in which the field, no text, has no value."""
    table = _TABLES[comparison.request.sent["resource_id"].removeprefix("@")]
    (field,) = comparison.request.sent["filters"]
    position = list(table.fields).index(field)
    empty = {
        number
        for number, values in enumerate(table.records, 1)
        if values[position] is None or values[position] == ""
    }
    return bool(empty) and finds(*empty.union(_list_ckan_ids(comparison)))(comparison)


def finds_each_value(comparison: Comparison) -> bool:
    """Ours has each value of a field of the table “places” once."""
    field = comparison.request.sent["fields"]
    position = list(PLACES.fields).index(field)
    values = {json.dumps(values[position]) for values in PLACES.records}
    return holds_records(*({field: read_json(value)} for value in values))(comparison)


def gives(**parts: Any) -> Expectation:
    """Ours has these parts in its result (None: has them not), and CKAN's are the others."""

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, *parts)
        return bool(result) and all(result.get(name) == value for name, value in parts.items())

    return holds


def has_fields(*fields: str, total: int) -> Expectation:
    """Ours has these fields, and this number of records."""

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, "fields", "records", "total")
        return (
            result.get("fields") == ["_id int", *fields]
            and total == len(result["records"])
            and bool(total == result["total"])
        )

    return holds


def holds_records(*records: Mapping[str, Any] | list[Any]) -> Expectation:
    """Ours gives these records and counts them; they are in this order where there is one."""

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, "records", "total")
        answered, expected = result.get("records"), list(records)
        if answered is not None and not comparison.request.in_order:
            answered, expected = sorted(answered, key=repr), sorted(expected, key=repr)
        return bool(answered == expected and result["total"] == len(expected))

    return holds


def holds_values(*values: Any, fields: list[str] | None = None) -> Expectation:
    """Ours gives records whose last fields hold these values."""

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, "records", "total", "fields")
        values_found = [list(record.values())[-1] for record in result.get("records", ())]
        expected = fields or comparison.ckan.get("result", result).get("fields")
        return values_found == list(values) and bool(
            result["total"] == len(values) and result["fields"] == expected
        )

    return holds


def holds_stock(*records: str) -> Expectation:
    """Ours has these records of the stock, each as its id and its code."""

    def holds(comparison: Comparison) -> bool:
        result = _get_result(comparison, "records", "total")
        found = [f"{record['_id']} {record['code']}" for record in result.get("records", ())]
        return found == list(records) and bool(result["total"] == len(records))

    return holds


def repeats_the_stock(comparison: Comparison) -> bool:
    """Ours repeats the records of the stock that were sent, with ids."""
    records = [
        [record["_id"], record["code"]] for record in _get_result(comparison).get("records", ())
    ]
    return records == [[1, "a"], [2, "b"], [3, "c"]]


def succeeds(comparison: Comparison) -> bool:
    """Ours does what CKAN refuses; the next step checks the result."""
    return bool(comparison.ours["status"] == 200 != comparison.ckan["status"])


def shows_all_fields(comparison: Comparison) -> bool:
    """Ours names all fields, of records that are CKAN's."""
    fields = [f"{name} {kind}" for name, kind in {"_id": "int", **PLACES.fields}.items()]
    mine, theirs = _get_result(comparison, "fields", "records"), comparison.ckan["result"]
    return mine.get("fields") == fields and bool(
        normalize_value(mine["records"]) == normalize_value(theirs["records"])
    )


def shows_ranks_in_lists(comparison: Comparison) -> bool:
    """Ours gives the record that has the word, as a list that ends with its rank."""
    ((number, *_, rank),) = _get_result(comparison).get("records", ())
    return bool(number == 3 and 11 < rank < 12 and comparison.ours["result"]["total"] == 1)


def writes_the_same_values(comparison: Comparison) -> bool:
    """Ours writes the same values in CSV, in other JSON: blanks, digits."""
    mine = _get_result(comparison, "records")
    return bool(mine) and _parse_values(mine) == _parse_values(comparison.ckan["result"])


def _parse_values(result: Mapping[str, Any]) -> list[list[Any]]:
    return [[_parse_value(cell) for cell in cells] for cells in parse_cells(result)]


def _parse_value(cell: str) -> Any:
    return normalize_value(read_json(cell)) if _JSON.fullmatch(cell) else cell


def _get_result(comparison: Comparison, *parts: str) -> Mapping[str, Any]:
    """Return our result if only these parts of it differ from CKAN's, and else an empty one."""
    result: Mapping[str, Any] = comparison.ours.get("result", {})
    only = comparison.differing <= {*parts} or comparison.ckan["status"] != 200
    return result if only and comparison.ours["status"] == 200 else {}


def _list_ckan_ids(comparison: Comparison) -> set[int]:
    return {int(record["_id"]) for record in comparison.ckan.get("result", {}).get("records", ())}
