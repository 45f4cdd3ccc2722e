"""The helpers for tests of a portal, asynchronous calls, and the address of a resource."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.test import override_settings
from django.urls import include, path

from datastore_search.interface import search
from datastore_search.models import Resource
from datastore_search.testing import create_resource
from datastore_search.urls import api_urlpatterns

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def read_block(heading: str) -> str:
    text = PAGE.read_text().partition(f"\n## {heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_superuser("boss")


def test_the_example_of_the_docs_asks_with_a_token(user: Any) -> None:
    names: dict[str, Any] = {"user": user}

    exec(read_block("Tests of a portal"), names)

    assert names["answer"].json()["result"]["total"] == 1
    assert names["rivers"].private
    assert names["rivers"].primary_key == ["code"]


def test_a_resource_may_have_types_and_no_records(db: None) -> None:
    resource = create_resource("empty", types={"code": "text", "at": "timestamp"}, title="Empty")

    types = dict(resource.fields.values_list("name", "type"))
    assert (types, str(resource)) == ({"code": "text", "at": "timestamp"}, "Empty")


def test_values_are_those_of_python(db: None) -> None:
    at, record = datetime.fromisoformat("2026-02-03T04:05"), {"share": 0.5, "day": date(2026, 1, 2)}
    types = {"share": "float8", "day": "date", "at": "timestamp"}

    resource = create_resource("values", [{**record, "at": at}], types=types)

    (found,) = search(AnonymousUser(), resource.pk).records
    assert found == {"_id": 1, **record, "at": at}


@pytest.mark.django_db(transaction=True)
def test_the_asynchronous_example_of_the_docs_counts() -> None:
    user = get_user_model().objects.create_superuser("boss")
    survey = create_resource("survey", [{"kind": "river"}, {"kind": "lake"}])
    names: dict[str, Any] = {}

    exec(read_block("Asynchronous views"), names)

    assert async_to_sync(names["count_rivers"])(user, survey.pk) == 1


class _ApiOnly:
    urlpatterns = [path("", include((api_urlpatterns, "datastore_search")))]


@pytest.mark.needs("pages")
def test_a_resource_leads_to_its_page(resource: Resource) -> None:
    assert resource.get_absolute_url().endswith(f"/datastore/{resource.pk}/")


def test_a_resource_leads_to_its_records_where_the_portal_has_no_pages(resource: Resource) -> None:
    with override_settings(ROOT_URLCONF=_ApiOnly):
        address = resource.get_absolute_url()

    assert address.endswith(f"/action/datastore_search?resource_id={resource.pk}")
