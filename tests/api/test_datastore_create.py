"""``datastore_create``: resources, tables, fields, keys, aliases, and records."""

from __future__ import annotations

from typing import Any

import pytest

from datastore_search.exceptions.writing import UnknownFieldType
from datastore_search.field_types import field_types
from datastore_search.models import Alias, Load, Origin, Resource

from ..builders import error_of, make_resource
from .writers import Api, make_writer, state_of

#: Three records with a key of one field.
STOCK: dict[str, Any] = {
    "fields": [
        {"id": "code", "type": "text"},
        {"id": "name", "type": "text"},
        {"id": "count", "type": "int4"},
        {"id": "amount", "type": "numeric"},
    ],
    "records": [
        {"code": "a", "name": "apple", "count": 1, "amount": "1.50"},
        {"code": "b", "name": "bread", "count": 2, "amount": "2.00"},
        {"code": "c", "name": None, "count": None, "amount": None},
    ],
    "primary_key": ["code"],
}

NEW_ID = "5b6c8a4e-0f54-4a6c-9d0c-6c0a3f1b2d3e"


@pytest.fixture
def api(db: None) -> Api:
    """The API as somebody sees it who may do everything."""
    return Api(make_writer())


@pytest.fixture
def empty(db: None) -> str:
    """The id of a resource that has no table."""
    return str(Resource.objects.create(name="empty").pk)


@pytest.fixture
def stock(api: Api, empty: str) -> str:
    """The id of a resource with the records of ``STOCK``."""
    api.result("create", resource_id=empty, **STOCK)
    return empty


def names_of(api: Api, resource_id: str) -> list[str]:
    return [field["id"] for field in api.result("info", id=resource_id)["fields"]]


# A table ------------------------------------------------------------------------------------------


def test_a_table_is_made_for_a_resource_without_one(api: Api, empty: str) -> None:
    result = api.result("create", resource_id=empty, **STOCK)

    assert result == {
        "resource_id": empty,
        "method": "insert",
        "fields": STOCK["fields"],
        "primary_key": ["code"],
    }
    assert api.records(empty) == [
        {"_id": 1, "code": "a", "name": "apple", "count": 1, "amount": 1.5},
        {"_id": 2, "code": "b", "name": "bread", "count": 2, "amount": 2},
        {"_id": 3, "code": "c", "name": None, "count": None, "amount": None},
    ]
    version = Resource.objects.get(pk=empty).table_version
    assert version is not None
    assert (version.origin, version.load, version.rows) == (Origin.API, None, 3)
    assert not Load.objects.exists()


@pytest.mark.parametrize("sent", [{}, {"fields": [], "records": []}, {"fields": None}])
def test_a_table_may_have_no_fields_and_no_records(
    api: Api, empty: str, sent: dict[str, Any]
) -> None:
    assert api.result("create", resource_id=empty, **sent)["fields"] == []

    assert api.records(empty) == []
    assert api.result("info", id=empty)["meta"]["count"] == 0
    api.result("create", resource_id=empty, records=[{"a": 1}])
    assert api.records(empty) == [{"_id": 1, "a": 1}]


def test_a_table_of_the_api_may_follow_one_of_a_file_when_that_is_deleted(api: Api) -> None:
    resource = make_resource("a\nold\n")

    assert api.error("create", resource_id=str(resource.pk), records=[{"a": "new"}]).keys() == {
        "read-only"
    }
    api.result("delete", resource_id=str(resource.pk), force=True)
    api.result("create", resource_id=str(resource.pk), records=[{"b": "new"}])

    assert api.records(resource.pk) == [{"_id": 1, "b": "new"}]


# A resource ---------------------------------------------------------------------------------------


def test_a_new_id_makes_a_resource(api: Api) -> None:
    result = api.result("create", resource_id=NEW_ID, records=[{"a": 1}], private=True)

    assert result["resource_id"] == NEW_ID
    resource = Resource.objects.get(pk=NEW_ID)
    assert (resource.name, resource.title, resource.private) == (NEW_ID, "", True)
    assert resource.language == "english"
    assert api.records(NEW_ID) == [{"_id": 1, "a": 1}]
    error_of(Api(None).ask("search", id=NEW_ID), 403, "Authorization Error")


