"""What the app of files adds to the pages of resources in the admin."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client
from django.utils.formats import date_format
from django.utils.timezone import localtime

from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.models import Resource

from ...builders import make_resource
from ...core.admin.test_resources import ADD, LIST, build_form
from .forms import list_with_load


def test_a_new_resource_leads_to_the_upload_form(staff: Client) -> None:
    response = staff.post(ADD, build_form(_load="1"))

    resource = Resource.objects.get()
    assert response.headers["Location"] == f"{LIST}{resource.pk}/load/"


def test_the_list_shows_records_size_state_and_last_load(staff: Client) -> None:
    resource = make_resource(title="Rivers")
    Load.objects.create(resource=resource, source="x", state=LoadState.FAILED)

    page = staff.get(LIST).content.decode()

    assert "Rivers" in page
    assert '<td class="field-records">6</td>' in page
    assert "KB</td>" in page.replace("\xa0", " ")
    assert "datastore-badge-bad" in page


def test_the_page_of_a_resource_lists_its_loads_with_their_dates(staff: Client) -> None:
    resource = list_with_load("rivers")
    load = resource.loads.get()

    page = staff.get(f"{LIST}{resource.pk}/change/").content.decode()

    loads = page[page.index('id="loads"') :]
    dates = re.findall(r"<tr>\s*<td>(.*?)</td>", loads)
    assert dates == [date_format(localtime(load.created_at), "DATETIME_FORMAT")]


def test_the_lists_ask_as_few_queries_for_many_as_for_one(
    staff: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        list_with_load(f"r{number}")

    for address in (LIST, LIST.replace("/resource/", "/load/")):
        with django_assert_max_num_queries(12):
            staff.get(address)


def test_the_groups_of_the_menu_have_words(staff: Client) -> None:
    page = staff.get("/en/admin/").content.decode()

    groups = re.findall(r'<a href="[^"]*" class="section"[^>]*>\s*(.*?)\s*</a>', page)
    assert {"Tables", "Files", "Catalogue", "Tokens"} <= set(groups)
    assert not [group for group in groups if "_" in group or "knox" in group.lower()]
