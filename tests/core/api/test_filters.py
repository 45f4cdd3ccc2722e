"""
Filters over HTTP: every operator on every type with every JSON type of value.

What is expected is asked of PostgreSQL itself, of a table whose columns really have the types and
hold the same values.  Where we differ from it on purpose, ``_Oracle`` says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.db import DataError, transaction
from django.test import Client

from datastore_search.field_types import field_types
from datastore_search.filters import parse_filters
from datastore_search.messages.parameters import InvalidParameter, InvalidParameters
from datastore_search.models import Resource
from datastore_search.search import (
    ConsistentRead,
    Query,
    RecordsFormat,
    read_answer,
    with_consistent_read,
)

from ...builders import ask, check_error, fetch_page, get_ids, make_resource
from ...typed import CELLS, IDS, ROWS, get_column_name, open_cursor_year_first

REFUSED = "refused"
LISTS = RecordsFormat.LISTS

#: One value of each JSON type, and more where types of fields read them differently.
VALUES = [
    "null", "true", "false", "0", "7", "-1", "1000", "32768", "2147483648", "9007199254740993",
    "9223372036854775808", "7.0", "7.5", "7.50", "0.1", "1e3", "1E+21", "1e-7", "1e400", "-1e400",
    '""', '" "', '"abc"', '"7"', "[]", "[7]", "[7, 8]", '["x", "y"]', '["abc"]', "[true]", "[null]",
    "[7.5]", "[[7]]", '[{"k": 1}]', "{}", '{"k": 1}',
]  # fmt: skip

#: Texts that PostgreSQL reads as some types and not as others.
TEXTS = [
    "-1", "+7", " 7 ", "007", "7.0", "7.50", ".1", "7.", "1e3", "1E+21", "1,5", "seven", "--7",
    "32768", "2147483648", "9007199254740993", "9223372036854775808", "1e400", "1e-400",
    "NaN", "nan", "Infinity", "-Infinity", "infinity", "inf", "+inf",
    "true", "FALSE", " on ", "of", "o", "y", "2", "1",
    "2024-02-29", " 2024-02-29 ", "20240229", "29 Feb 2024", "February 29, 2024", "2024/02/29",
    "02/03/2024", "3.2.2024", "02-03-24", "2024-02-30", "2023-02-29", "2024-13-01", "2024-02",
    "0001-01-01", "2024-02-29T12:34:56", "2024-02-29 12:34:56.789", "2024-02-29T12:34:56.789123",
    "2024-02-29T12:34:56.7891234", "2024-02-29 24:00", "2024-02-29T25:00", "2024-02-29T12:34:56Z",
    "2024-02-29T12:34:56+05:30", "2024-02-29 07:04:56 -08:00", "2024-02-29 12:34:56 Europe/Paris",
    "12:34:56", "12:34", "12:34:56.50", "12:34:56.500001", "03:04 PM", "25:00", "24:00", "123456",
    "{}", "{7}", "{7,8}", "{ 7 , 8 }", "{x,y}", '{"x,y"}', "{NULL}", "{t,f}", "{7.5}", "{7", "7,8",
    "[7]", "[7, 8]", '{"k": 1}', "null", "None", "\\N", "'", "%", "đ", "７",
]  # fmt: skip

#: Texts that may be read as several dates.
AMBIGUOUS = re.compile(r"\d\d-\d\d-\d\d$")

ORDERS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
MATCHES = {
    "contains": "strpos({cell}, %s) > 0",
    "icontains": "strpos(lower({cell}), lower(%s)) > 0",
    "startswith": "starts_with({cell}, %s)",
}
OPERATORS = ("eq", "ne", "in", *ORDERS, *MATCHES, "isnull")


class Refusal(Exception):  # noqa: N818 - it is no error of the tests
    """PostgreSQL or one of our rules refuses the value."""


class _Oracle:
    """
    PostgreSQL's own answers, from a table ``typed`` whose columns have the types.

    Our rules: null finds empty cells and compares with nothing; ``ne`` finds the rest of what
    ``eq`` finds; a number is compared as a number, whether or not the type could hold it; a text is
    what PostgreSQL reads it as, dates year first and with all figures of the year; a text field
    compares with what Python prints; a list's elements are read as if they were to be stored, and
    are no lists themselves; the parts of text of numbers and moments are looked for in what the API
    answers.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.column = get_column_name(kind)

    def find_expected_ids(self, operator: str, value: Any) -> list[int] | str:
        try:
            return self._find_ids(operator, value)
        except Refusal:
            return REFUSED

    def _find_ids(self, operator: str, value: Any) -> list[int]:
        if operator == "isnull":
            if not isinstance(value, bool):
                raise Refusal
            return self._fetch_ids(f"{self.column} IS {'' if value else 'NOT '}NULL")
        if operator == "ne":
            found = self._find_ids("eq", value)
            return [record_id for record_id in IDS if record_id not in found]
        if operator in ORDERS:
            return self._compare_in_order(ORDERS[operator], value)
        if operator in MATCHES:
            return self._match_text(operator, value)
        if value is None:
            return self._fetch_ids(f"{self.column} IS NULL")
        return self._compare("=", value)

    def _compare_in_order(self, sign: str, value: Any) -> list[int]:
        if self.kind == "json":
            raise Refusal
        return [] if value is None else self._compare(sign, value)

    def _compare(self, sign: str, value: Any) -> list[int]:
        cell, cast, text = self.column, self._render_cast(value), self._render_text(value)
        if self.kind.startswith("int") and cast == "numeric":
            cell += "::numeric"
        if self.kind == "json":
            # Containment of {"v": …}: what is equal, and nothing of what a list holds.
            cell = f"jsonb_build_object('v', {cell})"
            text = write_json({"v": value})
        if self.kind == "float8" and isinstance(value, Decimal) and abs(value) > Decimal("1e308"):
            if sign == "=":
                return []
            text = "Infinity" if value > 0 else "-Infinity"
        return self._fetch_ids(f"{cell} {sign} %s::{cast}", text)

    def _match_text(self, operator: str, value: Any) -> list[int]:
        if operator == "contains" and self.kind == "json":
            return self._fetch_ids(
                f"jsonb_build_object('v', coalesce({self.column}, 'null'))"
                " @> jsonb_build_object('v', %s::jsonb)",
                write_json(value),
            )
        if operator == "contains" and self.kind.startswith("_"):
            part = value if isinstance(value, list) else [value]
            if value is None:
                raise Refusal
            if None in part:  # in PostgreSQL a null is not equal to another
                return [number for number, cell in self._list_cells() if _is_part(cell, part)]
            return self._fetch_ids(
                f"{self.column} @> %s::{self._type}", self._render_elements(part)
            )
        if self.kind in ("json", "bool") or self.kind.startswith("_"):
            raise Refusal
        if not isinstance(value, str):
            raise Refusal
        return self._fetch_ids(MATCHES[operator].format(cell=self._render_cell()), value)

    @property
    def _type(self) -> str:
        return {"json": "jsonb"}.get(self.kind, self.kind)

    def _list_cells(self) -> list[tuple[int, Any]]:
        return [(number, cell) for number, (cell, _) in enumerate(CELLS[self.kind], 1)]

    def _render_cast(self, value: Any) -> str:
        is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        return "numeric" if is_number and self.kind.startswith("int") else self._type

    def _render_text(self, value: Any) -> Any:
        """Return a value as a text that PostgreSQL can cast."""
        if self.kind == "text":
            if isinstance(value, list | dict):
                raise Refusal
            return str(float(value) if isinstance(value, Decimal) else value)
        if self.kind == "json":
            return write_json(value)
        if self.kind.startswith("_") and isinstance(value, list):
            return self._render_elements(value)
        if isinstance(value, str):
            if self.kind in ("date", "timestamp", "timestamptz") and AMBIGUOUS.match(value):
                raise Refusal
            return value
        if isinstance(value, bool) and self.kind == "bool":
            return str(value)
        is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if is_number and self.kind in ("int2", "int4", "int8", "numeric", "float8"):
            return str(value)
        raise Refusal

    def _render_elements(self, values: list[Any]) -> list[str | None]:
        return [None if value is None else self._render_element(value) for value in values]

    def _render_element(self, value: Any) -> str:
        if isinstance(value, list | dict):
            raise Refusal
        if self.kind == "_text":
            return value if isinstance(value, str) else write_json(value)
        if isinstance(value, bool) is not (self.kind == "_bool" and not isinstance(value, str)):
            raise Refusal
        if isinstance(value, Decimal) and self.kind.startswith("_int"):
            return f"{value.normalize():f}"
        return str(value)

    def _render_cell(self) -> str:
        """Return the SQL that writes a cell like the API."""
        if not self.kind.startswith("timestamp"):
            return f"to_jsonb({self.column}) #>> '{{}}'"
        moment = f"({self.column}::{self.kind})" + (
            " AT TIME ZONE 'UTC'" if self.kind == "timestamptz" else ""
        )
        zone = "+00:00" if self.kind == "timestamptz" else ""
        return (
            f"CASE WHEN NOT isfinite({self.column}) THEN {self.column}::text"
            f" WHEN date_trunc('milliseconds', {self.column}) = {self.column}"
            f" THEN to_char({moment}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS{zone}')"
            f" ELSE to_char({moment}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US{zone}') END"
        )

    def _fetch_ids(self, condition: str, *parameters: Any) -> list[int]:
        if any("\0" in text for text in parameters if isinstance(text, str)):
            raise Refusal
        try:
            with transaction.atomic(), open_cursor_year_first() as cursor:
                cursor.execute(f"SELECT id FROM typed WHERE {condition} ORDER BY id", parameters)
                return [found for (found,) in cursor.fetchall()]
        except DataError:
            raise Refusal from None


