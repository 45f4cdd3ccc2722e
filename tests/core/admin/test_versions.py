"""Forms of the admin that were opened before another change."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Alias, Resource

from .test_field_parts import read_inputs
from .test_resources import LIST

CHANGED = "Someone has changed this since you opened the form"


@pytest.fixture
def page(resource: Resource) -> str:
    """The address of the form of a resource."""
    Resource.objects.update(title="Old", private=False)
    return f"{LIST}{resource.pk}/change/"


def open_form(staff: Client, page: str, **changes: Any) -> dict[str, Any]:
    """Read what a form would send, with some inputs changed."""
    text = staff.get(page).content.decode()
    selected = re.findall(
        r'<select name="([^"]*)"(?:(?!</select>).)*?<option value="([^"]*)" selected',
        text,
        re.DOTALL,
    )
    return {**dict(selected), **read_inputs(text), **changes}


def get_only() -> Resource:
    return Resource.objects.get()


def test_a_form_of_a_public_resource_does_not_publish_what_was_made_private(
    staff: Client, page: str
) -> None:
    opened = open_form(staff, page, title="New")
    Resource.objects.update(private=True)

    answer = staff.post(page, opened)

    text = answer.content.decode()
    assert answer.status_code == 200
    assert CHANGED in text
    assert "Stored now: yes" in text
    assert "Stored now: Old" in text
    assert 'value="New"' in text
    assert (get_only().title, get_only().private) == ("Old", True)


def test_what_is_stored_may_then_be_replaced(staff: Client, page: str) -> None:
    opened = open_form(staff, page, title="New")
    Resource.objects.update(title="Other")
    refused = staff.post(page, opened).content.decode()

    assert staff.post(page, {**opened, **read_inputs(refused)}).status_code == 302
    assert get_only().title == "New"


def test_a_form_is_saved_over_no_change_and_over_a_change_of_records(
    staff: Client, page: str
) -> None:
    opened = open_form(staff, page, title="New")
    Resource.objects.update(primary_key=["code"])  # a version that the form does not show

    assert staff.post(page, opened).status_code == 302
    assert (get_only().title, get_only().private) == ("New", False)
    assert staff.post(page, open_form(staff, page, title="Newer")).status_code == 302


@pytest.mark.parametrize("language", ["de", "vi"])
def test_the_message_is_in_the_language_of_the_user(
    staff: Client, page: str, language: str
) -> None:
    page = page.replace("/en/", f"/{language}/")
    opened = open_form(staff, page)
    Resource.objects.update(private=True)

    assert staff.post(page, opened).status_code == 200
    assert get_only().private


def test_fields_aliases_and_metadata_are_compared(staff: Client, page: str) -> None:
    resource = get_only()
    field = resource.fields.all()[0]
    alias = Alias.objects.create(resource=resource, name="first")
    changes: list[Any] = [
        (resource.fields.filter(pk=field.pk), {"label": "Theirs"}),
        (resource.fields.filter(pk=field.pk), {"extra_info": {"weight": 4}}),
        (Alias.objects.filter(pk=alias.pk), {"name": "second"}),
    ]
    for rows, change in changes:
        opened = open_form(staff, page)
        mine = {"fields-0-label": "Mine", "aliases-0-name": "mine"}
        rows.update(**change)

        text = staff.post(page, {**opened, **mine}).content.decode()

        assert CHANGED in text, change
        assert "Stored now: " in text
        assert 'value="Mine"' in text
        assert all(getattr(rows.get(), name) == value for name, value in change.items())


def test_an_alias_that_was_added_meanwhile_is_no_reason_to_lose_it(
    staff: Client, page: str
) -> None:
    opened = open_form(staff, page)
    Alias.objects.create(resource=get_only(), name="theirs")

    assert CHANGED in staff.post(page, opened).content.decode()


@pytest.mark.needs("catalogue")
def test_metadata_of_a_dataset_are_compared(staff: Client, page: str) -> None:
    from datastore_search.contrib.catalogue.models import Dataset  # noqa: PLC0415 - may be missing

    opened = open_form(staff, page, **{"dataset-0-publisher": "Mine"})
    Dataset.objects.update(publisher="Theirs")

    text = staff.post(page, opened).content.decode()

    assert CHANGED in text
    assert "Stored now: Theirs" in text
    assert Dataset.objects.get().publisher == "Theirs"
    assert staff.post(page, {**opened, **read_inputs(text)}).status_code == 302
    assert Dataset.objects.get().publisher == "Mine"


def test_texts_in_a_language_are_compared(staff: Client, resource: Resource) -> None:
    page = f"{LIST}{resource.pk}/texts/fr/"
    opened = open_form(staff, page, title="Le mien")
    Resource.objects.update(translations={"fr": {"title": "Le leur"}})

    text = staff.post(page, opened).content.decode()

    assert CHANGED in text
    assert "Stored now: Le leur" in text
    assert 'value="Le mien"' in text
    assert get_only().translations == {"fr": {"title": "Le leur"}}
    assert staff.post(page, {**opened, **read_inputs(text)}).status_code == 302
    assert get_only().translations == {"fr": {"title": "Le mien"}}
