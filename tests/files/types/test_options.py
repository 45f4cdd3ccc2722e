"""The options of one load, and those that are saved for the next."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, resolve_options
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.models import Resource

from ..builders import fails_with, load_new_resource, load_text, read_rows, read_types

FILE = "day;n;code\n01/02/2024;NA;7\n03/04/2024;5;8\n"


@pytest.fixture
def resource(db: None) -> Resource:
    return Resource.objects.create(name="kept")


def test_the_options_of_a_load_are_saved_for_the_next(resource: Resource) -> None:
    text = "day,share,price,code,n\n3 Mar 99,5 %,7 €,7,NA\n"
    chosen = {"share": "int4:%", "price": "int4:€", "code": "text"}
    types = {"day": "date", "share": "int4", "price": "int4", "code": "text", "n": "text"}

    load_text(resource, text, date_order="dmyy", nulls=("NA",), types=chosen)
    assert read_types(resource) == types
    assert {field.name: field.info.get("unit") for field in resource.fields.all()} == {
        **dict.fromkeys(types), "share": "%", "price": "€",
    }  # fmt: skip
    assert dict(resource.fields.values_list("name", "chosen_type")) == {
        **dict.fromkeys(types, ""), **chosen,
    }  # fmt: skip

    load_text(resource, text, force=True)

    assert read_types(resource) == types
    assert read_rows(resource)[0][-1] is None


def test_options_of_a_call_override_saved_ones_which_can_be_ignored(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), date_order="dmy", types={"code": "text"})

    load_text(resource, FILE, nulls=("5", "NA"), types={"code": "int8"})
    assert read_types(resource) == {"day": "date", "n": "text", "code": "int8"}
    assert resource.fields.get(name="code").chosen_type == "int8"

    load_text(resource, FILE, ignore_saved=True)
    assert read_types(resource) == {"day": "text", "n": "text", "code": "int4"}
    assert resource.options == {}
    assert not resource.fields.exclude(chosen_type="").exists()


def test_options_about_the_records_and_of_a_failed_load_are_not_saved(resource: Resource) -> None:
    with pytest.raises(LoadFailed):
        load_text(resource, FILE, types={"n": "int4"}, date_order="dmy")
    resource.refresh_from_db()
    assert resource.options == {}

    load_text(
        resource, FILE, mode="append", bad_rows="skip", drop_missing_fields=True, delimiter=";"
    )
    assert resource.options == {"delimiter": ";"}


def test_a_chosen_type_overrides_a_schema_and_a_call_overrides_both(resource: Resource) -> None:
    load_text(resource, FILE, types={"code": "int8", "n": "text"})
    schema = {"fields": [{"name": name, "type": "string"} for name in ("code", "n", "day")]}

    load_text(resource, FILE, schema=schema, types={"n": "json"}, nulls=("NA",), date_order="dmy")

    assert read_types(resource) == {"day": "text", "n": "json", "code": "int8"}


def test_a_schema_describes_fields_and_is_saved(resource: Resource) -> None:
    schema = {
        "fields": [
            {"name": "day", "type": "date", "format": "%d/%m/%Y", "title": "Day"},
            {"name": "n", "type": "integer", "description": "How many"},
            {"name": "code", "title": "Code"},
        ],
        "missingValues": ["NA"],
        "primaryKey": "code",
    }
    load_text(resource, FILE, schema=schema)
    resource.fields.filter(name="day").update(label="Tag")

    load_text(resource, FILE, force=True)

    assert resource.primary_key == ["code"]
    assert list(resource.fields.values_list("name", "type", "label", "notes", "chosen_type")) == [
        ("day", "date", "Tag", "", ""),
        ("n", "int4", "", "How many", ""),
        ("code", "int4", "Code", "", ""),
    ]


def test_a_schema_brings_translations_and_leaves_those_that_are_there(db: None) -> None:
    translated = load_new_resource(FILE)
    texts = {"fr": {"label": "Jour"}, "ar": {"label": "يوم", "notes": "متى"}}
    translated.fields.filter(name="day").update(label="Day", notes="When", translations=texts)
    schema: Any = Client().get(f"/en/datastore/{translated.pk}/schema.json").json()
    copy = load_new_resource(FILE, schema=schema)
    assert [field.info for field in copy.fields.all()] == [
        field.info for field in translated.fields.all()
    ]

    given = {"name": "day", "title@fr": "Journée", "description@fr": "Quand", "title@vi": "Ngày"}
    load_text(translated, FILE, schema={"fields": [given]}, force=True)

    assert translated.fields.get(name="day").translations == {
        "fr": {"label": "Jour", "notes": "Quand"},
        "ar": {"label": "يوم", "notes": "متى"},
        "vi": {"label": "Ngày"},
    }


@pytest.mark.parametrize(
    ("options", "failure", "message"),
    [
        ({"mode": "merge"}, "option.unknown_choice",
         "“merge” is not a valid “mode”. Choose one of: replace, append, upsert."),
        ({"encoding": "utf-9"}, "option.unknown_encoding",
         "“utf-9” is not a known character encoding."),
        ({"types": {"a": "colour"}}, "option.unknown_type", "There is no field type “colour”."),
        ({"schema": {}}, "option.invalid_schema",
         "The table schema cannot be used: it has no “fields”."),
    ],
)  # fmt: skip
def test_an_unknown_choice_is_refused(options: dict[str, Any], failure: str, message: str) -> None:
    with fails_with(failure) as refusal:
        resolve_options(None, LoadOptions(**options))

    assert str(refusal.value).startswith(message)


def test_resolved_options_stay_as_they_are(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), types={"code": "text"}, skip=0)
    once = resolve_options(resource, LoadOptions(types={"n": "int8"}))

    assert resolve_options(resource, once) == once
    assert LoadOptions.from_json(once.to_json()) == once