def write_json(value: Any) -> str:
    """Write JSON with exact fractions."""
    text = json.dumps(value, default=lambda number: f"<{number}>", ensure_ascii=False)
    return re.sub('"<([^"]*)>"', r"\1", text)


def _is_part(cell: list[Any], part: list[Any]) -> bool:
    return all(each in cell for each in part)


def search_over_http(client: Client, resource: Resource, filters: str) -> list[int] | str:
    """Search over HTTP; return the ids, or that the filters are refused."""
    response = ask(client, f'{{"resource_id": "{resource.pk}", "filters": {filters}}}')
    if response.status_code == 200:
        return get_ids(response)
    assert set(check_error(response, 409)) == {"filters"}
    return REFUSED


def search_for_each(
    resource: Resource, kind: str, operator: str, values: Mapping[str, Any]
) -> dict[str, list[int] | str]:
    """Search without HTTP, within one read: to begin and to end a read takes most of the time."""
    return with_consistent_read(
        resource.pk,
        lambda read: {
            name: search_in(read, kind, operator, value) for name, value in values.items()
        },
    )


def search_in(read: ConsistentRead, kind: str, operator: str, value: Any) -> list[int] | str:
    """Search within a read."""
    operand = [value] if operator == "in" else value
    faults: tuple[InvalidParameter, ...] = ()
    try:
        conditions = parse_filters({kind: {operator: operand}})
        query = Query(limit=None, fields=("_id",), filters=conditions, records_format=LISTS)
        with transaction.atomic():
            page = read_answer(read, query)
    except InvalidParameters as refusal:
        faults = refusal.errors
    if faults:
        assert {fault.parameter for fault in faults} == {"filters"}
        return REFUSED
    return [record_id for (record_id,) in json.loads(page.text)]


