"""Order indexes of fields in a table that is written to."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection

from ...builders import check_error
from .tables import Table


def make_incompressible_text(count: int, seed: int = 1) -> str:
    """Return a text of four-byte letters that cannot be compressed."""
    choice = random.Random(seed)
    return "".join(chr(choice.randrange(0x20000, 0x2A6DF)) for _letter in range(count))


def list_order_indexes(table: Table) -> set[str]:
    """Return the fields marked with an index, and check that there are as many indexes."""
    names = set(table.resource.fields.filter(has_order_index=True).values_list("name", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexname ~ '_by_'",
            [table.get_record_table()],
        )
        assert len(cursor.fetchall()) == len(names)
    return names


def read_sorted_ids(table: Table, name: str) -> list[Any]:
    """Sort in both directions, and return the ids in ascending order."""
    up = [r["_id"] for r in table.run("search", sort=f'"{name}"')["records"]]
    down = [r["_id"] for r in table.run("search", sort=f'"{name}" desc')["records"]]
    assert up == down[::-1]
    return up


@pytest.fixture
def ordered(stock: Table) -> Table:
    stock.run("create", indexes=["name", "amount"])
    return stock


def test_a_call_indexes_the_order_of_fields(ordered: Table) -> None:
    assert list_order_indexes(ordered) == {"name", "amount"}
    ordered.run("create", indexes="name,count")
    assert list_order_indexes(ordered) == {"name", "amount", "count"}
    assert read_sorted_ids(ordered, "name") == [1, 2, 3]


def test_a_new_field_is_indexed_in_the_call_that_makes_it(table: Table) -> None:
    name = 'it\'s 100% "so" %s'
    table.run(
        "create",
        fields=[{"id": name, "type": "text"}, {"id": "yes", "type": "bool"}],
        records=[{name: "b"}, {name: "a"}, {}],
        indexes=[name, "yes"],
    )

    assert list_order_indexes(table) == {name}  # a boolean gets no order index
    assert [r[name] for r in table.run("search", sort=[name])["records"]] == ["a", "b", None]


def test_a_stored_value_that_is_too_long_is_named_as_the_reason(stock: Table) -> None:
    stock.insert({"code": "d", "name": make_incompressible_text(2_000)})
    before = stock.read_state()

    error = stock.get_refusal("create", indexes=["name"])

    assert error == {"indexes": ["A value is too long for an index of its field."]}
    assert stock.read_state() == before


@pytest.mark.parametrize("method", ["insert", "upsert", "update"])
def test_a_longer_value_is_stored_and_only_its_index_goes(ordered: Table, method: str) -> None:
    code = "a" if method == "update" else "d"
    long = make_incompressible_text(5_000)

    ordered.run("upsert", method=method, records=[{"code": code, "name": long, "amount": "0.5"}])

    assert list_order_indexes(ordered) == {"amount"}
    position = 0 if method == "update" else 3
    assert ordered.read_values("name")[position] == long
    assert read_sorted_ids(ordered, "name") == ([2, 1, 3] if method == "update" else [1, 2, 4, 3])
    assert read_sorted_ids(ordered, "amount") == ([1, 2, 3] if method == "update" else [4, 1, 2, 3])


def test_a_call_that_fails_keeps_the_index_that_it_had_dropped(ordered: Table) -> None:
    before = ordered.read_state()

    check_error(
        ordered.call(
            "upsert",
            method="insert",
            records=[{"code": "a", "name": make_incompressible_text(3_000)}],
        ),
        409,
    )

    assert ordered.read_state() == before
    assert list_order_indexes(ordered) == {"name", "amount"}


@pytest.mark.parametrize(
    ("action", "parameters"),
    [
        ("create", {"indexes": ["count"]}),
        ("upsert", {"records": [{"code": "d", "name": "x" * 9_000}]}),
        ("create", {"fields": [{"id": "code"}], "delete_fields": True}),
    ],
)
def test_a_dry_run_changes_no_index(
    ordered: Table, action: str, parameters: dict[str, Any]
) -> None:
    before = ordered.read_state()

    response = ordered.call(action, dry_run=True, **parameters)

    assert response.status_code in {200, 409}  # 409 if the action has no dry run
    assert ordered.read_state() == before


def test_a_removed_field_takes_its_index_along_and_comes_back_without_one(ordered: Table) -> None:
    kept_fields = [{"id": "code"}, {"id": "amount"}]
    ordered.run("create", fields=kept_fields, delete_fields=True)
    assert list_order_indexes(ordered) == {"amount"}

    ordered.run("create", fields=[*kept_fields, {"id": "name", "type": "int4"}])
    ordered.upsert({"code": "b", "name": 1}, {"code": "c", "name": 2})

    assert list_order_indexes(ordered) == {"amount"}
    assert read_sorted_ids(ordered, "name") == [2, 3, 1]


def test_an_index_is_refused_while_values_of_another_type_may_still_be_read(stock: Table) -> None:
    """PostgreSQL indexes dead rows too, until no snapshot can see them."""
    kept_fields = [{"id": "code"}]
    stock.run("create", fields=kept_fields, delete_fields=True)
    stock.run("create", fields=[*kept_fields, {"id": "name", "type": "int4"}])
    stock.upsert({"code": "b", "name": 1}, {"code": "c", "name": 2})

    response = stock.call("create", indexes=["name"])

    error = check_error(response, 503)
    assert "indexes cannot change now" in error["message"]
    assert list_order_indexes(stock) == set()
    assert read_sorted_ids(stock, "name") == [2, 3, 1]