def test_a_new_id_may_be_spelled_in_capitals(api: Api) -> None:
    result = api.result("create", resource_id=NEW_ID.upper(), records=[{"a": 1}])

    assert result["resource_id"] == NEW_ID
    assert api.records(NEW_ID) == [{"_id": 1, "a": 1}]


@pytest.mark.parametrize("verbs", [(), ("view",), ("change", "delete", "view")])
def test_who_may_not_add_makes_no_resource(db: None, verbs: tuple[str, ...]) -> None:
    api = Api(make_writer(verbs=verbs))

    error_of(api.ask("create", resource_id=NEW_ID, records=[{"a": 1}]), 404, "Not Found Error")
    error_of(api.ask("create", resource={"name": "x"}), 403, "Authorization Error")
    assert not Resource.objects.exists()


def test_nobody_makes_no_resource(db: None) -> None:
    for api in (Api(None), Api("wrong")):
        error_of(api.ask("create", resource_id=NEW_ID), 404, "Not Found Error")
        error_of(api.ask("create", resource={}), 409, "Validation Error")
        error_of(api.ask("create", resource={"name": "x"}), 403, "Authorization Error")
    assert not Resource.objects.exists()


def test_who_may_only_add_changes_no_other_resource(stock: str) -> None:
    api = Api(make_writer("adder", verbs=("add", "view")))

    before = state_of(api, stock)
    for sent in ({"records": [{"code": "d"}]}, {"private": True}, {"aliases": ["x"]}):
        error_of(api.ask("create", resource_id=stock, **sent), 403, "Authorization Error")
    assert state_of(api, stock) == before


@pytest.mark.parametrize("name", ["no-such-alias", "5", "x" * 300, "đ", NEW_ID[:-1]])
def test_only_an_id_makes_a_resource(api: Api, name: str) -> None:
    error_of(api.ask("create", resource_id=name, records=[{"a": 1}]), 404, "Not Found Error")

    assert not Resource.objects.exists()


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({}, {"resource_id": ["Missing value"]}),
        ({"resource_id": "", "resource": {}}, {"resource_id": ["Missing value"]}),
        ({"resource": "x"}, {"resource": ["Cannot parse JSON"]}),
        ({"resource": [1]}, {"resource": ["Must be an object."]}),
        (
            {"resource": {"name": "x"}, "resource_id": NEW_ID},
            {"resource": ["Give either “resource” or “resource_id”."]},
        ),
        (
            {"resource": {"name": "x"}, "id": NEW_ID},
            {"resource": ["Give either “resource” or “resource_id”."]},
        ),
        ({"resource_id": NEW_ID, "nope": 1}, {"__extras": ["There is no parameter “nope”."]}),
        ({"resource_id": NEW_ID, "fields": "a,b"}, {"fields": ["Cannot parse JSON"]}),
        ({"resource_id": NEW_ID, "fields": ["a"]}, {"fields": ["Must be a list of objects."]}),
        ({"resource_id": NEW_ID, "fields": {"a": 1}}, {"fields": ["Must be a list of objects."]}),
        ({"resource_id": NEW_ID, "records": {"a": 1}}, {"records": ["Must be a list of objects."]}),
        ({"resource_id": NEW_ID, "records": [["x"]]}, {"records": ["Must be a list of objects."]}),
        ({"resource_id": NEW_ID, "records": [None]}, {"records": ["Must be a list of objects."]}),
        (
            {"resource_id": NEW_ID, "primary_key": 5, "aliases": {"x": 1}, "indexes": [5]},
            {
                name: ["Must be a list of names, or names separated by commas."]
                for name in ("primary_key", "aliases", "indexes")
            },
        ),
    ],
)
def test_parameters_that_cannot_be_read_are_refused(
    api: Api, sent: dict[str, Any], error: dict[str, Any]
) -> None:
    assert api.error("create", sent) == error
    assert not Resource.objects.exists()


# Fields -------------------------------------------------------------------------------------------


