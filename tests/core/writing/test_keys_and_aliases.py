"""The primary key, the indexes and the aliases that ``datastore_create`` gives a resource."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection

from .tables import Table

DUPLICATE = "a record with the same primary key already exists."
NEW_ID = "5b6c8a4e-0f54-4a6c-9d0c-6c0a3f1b2d3e"

# Primary keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (["code"], ["code"]),
        ('"code", name', ["code", "name"]),
        (["name", "code", "name"], ["name", "code"]),
        ([], []),
    ],
)
def test_a_key_is_a_list_of_fields(stock: Table, key: Any, fields: list[str]) -> None:
    stock.run("create", primary_key=key)

    assert stock.resource.primary_key == fields
    described = {field["id"]: field["schema"] for field in stock.run("info")["fields"]}
    keys = [name for name, schema in described.items() if schema["index_name"] == "primary_key"]
    assert keys == sorted(fields)
    unique = [name for name, schema in described.items() if schema["uniquekey"]]
    assert unique == (fields if len(fields) == 1 else [])


def test_a_key_that_some_records_share_is_refused_and_the_one_before_stays(stock: Table) -> None:
    stock.run("create", primary_key="code")
    stock.run(
        "upsert", method="insert", records=[{"code": "z", "name": "a"}, {"code": "y", "name": "a"}]
    )

    assert stock.get_refusal("create", primary_key="name") == {
        "primary_key": ["Some records have the same values in the fields of the primary key."]
    }
    assert stock.resource.primary_key == ["code"]


def test_a_table_that_is_lost_is_made_again_with_its_fields_and_key(stock: Table) -> None:
    def count_indexes() -> int:
        cursor.execute(
            "SELECT count(*) FROM pg_indexes WHERE tablename = %s", [stock.get_record_table()]
        )
        ((count,),) = cursor.fetchall()
        return int(count)

    fields = stock.read_fields()
    with connection.cursor() as cursor:
        indexes = count_indexes()
        cursor.execute(f"DROP TABLE {stock.get_record_table()}")

        stock.run("create", records=[{"code": "a"}])

        assert count_indexes() == indexes
    assert stock.read_fields() == fields


def test_a_key_of_no_field_is_refused(stock: Table) -> None:
    for name in ("Code", "_id", ""):
        assert stock.get_refusal("create", primary_key=["code", name]) == {
            "primary_key": [f"Unknown field: “{name}”"]
        }


def test_a_key_has_no_more_fields_than_an_index(table: Table) -> None:
    names = [f"k{number}" for number in range(33)]
    parameters = {"fields": [{"id": name, "type": "int4"} for name in names]}

    table.run("create", **parameters, primary_key=names[:32], records=[dict.fromkeys(names, 1)])

    assert table.get_refusal("create", **parameters, primary_key=names) == {
        "primary_key": ["A primary key has at most 32 fields."]
    }
    assert (
        table.get_refusal("create", **parameters, records=[dict.fromkeys(names, 1)])["records_row"]
        == 0
    )


@pytest.mark.parametrize(
    ("kind", "first", "same", "other"),
    [
        ("text", "é", "é", "e\u0301"),
        ("text", "a\"b\\c'd%s", "a\"b\\c'd%s", " "),
        ("text", "null", "null", "NULL"),
        ("text", "1.5", 1.5, "1.50"),
        ("numeric", "1.5", "1.50", "1.500000000000000000001"),
        ("numeric", "NaN", "nan", "0"),
        ("float8", 0.5, "5e-1", 0.25),
        ("int8", 2**53 + 1, str(2**53 + 1), 2**53),
        ("bool", True, "yes", False),
        ("date", "2024-02-29", "29 February 2024", "2024-02-28"),
        ("timestamptz", "2024-02-29T12:00Z", "2024-02-29T13:00+01:00", "2024-02-29T12:00+01:00"),
        ("time", "12:00", "12:00:00", "12:00:01"),
        ("json", {"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1, "b": [3]}),
        ("json", 1, 1.0, True),
        ("_int4", [1, 2], "{1,2}", [2, 1]),
        ("_text", ["a", None], ["a", None], ["a"]),
    ],
)
def test_a_key_is_the_same_when_the_value_is(
    table: Table, kind: str, first: Any, same: Any, other: Any
) -> None:
    fields = [{"id": "k", "type": kind}, {"id": "v", "type": "text"}]
    table.run("create", fields=fields, primary_key=["k"], records=[{"k": first}])

    for records in ([{"k": same}], [{"k": other}, {"k": first}], [{"k": other}, {"k": other}]):
        assert table.get_refusal("create", records=records) == {
            "records": [f"Record {len(records)}: {DUPLICATE}"],
            "records_row": len(records) - 1,
        }
    table.run("create", records=[{"k": other}])
    table.upsert({"k": same, "v": "new"}, method="update")
    assert table.read_values("v") == ["new", None]
    table.upsert({"k": same, "v": "newer"})
    assert table.read_values("v") == ["newer", None]
    assert table.count_records() == (2, 2)


@pytest.mark.parametrize("first", ["records", "key"])
def test_a_key_value_that_is_too_long_is_refused(table: Table, first: str) -> None:
    long = {"k": "".join(str(uuid.uuid5(uuid.NAMESPACE_DNS, str(n))) for n in range(200))}
    table.run("create", fields=[{"id": "k", "type": "text"}])
    table.run("create", **({"records": [long]} if first == "records" else {"primary_key": "k"}))
    before = table.read_state()

    error = table.get_refusal(
        "create",
        **({"primary_key": "k"} if first == "records" else {"records": [{"k": "short"}, long]}),
    )

    assert error == {"key": ["The values of the primary key are too long."]}
    assert table.read_state() == before


def test_a_key_may_name_a_field_that_old_records_lack(stock: Table) -> None:
    stock.run("create", fields=[{"id": "new", "type": "int4"}], primary_key=["new"])

    stock.run("create", records=[{"new": 1}, {}])

    assert stock.get_refusal("create", records=[{}, {"new": 1}])["records_row"] == 1
    assert stock.read_values("new") == [None, None, None, 1, None]


# Indexes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [(["code", "name"], ["code", "name"]), ('"code" , name', ["code", "name"])],
)
def test_every_field_is_indexed_already(stock: Table, indexes: Any, expected: list[str]) -> None:
    assert stock.run("create", indexes=indexes)["indexes"] == expected

    fields = stock.run("info")["fields"]
    assert all(field["schema"]["is_index"] for field in fields)


# Aliases ------------------------------------------------------------------------------------------


def list_aliases(table: Table) -> list[str]:
    return sorted(table.run("info")["meta"]["aliases"])


def test_aliases_replace_those_before(stock: Table) -> None:
    stock.run("create", aliases=["one", "two", "one"])
    assert list_aliases(stock) == ["one", "two"]
    assert stock.call("search", resource_id="stock").status_code == 404

    stock.run("create", aliases="two, three")
    assert list_aliases(stock) == ["three", "two"]

    stock.run("create", aliases=None)
    assert list_aliases(stock) == ["three", "two"]

    stock.run("create", aliases=[])
    assert list_aliases(stock) == []


def test_an_alias_of_another_resource_is_taken_until_it_is_given_up(stock: Table) -> None:
    other = Table(stock.token)
    error = {"aliases": ["The alias “stock” is taken."]}

    assert other.get_refusal("create", records=[{"a": 1}], aliases=["mine", "stock"]) == error
    assert other.call("info").status_code == 404
    stock.run("create", aliases=["still"])
    other.run("create", records=[{"a": 1}], aliases=["mine", "stock"])
    assert stock.get_refusal("create", aliases=["still", "stock"]) == error
    assert list_aliases(stock) == ["still"]
    assert other.read_records(resource_id="stock") == [{"_id": 1, "a": 1}]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (" one , two ", ["one", "two"]),
        ('"one, two"', ["one, two"]),
        (["Khí hậu 2024", "🙂", "a.b/c", "'; --", "{}", "x" * 200], [
            "'; --", "Khí hậu 2024", "a.b/c", "x" * 200, "{}", "🙂",
        ]),
    ],
)  # fmt: skip
def test_an_alias_is_accepted_everywhere_in_place_of_the_id(
    stock: Table, sent: Any, stored: list[str]
) -> None:
    stock.run("create", aliases=sent)

    assert list_aliases(stock) == stored
    for number, alias in enumerate(stored):
        by_alias = Table(stock.token, alias)
        by_alias.run("create", records=[{"code": f"1{number}"}])
        by_alias.upsert({"code": f"2{number}"}, resource_id=None, id=alias)
        by_alias.run("records_delete", filters={"code": f"1{number}"})
        by_alias.run("delete", resource_id=None, id=alias, filters={"code": "a"})
        assert by_alias.read_values("code")[-1] == f"2{number}"
        assert by_alias.run("info", resource_id=None, id=alias)["meta"]["id"] == stock.id
        assert by_alias.upsert()["resource_id"] == stock.id


@pytest.mark.parametrize(
    "alias", ["", " a", "_table_metadata", 'a"b', "50%", "\x85", "x" * 201, NEW_ID.upper()]
)
def test_invalid_aliases_are_refused(stock: Table, alias: str) -> None:
    before = stock.read_state()

    # Blanks around a name in a list are removed.
    sent = [f'"{alias}"'] if alias != alias.strip() else [alias]
    error = stock.get_refusal("create", aliases=["fine", *sent])

    assert error.keys() == {"aliases"}
    assert stock.read_state() == before
