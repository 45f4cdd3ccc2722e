"""Frictionless Table Schemas, read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from datastore_search.contrib.files.messages import InvalidSchema
from datastore_search.contrib.files.types.field_formats import parse_field_format
from datastore_search.contrib.files.types.schema import FieldDescription, parse_table_schema

from ..builders import fails_with


def choose_format(**field: Any) -> str:
    """Choose the format of a field: “?” if it is not supported, empty where the values decide."""
    read = parse_table_schema({"fields": [{"name": "x", **field}]})
    return "?" if read.notices else read.types.get("x", "")


@pytest.mark.parametrize(
    ("field", "format_name"),
    [
        ({}, ""),
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "email"}, "text"),
        ({"type": "integer"}, "int4|int8"),
        ({"type": "integer", "groupChar": ","}, "int4:point|int8:point"),
        ({"type": "integer", "groupChar": "."}, "int4:comma|int8:comma"),
        ({"type": "integer", "bareNumber": False}, "?"),
        ({"type": "number"}, "numeric|float8"),
        ({"type": "number", "decimalChar": ","}, "numeric:comma"),
        ({"type": "number", "decimalChar": ",", "groupChar": "."}, "numeric:comma"),
        ({"type": "number", "groupChar": " "}, "numeric:point"),
        ({"type": "number", "decimalChar": ".", "groupChar": "."}, "?"),
        ({"type": "number", "decimalChar": "·"}, "?"),
        ({"type": "boolean"}, "bool"),
        ({"type": "boolean", "trueValues": ["t"], "falseValues": ["f"]}, "bool"),
        ({"type": "boolean", "trueValues": ["ja", "j"], "falseValues": ["n"]}, "?"),
        ({"type": "boolean", "trueValues": ["0"], "falseValues": ["1"]}, "?"),
        ({"type": "date"}, "date"),
        ({"type": "date", "format": "any"}, ""),
        ({"type": "date", "format": "%Y-%m-%d"}, "date"),
        ({"type": "date", "format": "fmt:%d.%m.%Y"}, "date:dmy"),
        ({"type": "date", "format": "%m/%d/%Y"}, "date:mdy"),
        ({"type": "date", "format": "%Y/%m/%d"}, "date:ymd"),
        ({"type": "date", "format": "%d/%m/%y"}, "?"),
        ({"type": "date", "format": "%d %B %Y"}, "?"),
        ({"type": "date", "format": "%Y-%d-%m"}, "?"),
        ({"type": "datetime"}, "timestamp|timestamptz"),
        ({"type": "datetime", "format": "any"}, ""),
        ({"type": "datetime", "format": "%Y-%m-%d %H:%M"}, "timestamp"),
        ({"type": "datetime", "format": "%Y-%m-%dT%H:%M:%S%z"}, "timestamptz"),
        ({"type": "datetime", "format": "%d/%m/%Y %H:%M"}, "timestamp:dmy"),
        ({"type": "datetime", "format": "%m/%d/%Y %I:%M:%S %p"}, "timestamp:mdy"),
        ({"type": "datetime", "format": "%d/%m/%Y"}, "?"),
        ({"type": "datetime", "format": "%d/%m/%Y %j"}, "?"),
        ({"type": "time"}, "time"),
        ({"type": "time", "format": "%H.%M"}, "?"),
        ({"type": "year"}, "int4"),
        ({"type": "yearmonth"}, "?"),
        ({"type": "duration"}, "?"),
        ({"type": "geopoint"}, "?"),
        ({"type": "object"}, "json"),
        ({"type": "array"}, "json"),
        ({"type": "geojson"}, "json"),
        ({"type": "list", "itemType": "integer"}, "?"),
        ({"type": "integer", "datastoreType": "int8"}, "int8"),
        ({"type": "string", "datastoreType": "int8"}, "text"),
        ({"type": "string", "datastoreType": ["x"]}, "text"),
    ],
)
def test_each_type_and_format_is_read_as_a_field_format(
    field: dict[str, Any], format_name: str
) -> None:
    assert choose_format(**field) == format_name


def test_a_schema_has_titles_missing_values_and_a_key_also_within_a_data_package() -> None:
    schema = {
        "fields": [
            {"name": "a", "title": " A ", "description": "About a"},
            {"name": "b", "type": "string"},
        ],
        "missingValues": ["", "NA", {"value": "-", "label": "none"}, "NA"],
        "primaryKey": ["a", "b"],
    }

    read = parse_table_schema(schema)

    assert read.descriptions == {"a": FieldDescription("A", "About a"), "b": FieldDescription()}
    assert read.missing_values == ("NA", "-")
    assert read.primary_key == ("a", "b")
    for package in ({"schema": schema}, {"resources": [{"name": "r", "schema": schema}]}):
        assert parse_table_schema(package) == read
    for none in ("", None, "_id"):
        assert parse_table_schema({**schema, "primaryKey": none}).primary_key is None


def test_unsupported_properties_have_notices() -> None:
    schema = {
        "fields": [
            {"name": "a", "constraints": {"required": True}, "missingValues": ["x"]},
            {"name": "b", "type": "date", "format": "%d/%m/%y"},
        ],
        "foreignKeys": [{"fields": "a"}],
    }

    notices = parse_table_schema({"title": "T", "keywords": ["k"], "schema": schema}).notices

    assert [str(notice) for notice in notices] == [
        (
            "The schema’s type date with the format %d/%m/%y is not supported: the values of "
            "“b” decide."
        ),
        (
            "Parts of the schema are not used: constraints, foreignKeys, keywords, missingValues, "
            "title."
        ),
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "type", "format", "fields", "schema"]), inner)
    ),
    max_leaves=8,
)
WORDS = ["a", "date", "number", "boolean", "integer", "%d/%m/%Y", ".", ",", "_id", "int4"]
SCHEMAS = st.fixed_dictionaries(
    {"fields": st.lists(st.fixed_dictionaries({"name": st.sampled_from(WORDS)}, optional={
        name: st.sampled_from(WORDS) | JSON
        for name in (
            "type", "format", "title", "description", "decimalChar", "groupChar", "bareNumber",
            "trueValues", "falseValues", "constraints", "missingValues", "datastoreType",
        )
    }), max_size=3)},
    optional={
        "missingValues": JSON,
        "primaryKey": st.sampled_from(WORDS) | JSON,
    },
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(JSON | SCHEMAS)
def test_any_value_is_parsed_or_refused(given: Any) -> None:
    try:
        read = parse_table_schema(given)
    except InvalidSchema:
        return
    for names in read.types.values():
        for name in names.split("|"):
            parse_field_format(name)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "it is not a JSON object."),
        ({}, "it has no “fields”."),
        ({"fields": {}}, "“fields” is not a list."),
        ({"fields": ["a"]}, "field 1 is not a JSON object."),
        ({"fields": [{"name": "a"}, {"type": "string"}]}, "field 2 has no name."),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "two of its fields have the same name."),
        ({"fields": [{"name": "a", "type": "colour"}]}, "“colour” is not a Table Schema type."),
        ({"fields": [{"name": "a", "type": 5}]}, "“type” of the field “a” is not a text."),
        (
            {"fields": [{"name": "a", "type": "boolean", "trueValues": "ja"}]},
            "“trueValues” of the field “a” is not a list of texts.",
        ),
        ({"fields": [], "missingValues": "NA"}, "“missingValues” is not a list."),
        ({"fields": [], "missingValues": [5]}, "“missingValues” has a value that is not a text."),
        *(
            (
                {"fields": [{"name": "a"}], "primaryKey": key},
                "“primaryKey” names a field that the schema does not have.",
            )
            for key in ("b", [["a"]])
        ),
        (
            {"schema": "https://example.org/s.json"},
            "it is stored elsewhere, at “https://example.org/s.json”.",
        ),
        ({"resources": [{}, {}]}, "the Data Package has 2 resources; it must have one."),
    ],
)
def test_a_malformed_schema_is_refused(given: object, reason: str) -> None:
    with fails_with("option.invalid_schema") as refusal:
        parse_table_schema(given)

    assert str(refusal.value) == f"The table schema cannot be used: {reason}"
