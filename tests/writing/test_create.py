"""``datastore_create``: what a call changes, and that a refused one changes nothing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search import storage
from datastore_search.models import Origin, Resource, TableVersion

from ..builders import act, error_of, load_csv, make_resource
from .tables import STOCK_FIELDS, STOCK_RECORDS, Table, token_of

DUPLICATE = "there is already a record with the same primary key."
LIST = "Must be a list of objects."
NAMES = "Must be a list of names, or names separated by commas."

# Results ------------------------------------------------------------------------------------------


def test_a_new_table_is_answered_as_it_was_made(table: Table) -> None:
    result = table.result(
        "create",
        fields=[{"id": "code", "type": "string", "info": {"label": "Code"}}, {"id": "n"}],
        records=[{"code": "a", "n": 1}, {"code": "b"}],
        primary_key="code",
        indexes=["n"],
        aliases="first, second",
    )

    assert result == {
        "resource_id": table.id,
        "fields": [
            {"id": "code", "type": "text", "info": {"label": "Code"}},
            {"id": "n", "type": "int4"},
        ],
        "primary_key": ["code"],
        "indexes": ["n"],
        "aliases": ["first", "second"],
        "method": "insert",
    }
    assert table.records() == [{"_id": 1, "code": "a", "n": 1}, {"_id": 2, "code": "b", "n": None}]


def test_only_the_new_records_come_back_as_they_are_stored(stock: Table) -> None:
    result = stock.result(
        "create",
        fields=[{"id": "day", "type": "date"}],
        records=[{"code": "d", "count": "4", "day": "1 March 2024"}, {"code": "e", "count": ""}],
        include_records=True,
    )

    blank = {"name": None, "amount": None}
    assert result["include_records"] is True
    assert result["records"] == [
        {"_id": 4, "code": "d", "count": 4, "day": "2024-03-01", **blank},
        {"_id": 5, "code": "e", "count": None, "day": None, **blank},
    ]


def test_parameters_are_understood_as_texts_too(table: Table) -> None:
    table.result(
        "create",
        fields='[{"id": "a, b", "type": "int"}]',
        records='[{"a, b": 1}, {"a, b": 2}]',
        primary_key='"a, b"',
        include_records="true",
        aliases="",
    )

    assert table.values("a, b") == [1, 2]
    assert table.refusal("create", records=[{"a, b": 1}])["records_row"] == 0


def test_id_wins_over_resource_id_and_an_alias_will_do(stock: Table) -> None:
    result = stock.result("create", resource_id="nowhere", id="stock", records=[{"code": "d"}])

    assert result["resource_id"] == stock.id
    assert stock.values("code") == ["a", "b", "c", "d"]


def test_totals_and_words_are_right_after_each_call(stock: Table) -> None:
    stock.result("create", records=[{"code": "d", "name": "dates and figs"}])
    assert (stock.ids(), stock.ids(q="figs"), stock.stored()) == ([1, 2, 3, 4], [4], (4, 4))

    stock.result("create", fields=[{"id": "more", "type": "text"}], records=[{"more": "figs"}])
    assert (len(stock.ids()), stock.ids(q="figs"), stock.stored()) == (5, [4, 5], (5, 5))

    stock.result("create", fields=STOCK_FIELDS[:1], delete_fields=True)
    assert (len(stock.ids()), stock.ids(q="figs"), stock.stored()) == (5, [], (5, 5))
    assert stock.ids(q="apple") == []


def test_a_table_takes_1600_fields_and_not_one_more(table: Table) -> None:
    names = [f"f{number}" for number in range(1_600)]
    too_many = {"fields": ["There are 1601 fields; at most 1600 can be stored."]}

    assert table.refusal("create", fields=[{"id": name} for name in [*names, "more"]]) == too_many
    table.result("create", fields=[{"id": name} for name in names], records=[{"f1599": "last"}])
    assert table.refusal("create", fields=[{"id": "more"}]) == too_many
    assert table.ids(q="last") == [1]


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


# Refusals -----------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"records": [{"code": "x"}, {"code": "y", "count": "many"}]},
        {
            "records": ['Record 2: field “count” has type int4 and cannot hold "many".'],
            "records_row": 1,
        },
    ),
    (
        {"records": [{"code": "x", "count": 2**31}]},
        {
            "records": ["Record 1: field “count” has type int4 and cannot hold 2147483648."],
            "records_row": 0,
        },
    ),
    (
        {"records": [{"code": "x", "amount": True}]},
        {
            "records": ["Record 1: field “amount” has type numeric and cannot hold true."],
            "records_row": 0,
        },
    ),
    (
        {"records": [{"code": "x"}, {"code": "a\0b"}]},
        {"records": ["Record 2: field “code” has type text and cannot hold …."], "records_row": 1},
    ),
    (
        {"records": [{"code": "x"}, {"code": "y", "colour": "red"}]},
        {"records": ["Record 2: unknown field “colour”"], "records_row": 1},
    ),
    (
        {"records": [{"code": "x"}, {"_id": 9, "code": "y"}]},
        {"records": ["Record 2: unknown field “_id”"], "records_row": 1},
    ),
    (
        {"records": [{"code": "x"}, {"code": "a"}]},
        {"records": [f"Record 2: {DUPLICATE}"], "records_row": 1},
    ),
    (
        {"records": [{"code": "x"}, {"code": "y"}, {"code": "x"}]},
        {"records": [f"Record 3: {DUPLICATE}"], "records_row": 2},
    ),
    ({"records": [{"_id": 9}]}, {"fields": ["“_id” cannot be the name of a field."]}),
    ({"records": {"code": "x"}}, {"records": [LIST]}),
    ({"records": "code=x"}, {"records": ["Cannot parse JSON"]}),
    ({"fields": {"id": "x"}}, {"fields": [LIST]}),
    ({"fields": [{"id": 5}]}, {"fields": ["“5” cannot be the name of a field."]}),
    (
        {"fields": [{"id": "x", "info": "label"}]},
        {"fields": ["Field “x”: “info” must be an object."]},
    ),
    (
        {"fields": [{"id": ""}, {"id": "y"}, {"id": "y"}]},
        {"fields": ["“” cannot be the name of a field.", "Field “y” is given twice."]},
    ),
    ({"fields": [{"id": "code"}, {"id": "code"}]}, {"fields": ["Field “code” is given twice."]}),
    ({"primary_key": ["colour"]}, {"primary_key": ["Unknown field: “colour”"]}),
    ({"primary_key": {"a": 1}}, {"primary_key": [NAMES]}),
    ({"indexes": "code,colour"}, {"indexes": ["Unknown field: “colour”"]}),
    ({"aliases": [5]}, {"aliases": [NAMES]}),
    ({"aliases": ["fine", "_not"]}, {"aliases": ["“_not” cannot be an alias."]}),
    (
        {"colour": "red", "limit": 5},
        {"__extras": ["There is no parameter “colour”.", "There is no parameter “limit”."]},
    ),
    ({"resource": {"name": "x"}}, {"resource": ["Give either “resource” or “resource_id”."]}),
    ({"resource_id": None}, {"resource_id": ["Missing value"]}),
    (
        {"records": "x", "fields": 5, "primary_key": 5},
        {"records": ["Cannot parse JSON"], "fields": [LIST], "primary_key": [NAMES]},
    ),
]


@pytest.mark.parametrize(("sent", "error"), REFUSED)
def test_what_is_refused_is_named_and_changes_nothing(
    stock: Table, sent: dict[str, Any], error: dict[str, Any]
) -> None:
    before = stock.everything()

    assert stock.refusal("create", **sent) == error
    assert stock.everything() == before


CHANGES: dict[str, Any] = {
    "fields": [
        {"id": "code"},
        {"id": "name", "info": {"label": "Name"}},
        {"id": "new", "type": "text"},
    ],
    "primary_key": ["code", "name"],
    "aliases": ["other"],
    "private": True,
    "include_records": True,
}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "value": ({"code": "x", "amount": "much"}, "field “amount” has type numeric and cannot hold"),
    "name": ({"code": "x", "colour": "red"}, "unknown field “colour”"),
    "key": ({"code": "a", "name": "apple"}, DUPLICATE),
}


@pytest.mark.parametrize("place", [0, 1, 3, 5])
@pytest.mark.parametrize("kind", BAD)
def test_one_bad_record_anywhere_and_nothing_has_happened(
    stock: Table, kind: str, place: int
) -> None:
    bad, message = BAD[kind]
    good = [{"code": f"new {number}", "new": "word"} for number in range(5)]
    records = [*good[:place], bad, *good[place:]]
    # The first record may name new fields; that of all calls is then another one.
    before_it = [{"code": "first", "new": "word"}] if kind == "name" and not place else []
    row = place + len(before_it)
    before = stock.everything()

    error = stock.refusal("create", **CHANGES, records=[*before_it, *records])

    assert set(error) == {"records", "records_row"}
    assert error["records_row"] == row
    assert error["records"][0].startswith(f"Record {row + 1}: {message}")
    assert stock.everything() == before


@pytest.mark.parametrize(
    "fault",
    [
        {"primary_key": ["new"], "records": [{"new": "x"}, {"new": "x"}]},
        {"primary_key": ["colour"]},
        {"aliases": ["taken"]},
        {"aliases": ["fine", "_not"]},
        {"indexes": ["colour"]},
        {"primary_key": ["code"], "records": [{"code": "y"}, {"code": "y"}]},
    ],
)
@pytest.mark.parametrize("delete_fields", [False, True])
def test_a_late_fault_takes_everything_before_it_back(
    stock: Table, fault: dict[str, Any], *, delete_fields: bool
) -> None:
    Table(stock.token).result("create", aliases=["taken"])
    before = stock.everything()

    stock.refusal("create", **{**CHANGES, "delete_fields": delete_fields, **fault})

    assert stock.everything() == before


@pytest.mark.parametrize(
    "fault",
    [
        {"records": [{"a": 1}, {"a": 2}, {"b": 3}]},
        {"records": [{"a": 1}, {"a": 1}], "primary_key": ["a"]},
        {"fields": [{"id": "a", "type": "int4"}], "records": [{"a": 1}, {"a": "x"}]},
        {"fields": [{"id": "a"}], "aliases": ["taken"]},
        {"fields": [{"id": "a", "type": "colour"}]},
    ],
)
@pytest.mark.parametrize("by_resource", [False, True])
def test_a_fault_leaves_no_new_resource_behind(
    stock: Table, fault: dict[str, Any], *, by_resource: bool
) -> None:
    Table(stock.token).result("create", aliases=["taken"])
    before = stock.everything()
    new = Table(stock.token)
    way = {"resource_id": None, "resource": {"id": new.id}} if by_resource else {}

    new.refusal("create", **way, **fault)

    assert stock.everything() == before
    assert new.call("info").status_code == 404


def test_a_fault_leaves_a_resource_without_a_table_as_it_was(stock: Table) -> None:
    stock.result("delete")
    before = stock.everything()

    stock.refusal("create", records=[{"a": 1}, {"b": 2}])

    assert stock.everything() == before
    assert stock.call("search").status_code == 404


# Primary keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "first", "same", "other"),
    [
        ("text", "é", "é", "e\u0301"),
        ("text", "", "", " "),
        ("text", "null", "null", "NULL"),
        ("text", "1.5", "1.5", "1.50"),
        ("numeric", "1.5", "1.50", "1.500000000000000000001"),
        ("numeric", "NaN", "nan", "0"),
        ("numeric", 0, "-0", "0.1"),
        ("float8", 0.5, "0.500", 0.25),
        ("int8", 2**53 + 1, str(2**53 + 1), 2**53),
        ("bool", True, "yes", False),
        ("date", "2024-02-29", "29 February 2024", "2024-02-28"),
        ("timestamptz", "2024-02-29T12:00Z", "2024-02-29T13:00+01:00", "2024-02-29T12:00+01:00"),
        ("time", "12:00", "12:00:00", "12:00:01"),
        ("json", {"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1, "b": [3]}),
        ("json", 1, 1.0, True),
        ("_int4", [1, 2], "{1,2}", [2, 1]),
    ],
)
def test_a_key_is_the_same_when_the_value_is(
    table: Table, kind: str, first: Any, same: Any, other: Any
) -> None:
    table.result(
        "create", fields=[{"id": "k", "type": kind}], primary_key=["k"], records=[{"k": first}]
    )

    for records in ([{"k": same}], [{"k": other}, {"k": first}], [{"k": other}, {"k": other}]):
        assert table.refusal("create", records=records) == {
            "records": [f"Record {len(records)}: {DUPLICATE}"],
            "records_row": len(records) - 1,
        }
    table.result("create", records=[{"k": other}])
    assert table.stored() == (2, 2)


@pytest.mark.parametrize("first", ["records", "key"])
def test_a_key_value_that_is_too_long_is_refused(table: Table, first: str) -> None:
    long = {"k": "".join(str(uuid.uuid5(uuid.NAMESPACE_DNS, str(n))) for n in range(200))}
    table.result("create", fields=[{"id": "k", "type": "text"}])
    table.result("create", **({"records": [long]} if first == "records" else {"primary_key": "k"}))
    before = table.everything()

    error = table.refusal(
        "create",
        **({"primary_key": "k"} if first == "records" else {"records": [{"k": "short"}, long]}),
    )

    assert error == {"key": ["The values of the primary key are too long."]}
    assert table.everything() == before


def test_a_key_may_name_a_field_that_old_records_lack(stock: Table) -> None:
    stock.result("create", fields=[{"id": "new", "type": "int4"}], primary_key=["new"])

    stock.result("create", records=[{"new": 1}, {}])

    assert stock.refusal("create", records=[{}, {"new": 1}])["records_row"] == 1
    assert stock.values("new") == [None, None, None, 1, None]


def test_the_same_call_again_is_refused_by_the_key_alone(table: Table) -> None:
    call: dict[str, Any] = {
        "fields": STOCK_FIELDS, "primary_key": ["code"], "aliases": ["twice"],
    }  # fmt: skip
    table.result("create", **call, records=STOCK_RECORDS)
    before = table.everything()

    assert table.refusal("create", **call, records=STOCK_RECORDS)["records_row"] == 0
    assert table.everything() == before


# Fields added and taken away ----------------------------------------------------------------------


@pytest.fixture
def widened(stock: Table) -> Table:
    """``stock`` with a field that its last record fills; the one before says null."""
    stock.result("create", fields=[{"id": "new", "type": "int4"}])
    stock.result("create", records=[{"code": "d", "new": None}, {"code": "e", "new": 7}])
    return stock


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


# Aliases ------------------------------------------------------------------------------------------


def aliases(table: Table) -> list[str]:
    return sorted(table.result("info")["meta"]["aliases"])


def test_aliases_replace_those_before(stock: Table) -> None:
    stock.result("create", aliases=["one", "two", "one"])
    assert aliases(stock) == ["one", "two"]
    assert stock.call("search", resource_id="stock").status_code == 404

    stock.result("create", aliases="two, three")
    assert aliases(stock) == ["three", "two"]

    stock.result("create", aliases=None)
    assert aliases(stock) == ["three", "two"]

    stock.result("create", aliases=[])
    assert aliases(stock) == []


def test_blanks_and_quotes_around_aliases_are_taken_off(stock: Table) -> None:
    result = stock.result("create", aliases=[" one ", '"two, three"'])

    assert result["aliases"] == ["one", "two, three"]
    assert aliases(stock) == ["one", "two, three"]


def test_an_alias_of_another_resource_is_taken_until_it_is_given_up(stock: Table) -> None:
    other = Table(stock.token)
    taken = {"aliases": ["The alias “stock” is taken."]}

    assert other.refusal("create", records=[{"a": 1}], aliases=["mine", "stock"]) == taken
    assert other.call("info").status_code == 404
    stock.result("create", aliases=["still"])
    other.result("create", records=[{"a": 1}], aliases=["mine", "stock"])
    assert stock.refusal("create", aliases=["still", "stock"]) == taken
    assert aliases(stock) == ["still"]
    assert other.records(resource_id="stock") == [{"_id": 1, "a": 1}]


# The resource itself ------------------------------------------------------------------------------


def test_private_is_as_sent_and_otherwise_as_it_is(table: Table) -> None:
    private = []
    for sent in ({}, {"private": True}, {}, {"private": "false"}, {"private": None}):
        table.result("create", **sent)
        private.append(table.resource.private)

    assert private == [False, True, True, False, False]


def test_a_private_table_is_private_from_the_start(table: Table) -> None:
    assert table.result("create", private=True, records=[{"a": 1}])["private"] is True

    assert act(Client(), "datastore_search", {"resource_id": table.id}).status_code == 403
    assert table.ids() == [1]


def test_a_resource_is_made_by_its_description(table: Table) -> None:
    described = {"name": "n" * 301, "description": "Levels", "package_id": "p", "format": "CSV"}

    result = table.result(
        "create", resource_id=None, resource=described, records=[{"a": 1}], aliases=["river"]
    )

    resource = Resource.objects.get(pk=result["resource_id"])
    assert "resource" not in result
    assert (resource.title, resource.description) == ("n" * 300, "Levels")
    assert table.records(resource_id="river") == [{"_id": 1, "a": 1}]


def test_a_described_resource_takes_the_id_that_it_is_given(table: Table) -> None:
    described = {"id": table.id.upper(), "name": "River"}

    result = table.result("create", resource_id=None, resource=described, records=[{"a": 1}])

    assert result["resource_id"] == table.id
    assert table.refusal("create", resource_id=None, resource=described) == {
        "resource": ["The resource cannot be made: There is already a resource with this id."]
    }


@pytest.mark.parametrize("wrong", ["river", 5, "", ["a"], {}])
def test_the_id_of_a_described_resource_is_a_uuid(table: Table, wrong: Any) -> None:
    error = table.refusal("create", resource_id=None, resource={"id": wrong, "name": "River"})

    assert error == {"resource": ["The resource cannot be made: “id” must be a UUID."]}
    assert not table.exists()


def test_a_new_id_takes_the_permission_to_add(table: Table) -> None:
    changer = Table(token_of("changer", "change"), table.id)

    error = error_of(changer.call("create", records=[{"a": 1}]), 404, "Not Found Error")

    assert error == {"message": f"Not found: Resource “{table.id}” was not found."}
    assert not table.exists()
    table.result("create", records=[{"a": 1}])
    changer.result("create", records=[{"a": 1}])
    assert table.values("a") == [1, 1]


def test_an_id_that_is_the_name_of_another_resource_is_new_all_the_same(table: Table) -> None:
    Resource.objects.create(name=table.id)

    table.result("create", records=[{"a": 1}])

    assert table.values("a") == [1]


# Records from a file ------------------------------------------------------------------------------

READ_ONLY = (
    "The records come from a file, and the next file replaces them. To change them all the same,"
    " send “force”: true."
)
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("create", {"records": [{"code": "d"}]}),
    ("create", {"fields": [{"id": "new"}]}),
    ("create", {"aliases": ["other"]}),
    ("create", {"primary_key": ["name"]}),
    ("create", {"private": True}),
    ("create", {}),
    ("upsert", {"records": [{"_id": 1, "name": "x"}]}),
    ("upsert", {"records": [{"code": "d"}], "method": "insert"}),
    ("delete", {}),
    ("delete", {"filters": {"code": "a"}}),
    ("records_delete", {"filters": {}}),
]


@pytest.mark.parametrize(("action", "sent"), WRITES)
def test_what_the_next_file_replaces_is_changed_by_force_alone(
    stock: Table, action: str, sent: dict[str, Any]
) -> None:
    TableVersion.objects.filter(resource_id=stock.id).update(origin=Origin.FILE)
    before = stock.everything()

    for force in ({}, {"force": None}, {"force": False}, {"force": "no"}):
        assert stock.refusal(action, **sent, **force) == {"read-only": [READ_ONLY]}
    assert stock.everything() == before

    assert "force" not in stock.result(action, **sent, force=True)
    assert stock.everything() != before


def test_a_dry_run_needs_force_too(token: str) -> None:
    table = Table(token, str(make_resource().pk))
    records = [{"_id": 1, "title": "x"}]

    assert set(table.refusal("upsert", records=records, dry_run=True)) == {"read-only"}
    before = table.everything()
    table.result("upsert", records=records, dry_run=True, force=True)
    assert table.everything() == before


def test_forced_changes_keep_records_totals_and_words(token: str) -> None:
    table = Table(token, str(make_resource().pk))

    table.insert({"code": "007", "title": "Otters", "amount": "1.10"}, force=True)
    table.upsert({"_id": 1, "title": "Weir"}, force=True)

    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]
    assert (table.ids(q="otter"), table.ids(q="weir"), table.ids(q="bridge")) == ([7], [1], [])
    assert table.stored() == (7, 7)
    assert TableVersion.objects.get(resource_id=table.id).origin == Origin.FILE


def test_a_file_takes_the_place_of_records_and_fields_and_leaves_key_and_aliases(
    stock: Table,
) -> None:
    stock.result("create", fields=[{"id": "name", "info": {"label": "Name"}}, {"id": "more"}])

    load_csv(stock.resource, "name,code\npear,a\napple,b\n")

    assert stock.fields() == [
        {"id": "name", "type": "text", "info": {"label": "Name"}},
        {"id": "code", "type": "text"},
    ]
    assert stock.values("code", resource_id="stock") == ["a", "b"]
    assert stock.resource.primary_key == ["code"]
    assert "read-only" in stock.refusal("upsert", records=[{"code": "a"}])
    assert "same primary key" in str(stock.refusal("create", records=[{"code": "a"}], force=True))
    stock.result("create", records=[{"code": "c"}], force=True)
    assert stock.stored() == (3, 3)


def test_a_file_fills_the_fields_that_calls_had_added(widened: Table) -> None:
    load_csv(widened.resource, "new,code\n1,a\n,b\n")

    assert widened.ids(filters={"new": None}) == [2]
    assert widened.ids(filters={"new": {"isnull": False}}) == [1]


# The table again ----------------------------------------------------------------------------------


def test_a_dropped_table_can_be_made_again_with_other_fields(
    stock: Table, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        stock.result("delete")
        stock.result("create", records=[{"name": 5}], aliases=["stock"])

    assert stock.fields() == [{"id": "name", "type": "int4"}]
    assert stock.records(resource_id="stock") == [{"_id": 1, "name": 5}]
    assert stock.resource.primary_key == []
    assert storage.list_record_tables(connection) == {stock.resource.table_version_id}
