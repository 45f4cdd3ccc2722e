"""The fields that ``datastore_create`` makes, adds and takes away, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from datastore_search.exceptions.writing import UnknownFieldType
from datastore_search.field_types import field_types

from .tables import STOCK_FIELDS, Table

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
    given = [{"id": name, "type": kind} for name, (kind, _) in zip(names, TYPES, strict=True)]
    stored = [{"id": name, "type": kind} for name, (_, kind) in zip(names, TYPES, strict=True)]

    assert table.result("create", fields=given)["fields"] == stored
    assert table.fields() == stored


@pytest.mark.parametrize(
    "name",
    [
        "n" * 200,
        '"',
        "a b",
        "%s",
        "100%%",
        "a.b",
        "$x",
        "_x",
        "a'b",
        "Độ mặn",
        "rank",
        "data",
        "key",
    ],
)
def test_a_name_of_any_kind_is_stored_filtered_and_a_key(table: Table, name: str) -> None:
    table.result("create", fields=[{"id": name}], records=[{name: "x"}], primary_key=[name])

    table.upsert({name: "y"}, {name: "x"})

    assert table.values(name) == ["x", "y"]
    assert table.ids(filters={f"${name}" if name.startswith("$") else name: "y"}) == [2]


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "\u00a0a", "a\tb", "a\nb", "\x7f", "\x85", "x" * 201, "_id", "_full_text"],
)
def test_what_cannot_be_a_name_is_refused(table: Table, name: str) -> None:
    said = {"fields": [f"“{name[:100]}” cannot be the name of a field."]}

    assert table.refusal("create", fields=[{"id": name}]) == said
    assert table.refusal("create", records=[{name: 1}]) == said


@pytest.mark.parametrize("name", ["\0", "\ud800", "a\0b"])
def test_a_name_that_no_database_holds_is_refused(table: Table, name: str) -> None:
    assert table.refusal("create", fields=[{"id": name}]).keys() == {"fields"}
    assert table.refusal("create", records=[{name: 1}]).keys() == {"fields"}
    both = table.refusal("create", fields=[{"id": "a"}], records=[{"a": 1, name: 1}])
    assert both.keys() <= {"fields", "records"}


def test_faults_of_fields_are_reported_together(table: Table) -> None:
    fields: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "a"},
        {"id": "b", "type": "colour"},
        {"id": " c"},
        {"id": "d", "type": "text, e text"},
    ]
    types = ", ".join(field_types)

    assert table.refusal("create", fields=fields, records=[{"a": 1, "_id": 2}]) == {
        "fields": [
            "Field “a” is given twice.",
            str(UnknownFieldType(field="b", type="colour", types=types)),
            "“ c” cannot be the name of a field.",
            str(UnknownFieldType(field="d", type="text, e text", types=types)),
            "“_id” cannot be the name of a field.",
        ]
    }


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({}, "“None” cannot be the name of a field."),
        ({"type": "text"}, "“None” cannot be the name of a field."),
        ({"id": None}, "“None” cannot be the name of a field."),
        ({"id": 5}, "“5” cannot be the name of a field."),
        ({"id": ["a"]}, "“['a']” cannot be the name of a field."),
        (
            {"id": "a", "type": 5},
            str(UnknownFieldType(field="a", type=5, types=", ".join(field_types))),
        ),
        ({"id": "a", "info": "x"}, "Field “a”: “info” must be an object."),
        ({"id": "a", "info": [1]}, "Field “a”: “info” must be an object."),
    ],
)
def test_a_field_is_an_object_with_a_name(table: Table, field: dict[str, Any], said: str) -> None:
    assert table.refusal("create", fields=[field]) == {"fields": [said]}


def test_names_differ_by_case_and_by_form(table: Table) -> None:
    names = ["a", "A", "\u00e9", "e\u0301"]

    table.result(
        "create",
        fields=[{"id": name} for name in names],
        records=[{name: number for number, name in enumerate(names)}],
    )

    assert [field["id"] for field in table.fields()] == names
    assert table.records() == [{"_id": 1, "a": 0, "A": 1, "\u00e9": 2, "e\u0301": 3}]


def test_a_table_takes_1600_fields_and_not_one_more(table: Table) -> None:
    names = [f"f{number}" for number in range(1_600)]
    too_many = {"fields": ["There are 1601 fields; at most 1600 can be stored."]}

    assert table.refusal("create", fields=[{"id": name} for name in [*names, "more"]]) == too_many
    table.result("create", fields=[{"id": name} for name in names], records=[{"f1599": "last"}])
    assert table.refusal("create", fields=[{"id": "more"}]) == too_many
    assert table.ids(q="last") == [1]


# Fields added and taken away ----------------------------------------------------------------------


def test_records_from_before_a_field_are_null_in_it(widened: Table) -> None:
    for filters, ids in (
        ({"new": None}, [1, 2, 3, 4]),
        ({"new": [None, 7]}, [1, 2, 3, 4, 5]),
        ({"new": {"isnull": True}}, [1, 2, 3, 4]),
        ({"new": {"isnull": False}}, [5]),
        ({"new": {"ne": 7}}, [1, 2, 3, 4]),
        ({"new": {"ne": None}}, [5]),
        ({"new": {"eq": None}}, [1, 2, 3, 4]),
        ({"new": {"in": [None]}}, [1, 2, 3, 4]),
        ({"new": {"lte": 7}}, [5]),
        ({"$or": [{"new": None}, {"code": "e"}]}, [1, 2, 3, 4, 5]),
        ({"new": None, "code": ["a", "d"]}, [1, 4]),
    ):
        assert widened.ids(filters=filters) == ids, filters
    for sort, ids in (
        ("new, _id", [5, 1, 2, 3, 4]),
        ("new desc, _id desc", [4, 3, 2, 1, 5]),
        ("new nulls first, _id", [1, 2, 3, 4, 5]),
        ("new desc nulls last, _id", [5, 1, 2, 3, 4]),
    ):
        assert widened.ids(sort=sort) == ids, sort


def test_records_from_before_a_field_are_null_in_every_format(widened: Table) -> None:
    asked: dict[str, Any] = {"fields": ["_id", "new"], "sort": "_id"}

    assert widened.records(**asked)[0] == {"_id": 1, "new": None}
    lists = widened.result("search", **asked, records_format="lists")["records"]
    assert lists == [[1, None], [2, None], [3, None], [4, None], [5, 7]]
    csv = widened.result("search", **asked, records_format="csv")["records"]
    assert csv == "1,\n2,\n3,\n4,\n5,7\n"
    distinct = widened.records(fields=["new"], distinct=True, sort="new")
    assert distinct == [{"new": 7}, {"new": None}]


@pytest.mark.parametrize("kind", ["json", "_int4", "text", "bool", "timestamp"])
def test_records_from_before_a_field_of_any_type_are_null_in_it(stock: Table, kind: str) -> None:
    stock.result("create", fields=[{"id": "new", "type": kind}])
    stock.result("create", records=[{"new": None}])

    assert stock.ids(filters={"new": None}) == [1, 2, 3, 4]
    assert stock.ids(filters={"new": {"isnull": False}}) == []
    assert stock.values("new") == [None] * 4


def test_old_records_get_a_value_in_a_new_field(widened: Table) -> None:
    widened.upsert({"code": "a", "new": 8})

    assert widened.values("new") == [8, None, None, None, 7]
    assert widened.ids(filters={"new": None}) == [2, 3, 4]
    widened.result("delete", filters={"new": None})
    assert widened.ids() == [1, 5]


def test_removed_fields_take_values_and_words_with_them(stock: Table) -> None:
    result = stock.result(
        "create",
        fields=[{"id": "new", "type": "int4"}, {"id": "amount"}, {"id": "code"}],
        delete_fields=True,
    )

    assert [field["id"] for field in result["fields"]] == ["code", "amount", "new"]
    assert stock.records()[0] == {"_id": 1, "code": "a", "amount": 1.5, "new": None}
    assert stock.ids(q="apple") == []
    stock.result("create", fields=[{"id": "name", "type": "int4"}])
    assert stock.values("name") == [None] * 3
    stock.upsert({"code": "a", "name": 5})
    assert (stock.ids(filters={"name": 5}), stock.ids(q="apple")) == ([1], [])


def test_removing_a_field_of_the_key_takes_the_key_away(stock: Table) -> None:
    stock.result("create", primary_key=["code", "name"])

    stock.result("create", fields=[{"id": "code"}], delete_fields=True, records=[{"code": "a"}])

    assert stock.resource.primary_key == []
    assert stock.values("code") == ["a", "b", "c", "a"]


def test_a_record_that_names_a_removed_field_is_refused(stock: Table) -> None:
    before = stock.everything()

    assert stock.refusal(
        "create", fields=[{"id": "code"}], delete_fields=True, records=[{"code": "d", "name": "x"}]
    ) == {"records": ["Record 1: unknown field “name”"], "records_row": 0}
    assert stock.everything() == before


def test_the_first_record_names_new_fields(stock: Table) -> None:
    stock.result("create", records=[{"code": "d", "size": 1.5}, {"code": "e", "size": 2}])

    assert stock.fields() == [*STOCK_FIELDS, {"id": "size", "type": "float8"}]
    assert stock.values("size") == [None, None, None, 1.5, 2]


def test_a_known_field_keeps_its_type_and_its_place(stock: Table) -> None:
    result = stock.result("create", fields=[{"id": "amount", "type": "text"}, {"id": "code"}])

    assert result["fields"] == STOCK_FIELDS
    assert stock.values("amount") == [1.5, 2, None]


@pytest.mark.parametrize("sent", [{}, {"fields": []}, {"records": [{"code": "d"}]}])
def test_no_field_is_deleted_unless_others_are_given(stock: Table, sent: dict[str, Any]) -> None:
    stock.result("create", delete_fields=True, **sent)

    assert stock.fields() == STOCK_FIELDS


# What is said of a field --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "info",
    [
        {"label": "Level", "notes": "above the sea", "unit": "m"},
        {"a": None, "b": [1, {"c": []}], "d": {"e": True}},
        {"numbers": [0, -1, 2**60, 0.1, 1e20]},
        {"": "empty", 'with "quotes"': "%s"},
        {"label": "l" * 500, "notes": "n" * 10_000},
        {"label": "l" * 501},
        {"label": {"en": "Level", "vi": "Mực nước"}},
        {"label": ["Level"], "notes": {"a": 1}},
        {"label": 5, "notes": True},
        {"label": None, "notes": ""},
    ],
)
def test_info_of_any_json_comes_back_as_it_was_sent(table: Table, info: dict[str, Any]) -> None:
    field = {"id": "level", "type": "text", "info": info}

    result = table.result("create", fields=[field], records=[{"level": "x"}])

    assert result["fields"] == [field]
    assert table.fields() == [field]


def test_info_replaces_what_there_was_and_stays_where_it_is_not_sent(table: Table) -> None:
    def said(*fields: dict[str, Any]) -> list[Any]:
        table.result("create", fields=fields)
        return [field.get("info") for field in table.fields()]

    level = {"label": "A", "unit": "m"}
    assert said({"id": "a", "info": level}, {"id": "b"}) == [level, None]
    assert said({"id": "a"}, {"id": "b", "info": {"notes": "B"}}) == [level, {"notes": "B"}]
    assert said({"id": "a", "info": None}) == [level, {"notes": "B"}]
    assert said({"id": "b", "info": {"label": {"en": "B"}}}) == [level, {"label": {"en": "B"}}]
    assert said({"id": "b", "info": {"label": "B"}}) == [level, {"label": "B"}]
    assert said({"id": "a", "info": {}}) == [None, {"label": "B"}]
