"""``datastore_delete`` and ``datastore_records_delete``: some records, all, or the table."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from datastore_search import storage
from datastore_search.models import Alias, Field, Resource

from ..builders import check_error, make_resource
from .tables import STOCK_FIELDS, Table, token_of

BOTH = pytest.mark.parametrize("action", ["delete", "records_delete"])

# Some records -------------------------------------------------------------------------------------

FILTERS: list[tuple[Any, list[int]]] = [
    ({"code": "a"}, [2, 3]),
    ({"code": ["a", "c"]}, [2]),
    ({"code": []}, [1, 2, 3]),
    ({"code": "z"}, [1, 2, 3]),
    ({"name": None}, [1, 2]),
    ({"_id": [1, 3]}, [2]),
    ({"amount": {"gt": 1.5}}, [1, 3]),
    ({"amount": {"ne": "1.50"}}, [1]),
    ({"name": {"startswith": "b"}}, [1, 3]),
    ({"code": "a", "name": "bread"}, [1, 2, 3]),
    ({"$or": [{"code": "a"}, {"count": 2}]}, [3]),
    ([{"code": "a"}, {"code": "b"}], [3]),
    ('{"code": "a"}', [2, 3]),
    ('[{"code": "a"}]', [2, 3]),
    ({}, []),
    ("{}", []),
    (" {} ", []),
]


@pytest.mark.parametrize(
    ("action", "filters", "left"),
    [
        *(("delete", *case) for case in FILTERS),
        *(("records_delete", *case) for case in (FILTERS[1], *FILTERS[-5:])),
    ],
)
def test_the_records_that_filters_find_go_and_the_table_stays(
    stock: Table, action: str, filters: Any, left: list[int]
) -> None:
    found = stock.ids(filters=filters)

    stock.result(action, filters=filters)

    assert stock.ids() == left
    assert sorted([*found, *left]) == [1, 2, 3]
    assert stock.stored() == (len(left), len(left))
    assert stock.fields() == STOCK_FIELDS
    assert stock.ids(resource_id="stock") == left


@BOTH
def test_the_answer_repeats_the_filters(stock: Table, action: str) -> None:
    assert stock.result(action, filters='{"code": "a"}') == {
        "resource_id": stock.id,
        "filters": {"code": "a"},
    }
    assert stock.result(action, filters={}, calculate_record_count=True, force=True) == {
        "resource_id": stock.id,
        "filters": {},
    }


@BOTH
def test_deleted_records_come_back_when_asked_for(stock: Table, action: str) -> None:
    result = stock.result(action, filters={"code": ["c", "a", "z"]}, include_deleted_records=True)

    assert result == {
        "resource_id": stock.id,
        "filters": {"code": ["c", "a", "z"]},
        "include_deleted_records": True,
        "deleted_records": [
            {"_id": 1, "code": "a", "name": "apple", "count": 1, "amount": 1.5},
            {"_id": 3, "code": "c", "name": None, "count": None, "amount": None},
        ],
    }
    none = stock.result(action, filters={"code": "z"}, include_deleted_records=True)
    assert none["deleted_records"] == []


def test_words_and_keys_of_deleted_records_are_free(stock: Table) -> None:
    stock.result("delete", filters={"code": "a"})
    assert stock.ids(q="apple") == []

    stock.insert({"code": "a", "name": "apple"})

    assert stock.ids(q="apple") == [4]
    assert stock.upsert({"code": "a", "name": "pear"}, include_records=True)["records"] == [
        {"_id": 4, "code": "a", "name": "pear", "count": None, "amount": None}
    ]


def test_an_emptied_table_is_still_one(stock: Table) -> None:
    stock.result("records_delete", filters={})

    assert stock.result("info")["meta"]["count"] == 0
    assert stock.resource.primary_key == ["code"]
    stock.insert({"code": "a"})
    assert stock.refusal("upsert", records=[{"code": "a"}], method="insert")["records_row"] == 0
    assert stock.ids() == [4]


# Refusals -----------------------------------------------------------------------------------------

INVALID = {"filters": ["Filters must be an object, or a list of objects."]}
NO_JSON = {"filters": ["Cannot parse JSON"]}
REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (None, INVALID),
    ("", INVALID),
    ([], INVALID),
    ("[]", INVALID),
    ("null", INVALID),
    ("0", INVALID),
    ("false", INVALID),
    ('""', INVALID),
    (0, INVALID),
    (5, INVALID),
    (False, INVALID),
    (True, INVALID),
    (" ", NO_JSON),
    ("code", NO_JSON),
    ("{", NO_JSON),
    ({"colour": "red"}, {"filters": ["Unknown field: “colour”"]}),
    (
        {"count": "many"},
        {"filters": ['Field “count” has type int4 and cannot equal "many".']},
    ),
    ({"$not": []}, {"filters": [
        "Unknown group “$not”: there are $and and $or, and $$ begins a field’s name."
    ]}),
]  # fmt: skip


@pytest.mark.parametrize(("filters", "error"), REFUSED)
def test_filters_that_are_none_lose_nothing(
    stock: Table, filters: Any, error: dict[str, Any]
) -> None:
    before = stock.everything()

    assert stock.refusal("delete", filters=filters) == error
    assert stock.refusal("records_delete", filters=filters) == error
    assert stock.everything() == before


@BOTH
def test_filters_with_a_hole_lose_nothing(stock: Table, action: str) -> None:
    before = stock.everything()

    holes: list[Any] = [[{}], [[]], [5], ["code"], {"code": {}}, {"$or": []}, {"$and": [{}]}]
    for filters in holes:
        assert set(stock.refusal(action, filters=filters)) == {"filters"}, filters
    assert stock.everything() == before


def test_records_delete_insists_on_filters(stock: Table) -> None:
    before = stock.everything()

    assert stock.refusal("records_delete") == {"filters": ["Missing value"]}
    assert stock.refusal("records_delete", filter={"code": "a"}) == {
        "filters": ["Missing value"],
        "__extras": ["There is no parameter “filter”."],
    }
    assert stock.everything() == before


@pytest.mark.parametrize("slip", [{"filter": {"code": "a"}}, {"Filters": {}}, {"records": []}])
def test_a_misspelt_parameter_does_not_drop_the_table(stock: Table, slip: dict[str, Any]) -> None:
    before = stock.everything()

    (name,) = slip
    assert stock.refusal("delete", **slip) == {"__extras": [f"There is no parameter “{name}”."]}
    assert stock.everything() == before


# The table ----------------------------------------------------------------------------------------


def test_without_filters_the_table_goes_and_the_resource_stays(
    stock: Table, django_capture_on_commit_callbacks: Any
) -> None:
    load_id = stock.resource.table_version_id
    other = make_resource()

    with django_capture_on_commit_callbacks(execute=True):
        result = stock.result("delete")

    assert result == {"resource_id": stock.id}
    resource = Resource.objects.get(pk=stock.id)
    assert (resource.table_version, resource.primary_key) == (None, [])
    assert not Field.objects.filter(resource=resource).exists()
    assert not Alias.objects.exists()
    assert storage.list_record_tables(connection) == {other.table_version_id} != {load_id}


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("search", {}),
        ("info", {}),
        ("upsert", {"records": [{"code": "a"}]}),
        ("upsert", {"records": [{"code": "a"}], "method": "insert"}),
        ("delete", {}),
        ("delete", {"filters": {}}),
        ("records_delete", {"filters": {}}),
    ],
)
def test_a_table_that_is_gone_is_404_to_every_action(
    stock: Table, action: str, sent: dict[str, Any]
) -> None:
    stock.result("delete")

    for name in (stock.id, "stock"):
        response = stock.call(action, **sent, resource_id=name)
        error = check_error(response, 404, "Not Found Error")
        assert error == {"message": f"Not found: Resource “{name}” was not found."}


def test_a_dropped_table_gives_its_aliases_to_others(stock: Table) -> None:
    stock.result("delete", resource_id="stock")

    Table(stock.token).result("create", aliases=["stock"], records=[{"a": 1}])

    assert stock.values("a", resource_id="stock") == [1]


def test_a_dropped_table_starts_anew_with_its_first_number(stock: Table) -> None:
    stock.result("delete")

    stock.result("create", records=[{"code": 5}])

    assert stock.records() == [{"_id": 1, "code": 5}]
    assert stock.fields() == [{"id": "code", "type": "int4"}]
    assert stock.stored() == (1, 1)


def test_a_resource_without_a_table_keeps_what_it_is(token: str) -> None:
    resource = make_resource(name="survey", title="Survey", private=True)
    table = Table(token, str(resource.pk))

    table.result("delete", force=True)
    table.result("create", records=[{"a": 1}])

    resource.refresh_from_db()
    assert (resource.name, resource.title, resource.private) == ("survey", "Survey", True)
    assert table.records() == [{"_id": 1, "a": 1}]
    table.insert({"a": 2})  # without force: the records are no file's any more


def test_dropping_the_table_takes_the_permission_to_delete(stock: Table) -> None:
    changer = Table(token_of("changer", "change"), stock.id)
    before = stock.everything()

    check_error(changer.call("delete"), 403, "Authorization Error")
    assert stock.everything() == before
    changer.result("delete", filters={"code": "a"})
    changer.result("records_delete", filters={"code": "b"})

    assert stock.ids() == [3]
