"""The admin for staff with object permissions only."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from datastore_search.contrib.files.models import LoadState
from datastore_search.models import Resource, object_permissions

from ...builders import grant, make_user
from ...core.admin.test_resources import build_form
from .forms import list_with_load

ADMIN = "/en/admin/"
LIST = f"{ADMIN}datastore_search/resource/"
LOADS = f"{ADMIN}datastore_search_files/load/"
PASSWORD = "django.contrib.auth.backends.ModelBackend"
MINE = "tests.backends.ViewMineBackend"


@pytest.fixture
def clerk(db: None) -> Any:
    return make_user("clerk", is_staff=True)


@pytest.fixture
def others(db: None) -> list[Resource]:
    """Resources without any permission of the clerk, whose details must not be disclosed."""
    resources = [
        list_with_load("secret", title="Secret plans", private=True, language="french"),
        list_with_load("open", title="Open house", language="german"),
    ]
    resources[0].loads.create(source="leak.csv", state=LoadState.FAILED)
    return resources


@pytest.fixture
def office(client: Client, clerk: Any, guardian: None, others: list[Resource]) -> Client:
    """The clerk, who may view one resource and change another."""
    grant(clerk, "view", list_with_load("seen", title="To be seen", private=True))
    grant(clerk, "change", list_with_load("kept", title="To be kept"))
    client.force_login(clerk, backend=PASSWORD)
    return client


def list_titles(client: Client, address: str = LIST, **query: str) -> list[str]:
    response = client.get(address, query)
    assert response.status_code == 200
    return [str(each) for each in response.context["cl"].queryset]


def test_the_list_holds_what_may_be_viewed_or_changed(office: Client) -> None:
    page = office.get(LIST).content.decode()

    assert list_titles(office) == ["To be kept", "To be seen"]
    assert "2 resources" in page
    for word in ("Secret", "secret", "Open house", "french", "german", "4 total"):
        assert word not in page
    assert LIST in office.get(ADMIN).content.decode()
    assert LIST in office.get(f"{ADMIN}datastore_search/").content.decode()


@pytest.mark.parametrize(
    "query",
    [
        {"q": "plans"},
        {"q": "secret"},
        {"language": "french"},
        {"language__exact": "german"},
        {"table_version__origin__exact": "api"},
        {"private__exact": "1", "q": "secret"},
    ],
)
def test_no_search_and_no_filter_finds_more(office: Client, query: dict[str, str]) -> None:
    assert list_titles(office, **query) == []


def test_filters_and_the_autocomplete_know_only_what_is_listed(office: Client) -> None:
    query = {"app_label": "datastore_search_files", "model_name": "load", "field_name": "resource"}

    page = office.get(LIST, {"_facets": "True"}).content.decode()
    results = office.get(f"{ADMIN}autocomplete/", query).json()["results"]

    assert re.findall(r"Yes \((\d+)\)|No \((\d+)\)", page) == [("1", ""), ("", "1")]
    assert [each["text"] for each in results] == ["To be kept", "To be seen"]


def test_loads_are_listed_of_the_same_resources_alone(office: Client) -> None:
    page = office.get(LOADS).content.decode()

    assert sorted(list_titles(office, LOADS)) == ["kept.csv (ready)", "seen.csv (ready)"]
    assert list_titles(office, LOADS, q="leak") == []
    assert list_titles(office, LOADS, state__exact="failed") == []
    for word in ("leak", "Secret", "Open house", "secret.csv"):
        assert word not in page


def test_pages_of_others_are_refused(office: Client, others: list[Resource]) -> None:
    for resource in others:
        assert office.post(f"{LIST}{resource.pk}/history/").status_code == 403
        for page in ("change/", "history/", "delete/", "load/"):
            assert office.get(f"{LIST}{resource.pk}/{page}").status_code in {302, 403}, page
            assert (
                resource.title
                not in office.get(f"{LIST}{resource.pk}/{page}", follow=True).content.decode()
            )
        for load in resource.loads.all():
            assert office.get(f"{LOADS}{load.pk}/change/").status_code == 403
            assert office.get(f"{LOADS}{load.pk}/bad-rows.csv").status_code == 403
            query = f"load={load.pk}&load={'9' * 5_000}"
            assert office.get(f"{LOADS}progress/?{query}").json() == {"loads": {}}


def test_what_may_be_viewed_is_not_changed_and_what_may_be_changed_is_not_deleted(
    office: Client,
) -> None:
    seen, kept = Resource.objects.get(name="seen"), Resource.objects.get(name="kept")
    form = build_form(title="Changed", **{"fields-TOTAL_FORMS": 0, "fields-INITIAL_FORMS": 0})
    file = SimpleUploadedFile("a.csv", b"a\n1\n")

    refused = office.post(f"{LIST}{seen.pk}/change/", form | {"name": "seen"})
    changed = office.post(f"{LIST}{kept.pk}/change/", form | {"name": "kept"})
    chosen = {"action": "delete_selected", "_selected_action": [seen.pk, kept.pk], "post": "yes"}
    office.post(LIST, chosen)

    assert (refused.status_code, changed.status_code) == (403, 302)
    assert office.post(f"{LIST}{seen.pk}/load/", {"file": file}).status_code == 403
    assert office.get(f"{LIST}{kept.pk}/load/").status_code == 200
    assert office.post(f"{LIST}{kept.pk}/delete/", {"post": "yes"}).status_code == 403
    assert office.get(f"{LIST}add/").status_code == 403
    assert list_titles(office) == ["Changed", "To be seen"]


def test_users_without_permission_have_no_list(client: Client, clerk: Any, guardian: None) -> None:
    grant(make_user("other"), "view", list_with_load("seen"))
    client.force_login(clerk, backend=PASSWORD)

    assert client.get(LIST).status_code == 403
    assert client.get(LOADS).status_code == 403
    assert LIST not in client.get(ADMIN).content.decode()


def test_a_custom_backend_checks_each_resource(
    client: Client, clerk: Any, settings: Any, others: list[Resource]
) -> None:
    settings.AUTHENTICATION_BACKENDS = [PASSWORD, MINE]
    list_with_load("mine", title="To be mine")
    client.force_login(clerk, backend=PASSWORD)

    assert list_titles(client) == ["To be mine"]
    assert list_titles(client, LOADS) == ["mine.csv (ready)"]


def test_a_list_that_is_not_complete_says_so(
    client: Client,
    clerk: Any,
    settings: Any,
    others: list[Resource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.AUTHENTICATION_BACKENDS = [PASSWORD, "tests.backends.ViewAllBackend"]
    client.force_login(clerk, backend=PASSWORD)
    notice = "There are too many resources to check your permissions for all"

    assert notice not in client.get(LIST).content.decode()
    monkeypatch.setattr(object_permissions, "MAX_CHECKED_OBJECTS", 1)
    page = client.get(LIST).content.decode()

    assert notice in page
    assert len(list_titles(client)) == 1


def test_the_menu_of_the_admin_checks_no_single_resource(
    client: Client, clerk: Any, settings: Any, others: list[Resource]
) -> None:
    settings.AUTHENTICATION_BACKENDS = [PASSWORD, "tests.backends.NoObjectsBackend"]
    client.force_login(clerk, backend=PASSWORD)

    assert client.get(ADMIN).status_code == 200
