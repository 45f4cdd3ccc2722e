"""The options of one load, and those that are saved for the next."""

from __future__ import annotations

from typing import Any

import pytest

from datastore_search.contrib.files.jobs import LoadOptions, resolve_options
from datastore_search.contrib.files.messages.failures import LoadFailed
from datastore_search.models import Resource

from ..failures import fails_with
from ..files import load_text, read_types

FILE = "day;n;code\n01/02/2024;NA;7\n03/04/2024;5;8\n"


@pytest.fixture
def resource(db: None) -> Resource:
    return Resource.objects.create(name="kept")


def test_units_are_saved_for_the_next(resource: Resource) -> None:
    text = "day,share,price\n3 Mar 99,5 %,7 €\n"
    choices: dict[str, Any] = {
        "date_order": "dmyy",
        "types": {"share": "int4:%", "price": "int4:€"},
    }
    types = {"day": "date", "share": "int4", "price": "int4"}

    load_text(resource, text, **choices)
    units = {field.name: field.info.get("unit") for field in resource.fields.all()}
    load_text(resource, text, force=True)

    assert units == {"day": None, "share": "%", "price": "€"}
    assert read_types(resource) == types


def test_the_options_of_a_load_are_saved_for_the_next(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), date_order="dmy", types={"code": "text"})
    assert read_types(resource) == {"day": "date", "n": "int4", "code": "text"}
    assert dict(resource.fields.values_list("name", "chosen_type")) == {
        "day": "", "n": "", "code": "text",
    }  # fmt: skip

    load_text(resource, FILE, force=True)

    assert read_types(resource) == {"day": "date", "n": "int4", "code": "text"}


def test_options_of_a_call_override_saved_ones(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), types={"code": "text"})

    load_text(resource, FILE, nulls=("5", "NA"), types={"code": "int8"})

    assert read_types(resource) == {"day": "text", "n": "text", "code": "int8"}
    assert resource.fields.get(name="code").chosen_type == "int8"


def test_saved_options_can_be_ignored(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), date_order="dmy", types={"code": "text"})

    load_text(resource, FILE, ignore_saved=True)

    assert read_types(resource) == {"day": "text", "n": "text", "code": "int4"}
    assert resource.options == {}
    assert not resource.fields.exclude(chosen_type="").exists()


def test_options_about_the_records_are_not_saved(resource: Resource) -> None:
    load_text(
        resource, FILE, mode="append", bad_rows="skip", drop_missing_fields=True, delimiter=";"
    )

    assert resource.options == {"delimiter": ";"}


def test_a_failed_load_saves_no_options(resource: Resource) -> None:
    with pytest.raises(LoadFailed):
        load_text(resource, FILE, types={"n": "int4"}, date_order="dmy")

    resource.refresh_from_db()
    assert resource.options == {}


def test_a_chosen_type_overrides_a_schema_and_a_call_overrides_both(resource: Resource) -> None:
    load_text(resource, FILE, types={"code": "int8", "n": "text"})
    schema = {
        "fields": [{"name": name, "type": "string"} for name in ("code", "n", "day")],
    }

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


@pytest.mark.parametrize(
    ("options", "failure", "message"),
    [
        (
            {"mode": "merge"},
            "option.unknown_choice",
            "“merge” is not a valid “mode”. Choose one of: replace, append, upsert.",
        ),
        (
            {"bad_rows": "drop"},
            "option.unknown_choice",
            "“drop” is not a valid “bad_rows”. Choose one of: refuse, skip.",
        ),
        (
            {"date_order": "ymd"},
            "option.unknown_choice",
            "“ymd” is not a valid “date_order”. Choose one of: dmy, mdy, dmyy, mdyy, yymd.",
        ),
        (
            {"encoding": "utf-9"},
            "option.unknown_encoding",
            "“utf-9” is not a known character encoding.",
        ),
        ({"types": {"a": "colour"}}, "option.unknown_type", "There is no field type “colour”."),
        (
            {"schema": {}},
            "option.invalid_schema",
            "The table schema cannot be used: it has no “fields”.",
        ),
    ],
)
def test_an_unknown_choice_is_refused(options: dict[str, Any], failure: str, message: str) -> None:
    with fails_with(failure) as refusal:
        resolve_options(None, LoadOptions(**options))

    assert str(refusal.value).startswith(message)


def test_resolved_options_stay_as_they_are(resource: Resource) -> None:
    load_text(resource, FILE, nulls=("NA",), types={"code": "text"}, skip=0)
    once = resolve_options(resource, LoadOptions(types={"n": "int8"}))

    assert resolve_options(resource, once) == once
    assert LoadOptions.from_json(once.to_json()) == once
