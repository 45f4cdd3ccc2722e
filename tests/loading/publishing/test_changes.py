"""The fields that a file with another header changes, and the data dictionary that stays."""

from __future__ import annotations

import pytest

from datastore_search.models import Field, Load, Resource

from ...failures import fails_with
from ..files import load, loaded, rows_of, types_of


@pytest.fixture
def described(db: None) -> Resource:
    """A resource with a data dictionary."""
    resource = loaded("a,b,c\n1,x,2020-01-01\n")
    Field.objects.filter(resource=resource, name="b").update(
        label="The b", notes="Of it", chosen_type="text", extra_info={"unit": "m"}
    )
    return resource


def test_missing_fields_refuse_the_file_and_the_message_names_the_option(
    described: Resource,
) -> None:
    with fails_with("load.missing_fields") as refusal:
        load(described, "a\n2\n")

    assert str(refusal.value) == (
        "The file lacks fields of the resource: “b”, “c”. If they may go, tick “Fields may"
        " disappear” in the admin, or give the command --drop-missing-fields."
    )
    assert rows_of(described) == [[1, 1, "x", "2020-01-01"]]
    failed = Load.objects.filter(resource=described).first()
    assert failed is not None
    assert failed.rendered_notices[-1] == "Fields that are gone: “b”, “c”."


def test_missing_fields_are_dropped_with_the_option(described: Resource) -> None:
    done = load(described, "a\n2\n", drop_missing_fields=True)

    assert types_of(described) == {"a": "int4"}
    assert done.rendered_notices[-1] == "Fields that are gone: “b”, “c”."


def test_new_and_retyped_fields_have_notices(described: Resource) -> None:
    done = load(described, "d,a,b,c\n1.5,many,x,2020-01-01\n")

    assert done.rendered_notices == [
        "New fields: “d”.",
        "Field “a” was of type int4, and is of type text now.",
    ]
    assert types_of(described) == {"d": "numeric", "a": "text", "b": "text", "c": "date"}


def test_the_same_header_has_no_notices(described: Resource) -> None:
    assert load(described, "c,b,a\n2020-01-01,5,1\n").rendered_notices == []


def test_the_dictionary_survives_and_the_order_is_the_file_s(described: Resource) -> None:
    load(described, "c,b,a\n2020-01-01,5,1\n")

    assert types_of(described) == {"c": "date", "b": "text", "a": "int4"}
    field = described.fields.get(name="b")
    assert (field.label, field.notes, field.chosen_type, field.extra_info) == (
        "The b",
        "Of it",
        "text",
        {"unit": "m"},
    )


def test_the_first_load_changes_nothing_that_was_there(db: None) -> None:
    resource = Resource.objects.create(name="r")

    assert load(resource, "a\n1\n").rendered_notices == []