TYPES: list[tuple[Any, str]] = [
    ("int", "int4"), ("INTEGER", "int4"), ("bigint", "int8"), ("smallint", "int2"),
    ("float", "float8"), ("double  precision", "float8"), ("decimal", "numeric"),
    ("boolean", "bool"), ("timestamp without time zone", "timestamp"), ("jsonb", "json"),
    ("text[]", "_text"), ("int[]", "_int4"), ("varchar", "text"), (None, "text"), ("", "text"),
    *((name, name) for name in field_types),
]  # fmt: skip


def test_every_type_has_its_names(api: Api, empty: str) -> None:
    names = [f"f{number}" for number in range(len(TYPES))]
    given = [{"id": name, "type": kind} for name, (kind, _) in zip(names, TYPES, strict=True)]
    stored = [{"id": name, "type": kind} for name, (_, kind) in zip(names, TYPES, strict=True)]

    assert api.result("create", resource_id=empty, fields=given)["fields"] == stored
    assert api.result("search", id=empty)["fields"][1:] == stored


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "\u00a0a", "a\tb", "a\nb", "\x7f", "\x85", "x" * 201, "_id", "_full_text"],
)
def test_what_cannot_be_a_name_is_refused(api: Api, empty: str, name: str) -> None:
    said = {"fields": [f"“{name[:100]}” cannot be the name of a field."]}

    assert api.error("create", resource_id=empty, fields=[{"id": name}]) == said
    assert api.error("create", resource_id=empty, records=[{name: 1}]) == said


@pytest.mark.parametrize("name", ["\0", "\ud800", "a\0b"])
def test_a_name_that_no_database_holds_is_refused(api: Api, empty: str, name: str) -> None:
    assert api.error("create", resource_id=empty, fields=[{"id": name}]).keys() == {"fields"}
    assert api.error("create", resource_id=empty, records=[{name: 1}]).keys() == {"fields"}
    assert api.error(
        "create", resource_id=empty, fields=[{"id": "a"}], records=[{"a": 1, name: 1}]
    ).keys() <= {"fields", "records"}


def test_faults_of_fields_are_reported_together(api: Api, empty: str) -> None:
    fields: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "a"},
        {"id": "b", "type": "colour"},
        {"id": " c"},
        {"id": "d", "type": "text, e text"},
    ]
    types = ", ".join(field_types)

    assert api.error("create", resource_id=empty, fields=fields, records=[{"a": 1, "_id": 2}]) == {
        "fields": [
            "Field “a” is given twice.",
            str(UnknownFieldType(field="b", type="colour", types=types)),
            "“ c” cannot be the name of a field.",
            str(UnknownFieldType(field="d", type="text, e text", types=types)),
            "“_id” cannot be the name of a field.",
        ]
    }


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({}, "“None” cannot be the name of a field."),
        ({"type": "text"}, "“None” cannot be the name of a field."),
        ({"id": None}, "“None” cannot be the name of a field."),
        ({"id": 5}, "“5” cannot be the name of a field."),
        ({"id": ["a"]}, "“['a']” cannot be the name of a field."),
        (
            {"id": "a", "type": 5},
            str(UnknownFieldType(field="a", type=5, types=", ".join(field_types))),
        ),
        ({"id": "a", "info": "x"}, "Field “a”: “info” must be an object."),
        ({"id": "a", "info": [1]}, "Field “a”: “info” must be an object."),
    ],
)
def test_a_field_is_an_object_with_a_name(
    api: Api, empty: str, field: dict[str, Any], said: str
) -> None:
    assert api.error("create", resource_id=empty, fields=[field]) == {"fields": [said]}


def test_names_differ_by_case_and_by_form(api: Api, empty: str) -> None:
    names = ["a", "A", "\u00e9", "e\u0301"]

    api.result(
        "create",
        resource_id=empty,
        fields=[{"id": name} for name in names],
        records=[{name: number for number, name in enumerate(names)}],
    )

    assert names_of(api, empty) == names
    assert api.records(empty) == [{"_id": 1, "a": 0, "A": 1, "\u00e9": 2, "e\u0301": 3}]


