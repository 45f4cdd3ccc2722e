"""``datastore_create``: the table and the resource, and that a refused call changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.api.new_resources import CatalogueOfResources, catalogue
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Origin, Resource, TableVersion

from ...builders import act, check_error, make_resource
from ..ckan.writing.step import STOCK_FIELDS, STOCK_RECORDS
from .tables import Table, list_contrib_rows

DUPLICATE = "a record with the same primary key already exists."
NOT_A_LIST = "Must be a list of objects."
NOT_NAMES = "Must be a list of names, or names separated by commas."
TAKEN = "The name “river” is taken, and resources cannot be added to an existing dataset."
NEITHER = "Give either “resource” or “resource_id”."

# Results ------------------------------------------------------------------------------------------


@pytest.fixture
def empty(table: Table) -> Table:
    """A resource without a table."""
    Resource.objects.create(pk=table.id, name="empty")
    return table


def test_the_answer_describes_the_new_table(table: Table) -> None:
    result = table.run(
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
    assert table.read_records() == [
        {"_id": 1, "code": "a", "n": 1},
        {"_id": 2, "code": "b", "n": None},
    ]


def test_a_method_has_no_effect(table: Table) -> None:
    result = table.run("create", records=[{"a": 1}], method="upsert")

    assert (result["method"], table.read_ids()) == ("insert", [1])


def test_only_the_new_records_come_back_as_they_are_stored(stock: Table) -> None:
    result = stock.run(
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


def test_a_table_is_made_for_a_resource_without_one(empty: Table) -> None:
    result = empty.run("create", fields=STOCK_FIELDS, records=STOCK_RECORDS, primary_key=["code"])

    assert result == {
        "resource_id": empty.id,
        "method": "insert",
        "fields": STOCK_FIELDS,
        "primary_key": ["code"],
    }
    assert empty.read_records() == [
        {"_id": 1, "code": "a", "name": "apple", "count": 1, "amount": 1.5},
        {"_id": 2, "code": "b", "name": "bread", "count": 2, "amount": 2},
        {"_id": 3, "code": "c", "name": None, "count": None, "amount": None},
    ]
    version = empty.resource.table_version
    assert version is not None
    assert (version.origin, version.record_count) == (Origin.API, 3)
    assert list_contrib_rows() == []


# Refusals -----------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"records": [{"code": "x"}, {"code": "y", "colour": "red"}]}, {
        "records": ["Record 2: unknown field “colour”"], "records_row": 1,
    }),
    ({"records": [{"code": "x"}, {"_id": 9, "code": "y"}]}, {
        "records": ["Record 2: unknown field “_id”"], "records_row": 1,
    }),
    ({"records": [{"code": "x"}, {"code": "y", "count": 2**31}]}, {
        "records": ["Record 2: field “count” has type int4 and cannot hold 2147483648."],
        "records_row": 1,
    }),
    ({"records": [{"code": "x", "amount": True}]}, {
        "records": ["Record 1: field “amount” has type numeric and cannot hold true."],
        "records_row": 0,
    }),
    ({"records": [{"code": "x"}, {"code": "a\0b"}]}, {
        "records": ["Record 2: field “code” has type text and cannot hold …."], "records_row": 1,
    }),
    ({"records": [{"code": "x"}, {"code": "y"}, {"code": "x"}]}, {
        "records": [f"Record 3: {DUPLICATE}"], "records_row": 2,
    }),
    ({"records": [{"_id": 9}]}, {"fields": ["“_id” cannot be the name of a field."]}),
    ({"fields": ["a"]}, {"fields": [NOT_A_LIST]}),
    ({"fields": [{"id": ""}, {"id": "y"}, {"id": "y"}]}, {
        "fields": ["“” cannot be the name of a field.", "Field “y” is given twice."],
    }),
    ({"fields": [{"id": "code"}, {"id": "code"}]}, {"fields": ["Field “code” is given twice."]}),
    ({"primary_key": ["colour"]}, {"primary_key": ["Unknown field: “colour”"]}),
    ({"indexes": "code,colour"}, {"indexes": ["Unknown field: “colour”"]}),
    ({"aliases": ["fine", "_not"]}, {"aliases": ["“_not” cannot be an alias."]}),
    ({"colour": "red", "limit": 5}, {
        "__extras": ["There is no parameter “colour”.", "There is no parameter “limit”."],
    }),
    ({"resource": {"name": "x"}}, {"resource": [NEITHER]}),
    ({"resource": {"name": "x"}, "resource_id": None, "id": "stock"}, {"resource": [NEITHER]}),
    ({"resource": "x", "resource_id": None}, {"resource": ["Cannot parse JSON"]}),
    ({"resource": [1], "resource_id": None}, {"resource": ["Must be an object."]}),
    ({"resource": {}, "resource_id": ""}, {"resource_id": ["Missing value"]}),
    ({"primary_key": {"a": 1}, "aliases": [5], "indexes": [5], "records": "x", "fields": 5}, {
        "primary_key": [NOT_NAMES], "aliases": [NOT_NAMES], "indexes": [NOT_NAMES],
        "records": ["Cannot parse JSON"], "fields": [NOT_A_LIST],
    }),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "error"), REFUSED)
def test_a_refused_call_names_the_error_and_changes_nothing(
    stock: Table, parameters: dict[str, Any], error: dict[str, Any]
) -> None:
    before = stock.read_state()

    assert stock.get_refusal("create", **parameters) == error
    assert stock.read_state() == before


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


@pytest.mark.parametrize(
    "parameters",
    [
        {"primary_key": ["new"], "records": [{"new": "x"}, {"new": "x"}]},
        {"records": [{"code": "x", "new": "word"}, {"code": "y", "amount": "much"}]},
        {"aliases": ["taken"]},
        {"indexes": ["colour"]},
    ],
)
def test_a_late_error_rolls_back_the_call(stock: Table, parameters: dict[str, Any]) -> None:
    Table(stock.token).run("create", aliases=["taken"])
    before = stock.read_state()

    stock.get_refusal("create", **{**CHANGES, "delete_fields": True, **parameters})

    assert stock.read_state() == before


@pytest.mark.parametrize(
    "parameters",
    [
        {"records": [{"a": 1}, {"a": 1}], "primary_key": ["a"]},
        {"fields": [{"id": "a"}], "aliases": ["taken"]},
    ],
)
@pytest.mark.parametrize("by_resource", [False, True])
def test_an_error_leaves_no_new_resource(
    stock: Table, parameters: dict[str, Any], *, by_resource: bool
) -> None:
    Table(stock.token).run("create", aliases=["taken"])
    before = stock.read_state()
    new = Table(stock.token)
    target = {"resource_id": None, "resource": {"id": new.id}} if by_resource else {}

    new.get_refusal("create", **target, **parameters)

    assert stock.read_state() == before
    assert new.call("info").status_code == 404


# The resource itself ------------------------------------------------------------------------------


def test_a_private_table_is_private_from_the_start_and_until_it_is_said_to_be_public(
    table: Table,
) -> None:
    assert table.run("create", private=True, records=[{"a": 1}])["private"] is True

    assert act(Client(), "datastore_search", {"resource_id": table.id}).status_code == 403
    assert table.read_ids() == [1]
    table.run("create", private=None)
    assert table.resource.private
    table.run("create", private="false")
    assert not table.resource.private


@pytest.mark.needs("catalogue")
def test_a_resource_is_made_by_its_description(table: Table) -> None:
    description = {"name": "n" * 301, "description": "Levels", "format": "CSV"}

    result = table.run(
        "create", resource_id=None, resource=description, records=[{"a": 1}], aliases=["river"]
    )

    resource = Resource.objects.get(pk=result["resource_id"])
    assert "resource" not in result
    assert (resource.title, resource.description) == ("n" * 300, "Levels")
    assert table.read_records(resource_id="river") == [{"_id": 1, "a": 1}]


@pytest.mark.parametrize(
    ("package_id", "reason"),
    [
        ("levels", None),
        ("of rivers", "“of rivers” cannot be the name of a dataset."),
        (
            "river",
            "The name “river” is taken, and resources cannot be added to an existing dataset.",
        ),
    ],
)
def test_without_a_catalogue_a_resource_has_the_name_of_its_dataset(
    table: Table, monkeypatch: pytest.MonkeyPatch, package_id: str, reason: str | None
) -> None:
    monkeypatch.setattr(catalogue, "entry", CatalogueOfResources())
    Resource.objects.create(name="river")
    sent = {"resource": {"package_id": package_id}, "records": [{"a": 1}]}

    response = table.call("create", resource_id=None, **sent)

    if reason is None:
        assert Resource.objects.filter(name=package_id).exists()
        return
    assert check_error(response, 409) == {"resource": [reason]}


def test_a_described_resource_gets_the_id_that_is_sent(table: Table) -> None:
    description = {"id": table.id.upper(), "name": "River"}

    result = table.run("create", resource_id=None, resource=description, records=[{"a": 1}])

    assert result["resource_id"] == table.id
    assert table.get_refusal("create", resource_id=None, resource=description) == {
        "resource": ["The resource cannot be created: A resource with this id already exists."]
    }


def test_a_new_id_makes_a_resource(table: Table) -> None:
    result = table.run("create", resource_id=table.id.upper(), records=[{"a": 1}])

    assert result["resource_id"] == table.id
    assert (table.resource.name, table.resource.title) == (table.id, "")
    assert (table.resource.private, table.resource.language) == (False, "english")
    assert table.read_records() == [{"_id": 1, "a": 1}]


@pytest.mark.parametrize("name", ["x" * 300, "3dd6e31d-148e-4750-b1f8-8bdc3963d1b"])
def test_only_an_id_makes_a_resource(table: Table, name: str) -> None:
    before = Resource.objects.count()

    response = table.call("create", resource_id=name, records=[{"a": 1}])

    check_error(response, 404)
    assert Resource.objects.count() == before


# Records from a file ------------------------------------------------------------------------------

READ_ONLY = (
    "The records come from a file, and the next file replaces them. To change them anyway, "
    "send “force”: true."
)
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("create", {"records": [{"code": "d"}]}),
    ("create", {}),
    ("upsert", {"records": [{"_id": 1, "name": "x"}]}),
    ("delete", {}),
    ("delete", {"filters": {"code": "a"}}),
    ("records_delete", {"filters": {}}),
]


@pytest.mark.parametrize(("action", "parameters"), WRITES)
def test_records_of_a_file_are_changed_only_with_force(
    stock: Table, action: str, parameters: dict[str, Any]
) -> None:
    TableVersion.objects.filter(resource_id=stock.id).update(origin=Origin.FILE)
    before = stock.read_state()

    for force in ({}, {"force": "no"}):
        assert stock.get_refusal(action, **parameters, **force) == {"read-only": [READ_ONLY]}
    assert stock.read_state() == before

    assert "force" not in stock.run(action, **parameters, force=True)
    assert stock.read_state() != before


def test_a_dry_run_needs_force_too(token: str) -> None:
    table = Table(token, str(make_resource().pk))
    records = [{"_id": 1, "title": "x"}]

    assert set(table.get_refusal("upsert", records=records, dry_run=True)) == {"read-only"}
    before = table.read_state()
    table.run("upsert", records=records, dry_run=True, force=True)
    assert table.read_state() == before


def test_forced_changes_keep_records_totals_and_words(token: str) -> None:
    table = Table(token, str(make_resource().pk))

    table.insert({"code": "007", "title": "Otters", "amount": "1.10"}, force=True)
    table.upsert({"_id": 1, "title": "Weir"}, force=True)

    assert table.read_ids() == [1, 2, 3, 4, 5, 6, 7]
    assert (table.read_ids(q="otter"), table.read_ids(q="weir"), table.read_ids(q="bridge")) == (
        [7],
        [1],
        [],
    )
    assert table.count_records() == (7, 7)
    assert TableVersion.objects.get(resource_id=table.id).origin == Origin.FILE


# The table again ----------------------------------------------------------------------------------


def test_a_dropped_table_can_be_made_again_with_other_fields(
    stock: Table, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        stock.run("delete")
        stock.run("create", records=[{"name": 5}], aliases=["stock"])

    assert stock.read_fields() == [{"id": "name", "type": "int4"}]
    assert stock.read_records(resource_id="stock") == [{"_id": 1, "name": 5}]
    assert stock.resource.primary_key == []
    assert list_record_tables(connection) == {stock.resource.table_version_id}
