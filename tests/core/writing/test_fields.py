"""The fields that ``datastore_create`` adds and removes, and their ``info``."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.field_types import MAX_FIELDS, field_types
from datastore_search.messages.writing import UnknownFieldType

from ..ckan.writing.step import STOCK_FIELDS
from .tables import Table

# Types and names ----------------------------------------------------------------------------------


TYPES: list[tuple[Any, str]] = [
    ("int", "int4"), ("INTEGER", "int4"), ("bigint", "int8"), ("smallint", "int2"),
    ("float", "float8"), ("double  precision", "float8"), ("decimal", "numeric"),
    ("boolean", "bool"), ("timestamp without time zone", "timestamp"), ("jsonb", "json"),
    ("text[]", "_text"), ("int[]", "_int4"), ("varchar", "text"), (None, "text"), ("", "text"),
    *((name, name) for name in field_types),
]  # fmt: skip


def test_every_type_has_its_names(table: Table) -> None:
    names = [f"f{number}" for number in range(len(TYPES))]
    fields = [{"id": name, "type": kind} for name, (kind, _) in zip(names, TYPES, strict=True)]
    stored = [{"id": name, "type": kind} for name, (_, kind) in zip(names, TYPES, strict=True)]

    assert table.run("create", fields=fields)["fields"] == stored
    assert table.read_fields() == stored


@pytest.mark.parametrize(
    "name", ["", " a", "\u00a0a", "a\tb", "\x7f", "\x85", "x" * 201, "_id", "_full_text"]
)
def test_invalid_names_are_refused(table: Table, name: str) -> None:
    error = {"fields": [f"“{name[:100]}” cannot be the name of a field."]}

    assert table.get_refusal("create", fields=[{"id": name}]) == error
    assert table.get_refusal("create", records=[{name: 1}]) == error


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_name_that_postgresql_cannot_store_is_refused(table: Table, name: str) -> None:
    assert table.get_refusal("create", fields=[{"id": name}]).keys() == {"fields"}
    assert table.get_refusal("create", records=[{name: 1}]).keys() == {"fields"}


def test_errors_of_fields_are_reported_together(table: Table) -> None:
    fields: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "a"},
        {"id": "b", "type": "colour"},
        {"id": " c"},
        {"id": "d", "type": "text, e text"},
    ]
    types = ", ".join(field_types)

    assert table.get_refusal("create", fields=fields, records=[{"a": 1, "_id": 2}]) == {
        "fields": [
            "Field “a” is given twice.",
            str(UnknownFieldType(field="b", type="colour", types=types)),
            "“ c” cannot be the name of a field.",
            str(UnknownFieldType(field="d", type="text, e text", types=types)),
            "“_id” cannot be the name of a field.",
        ]
    }


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "text"}, "“None” cannot be the name of a field."),
        ({"id": 5}, "“5” cannot be the name of a field."),
        ({"id": ["a"]}, "“['a']” cannot be the name of a field."),
        (
            {"id": "a", "type": 5},
            str(UnknownFieldType(field="a", type=5, types=", ".join(field_types))),
        ),
        ({"id": "a", "info": [1]}, "Field “a”: “info” must be an object."),
    ],
)
def test_a_field_is_an_object_with_a_name(
    table: Table, field: dict[str, Any], message: str
) -> None:
    assert table.get_refusal("create", fields=[field]) == {"fields": [message]}


def test_a_table_has_at_most_1600_fields(table: Table) -> None:
    fields = [{"id": f"f{number}"} for number in range(MAX_FIELDS)]
    too_many = {"fields": ["There are 1601 fields; at most 1600 can be stored."]}

    table.run("create", fields=fields)
    table.run("upsert", records=[{"f1599": "last"}], method="insert")

    assert table.get_refusal("create", fields=[{"id": "more"}]) == too_many
    assert table.read_ids(q="last") == [1]


# Fields added and taken away ----------------------------------------------------------------------


def test_records_from_before_a_field_are_null_in_it(widened: Table) -> None:
    for filters, ids in (
        ({"new": None}, [1, 2, 3, 4]),
        ({"new": [None, 7]}, [1, 2, 3, 4, 5]),
        ({"new": {"isnull": False}}, [5]),
        ({"new": {"ne": 7}}, [1, 2, 3, 4]),
        ({"new": {"ne": None}}, [5]),
        ({"new": {"in": [None]}}, [1, 2, 3, 4]),
        ({"$or": [{"new": None}, {"code": "e"}]}, [1, 2, 3, 4, 5]),
        ({"new": None, "code": ["a", "d"]}, [1, 4]),
    ):
        assert widened.read_ids(filters=filters) == ids, filters
    for sort, ids in (
        ("new, _id", [5, 1, 2, 3, 4]),
        ("new desc, _id desc", [4, 3, 2, 1, 5]),
        ("new nulls first, _id", [1, 2, 3, 4, 5]),
        ("new desc nulls last, _id", [5, 1, 2, 3, 4]),
    ):
        assert widened.read_ids(sort=sort) == ids, sort


def test_records_from_before_a_field_are_null_in_every_format(widened: Table) -> None:
    parameters: dict[str, Any] = {"fields": ["_id", "new"], "sort": "_id"}

    assert widened.read_records(**parameters)[0] == {"_id": 1, "new": None}
    lists = widened.run("search", **parameters, records_format="lists")["records"]
    assert lists == [[1, None], [2, None], [3, None], [4, None], [5, 7]]
    csv = widened.run("search", **parameters, records_format="csv")["records"]
    assert csv == "1,\n2,\n3,\n4,\n5,7\n"
    distinct = widened.read_records(fields=["new"], distinct=True, sort="new")
    assert distinct == [{"new": 7}, {"new": None}]


def test_old_records_get_a_value_in_a_new_field(widened: Table) -> None:
    widened.upsert({"code": "a", "new": 8})

    assert widened.read_values("new") == [8, None, None, None, 7]
    assert widened.read_ids(filters={"new": None}) == [2, 3, 4]
    widened.run("delete", filters={"new": None})
    assert widened.read_ids() == [1, 5]


def test_removed_fields_take_values_and_words_with_them(stock: Table) -> None:
    result = stock.run(
        "create",
        fields=[{"id": "new", "type": "int4"}, {"id": "amount"}, {"id": "code"}],
        delete_fields=True,
    )

    assert [field["id"] for field in result["fields"]] == ["code", "amount", "new"]
    assert stock.read_records()[0] == {"_id": 1, "code": "a", "amount": 1.5, "new": None}
    assert stock.read_ids(q="apple") == []
    stock.run("create", fields=[{"id": "name", "type": "int4"}])
    assert stock.read_values("name") == [None] * 3
    stock.upsert({"code": "a", "name": 5})
    assert (stock.read_ids(filters={"name": 5}), stock.read_ids(q="apple")) == ([1], [])


def test_removing_a_field_of_the_key_takes_the_key_away(stock: Table) -> None:
    stock.run("create", primary_key=["code", "name"])

    stock.run("create", fields=[{"id": "code"}], delete_fields=True, records=[{"code": "a"}])

    assert stock.resource.primary_key == []
    assert stock.read_values("code") == ["a", "b", "c", "a"]


def test_the_first_record_names_new_fields(stock: Table) -> None:
    stock.run("create", records=[{"code": "d", "size": 1.5}, {"code": "e", "size": 2}])

    assert stock.read_fields() == [*STOCK_FIELDS, {"id": "size", "type": "float8"}]
    assert stock.read_values("size") == [None, None, None, 1.5, 2]


@pytest.mark.parametrize("parameters", [{"fields": []}, {"records": [{"code": "d"}]}])
def test_no_field_is_deleted_unless_others_are_given(
    stock: Table, parameters: dict[str, Any]
) -> None:
    stock.run("create", delete_fields=True, **parameters)

    assert stock.read_fields() == STOCK_FIELDS


# Info of a field --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "info",
    [
        {"label": "Level", "notes": "n" * 10_000, "unit": "m"},
        {"a": None, "b": [1, {"c": []}], "numbers": [0, -1, 2**60, 0.1, 1e20]},
        {"": "empty", 'with "quotes"': "%s"},
        {"label": "l" * 501},
        {"label": {"en": "Level", "vi": "Mực nước"}},
        {"label": 5, "notes": True},
        {"label": None, "notes": ""},
    ],
)
def test_info_of_any_json_comes_back_as_it_was_sent(table: Table, info: dict[str, Any]) -> None:
    field = {"id": "level", "type": "text", "info": info}

    result = table.run("create", fields=[field], records=[{"level": "x"}])

    assert result["fields"] == [field]
    assert table.read_fields() == [field]


def test_a_number_of_info_that_no_double_holds_is_stored_as_text(
    table: Table, client: Client
) -> None:
    sent = '{"resource": {"name": "N"}, "fields": [{"id": "a", "info": {"n": [9e307, 9e308]}}]}'

    answer = client.post(
        "/en/api/action/datastore_create",
        sent,
        content_type="application/json",
        headers={"Authorization": table.token},
    )

    number, text = answer.json()["result"]["fields"][0]["info"]["n"]
    assert (float(number), text) == (9e307, "9E+308")


def test_info_is_replaced_if_sent_and_kept_otherwise(table: Table) -> None:
    def write_info(*fields: dict[str, Any]) -> list[Any]:
        table.run("create", fields=fields)
        return [field.get("info") for field in table.read_fields()]

    level = {"label": "A", "unit": "m"}
    assert write_info({"id": "a", "info": level}, {"id": "b"}) == [level, None]
    assert write_info({"id": "a"}, {"id": "b", "info": {"notes": "B"}}) == [level, {"notes": "B"}]
    assert write_info({"id": "a", "info": None}) == [level, {"notes": "B"}]
    assert write_info({"id": "b", "info": {"label": {"en": "B"}}}) == [
        level,
        {"label": {"en": "B"}},
    ]
    assert write_info({"id": "b", "info": {"label": "B"}}) == [level, {"label": "B"}]
    assert write_info({"id": "a", "info": {}}) == [None, {"label": "B"}]