def test_the_first_record_names_new_fields(api: Api, stock: str) -> None:
    api.result(
        "create", resource_id=stock, records=[{"code": "d", "size": 1.5}, {"code": "e", "size": 2}]
    )

    assert names_of(api, stock) == ["code", "name", "count", "amount", "size"]
    assert api.records(stock, fields="size", filters={"size": {"ne": None}}) == [
        {"size": 1.5},
        {"size": 2},
    ]


def test_a_later_record_names_no_new_field(api: Api, stock: str) -> None:
    before = state_of(api, stock)

    assert api.error(
        "create", resource_id=stock, records=[{"code": "d"}, {"code": "e", "size": 2}]
    ) == {"records": ["Record 2: unknown field “size”"], "records_row": 1}
    assert state_of(api, stock) == before


def test_a_known_field_keeps_its_type_and_its_place(api: Api, stock: str) -> None:
    result = api.result(
        "create", resource_id=stock, fields=[{"id": "amount", "type": "text"}, {"id": "code"}]
    )

    assert result["fields"] == STOCK["fields"]
    assert api.records(stock, fields="amount") == [
        {"amount": 1.5},
        {"amount": 2},
        {"amount": None},
    ]


@pytest.mark.parametrize("sent", [{}, {"fields": []}, {"records": [{"code": "d"}]}])
def test_no_field_is_deleted_unless_others_are_given(
    api: Api, stock: str, sent: dict[str, Any]
) -> None:
    api.result("create", resource_id=stock, delete_fields=True, **sent)

    assert names_of(api, stock) == ["code", "name", "count", "amount"]


# Keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        ("code", ["code"]),
        (["code"], ["code"]),
        ("code,name", ["code", "name"]),
        ('"code", name', ["code", "name"]),
        (["name", "code", "name"], ["name", "code"]),
        ([], []),
    ],
)
def test_a_key_is_a_list_of_fields(api: Api, stock: str, key: Any, fields: list[str]) -> None:
    api.result("create", resource_id=stock, primary_key=key)

    assert Resource.objects.get(pk=stock).primary_key == fields
    described = api.result("info", id=stock)["fields"]
    assert [
        field["id"] for field in described if field["schema"]["index_name"] == "primary_key"
    ] == sorted(fields)


def test_a_key_stays_unless_it_is_given(api: Api, stock: str) -> None:
    for sent in ({}, {"primary_key": None}, {"records": [{"code": "d"}]}, {"aliases": ["x"]}):
        api.result("create", resource_id=stock, **sent)
        error = api.error("upsert", resource_id=stock, method="insert", records=[{"code": "a"}])
        assert error["records_row"] == 0


def test_a_key_is_replaced(api: Api, stock: str) -> None:
    api.result("create", resource_id=stock, primary_key="count")

    api.result("upsert", resource_id=stock, method="insert", records=[{"code": "a", "count": 9}])
    error = api.error("upsert", resource_id=stock, method="insert", records=[{"count": 2}])

    assert error == {
        "records": ["Record 1: there is already a record with the same primary key."],
        "records_row": 0,
    }


@pytest.mark.parametrize("name", ["nope", "Code", "_id", "", "rank"])
def test_a_key_of_no_field_is_refused(api: Api, stock: str, name: str) -> None:
    before = state_of(api, stock)

    assert api.error("create", resource_id=stock, primary_key=["code", name]) == {
        "primary_key": [f"Unknown field: “{name}”"]
    }
    assert state_of(api, stock) == before


def test_a_number_of_many_digits_is_a_key(api: Api, empty: str) -> None:
    given = {"resource_id": empty, "fields": [{"id": "k", "type": "numeric"}], "primary_key": "k"}

    api.result("create", given, records=[{"k": "9" * 5_000}, {"k": "8" * 5_000}])

    error = api.error("upsert", resource_id=empty, method="insert", records=[{"k": "9" * 5_000}])
    assert error["records_row"] == 0