def parse_exact(value: str) -> Any:
    return json.loads(value, parse_float=Decimal)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", CELLS)
def test_every_value_finds_what_a_typed_table_finds(
    typed: Resource, kind: str, operator: str
) -> None:
    oracle = _Oracle(kind)

    values = {value: parse_exact(value) for value in VALUES}
    assert search_for_each(typed, kind, operator, values) == {
        name: oracle.find_expected_ids(operator, value) for name, value in values.items()
    }


@pytest.mark.parametrize("operator", ["eq", pytest.param("lte", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", CELLS)
def test_a_text_is_what_postgresql_reads_it_as(typed: Resource, kind: str, operator: str) -> None:
    """The JSON text of a list is that list, too."""
    oracle, is_list = _Oracle(kind), field_types[kind].is_list

    assert search_for_each(typed, kind, operator, {text: text for text in TEXTS}) == {
        text: oracle.find_expected_ids(
            operator, parse_exact(text) if is_list and text[:1] == "[" else text
        )
        for text in TEXTS
    }


# Beyond the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "condition", "ids"),
    [
        ("int4", '{"eq": 1e140000}', []),
        ("int4", '{"ne": 1e140000}', IDS),
        ("int4", '{"lt": 1e140000}', [1, 2, 3, 4, 5, 6]),
        ("int4", '{"gte": 1e140000}', []),
        ("int4", '{"gt": -1e140000}', [1, 2, 3, 4, 5, 6]),
        ("int4", '{"lte": -1e140000}', []),
        ("int4", '{"gt": 1e-20000}', [1, 4, 5]),
        ("int4", '{"lt": 1e-20000}', [2, 3, 6]),
        ("int4", '{"eq": 7.' + "0" * 17_000 + "}", [1]),
        ("int8", '{"eq": 1e140000}', []),
        ("int8", '{"lt": 1e140000}', [1, 2, 3, 4, 5, 6, 7, 8]),
        ("numeric", '{"eq": 1e140000}', []),
        ("numeric", '{"in": [1e140000, 7, -1e140000]}', [1]),
        ("numeric", '{"lt": 1e140000}', [1, 2, 3, 4, 5, 6, 7, 8, 11, 12]),
        ("numeric", '{"lte": -1e140000}', [11]),
        ("numeric", '{"gt": 1e140000}', [9]),
        ("numeric", '{"eq": 1e-20000}', []),
        ("numeric", '{"lt": 1e-20000}', [4, 5, 11]),
        ("numeric", '{"gt": "-1e-20000"}', [1, 2, 3, 4, 6, 7, 8, 9, 10, 12]),
        ("numeric", '{"eq": 7.5' + "0" * 17_000 + "}", [2, 3]),
        ("numeric", '{"lte": 7.' + "0" * 17_000 + "}", [1, 4, 5, 7, 11]),
        ("float8", '{"eq": 1e140000}', []),
        ("float8", '{"lt": 1e140000}', [1, 2, 3, 4, 5, 6, 7, 8]),
        ("float8", '{"gt": 1e140000}', [9]),
        ("float8", '{"gt": -1e140000}', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("float8", '{"eq": 1e-400}', []),
        ("_id", '{"eq": 1e140000}', []),
        ("_id", '{"ne": 1e140000}', IDS),
        ("_id", '{"lt": 1e140000}', IDS),
        ("_id", '{"gt": 1e140000}', []),
        ("_id", '{"gte": -1e140000}', IDS),
        ("_id", '{"lte": 1e-20000}', []),
        ("_id", f'{{"lte": {2**70}}}', IDS),
        ("_id", f'{{"lte": {-(2**70)}}}', []),
        ("_id", f'{{"gte": {2**70}}}', []),
        ("_id", f'{{"gte": {-(2**70)}}}', IDS),
        ("json", '{"eq": 1e140000}', []),
        ("text", '{"eq": 1e140000}', []),
    ],
)  # fmt: skip
def test_a_number_beyond_the_range_of_postgresql_is_still_a_number(
    client: Client, typed: Resource, kind: str, condition: str, ids: list[int]
) -> None:
    assert search_over_http(client, typed, f'{{"{kind}": {condition}}}') == ids


@pytest.mark.parametrize(
    ("operator", "value", "ids"),
    [
        ("eq", 3, [3]),
        ("eq", "3", [3]),
        ("eq", " +03 ", [3]),
        ("eq", Decimal("3.0"), [3]),
        ("eq", Decimal("3.5"), []),
        ("eq", None, []),
        ("eq", 0, []),
        ("eq", 2**70, []),
        ("eq", True, REFUSED),
        ("eq", "x", REFUSED),
        ("eq", "3.0", REFUSED),
        ("eq", "", REFUSED),
        ("eq", [3], REFUSED),
        ("eq", {"k": 1}, REFUSED),
        ("in", 3, [3]),
        ("in", None, []),
        ("ne", 3, [1, 2, *IDS[3:]]),
        ("ne", None, IDS),
        ("ne", 2**70, IDS),
        ("lt", 3, [1, 2]),
        ("lt", Decimal("2.5"), [1, 2]),
        ("lte", "2", [1, 2]),
        ("lte", Decimal("2.5"), [1, 2]),
        ("lt", 2**70, IDS),
        ("lt", -(2**70), []),
        ("lt", None, []),
        ("gt", ROWS - 1, [ROWS]),
        ("gt", Decimal("-0.5"), IDS),
        ("gte", ROWS, [ROWS]),
        ("gte", Decimal(ROWS) + Decimal("0.5"), []),
        ("gte", 2**63 - 1, []),
        ("gt", 2**70, []),
        ("gt", True, REFUSED),
        ("gt", "x", REFUSED),
        ("contains", "3", [3, 13]),
        ("icontains", "3", [3, 13]),
        ("ustartswith", "3", [3]),
        ("startswith", "1", [each for each in IDS if str(each).startswith("1")]),
        ("ieq", "3", REFUSED),
        ("isnull", True, []),
        ("isnull", False, IDS),
    ],
)
def test_the_key_is_a_whole_number(
    typed: Resource, operator: str, value: Any, ids: list[int] | str
) -> None:
    assert search_for_each(typed, "_id", operator, {"sent": value}) == {"sent": ids}


#: For each type 9,998 values that no record has and two, the first and the last, that one has.
MANY: Mapping[str, tuple[list[Any], list[int]]] = {
    "text": (["abc", *(f"none {n}" for n in range(9_998)), 7], [3, 5]),
    "int2": ([7, *([5, "6"] * 4_999), "-1"], [1, 3]),
    "int4": ([7, *range(2_000, 11_998), "-1"], [1, 3]),
    "int8": ([7, *range(2**62, 2**62 + 9_998), "9007199254740993"], [1, 6]),
    "numeric": ([7, *(f"{n}.25" for n in range(9_998)), "0.10"], [1, 7]),
    "float8": ([7, *(n + 0.25 for n in range(9_998)), "nan"], [1, 9]),
    "bool": (["on", *([True] * 9_998), "yes"], [1]),
    "date": (["2024-02-29", *(f"{n:04d}-07-01" for n in range(1, 9_999)), "11 Feb 1987"], [1, 3]),
    "timestamp": (
        ["2024-02-29", *(f"{n:04d}-07-01T10:00" for n in range(1, 9_999)), "infinity"],
        [1, 6],
    ),
    "timestamptz": (
        ["2024-02-29T01:00+01:00", *(f"{n:04d}-07-01T10:00Z" for n in range(1, 9_999)), "infinity"],
        [1, 5],
    ),
    "time": (["12:34:56", *(f"01:02:03.{n:04d}" for n in range(9_998)), "0:00"], [1, 2]),
    "inet": (
        ["10.0.0.1", *(f"10.9.{n // 250}.{n % 250}" for n in range(9_998)), "2001:DB8::1"],
        [1, 4],
    ),
    "json": ([7, *([n] for n in range(10, 10_008)), [7, 8]], [1, 11]),
    "_text": ([["abc"], *([str(n)] for n in range(10, 10_008)), "{x,y}"], [2, 4]),
    "_int4": ([[7], *([n] for n in range(10, 10_008)), "{7,8}"], [2, 3]),
    "_int8": ([[7], *([n, n] for n in range(10, 10_008)), "{7,8}"], [2, 3]),
    "_float8": ([[7], *([n, n] for n in range(10, 10_008)), "{7.5}"], [2, 3]),
    "_bool": ([[True], *([[True, True]] * 9_998), "{f}"], [2, 3]),
}


def test_every_type_has_many_values() -> None:
    assert set(MANY) == set(CELLS) == set(field_types)
    assert {len(values) for values, _ in MANY.values()} == {10_000}


@pytest.mark.parametrize("kind", MANY)
def test_one_list_holds_ten_thousand_values(typed: Resource, kind: str) -> None:
    values, ids = MANY[kind]
    # With null in the place of one that no record has.
    filters = parse_exact(json.dumps({kind: [*values[:5_000], None, *values[5_001:]]}))

    page = fetch_page(typed, Query(limit=None, fields=("_id",), filters=parse_filters(filters)))

    assert [record["_id"] for record in json.loads(page.text)] == [
        record_id for record_id in IDS if record_id in ids or record_id > len(CELLS[kind])
    ]


@pytest.mark.usefixtures("large_bodies")
@pytest.mark.parametrize("kind", ["int4", "date", "_int4"])
def test_one_wrong_value_among_ten_thousand_is_named(
    client: Client, typed: Resource, kind: str
) -> None:
    values, _ = MANY[kind]

    response = search(client, typed, {kind: [*values[:9_999], "wrong"]})

    assert check_error(response, 409) == {
        "filters": [f'Field “{kind}” has type {kind} and cannot equal "wrong".']
    }


# Forms --------------------------------------------------------------------------------------------


def search(client: Client, resource: Resource, filters: Any) -> Any:
    return ask(client, {"resource_id": str(resource.pk), "filters": filters})


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"int4": 7}, [1]),
        ({"int4": [7, 0]}, [1, 2]),
        ({"int4": [7, {"lt": 0}]}, [1, 3, 6]),
        ({"int4": [{"gt": 5, "lt": 9}, {"eq": 0}, None]}, [1, 2, *range(7, ROWS + 1)]),
        ({"int4": {"gte": 0, "lte": 1000}}, [1, 2, 4]),
        ({"int4": {"gte": 0, "ne": 7, "in": [7, 0]}}, [2]),
        ({"int4": {"gt": 5}, "bool": [True, False]}, [1]),
        ({"int4": {"gt": 5, "lt": 1}}, []),
        ([{"int4": 7}, {"text": "ABC"}], [1, 4]),
        ([{"int4": 7, "bool": False}, {"int4": 0, "bool": False}], [2]),
        ({"$or": [{"int4": 7}, {"text": "ABC"}]}, [1, 4]),
        ({"$and": [{"int4": {"gte": 0}}, {"int4": {"lte": 1000}}]}, [1, 2, 4]),
        ({"$and": [{"$or": [{"int4": 7}, {"int4": 0}]}, {"bool": False}]}, [2]),
        ({"$or": [{"$and": [{"int4": 7}, {"bool": False}]}, {"_id": 5}]}, [5]),
        ({"int4": [7, 0], "$or": [{"bool": False}, {"_id": 9}]}, [2]),
        ({"_text": [["abc"], ["x", "y"]]}, [2, 4]),
        ({"_text": ["{abc}", []]}, [1, 2]),
        ({"_text": {"eq": ["x", "y"]}}, [4]),
        ({"_text": {"eq": ["y", "x"]}}, []),
        ({"_text": {"contains": "x"}}, [4, 7]),
        ({"_text": {"contains": ["y", "x"]}}, [4]),
        ({"_text": {"contains": []}}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"_int4": {"contains": 7}}, [2, 3, 4]),
        ({"_int4": {"contains": "7"}}, [2, 3, 4]),
        ({"json": {"eq": {"k": 1}}}, [16]),
        ({"json": {"in": [[7, 8], {"l": 2, "k": 1}]}}, [11, 17]),
        ({"json": {"contains": {"k": 1}}}, [16, 17]),
        ({"json": {"contains": [7]}}, [10, 11, 12]),
        ({"date": {"contains": "-02-"}}, [1, 3]),
        ({"date": {"startswith": "2024-0"}}, [1, 2]),
        ({"text": {"ne": None}}, list(range(1, 22))),
        ({"text": {"isnull": True}}, [22]),
        ({"text": ""}, [1]),
        ({}, IDS),
        (None, IDS),
        ("", IDS),
        ([], IDS),
    ],
)
def test_conditions_combine(client: Client, typed: Resource, filters: Any, ids: list[int]) -> None:
    assert get_ids(search(client, typed, filters)) == ids
    if filters:
        by_get = client.get(
            "/en/api/action/datastore_search",
            {"resource_id": str(typed.pk), "fields": "_id", "filters": json.dumps(filters)},
        )
        assert get_ids(by_get) == ids


