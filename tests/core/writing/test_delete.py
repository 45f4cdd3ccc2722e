"""``datastore_delete`` and ``datastore_records_delete``: some records, all, or the table."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from datastore_search.database.tables import list_record_tables
from datastore_search.models import Alias, Field, Resource

from ...builders import check_error, make_resource
from ..ckan.writing.step import STOCK_FIELDS
from .tables import Table

BOTH = pytest.mark.parametrize("action", ["delete", "records_delete"])

# Some records -------------------------------------------------------------------------------------

FILTERS: list[tuple[Any, list[int]]] = [
    ({"code": ["a", "c"]}, [2]),
    ({"code": []}, [1, 2, 3]),
    ({"name": None}, [1, 2]),
    ({"_id": {"lte": 2**70}}, []),
    ({"amount": {"ne": "1.50"}}, [1]),
    ({"code": "a", "name": "bread"}, [1, 2, 3]),
    ({"$or": [{"code": "a"}, {"count": 2}]}, [3]),
    ([{"code": "a"}, {"code": "b"}], [3]),
    ('{"code": "a"}', [2, 3]),
    ({}, []),
    (" {} ", []),
]


@pytest.mark.parametrize(
    ("action", "filters", "remaining"),
    [
        *(("delete", *case) for case in FILTERS),
        *(("records_delete", *case) for case in FILTERS[-3:]),
    ],
)
def test_matching_records_are_deleted_and_the_table_stays(
    stock: Table, action: str, filters: Any, remaining: list[int]
) -> None:
    matching = stock.read_ids(filters=filters)

    stock.run(action, filters=filters)

    assert stock.read_ids() == remaining
    assert sorted([*matching, *remaining]) == [1, 2, 3]
    assert stock.count_records() == (len(remaining), len(remaining))
    assert stock.read_fields() == STOCK_FIELDS
    assert stock.read_ids(resource_id="stock") == remaining


@BOTH
def test_the_answer_repeats_the_filters(stock: Table, action: str) -> None:
    assert stock.run(action, filters='{"code": "a"}') == {
        "resource_id": stock.id,
        "filters": {"code": "a"},
    }
    assert stock.run(action, filters={}, calculate_record_count=True, force=True) == {
        "resource_id": stock.id,
        "filters": {},
    }


@BOTH
def test_include_deleted_records_returns_them(stock: Table, action: str) -> None:
    result = stock.run(action, filters={"code": ["c", "a", "z"]}, include_deleted_records=True)

    assert result == {
        "resource_id": stock.id,
        "filters": {"code": ["c", "a", "z"]},
        "include_deleted_records": True,
        "deleted_records": [
            {"_id": 1, "code": "a", "name": "apple", "count": 1, "amount": 1.5},
            {"_id": 3, "code": "c", "name": None, "count": None, "amount": None},
        ],
    }
    none = stock.run(action, filters={"code": "z"}, include_deleted_records=True)
    assert none["deleted_records"] == []


def test_words_and_keys_of_deleted_records_can_be_used_again(stock: Table) -> None:
    stock.run("delete", filters={"code": "a"})
    assert stock.read_ids(q="apple") == []

    stock.insert({"code": "a", "name": "apple"})

    assert stock.read_ids(q="apple") == [4]
    assert stock.upsert({"code": "a", "name": "pear"}, include_records=True)["records"] == [
        {"_id": 4, "code": "a", "name": "pear", "count": None, "amount": None}
    ]


# Refusals -----------------------------------------------------------------------------------------

INVALID = {"filters": ["Filters must be an object, or a list of objects."]}
NO_JSON = {"filters": ["Cannot parse JSON"]}
REFUSED: list[tuple[Any, dict[str, Any]]] = [
    *((empty, INVALID) for empty in (None, "", "[]", "null", "0", '""', 0, False, True)),
    ([], INVALID),
    *((text, NO_JSON) for text in (" ", "code")),
    ({"colour": "red"}, {"filters": ["Unknown field: “colour”"]}),
    (
        {"count": "many"},
        {"filters": ['Field “count” has type int4 and cannot equal "many".']},
    ),
    ({"$not": []}, {"filters": [
        "Unknown group “$not”. Known groups: $and, $or. Write a field’s leading $ as $$."
    ]}),
]  # fmt: skip


@pytest.mark.parametrize(("filters", "error"), REFUSED)
def test_invalid_filters_delete_nothing(stock: Table, filters: Any, error: dict[str, Any]) -> None:
    before = stock.read_state()

    assert stock.get_refusal("delete", filters=filters) == error
    assert stock.get_refusal("records_delete", filters=filters) == error
    assert stock.read_state() == before


@BOTH
def test_filters_with_an_empty_condition_delete_nothing(stock: Table, action: str) -> None:
    before = stock.read_state()

    incomplete: list[Any] = [[{}], [[]], [5], ["code"], {"code": {}}, {"$or": []}, {"$and": [{}]}]
    for filters in incomplete:
        assert set(stock.get_refusal(action, filters=filters)) == {"filters"}, filters
    assert stock.read_state() == before


def test_records_delete_requires_filters(stock: Table) -> None:
    before = stock.read_state()

    assert stock.get_refusal("records_delete") == {"filters": ["Missing value"]}
    assert stock.get_refusal("records_delete", filter={"code": "a"}) == {
        "filters": ["Missing value"],
        "__extras": ["There is no parameter “filter”."],
    }
    assert stock.read_state() == before


@pytest.mark.parametrize(
    "parameters", [{"filter": {"code": "a"}}, {"Filters": {}}, {"records": []}]
)
def test_a_misspelt_parameter_does_not_drop_the_table(
    stock: Table, parameters: dict[str, Any]
) -> None:
    before = stock.read_state()

    (name,) = parameters
    assert stock.get_refusal("delete", **parameters) == {
        "__extras": [f"There is no parameter “{name}”."]
    }
    assert stock.read_state() == before


# The table ----------------------------------------------------------------------------------------


def test_without_filters_the_table_is_dropped_and_the_resource_stays(
    stock: Table, django_capture_on_commit_callbacks: Any
) -> None:
    load_id = stock.resource.table_version_id
    other = make_resource()

    with django_capture_on_commit_callbacks(execute=True):
        result = stock.run("delete")

    assert result == {"resource_id": stock.id}
    resource = Resource.objects.get(pk=stock.id)
    assert (resource.table_version, resource.primary_key) == (None, [])
    assert not Field.objects.filter(resource=resource).exists()
    assert not Alias.objects.exists()
    assert list_record_tables(connection) == {other.table_version_id} != {load_id}


@pytest.mark.parametrize(
    ("action", "parameters"),
    [
        ("info", {}),
        ("upsert", {"records": [{"code": "a"}]}),
        ("delete", {}),
        ("records_delete", {"filters": {}}),
    ],
)
def test_a_table_that_is_gone_is_404_to_every_action(
    stock: Table, action: str, parameters: dict[str, Any]
) -> None:
    stock.run("delete")

    for name in (stock.id, "stock"):
        response = stock.call(action, **parameters, resource_id=name)
        error = check_error(response, 404)
        assert error == {"message": f"Not found: Resource “{name}” was not found."}


def test_a_resource_without_a_table_keeps_its_metadata(token: str) -> None:
    resource = make_resource(name="survey", title="Survey", private=True)
    table = Table(token, str(resource.pk))

    table.run("delete", force=True)
    table.run("create", records=[{"a": 1}])

    resource.refresh_from_db()
    assert (resource.name, resource.title, resource.private) == ("survey", "Survey", True)
    assert table.read_records() == [{"_id": 1, "a": 1}]
    table.insert({"a": 2})  # without force, as the records are not from a file any more
