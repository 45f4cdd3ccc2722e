"""The pages of resources in the admin."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from datastore_search.conf import conf
from datastore_search.models import Alias, Field, Resource

from ...builders import SURVEY, fill_table, make_listed_resource, make_resource

LIST = "/en/admin/datastore_search/resource/"
ADD = f"{LIST}add/"


def build_form(**values: Any) -> dict[str, Any]:
    return {
        "title": "A survey", "name": "survey", "description": "", "language": "english",
        "aliases-TOTAL_FORMS": 0, "aliases-INITIAL_FORMS": 0,
        "saved_views-TOTAL_FORMS": 0, "saved_views-INITIAL_FORMS": 0,
        "dataset-TOTAL_FORMS": 0, "dataset-INITIAL_FORMS": 0, **values,
    }  # fmt: skip


def build_inlines(resource: Resource, **labels: str) -> dict[str, Any]:
    fields = list(resource.fields.all())
    data: dict[str, Any] = {}
    data |= {"fields-TOTAL_FORMS": len(fields), "fields-INITIAL_FORMS": len(fields)}
    for index, field in enumerate(fields):
        data[f"fields-{index}-id"] = field.pk
        data[f"fields-{index}-label"] = labels.get(field.name, field.label)
        data[f"fields-{index}-notes"] = field.notes
    return data


def test_a_weight_of_a_field_is_kept_in_the_data_dictionary(staff: Client) -> None:
    resource = make_resource()
    address = f"{LIST}{resource.pk}/change/"
    page = staff.get(address).content.decode()
    assert '<select name="fields-0-weight"' in page

    for sent, expected in (({"fields-0-weight": "4"}, {"weight": 4}), ({}, {"weight": 4})):
        response = staff.post(address, {**build_form(**build_inlines(resource)), **sent})

        assert response.status_code == 302
        assert resource.fields.all()[0].info == expected


def test_the_data_dictionary_chooses_the_field_with_the_names_of_records(staff: Client) -> None:
    resource = make_resource()
    address = f"{LIST}{resource.pk}/change/"
    for sent, expected in (({"fields-0-is_name": "on"}, True), ({}, False)):
        response = staff.post(address, {**build_form(**build_inlines(resource)), **sent})

        assert response.status_code == 302
        assert resource.fields.all()[0].info == {"is_name": expected}
        page = staff.get(address).content.decode()
        assert bool(re.search("<input [^>]*fields-0-is_name[^>]* checked>", page)) is expected


@pytest.mark.needs("files")
def test_a_resource_is_made_without_a_file(staff: Client) -> None:
    staff.post(ADD, build_form())

    assert Resource.objects.get().table_version is None
    assert b"not loaded yet" in staff.get(LIST).content


class _Inputs(HTMLParser):
    """Collects the visible inputs of a page, and the ids that have a label."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[dict[str, str | None]] = []
        self.labelled: set[str | None] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "label":
            self.labelled.add(values.get("for"))
        elif tag in {"select", "textarea"} or (
            tag == "input" and values.get("type") not in {"hidden", "submit"}
        ):
            self.inputs.append(values)


def test_every_input_of_a_resource_has_a_name(staff: Client) -> None:
    resource = make_resource()
    Alias.objects.create(resource=resource, name="rivers")
    page = _Inputs()

    page.feed(staff.get(f"{LIST}{resource.pk}/change/").content.decode())

    names = {each.get("name") for each in page.inputs}
    assert {"title", "aliases-0-name", "aliases-0-DELETE", "fields-1-notes"} <= names
    unnamed = [each for each in page.inputs if each.get("id") not in page.labelled]
    assert [each for each in unnamed if not each.get("aria-label")] == []
    labels = [
        each.get("aria-label") for each in page.inputs if each.get("name") == "fields-0-notes"
    ]
    assert labels == [f"Notes: {resource.fields.all()[0].name}"]


def test_the_list_says_who_may_read_a_resource(staff: Client) -> None:
    make_listed_resource("open")
    make_listed_resource("hidden", private=True)

    page = staff.get(LIST).content.decode()

    cells = re.findall(r'<td class="field-access">(\w+)</td>', page)
    assert sorted(cells) == ["private", "public"]
    assert "icon-no" not in page


@pytest.mark.parametrize(
    ("chosen", "expected"), [([], None), (["words"], ["words"]), (["texts", "filters"],) * 2]
)
def test_indexes_are_chosen_and_shown(
    staff: Client, chosen: list[str], expected: list[str] | None
) -> None:
    staff.post(ADD, build_form(indexes=chosen))

    resource = Resource.objects.get()
    version = fill_table(resource, SURVEY).table_version
    assert version is not None
    assert (resource.indexes, version.indexes) == (expected, expected or list(conf.INDEXES))
    page = staff.get(f"{LIST}{resource.pk}/change/").content.decode()
    assert {*re.findall(r'name="indexes" value="(\w+)"[^>]* checked', page)} == {*chosen}
    staff.post(f"{LIST}{resource.pk}/change/", {**build_form(), **build_inlines(resource)})
    resource.refresh_from_db()
    assert resource.indexes is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"indexes": ["colours"]}, b"colours"),
        ({"indexes": ["words", "substrings"]}, b"pg_trgm"),
        ({"language": "klingon"}, b"klingon"),
    ],
)
def test_an_unknown_choice_is_refused(
    staff: Client, values: dict[str, Any], message: bytes
) -> None:
    assert message in staff.post(ADD, build_form(**values)).content
    assert not Resource.objects.exists()


def test_aliases_are_stored_or_refused(staff: Client) -> None:
    aliases = {"aliases-TOTAL_FORMS": 2, "aliases-0-name": "một", "aliases-1-name": "two"}

    response = staff.post(ADD, build_form(**{**aliases, "aliases-1-name": "_two"}))
    assert "“_two” cannot be an alias." in response.content.decode()
    assert not Resource.objects.exists()

    staff.post(ADD, build_form(**aliases))
    assert [alias.name for alias in Resource.objects.get().aliases.all()] == ["một", "two"]


@pytest.mark.needs("files")
def test_fields_are_labelled_and_given_a_type_for_the_next_load(staff: Client) -> None:
    resource = make_resource()
    position = resource.fields.get(name="code").position
    form = build_form(**build_inlines(resource, title="The title"))

    staff.post(f"{LIST}{resource.pk}/change/", {**form, f"fields-{position}-chosen_type": "int4"})

    assert Field.objects.get(name="title").label == "The title"
    assert Field.objects.get(name="code").chosen_type == "int4"


def test_a_resource_that_is_not_there_leads_to_the_list(staff: Client) -> None:
    assert staff.get(f"{LIST}nonsense/change/").status_code == 302


@pytest.mark.needs("files")
def test_an_unknown_type_is_refused(staff: Client) -> None:
    resource = make_resource()
    form = {**build_form(**build_inlines(resource)), "fields-0-chosen_type": "colour"}

    response = staff.post(f"{LIST}{resource.pk}/change/", form)

    assert b"colour" in response.content
    assert not Field.objects.exclude(chosen_type="").exists()


def test_a_resource_is_found_by_the_label_of_a_field(staff: Client) -> None:
    make_resource(title="Found")
    Field.objects.filter(name="title").update(label="Wanted")
    make_listed_resource("other", title="Other")

    page = staff.get(f"{LIST}?q=Wanted").content.decode()

    assert "Found" in page
    assert "Other" not in page
