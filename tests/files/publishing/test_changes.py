"""The fields that a file with another header changes, and the data dictionary that stays."""

from __future__ import annotations

import pytest

from datastore_search.contrib.files.messages import Message, Notice
from datastore_search.models import Field, Resource

from ..builders import (
    fails_with,
    load_new_resource,
    load_text,
    read_rows,
    read_types,
    render_messages,
)


@pytest.fixture
def described_resource(db: None) -> Resource:
    resource = load_new_resource("a,b,c\n1,x,2020-01-01\n")
    Field.objects.filter(resource=resource, name="b").update(
        label="The b", notes="Of it", chosen_type="text", extra_info={"unit": "m"}
    )
    return resource


def test_missing_fields_refuse_the_file_and_the_message_names_the_option(
    described_resource: Resource,
) -> None:
    with fails_with("load.missing_fields") as refusal:
        load_text(described_resource, "a\n2\n")

    assert str(refusal.value) == (
        "The file lacks fields of the resource: “b”, “c”. If they may be removed, tick "
        "“Fields may disappear” in the admin, or give the command --drop-missing-fields."
    )
    assert read_rows(described_resource) == [[1, 1, "x", "2020-01-01"]]
    failed = described_resource.loads.latest("pk")
    assert render_messages(failed.notices)[-1] == "Removed fields: “b”, “c”."


def test_new_and_retyped_fields_have_notices(described_resource: Resource) -> None:
    load = load_text(described_resource, "d,a,b,c\n1.5,many,x,2020-01-01\n")

    assert render_messages(load.notices) == [
        "New fields: “d”.",
        "Field “a” was of type whole number, and is of type text now.",
    ]
    assert read_types(described_resource) == {"d": "numeric", "a": "text", "b": "text", "c": "date"}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            Notice("notice.field_retyped", field="a", before="int4", type="int8"),
            "Field “a” was of type int4, and is of type int8 now.",
        ),
        (Message("schema.unknown_type", type="int4"), "“int4” is not a Table Schema type."),
    ],
)
def test_types_that_words_cannot_tell_apart_are_named(message: Message, text: str) -> None:
    assert str(message) == text


def test_the_dictionary_survives_and_the_order_is_the_file_s(described_resource: Resource) -> None:
    load = load_text(described_resource, "c,b,a\n2020-01-01,5,1\n")

    assert render_messages(load.notices) == []
    assert read_types(described_resource) == {"c": "date", "b": "text", "a": "int4"}
    field = described_resource.fields.get(name="b")
    assert (field.label, field.notes, field.chosen_type, field.extra_info) == (
        "The b",
        "Of it",
        "text",
        {"unit": "m"},
    )
