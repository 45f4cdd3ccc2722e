"""The guessed type of a field without a declared one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from datastore_search.field_types import Json, guess_type

from .tables import Table

TYPES: list[tuple[list[Any], str]] = [
    ([], "text"),
    ([None], "text"),
    ([""], "text"),
    (["", None], "text"),
    ([True, False], "bool"),
    ([True, 1], "text"),
    (["true"], "text"),
    ([0, -1, None], "int4"),
    (["5"], "int4"),
    (["5", 6], "int4"),
    (["007"], "text"),
    (["+7"], "text"),
    (["-0"], "text"),
    ([" 7"], "text"),
    (["٣"], "text"),
    ([2**31 - 1, -(2**31)], "int4"),
    ([2**31], "int8"),
    ([-(2**31) - 1], "int8"),
    (["2147483648"], "int8"),
    ([2**63 - 1, -(2**63)], "int8"),
    ([2**63], "numeric"),
    ([10**20], "float8"),
    ([2**63 + 1], "numeric"),
    ([str(2**63)], "numeric"),
    ([Decimal("5.0")], "int4"),
    ([Decimal("0.5")], "float8"),
    ([Decimal("0.5"), 3], "float8"),
    ([Decimal("0.1")], "float8"),
    ([Decimal("0.1234567890123456789")], "numeric"),
    (["1.50"], "numeric"),
    (["1.50", 2], "numeric"),
    (["1.50", 7, Decimal("0.5")], "numeric"),
    (["01.50"], "text"),
    (["1e5"], "text"),
    (["NaN"], "text"),
    (["2024-02-29"], "timestamp"),  # as in CKAN
    (["2023-02-29"], "text"),
    (["2024-02-29T12:00"], "timestamp"),
    (["2024-02-29 12:00:00.5"], "timestamp"),
    (["2024-02-29", "2024-02-29T12:00"], "timestamp"),
    (["2024-02-29T12:00Z"], "timestamptz"),
    (["2024-02-29T12:00Z", "2024-02-29T12:00"], "text"),
    (["12:00"], "time"),
    (["29/02/2024"], "text"),
    (["2024-02-29", 5], "text"),
    ([5, "five"], "text"),
    ([{}], "json"),
    ([[1, 2]], "json"),
    ([{"a": 1}, "text", 5], "json"),
]


@pytest.mark.parametrize(("values", "name"), TYPES)
def test_the_type_is_the_narrowest_that_holds_all_values(values: list[Json], name: str) -> None:
    assert guess_type(values).name == guess_type(values[::-1]).name == name


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        ([7, None, ""], "int4", [7, None, None]),
        (["007", "", None], "text", ["007", "", None]),
        ([1, 2.5], "float8", [1, 2.5]),
        (
            ["2024-02-29", "2024-02-29T12:00"],
            "timestamp",
            ["2024-02-29T00:00:00.000", "2024-02-29T12:00:00.000"],
        ),
        ([{"a": [1]}, "x", "", None], "json", [{"a": [1]}, "x", "", None]),
        ([5, "five"], "text", ["5", "five"]),
        (["2024-02-29T12:00+02:00"], "timestamptz", ["2024-02-29T10:00:00.000+00:00"]),
    ],
)
def test_a_guessed_field_holds_the_values_of_its_call(
    table: Table, values: list[Any], kind: str, stored: list[Any]
) -> None:
    result = table.run("create", records=[{"a": value} for value in values])

    assert result["fields"] == [{"id": "a", "type": kind}]
    assert table.read_values("a") == stored


def test_a_guess_is_made_once_and_later_records_must_fit_it(table: Table) -> None:
    table.run("create", records=[{"a": 5}])

    assert table.get_refusal("create", records=[{"a": 6}, {"a": "x"}]) == {
        "records": ['Record 2: field “a” has type int4 and cannot hold "x".'],
        "records_row": 1,
    }
    assert table.read_values("a") == [5]


def test_a_declared_field_without_a_type_is_guessed(table: Table) -> None:
    result = table.run(
        "create",
        fields=[{"id": "a"}, {"id": "b", "type": None}, {"id": "c", "type": ""}, {"id": "d"}],
        records=[{"a": 1, "b": "1.5", "c": "12:30:00"}],
    )

    assert [field["type"] for field in result["fields"]] == ["int4", "numeric", "time", "text"]
