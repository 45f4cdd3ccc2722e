"""The grammar of ``filters``: every form, its limits and its errors."""

from __future__ import annotations

from typing import Any

import pytest

from datastore_search.filters import And, Comparison, Condition, In, Or, parse_filters
from datastore_search.filters.operators import operators
from datastore_search.messages.parameters import InvalidParameter, InvalidParameters
from datastore_search.messages.search import (
    EmptyCondition,
    FiltersNotAnObject,
    FiltersTooDeep,
    FiltersTooMany,
    InvalidFilterOperand,
    TooManyTextConditions,
    UnknownGroup,
    UnknownOperator,
)

A1, A2, B1 = In("a", (1,)), In("a", (2,)), In("b", (1,))
GREATER, LESS = Comparison("a", "gt", 1), Comparison("a", "lt", 5)


def list_errors(filters: Any) -> list[type[InvalidParameter]]:
    with pytest.raises(InvalidParameters) as refusal:
        parse_filters(filters)
    return [type(error) for error in refusal.value.errors]


# Forms --------------------------------------------------------------------------------------------


FORMS: dict[str, tuple[Any, tuple[Condition, ...]]] = {
    "nothing": ({}, ()),
    "nothing in a list": ([], ()),
    "a value": ({"a": 1}, (A1,)),
    "null": ({"a": None}, (In("a", (None,)),)),
    "a text": ({"a": "x"}, (In("a", ("x",)),)),
    "a truth value": ({"a": True}, (In("a", (True,)),)),
    "two fields": ({"a": 1, "b": 1}, (A1, B1)),
    "an empty name": ({"": 1}, (In("", (1,)),)),
    "no values": ({"a": []}, (In("a", ()),)),
    "a list of one": ({"a": [1]}, (A1,)),
    "several values": ({"a": [1, "x", None]}, (In("a", (1, "x", None)),)),
    "lists as values": ({"a": [[1], []]}, (In("a", ([1], [])),)),
    "eq": ({"a": {"eq": 1}}, (A1,)),
    "eq null": ({"a": {"eq": None}}, (In("a", (None,)),)),
    "eq a whole list": ({"a": {"eq": [1, 2]}}, (In("a", ([1, 2],)),)),
    "eq an object": ({"a": {"eq": {"k": 1}}}, (In("a", ({"k": 1},)),)),
    "in": ({"a": {"in": [1, 2]}}, (In("a", (1, 2)),)),
    "in nothing": ({"a": {"in": []}}, (In("a", ()),)),
    "in lists": ({"a": {"in": [[1]]}}, (In("a", ([1],)),)),
    "two operators": ({"a": {"gt": 1, "lt": 5}}, (GREATER, LESS)),
    "an operator in a list": ({"a": [{"gt": 1}]}, (GREATER,)),
    "operators or": ({"a": [{"gt": 1}, {"lt": 5}]}, (Or((GREATER, LESS), "a"),)),
    "operators and, then or": (
        {"a": [{"gt": 1, "lt": 5}, {"eq": 2}]},
        (Or((And((GREATER, LESS)), A2), "a"),),
    ),
    "values and operators": ({"a": [7, {"gt": 1}, 8]}, (Or((GREATER, In("a", (7, 8))), "a"),)),
    "a list of one object": ([{"a": 1}], (Or((A1,)),)),
    "a list of objects": ([{"a": 1}, {"b": 1}], (Or((A1, B1)),)),
    "and within or": ([{"a": 1, "b": 1}, {"a": 2}], (Or((And((A1, B1)), A2)),)),
    "$or": ({"$or": [{"a": 1}, {"b": 1}]}, (Or((A1, B1)),)),
    "$and": ({"$and": [{"a": 1}, {"b": 1}]}, (And((A1, B1)),)),
    "$or of one": ({"$or": [{"a": 1}]}, (Or((A1,)),)),
    "$or of objects with two fields": (
        {"$or": [{"a": 1, "b": 1}, {"a": 2}]},
        (Or((And((A1, B1)), A2)),),
    ),
    "$or beside a field": ({"b": 1, "$or": [{"a": 1}, {"a": 2}]}, (B1, Or((A1, A2)))),
    "groups in a group": (
        {"$and": [{"$or": [{"a": 1}, {"a": 2}]}, {"$or": [{"b": 1}]}]},
        (And((Or((A1, A2)), Or((B1,)))),),
    ),
    "$or in a list": ([{"$or": [{"a": 1}, {"b": 1}]}], (Or((Or((A1, B1)),)),)),
    "$$": ({"$$a": 1}, (In("$a", (1,)),)),
    "$$or is a field": ({"$$or": [1]}, (In("$or", (1,)),)),
    "$$$": ({"$$$a": 1}, (In("$$a", (1,)),)),
    "inner $": ({"a$": 1, "a$$b": 1}, (In("a$", (1,)), In("a$$b", (1,)))),
    "$": ({"$or": [{"$$": {"lt": 1}}]}, (Or((Comparison("$", "lt", 1),)),)),
}