@pytest.mark.parametrize(
    ("operator", "part", "ids"),
    [
        ("contains", "%", [13]),
        ("contains", "100%", [13]),
        ("contains", "1%0", []),
        ("contains", "_", [15]),
        ("contains", "a_b", [15]),
        ("contains", "'", [17]),
        ("contains", '"x"', [18]),
        ("contains", "\\", [19]),
        ("contains", "", list(range(1, 22))),
        ("contains", " ", [2, 11, 12, 18]),
        ("contains", "Nội", [11]),
        ("contains", "nội", [12]),
        ("contains", "No\u0323\u0302i", []),
        ("contains", "ABC", [4]),
        ("ncontains", "ABC", [1, 2, 3, *range(5, ROWS + 1)]),
        ("ncontains", "", list(range(22, ROWS + 1))),
        ("nicontains", "aBC", [1, 2, *range(5, ROWS + 1)]),
        ("nicontains", "NỘI", [*range(1, 11), *range(13, ROWS + 1)]),
        ("icontains", "aBC", [3, 4]),
        ("icontains", "NỘI", [11, 12]),
        ("icontains", "%", [13]),
        ("icontains", "A_B", [15]),
        ("icontains", "IT'S", [17]),
        ("icontains", "None of these", []),
        ("startswith", "a", [3, 15, 16]),
        ("startswith", "A", [4]),
        ("startswith", "_", []),
        ("startswith", "%", []),
        ("startswith", "", list(range(1, 22))),
        ("startswith", "Hà", [11]),
        ("startswith", "[", [21]),
        ("istartswith", "A", [3, 4, 15, 16]),
        ("istartswith", "HÀ", [11, 12]),
        ("istartswith", "%", []),
        ("ucontains", "nOi", [11, 12]),
        ("ucontains", "NỘI", [11, 12]),
        ("ucontains", "No\u0323\u0302i", [11, 12]),
        ("ucontains", "100%", [13]),
        ("ustartswith", "ha", [11, 12]),
        ("ustartswith", "noi", []),
        ("ieq", "aBC", [3, 4]),
        ("ieq", "HÀ NỘI", [11, 12]),
        ("ieq", "100%", [13]),
        ("ieq", "%", []),
        ("ieq", "ab", []),
        ("ine", "aBC", [1, 2, *range(5, ROWS + 1)]),
    ],
)
def test_parts_of_texts_are_plain_letters(
    client: Client, typed: Resource, operator: str, part: str, ids: list[int]
) -> None:
    assert get_ids(search(client, typed, {"text": {operator: part}})) == ids


