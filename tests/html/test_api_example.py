"""The filters of the API that a page's conditions are said in."""

from __future__ import annotations

from decimal import Decimal

import pytest

from datastore_search.filters import AllOf, AnyOf, Comparison, Condition, OneOf, parse_filters
from datastore_search.html.api_example import filters_of

SMALL, LARGE = Comparison("n", "lt", 5), Comparison("n", "gte", Decimal("1.50"))


@pytest.mark.parametrize(
    ("conditions", "filters"),
    [
        ((), {}),
        ((AnyOf("a", ("x",)), AnyOf("b", (None, 5))), {"a": ["x"], "b": [None, 5]}),
        ((AnyOf("a", ()),), {"a": []}),
        ((AnyOf("$a", (1,)), AnyOf("$$b", (2,))), {"$$a": [1], "$$$b": [2]}),
        ((AnyOf("doc", ({"gt": 5}, 1)),), {"doc": {"in": [{"gt": 5}, 1]}}),
        ((AnyOf("doc", ([1],)),), {"doc": [[1]]}),
        ((SMALL,), {"n": {"lt": 5}}),
        (
            (OneOf((SMALL, AllOf((LARGE, AnyOf("a", (True,)))))),),
            {
                "$or": [
                    {"n": {"lt": 5}},
                    {"$and": [{"n": {"gte": Decimal("1.50")}}, {"a": [True]}]},
                ]
            },
        ),
    ],
)
def test_filters_say_what_they_were_read_from(
    conditions: tuple[Condition, ...], filters: dict[str, object]
) -> None:
    assert filters_of(conditions) == filters
    assert parse_filters(filters_of(conditions)) == conditions


@pytest.mark.parametrize(
    "conditions",
    [(SMALL, LARGE), (AnyOf("a", (1,)), AnyOf("a", (2,))), (OneOf((SMALL,)), OneOf((LARGE,)))],
)
def test_two_conditions_of_one_name_both_hold(conditions: tuple[Condition, ...]) -> None:
    assert parse_filters(filters_of(conditions)) == (AllOf(conditions),)