@pytest.mark.parametrize(("filters", "conditions"), FORMS.values(), ids=FORMS)
def test_every_form_is_read(filters: Any, conditions: tuple[Condition, ...]) -> None:
    assert parse_filters(filters) == conditions


@pytest.mark.parametrize("operand", [None, True, 5, "x", [], [1], {}, {"k": 1}])
def test_other_operators_keep_their_operand_for_the_field(operand: Any) -> None:
    for operator in {*operators} - {"eq", "in", "isnull"}:
        assert parse_filters({"a": {operator: operand}}) == (Comparison("a", operator, operand),)


@pytest.mark.parametrize("operand", [True, False])
def test_isnull_takes_a_boolean(operand: bool) -> None:
    assert parse_filters({"a": {"isnull": operand}}) == (Comparison("a", "isnull", operand),)


# Limits -------------------------------------------------------------------------------------------


def build_alternatives(count: int) -> list[dict[str, int]]:
    return [{"a": number} for number in range(count)]


def nest(depth: int, group: str = "$and") -> dict[str, Any]:
    condition: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        condition = {group: [condition]}
    return condition


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param({f"f{n}": n for n in range(99)}, id="99 fields"),
        pytest.param({"$or": build_alternatives(99)}, id="99 members of $or"),
        pytest.param({"$and": build_alternatives(99)}, id="99 members of $and"),
        pytest.param(build_alternatives(99), id="99 objects"),
        pytest.param({"a": list(range(10_000))}, id="10,000 values"),
        pytest.param({"a": {"in": list(range(10_000))}}, id="in 10,000 values"),
        pytest.param(
            {"$and": [{"$or": build_alternatives(48)}, {"$or": build_alternatives(49)}]},
            id="100 operations",
        ),
        # CKAN does not count an $and at the root that has one member.
        pytest.param(
            {"$and": [{"$or": build_alternatives(99)}]}, id="100 operations by CKAN's count"
        ),
    ],
)
def test_up_to_a_hundred_operations_are_accepted(filters: Any) -> None:
    assert parse_filters(filters)


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param({f"f{n}": n for n in range(100)}, id="100 fields"),
        pytest.param({"$or": build_alternatives(100)}, id="100 members of $or"),
        pytest.param({"$and": build_alternatives(100)}, id="100 members of $and"),
        pytest.param(build_alternatives(100), id="100 objects"),
        pytest.param({"$or": [{f"f{n}": n for n in range(100)}]}, id="100 fields in $or"),
        pytest.param({"a": dict.fromkeys(map(str, range(100)), 1)}, id="100 operators"),
        pytest.param({"a": [{"gt": 1}] * 101}, id="101 operators in a list"),
        pytest.param(
            {"$and": [{"$or": build_alternatives(50)}, {"$or": build_alternatives(49)}]},
            id="102 operations",
        ),
        pytest.param(
            {"$or": build_alternatives(60), "$and": build_alternatives(60)}, id="120 operations"
        ),
        pytest.param({"$or": build_alternatives(100_000)}, id="100,000 members"),
    ],
)
def test_more_than_a_hundred_operations_are_refused(filters: Any) -> None:
    assert list_errors(filters) == [FiltersTooMany]


@pytest.mark.parametrize("group", ["$and", "$or"])
def test_groups_lie_less_than_ten_deep(group: str) -> None:
    assert parse_filters(nest(9, group))
    assert list_errors(nest(10, group)) == [FiltersTooDeep]
    assert list_errors(nest(500, group)) == [FiltersTooDeep]


def test_a_list_at_the_top_is_a_group() -> None:
    assert parse_filters([nest(8)])
    assert list_errors([nest(9)]) == [FiltersTooDeep]


def test_the_values_of_a_field_may_lie_deeper() -> None:
    value: list[Any] = []
    for _ in range(50):
        value = [value]

    assert parse_filters({"a": {"eq": value}}) == (In("a", (value,)),)


# Errors -------------------------------------------------------------------------------------------