def test_all_values_that_fit_no_field_are_reported_together(
    client: Client, typed: Resource
) -> None:
    filters = {
        "nope": 1,
        "int4": "many",
        "$or": [{"date": "2024-02-30"}, {"bool": {"contains": "x"}}, {"Text": "x"}],
        "json": {"gt": 1},
        "_text": {"contains": None},
        "text": [[1], {"startswith": 5}, {"ieq": 5}],
        "timestamp": ["2024-01-01", 5, True],
    }

    error = check_error(search(client, typed, filters), 409)

    assert error == {
        "filters": [
            "Unknown field: “nope”",
            'Field “int4” has type int4 and cannot equal "many".',
            'Field “date” has type date and cannot equal "2024-02-30".',
            "Field “bool” has type bool, which does not support operator “contains”.",
            "Unknown field: “Text”",
            "Field “json” has type json, which does not support operator “gt”.",
            "Operator “contains” on field “_text” has an invalid operand.",
            "Operator “startswith” on field “text” has an invalid operand.",
            "Operator “ieq” on field “text” has an invalid operand.",
            "Field “text” has type text and cannot equal [1].",
            "Field “timestamp” has type timestamp and cannot equal 5.",
        ]
    }


@pytest.mark.usefixtures("large_bodies")
def test_a_long_value_is_shortened_in_the_message(client: Client, typed: Resource) -> None:
    error = check_error(search(client, typed, {"int4": "x" * 100_000}), 409)

    assert error == {"filters": [f'Field “int4” has type int4 and cannot equal "{"x" * 99}….']}


@pytest.mark.parametrize("kind", ["_text", "_int4", "_int8", "_float8", "_bool"])
def test_a_list_that_no_type_has_is_refused(client: Client, typed: Resource, kind: str) -> None:
    assert (
        search_over_http(client, typed, json.dumps({kind: "[1e99999999999999999999]"})) == REFUSED
    )
    assert search_over_http(client, typed, json.dumps({kind: "{" * 7 + "1" + "}" * 7})) == REFUSED


def test_fields_whose_names_begin_with_a_dollar_are_written_with_two(
    client: Client, db: None
) -> None:
    resource = make_resource("$price,$or,$$x\n5,6,7\n8,9,10\n")

    assert get_ids(search(client, resource, {"$$price": 8, "$$or": 9, "$$$x": 10})) == [2]
    assert get_ids(search(client, resource, {"$or": [{"$$or": 6}, {"$$price": 8}]})) == [1, 2]
    check_error(search(client, resource, {"$price": 8}), 409)