def test_a_key_has_no_more_fields_than_an_index(api: Api, empty: str) -> None:
    names = [f"k{number}" for number in range(33)]
    given = {"resource_id": empty, "fields": [{"id": name, "type": "int4"} for name in names]}

    api.result("create", given, primary_key=names[:32], records=[dict.fromkeys(names, 1)])

    assert api.error("create", given, primary_key=names) == {
        "primary_key": ["A primary key has at most 32 fields."]
    }
    assert api.error("create", given, records=[dict.fromkeys(names, 1)])["records_row"] == 0


@pytest.mark.parametrize(
    ("indexes", "understood"),
    [("code", ["code"]), (["code", "name"], ["code", "name"]), ('"code" , name', ["code", "name"])],
)
def test_every_field_is_indexed_already(
    api: Api, stock: str, indexes: Any, understood: list[str]
) -> None:
    result = api.result("create", resource_id=stock, indexes=indexes)

    assert result["indexes"] == understood
    described = api.result("info", id=stock)["fields"]
    assert all(field["schema"]["is_index"] for field in described)


def test_an_index_of_no_field_is_refused(api: Api, stock: str) -> None:
    assert api.error("create", resource_id=stock, indexes="code,nope") == {
        "indexes": ["Unknown field: “nope”"]
    }


# Aliases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (["one", "two"], ["one", "two"]),
        ("one,two", ["one", "two"]),
        (" one , two ", ["one", "two"]),
        ('"one, two"', ["one, two"]),
        (["one", "one"], ["one"]),
        (["Khí hậu 2024", "🙂", "a.b/c", "'; --", "{}", "x" * 200], [
            "'; --", "Khí hậu 2024", "a.b/c", "x" * 200, "{}", "🙂",
        ]),
    ],
)  # fmt: skip
def test_an_alias_is_taken_everywhere_in_place_of_the_id(
    api: Api, stock: str, sent: Any, stored: list[str]
) -> None:
    api.result("create", resource_id=stock, aliases=sent)

    assert sorted(Alias.objects.values_list("name", flat=True)) == stored
    for number, alias in enumerate(stored):
        api.result("create", resource_id=alias, records=[{"code": f"1{number}"}])
        api.result("upsert", id=alias, records=[{"code": f"2{number}"}])
        api.result("records_delete", resource_id=alias, filters={"code": f"1{number}"})
        api.result("delete", id=alias, filters={"code": "a"})
        assert api.records(alias)[-1]["code"] == f"2{number}"
        assert api.result("info", id=alias)["meta"]["id"] == stock
    result = api.result("upsert", resource_id=stored[0], records=[])
    assert result["resource_id"] == stock


@pytest.mark.parametrize(
    "alias",
    ["", " a", "a ", "_a", "_table_metadata", 'a"b', "50%", "a\tb", "\x85", "x" * 201, NEW_ID,
     NEW_ID.upper()],
)  # fmt: skip
def test_what_cannot_be_an_alias_is_refused(api: Api, stock: str, alias: str) -> None:
    before = state_of(api, stock)

    # Blanks around a name in a list are none of it.
    sent = [f'"{alias}"'] if alias != alias.strip() else [alias]
    error = api.error("create", resource_id=stock, aliases=["fine", *sent])

    assert error.keys() == {"aliases"}
    assert state_of(api, stock) == before


def test_the_own_id_is_no_alias(api: Api, stock: str) -> None:
    assert api.error("create", resource_id=stock, aliases=[stock]).keys() == {"aliases"}


# Records ------------------------------------------------------------------------------------------


def test_a_record_is_shown_shortened_in_a_message(api: Api, stock: str) -> None:
    (said,) = api.error("create", resource_id=stock, records=[{"count": "9" * 100_000}])["records"]

    assert said == f'Record 1: field “count” has type int4 and cannot hold "{"9" * 99}….'


def test_ten_thousand_records_are_written_in_order(api: Api, empty: str) -> None:
    records = [{"n": number, "t": f"text {number}"} for number in range(10_000)]

    api.result("create", resource_id=empty, records=records, primary_key="n")

    found = api.records(empty)
    assert [record["_id"] for record in found] == list(range(1, 10_001))
    assert [record["n"] for record in found] == list(range(10_000))
