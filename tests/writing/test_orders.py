"""Indexes of the order of fields, in a table that is written to."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection

from ..builders import check_error
from .tables import Table

#: Letters of four bytes that an order index holds.
LETTERS = 650


def letters(count: int, seed: int = 1) -> str:
    """Make a text that cannot be compressed, of letters of four bytes."""
    choice = random.Random(seed)
    return "".join(chr(choice.randrange(0x20000, 0x2A6DF)) for _letter in range(count))


def orders(table: Table) -> set[str]:
    """Name the fields that are said to have an index; there are as many indexes."""
    names = set(table.resource.fields.filter(has_order_index=True).values_list("name", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexname ~ '_by_'",
            [table.record_table()],
        )
        assert len(cursor.fetchall()) == len(names)
    return names


def sorted_by(table: Table, name: str) -> list[Any]:
    """Sort up and down, and give the ids upwards."""
    up = [r["_id"] for r in table.result("search", sort=f'"{name}"')["records"]]
    down = [r["_id"] for r in table.result("search", sort=f'"{name}" desc')["records"]]
    assert up == down[::-1]
    return up


@pytest.fixture
def ordered(stock: Table) -> Table:
    stock.result("create", indexes=["name", "amount"])
    return stock


def test_a_call_indexes_the_order_of_fields(ordered: Table) -> None:
    assert orders(ordered) == {"name", "amount"}
    ordered.result("create", indexes="name,count")
    assert orders(ordered) == {"name", "amount", "count"}
    assert sorted_by(ordered, "name") == [1, 2, 3]


def test_a_new_field_is_indexed_in_the_call_that_makes_it(table: Table) -> None:
    name = 'it\'s 100% "so" %s'
    table.result(
        "create",
        fields=[{"id": name, "type": "text"}, {"id": "yes", "type": "bool"}],
        records=[{name: "b"}, {name: "a"}, {}],
        indexes=[name, "yes"],
    )

    assert orders(table) == {name}  # a truth value has no order that is worth an index
    assert [r[name] for r in table.result("search", sort=[name])["records"]] == ["a", "b", None]


def test_an_index_of_an_unknown_field_is_refused_and_changes_nothing(stock: Table) -> None:
    before = stock.everything()

    error = stock.refusal("create", indexes=["name", "nope"])

    assert "nope" in str(error["indexes"])
    assert stock.everything() == before


def test_a_value_that_is_there_and_too_long_is_named_as_the_reason(stock: Table) -> None:
    stock.insert({"code": "d", "name": letters(2_000)})
    before = stock.everything()

    error = stock.refusal("create", indexes=["name"])

    assert error == {"indexes": ["A value is too long for an index of its field."]}
    assert stock.everything() == before


def test_the_longest_value_that_is_sure_to_fit_keeps_the_index(ordered: Table) -> None:
    ordered.insert({"code": "d", "name": letters(LETTERS)})

    assert orders(ordered) == {"name", "amount"}


@pytest.mark.parametrize("method", ["insert", "upsert", "update"])
@pytest.mark.parametrize("length", [LETTERS + 1, 5_000])
def test_a_longer_value_is_stored_and_only_its_index_goes(
    ordered: Table, method: str, length: int
) -> None:
    code = "a" if method == "update" else "d"
    long = letters(length)

    ordered.result("upsert", method=method, records=[{"code": code, "name": long, "amount": "0.5"}])

    assert orders(ordered) == {"amount"}
    place = 0 if method == "update" else 3
    assert ordered.values("name")[place] == long
    assert sorted_by(ordered, "name") == ([2, 1, 3] if method == "update" else [1, 2, 4, 3])
    assert sorted_by(ordered, "amount") == ([1, 2, 3] if method == "update" else [4, 1, 2, 3])


def test_a_long_number_is_stored_too(ordered: Table) -> None:
    number = "1" + "0" * 3_000
    ordered.insert({"code": "d", "amount": number})

    assert orders(ordered) == {"name"}
    assert sorted_by(ordered, "amount") == [1, 2, 4, 3]


def test_one_long_value_among_many_records_is_enough(ordered: Table) -> None:
    ordered.insert(
        *({"code": f"x{n}", "name": "short" if n != 5 else letters(3_000)} for n in range(9))
    )

    assert orders(ordered) == {"amount"}
    assert len(ordered.ids()) == 12


def test_a_call_that_fails_keeps_the_index_that_it_had_dropped(ordered: Table) -> None:
    before = ordered.everything()

    check_error(
        ordered.call("upsert", method="insert", records=[{"code": "a", "name": letters(3_000)}]),
        409,
        "Validation Error",
    )

    assert ordered.everything() == before
    assert orders(ordered) == {"name", "amount"}


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("create", {"indexes": ["count"]}),
        ("upsert", {"records": [{"code": "d", "name": "x" * 9_000}]}),
        ("create", {"fields": [{"id": "code"}], "delete_fields": True}),
    ],
)
def test_a_dry_run_changes_no_index(ordered: Table, action: str, sent: dict[str, Any]) -> None:
    before = ordered.everything()

    response = ordered.call(action, dry_run=True, **sent)

    assert response.status_code in {200, 409}  # what takes no dry run says so
    assert ordered.everything() == before


def test_a_removed_field_takes_its_index_along_and_comes_back_without_one(ordered: Table) -> None:
    kept = [{"id": "code"}, {"id": "amount"}]
    ordered.result("create", fields=kept, delete_fields=True)
    assert orders(ordered) == {"amount"}

    ordered.result("create", fields=[*kept, {"id": "name", "type": "int4"}])
    ordered.upsert({"code": "b", "name": 1}, {"code": "c", "name": 2})

    assert orders(ordered) == {"amount"}
    assert sorted_by(ordered, "name") == [2, 3, 1]


def test_an_index_waits_while_values_of_another_type_may_still_be_read(stock: Table) -> None:
    """PostgreSQL indexes dead records too, until nobody can see them any more."""
    kept = [{"id": "code"}]
    stock.result("create", fields=kept, delete_fields=True)
    stock.result("create", fields=[*kept, {"id": "name", "type": "int4"}])
    stock.upsert({"code": "b", "name": 1}, {"code": "c", "name": 2})

    response = stock.call("create", indexes=["name"])

    error = check_error(response, 503, "Service Unavailable")
    assert "indexes cannot change now" in error["message"]
    assert orders(stock) == set()
    assert sorted_by(stock, "name") == [2, 3, 1]


def test_an_order_is_kept_up_by_every_change(ordered: Table) -> None:
    ordered.upsert({"code": "a", "name": "zebra"}, {"code": "e", "name": "a"})
    ordered.result("delete", filters={"code": "b"})

    assert sorted_by(ordered, "name") == [4, 1, 3]