INVALID: dict[str, tuple[Any, type[InvalidParameter]]] = {
    "a text in the list": (["a"], FiltersNotAnObject),
    "a list in the list": ([["a"]], FiltersNotAnObject),
    "null in the list": ([None], FiltersNotAnObject),
    "a number in the list": ([5], FiltersNotAnObject),
    "an empty object in the list": ([{}], EmptyCondition),
    "an empty $or": ({"$or": []}, EmptyCondition),
    "an empty $and": ({"$and": []}, EmptyCondition),
    "an empty object in $or": ({"$or": [{}]}, EmptyCondition),
    "$or of an object": ({"$or": {"a": 1}}, FiltersNotAnObject),
    "$or of a text": ({"$or": "a"}, FiltersNotAnObject),
    "$or of null": ({"$or": None}, FiltersNotAnObject),
    "$or of texts": ({"$or": ["a"]}, FiltersNotAnObject),
    "$or of lists": ({"$or": [[{"a": 1}]]}, FiltersNotAnObject),
    "$not": ({"$not": [{"a": 1}]}, UnknownGroup),
    "$OR": ({"$OR": [{"a": 1}]}, UnknownGroup),
    "$ alone": ({"$": 1}, UnknownGroup),
    "$or with a blank": ({"$or ": [{"a": 1}]}, UnknownGroup),
    "no operator": ({"a": {}}, EmptyCondition),
    "no operator in a list": ({"a": [{}]}, EmptyCondition),
    "another operator": ({"a": {"like": 1}}, UnknownOperator),
    "an operator in capitals": ({"a": {"GT": 1}}, UnknownOperator),
    "an operator with $": ({"a": {"$gt": 1}}, UnknownOperator),
    "an empty operator": ({"a": {"": 1}}, UnknownOperator),
    "another operator in a list": ({"a": [1, {"like": 1}]}, UnknownOperator),
    "a group below a field": ({"a": {"$or": [{"gt": 1}]}}, UnknownOperator),
    "in a number": ({"a": {"in": 1}}, InvalidFilterOperand),
    "in a text": ({"a": {"in": "abc"}}, InvalidFilterOperand),
    "in null": ({"a": {"in": None}}, InvalidFilterOperand),
    "in an object": ({"a": {"in": {"k": 1}}}, InvalidFilterOperand),
    "isnull of a number": ({"a": {"isnull": 1}}, InvalidFilterOperand),
    "isnull of a text": ({"a": {"isnull": "true"}}, InvalidFilterOperand),
    "isnull of null": ({"a": {"isnull": None}}, InvalidFilterOperand),
}


@pytest.mark.parametrize(("filters", "error"), INVALID.values(), ids=INVALID)
def test_invalid_filters_are_refused(filters: Any, error: type[InvalidParameter]) -> None:
    assert list_errors(filters) == [error]


def test_all_errors_are_reported_together() -> None:
    filters = {
        "a": {"like": 1, "in": 5, "gt": 2},
        "b": {},
        "c": [1, {"GT": 2}, {}],
        "$nor": [],
        "$or": [{"d": {"isnull": 0}}, 5, {}],
        "$and": {},
    }

    assert list_errors(filters) == [
        UnknownOperator,
        InvalidFilterOperand,
        EmptyCondition,
        UnknownOperator,
        EmptyCondition,
        UnknownGroup,
        InvalidFilterOperand,
        FiltersNotAnObject,
        FiltersNotAnObject,
    ]


def test_too_many_operations_are_reported_with_the_other_errors() -> None:
    filters = {"a": {"like": 1}, "$or": build_alternatives(60), "$and": build_alternatives(60)}

    assert list_errors(filters) == [UnknownOperator, FiltersTooMany]


def test_an_error_names_its_cause() -> None:
    with pytest.raises(InvalidParameters) as refusal:
        parse_filters({"amount": {"like": 1}, "$nor": [], "seen": {"in": 5}})

    messages = [str(error) for error in refusal.value.errors]
    assert messages == [
        f"Unknown operator “like” on field “amount”. Known operators: {', '.join(operators)}.",
        "Unknown group “$nor”. Known groups: $and, $or. Write a field’s leading $ as $$.",
        "Operator “in” on field “seen” has an invalid operand.",
    ]


def test_at_most_ten_conditions_search_in_texts() -> None:
    ten_conditions = [{"a": {"icontains": "x", "startswith": "y"}}] * 5

    assert parse_filters(ten_conditions)
    assert list_errors([*ten_conditions, {"a": {"contains": "z"}}]) == [TooManyTextConditions]
    assert list_errors({"a": [{"contains": "z"}] * 11}) == [TooManyTextConditions]


def test_a_member_of_a_group_with_two_conditions_is_three_operations() -> None:
    pairs = [{"a": number, "b": number} for number in range(33)]

    assert parse_filters({"$or": pairs})
    assert list_errors({"$or": pairs, "c": 1}) == [FiltersTooMany]


def test_a_list_of_values_is_one_operation() -> None:
    lists = {f"f{number}": [1, 2, 3] for number in range(99)}

    assert parse_filters(lists)
    assert list_errors({**lists, "more": [1, 2]}) == [FiltersTooMany]


@pytest.mark.parametrize(
    "filters",
    [
        {"$" + "x" * 10_000: 1},
        {"a": {"x" * 10_000: 1}},
        {"f" * 10_000: {"like": 1}},
        {"f" * 10_000: {"in": 5}},
    ],
)
def test_a_message_stays_short(filters: Any) -> None:
    with pytest.raises(InvalidParameters) as refusal:
        parse_filters(filters)

    assert len(str(refusal.value)) < 600
