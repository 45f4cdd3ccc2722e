"""The parameter ``sort``: its grammar, every type in every order, and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, strategies as st

from datastore_search.filters.names import SortKey, parse_sort_key, split_names, unquote_name
from datastore_search.models import Resource
from datastore_search.search import Query, RecordsFormat

from ...builders import check_error, fetch_page, get_ids, get_result, search
from ...typed import CELLS, get_column_name, open_cursor_year_first
from .test_exactness import quote_name

#: Spellings of the direction and the position of nulls, and their meaning.
ENDINGS = {
    "": (False, None),
    " asc": (False, None),
    " DESC": (True, None),
    " nulls first": (False, True),
    " asc nulls last": (False, False),
    "  Desc   NULLS  First ": (True, True),
    "\tdesc\nnulls last": (True, False),
}


def list_errors(client: Client, resource: Resource, sort: Any) -> list[str]:
    error = check_error(search(client, resource, sort=sort), 409)
    assert set(error) == {"sort"}
    errors: list[str] = error["sort"]
    return errors


def read_sorted_ids(resource: Resource, *keys: SortKey) -> list[int]:
    """Sort without HTTP."""
    query = Query(limit=None, fields=("_id",), sort=keys, records_format=RecordsFormat.LISTS)
    return [record_id for (record_id,) in json.loads(fetch_page(resource, query).text)]


def sort_in_postgresql(*keys: SortKey) -> list[int]:
    """Sort the table ``typed`` in PostgreSQL."""
    order = [
        ("id" if key.field == "_id" else get_column_name(key.field))
        + (" DESC" if key.descending else "")
        + {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
        for key in keys
    ]
    last = list({key.field: None for key in keys})[-1]
    down = next(key.descending for key in keys if key.field == last)
    order.append("id DESC" if down else "id")
    with open_cursor_year_first() as cursor:
        cursor.execute(f"SELECT id FROM typed ORDER BY {', '.join(order)}")
        return [found for (found,) in cursor.fetchall()]


# Order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nulls_first", [None, True, False])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", sorted({*CELLS} - {"json"}))
def test_every_type_sorts_as_a_typed_table_does(
    typed: Resource, kind: str, descending: bool, nulls_first: bool | None
) -> None:
    key = SortKey(kind, descending, nulls_first)

    assert read_sorted_ids(typed, key) == sort_in_postgresql(key)


@pytest.mark.parametrize(
    "keys",
    [
        [SortKey("bool"), SortKey("int4", descending=True)],
        [SortKey("bool", descending=True, nulls_first=False), SortKey("text")],
        [SortKey("int2", nulls_first=True), SortKey("numeric", descending=True)],
        [SortKey("numeric"), SortKey("float8", nulls_first=True), SortKey("_id", descending=True)],
        [SortKey("bool"), SortKey("_id", descending=True), SortKey("text")],
        [SortKey("int4"), SortKey("int4", descending=True)],
    ],
)
def test_several_keys_sort_as_in_a_typed_table(typed: Resource, keys: list[SortKey]) -> None:
    assert read_sorted_ids(typed, *keys) == sort_in_postgresql(*keys)


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("  two words  asc", SortKey("two words")),
        ("desc", SortKey("desc")),
        ("desc asc", SortKey("desc")),
        ("desc desc", SortKey("desc", descending=True)),
        ("x desc", SortKey("x", descending=True)),
        ("x desc asc", SortKey("x desc")),
        ("asc nulls first", SortKey("asc", nulls_first=True)),
        ("nulls first", SortKey("nulls first")),
        ("nulls first nulls first", SortKey("nulls first", nulls_first=True)),
        ("x nulls last nulls first", SortKey("x nulls last", nulls_first=True)),
        ('q"uote', SortKey('q"uote')),
        ("Tên Tỉnh asc", SortKey("Tên Tỉnh")),
        ("TWO words", SortKey("TWO words")),
        (";-- asc", SortKey(";--")),
        ("a,b asc", SortKey("a,b")),
        (f"a{' ' * 20_000}desc{' ' * 20_000}nulls  last", SortKey("a", True, False)),
    ],
)
def test_a_name_without_quotes_ends_before_the_direction(text: str, key: SortKey) -> None:
    assert parse_sort_key(text) == key


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sort", "errors"),
    [
        ("nope", ["Unknown field: “nope”"]),
        ("rank", ["Unknown field: “rank”"]),
        ("int4 up", ["Unknown field: “int4 up”"]),
        ("int4 nulls first desc", ["Unknown field: “int4 nulls first”"]),
        ("int4 asc desc", ["Unknown field: “int4 asc”"]),
        ('"int4', ['Unknown field: “"int4”']),
        ('""', ["Unknown field: “”"]),
        ("; DROP TABLE typed", ["Unknown field: “; DROP TABLE typed”"]),
        (["nope", "json", "nope2 desc"], [
            "Unknown field: “nope”",
            "Field “json” has type json. Records cannot be sorted by it.",
            "Unknown field: “nope2”",
        ]),
    ],
)  # fmt: skip
def test_a_key_that_fits_no_field_is_refused_by_name(
    client: Client, typed: Resource, sort: Any, errors: list[str]
) -> None:
    assert list_errors(client, typed, sort) == errors


def test_distinct_sorts_only_by_requested_fields(client: Client, typed: Resource) -> None:
    sent: dict[str, Any] = {"distinct": True, "fields": ["bool", "int4"]}

    found = get_result(search(client, typed, sort="int4 desc nulls last, bool", **sent))
    error = check_error(search(client, typed, sort="int4, text, _id", **sent), 409)

    assert [record["int4"] for record in found["records"]] == [
        2**31 - 1, 1000, 7, 0, -1, -(2**31), None,
    ]  # fmt: skip
    assert error == {
        "sort": [
            f"With “distinct”, records can be sorted by “{name}” only if it is among “fields”."
            for name in ("text", "_id")
        ]
    }


# Names in texts -----------------------------------------------------------------------------------

texts = st.text(st.sampled_from('",  \t\nab_%;') | st.characters(codec="utf-8"), max_size=30)
endings = st.sampled_from(sorted(ENDINGS))


@pytest.mark.slow
@given(text=texts)
def test_any_text_is_cut_into_names(text: str) -> None:
    parts = split_names(text)

    assert len(parts) <= text.count(",") + 1
    assert all(part == part.strip() and part in text for part in parts)


@given(names=st.lists(st.tuples(texts, endings), min_size=1, max_size=5))
def test_quoted_names_come_back_from_a_list_in_a_text(names: list[tuple[str, str]]) -> None:
    text = ",".join(f"{quote_name(name)}{ending}" for name, ending in names)

    assert [parse_sort_key(part) for part in split_names(text)] == [
        SortKey(name, *ENDINGS[ending]) for name, ending in names
    ]
    assert [
        unquote_name(part) for part in split_names(", ".join(quote_name(n) for n, _ in names))
    ] == [name for name, _ in names]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \t", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("a,", ["a", ""]),
        (",", ["", ""]),
        ('"a,b",c', ['"a,b"', "c"]),
        ('"a""b,c",d', ['"a""b,c"', "d"]),
        ('"a,b', ['"a', "b"]),
        ('a"b,c"d', ['a"b', 'c"d']),
        ('"a"x,b', ['"a"x', "b"]),
        ('"",""', ['""', '""']),
        ('"""",a', ['""""', "a"]),
    ],
)
def test_a_text_is_cut_at_its_commas(text: str, parts: list[str]) -> None:
    assert split_names(text) == parts


# Cost ---------------------------------------------------------------------------------------------

LONG: dict[str, Callable[[int], str]] = {
    "blanks": lambda size: "a" + " " * size + "desc",
    "commas": lambda size: "," * size,
    "quotes": lambda size: '"' * size,
    "open quotes": lambda size: '"a,' * (size // 3),
    "three quotes": lambda size: '"""a,' * (size // 5) + '"',
    "nulls": lambda size: "a" + " nulls first" * (size // 12),
}


@pytest.mark.usefixtures("large_bodies")
@pytest.mark.parametrize("form", LONG)
def test_a_long_sort_is_answered(client: Client, resource: Resource, form: str) -> None:
    errors = list_errors(client, resource, LONG[form](200_000))

    assert all(len(message) < 300 for message in errors)


@pytest.mark.usefixtures("large_bodies")
def test_five_thousand_keys_are_accepted(client: Client, resource: Resource) -> None:
    many = ["code desc", *["title desc", '"stage"'] * 2_500]

    assert get_ids(search(client, resource, sort=",".join(many[:5_000]))) == [6, 5, 4, 3, 2, 1]
    assert list_errors(client, resource, many) == ["There are more than 5000 names."]
    assert list_errors(client, resource, ",".join(many)) == ["There are more than 5000 names."]
