"""What ours gives where it differs: predicates over two answers to one request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .comparison import Comparison, cells_of, plain
from .exchange import read_json
from .tables import PLACES, TABLES

Expectation = Callable[[Comparison], bool]

#: Cells that hold JSON: a list, an object, a number.
_JSON = re.compile(r"\[.*\]|\{.*\}|-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+][0-9]+)?")

_TABLES = {table.name: table for table in TABLES}


def refuses(*members: str) -> Expectation:
    """Ours is refused, with exactly these members in its error."""
    return lambda asked: asked.ours["status"] == 409 and asked.ours["error"].keys() == {*members}


def fails(status: int) -> Expectation:
    """Ours fails with this status, and says why."""
    return lambda asked: (
        asked.ours["status"] == status and asked.ours["error"].keys() == {"message"}
    )


def describes_our_indexes(asked: Comparison) -> bool:
    """Ours describes the same fields, all of them indexed, and a key of one field as unique."""
    expected = [
        {
            **_with_json(field),
            "schema": {
                "native_type": _with_json(field)["type"],
                "notnull": False,
                "is_index": True,
                "uniquekey": field["schema"]["is_index"],
            },
        }
        for field in asked.ckan["result"]["fields"]
    ]
    return asked.differing == {"fields"} and bool(asked.ours["result"]["fields"] == expected)


def _with_json(description: Mapping[str, Any]) -> dict[str, Any]:
    """Call a type json, which CKAN calls nested in this place."""
    return {name: "json" if value == "nested" else value for name, value in description.items()}


def finds(*ids: int, total: int | None = None) -> Expectation:
    """Ours finds these records, and counts them."""
    counted = len(ids) if total is None else total

    def holds(asked: Comparison) -> bool:
        result = _result(asked, "records", "total")
        found = [record["_id"] for record in result.get("records", ())]
        in_order = found if asked.request.in_order else sorted(found)
        return in_order == sorted(ids) and bool(result.get("total") == counted)

    return holds


def finds_more(*ids: int) -> Expectation:
    """Ours finds these records, and all that CKAN finds are among them."""
    return lambda asked: finds(*ids)(asked) and _found_by_ckan(asked) < {*ids}


def finds_empty_cells(asked: Comparison) -> bool:
    """Ours finds what CKAN finds, and the records in which the field, no text, has no value."""
    table = _TABLES[asked.request.sent["resource_id"].removeprefix("@")]
    (field,) = asked.request.sent["filters"]
    place = list(table.fields).index(field)
    empty = {
        number
        for number, values in enumerate(table.records, 1)
        if values[place] is None or values[place] == ""
    }
    return bool(empty) and finds(*empty.union(_found_by_ckan(asked)))(asked)


def finds_each_value(asked: Comparison) -> bool:
    """Ours gives each value of a field of the places once."""
    field = asked.request.sent["fields"]
    place = list(PLACES.fields).index(field)
    values = {json.dumps(values[place]) for values in PLACES.records}
    return holds_records(*({field: read_json(value)} for value in values))(asked)


def gives(**parts: Any) -> Expectation:
    """Ours has these parts in its result (None: has them not), and CKAN's are the others."""

    def holds(asked: Comparison) -> bool:
        result = _result(asked, *parts)
        return bool(result) and all(result.get(name) == value for name, value in parts.items())

    return holds


def has_fields(*fields: str, total: int) -> Expectation:
    """Ours has these fields, and so many records."""

    def holds(asked: Comparison) -> bool:
        result = _result(asked, "fields", "records", "total")
        return (
            result.get("fields") == ["_id int", *fields]
            and total == len(result["records"])
            and bool(total == result["total"])
        )

    return holds


def holds_records(*records: Mapping[str, Any] | list[Any]) -> Expectation:
    """Ours gives these records and counts them; they are in this order where there is one."""

    def holds(asked: Comparison) -> bool:
        result = _result(asked, "records", "total")
        given, expected = result.get("records"), list(records)
        if given is not None and not asked.request.in_order:
            given, expected = sorted(given, key=repr), sorted(expected, key=repr)
        return bool(given == expected and result["total"] == len(expected))

    return holds


def holds_values(*values: Any, fields: list[str] | None = None) -> Expectation:
    """Ours gives records whose last fields hold these values."""

    def holds(asked: Comparison) -> bool:
        result = _result(asked, "records", "total", "fields")
        given = [list(record.values())[-1] for record in result.get("records", ())]
        expected = fields or asked.ckan.get("result", result).get("fields")
        return given == list(values) and bool(
            result["total"] == len(values) and result["fields"] == expected
        )

    return holds


def holds_stock(*records: str) -> Expectation:
    """Ours has these records of the stock, each as its id and its code."""

    def holds(asked: Comparison) -> bool:
        result = _result(asked, "records", "total")
        given = [f"{record['_id']} {record['code']}" for record in result.get("records", ())]
        return given == list(records) and bool(result["total"] == len(records))

    return holds


def repeats_the_stock(asked: Comparison) -> bool:
    """Ours repeats the records of the stock that were sent, with ids."""
    given = [[record["_id"], record["code"]] for record in _result(asked).get("records", ())]
    return given == [[1, "a"], [2, "b"], [3, "c"]]


def succeeds(asked: Comparison) -> bool:
    """Ours does what CKAN refuses; the next step shows what became of it."""
    return bool(asked.ours["status"] == 200 != asked.ckan["status"])


def shows_all_fields(asked: Comparison) -> bool:
    """Ours names all fields, of records that are CKAN's."""
    fields = [f"{name} {kind}" for name, kind in {"_id": "int", **PLACES.fields}.items()]
    mine, theirs = _result(asked, "fields", "records"), asked.ckan["result"]
    return mine.get("fields") == fields and bool(plain(mine["records"]) == plain(theirs["records"]))


def shows_ranks_in_lists(asked: Comparison) -> bool:
    """Ours gives the record that has the word, as a list that ends with its rank."""
    ((number, *_, rank),) = _result(asked).get("records", ())
    return bool(number == 3 and 0 < rank < 1 and asked.ours["result"]["total"] == 1)


def writes_the_same_values(asked: Comparison) -> bool:
    """Ours writes the same values in CSV, in other JSON: blanks, digits."""
    mine = _result(asked, "records")
    return bool(mine) and _values(mine) == _values(asked.ckan["result"])


def _values(result: Mapping[str, Any]) -> list[list[Any]]:
    return [[_value(cell) for cell in cells] for cells in cells_of(result)]


def _value(cell: str) -> Any:
    return plain(read_json(cell)) if _JSON.fullmatch(cell) else cell


def _result(asked: Comparison, *parts: str) -> Mapping[str, Any]:
    """Give our result, if only these parts of it differ from CKAN's; otherwise an empty one."""
    result: Mapping[str, Any] = asked.ours.get("result", {})
    only = asked.differing <= {*parts} or asked.ckan["status"] != 200
    return result if only and asked.ours["status"] == 200 else {}


def _found_by_ckan(asked: Comparison) -> set[int]:
    return {int(record["_id"]) for record in asked.ckan.get("result", {}).get("records", ())}
