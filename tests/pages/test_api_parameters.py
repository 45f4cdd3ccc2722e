"""The filters in the API example of a data page."""

from __future__ import annotations

from decimal import Decimal

import pytest

from datastore_search.contrib.pages.question import format_filters
from datastore_search.filters import And, Comparison, Condition, In, Or, parse_filters

SMALL, LARGE = Comparison("n", "lt", 5), Comparison("n", "gte", Decimal("1.50"))


@pytest.mark.parametrize(
    ("conditions", "filters"),
    [
        ((), {}),
        ((In("a", ("x",)), In("b", (None, 5))), {"a": ["x"], "b": [None, 5]}),
        ((In("a", ()),), {"a": []}),
        ((In("$a", (1,)), In("$$b", (2,))), {"$$a": [1], "$$$b": [2]}),
        ((In("doc", ({"gt": 5}, 1)),), {"doc": {"in": [{"gt": 5}, 1]}}),
        ((In("doc", ([1],)),), {"doc": [[1]]}),
        ((SMALL,), {"n": {"lt": 5}}),
        (
            (Or((SMALL, And((LARGE, In("a", (True,)))))),),
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
    assert format_filters(conditions) == filters
    assert parse_filters(format_filters(conditions)) == conditions


@pytest.mark.parametrize(
    "conditions",
    [(SMALL, LARGE), (In("a", (1,)), In("a", (2,))), (Or((SMALL,)), Or((LARGE,)))],
)
def test_two_conditions_of_one_name_both_hold(conditions: tuple[Condition, ...]) -> None:
    assert parse_filters(format_filters(conditions)) == (And(conditions),)
