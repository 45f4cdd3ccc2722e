"""The page *Datastore* leads a clerk from the upload to taking it back."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from datastore_search.contrib.catalogue.models import MemberGroup, Membership
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.models import Resource

from ...builders import create_resource, grant, make_user
from ...core.admin.test_resources import LIST, build_form
from ..builders import load_text
from .forms import list_with_load
from .test_loading import LOADS

INDEX = "/en/admin/"
PAGE = f"{INDEX}datastore_search/datastore/"


def read(client: Client, **query: str) -> str:
    response = client.get(PAGE, query)
    assert response.status_code == 200
    return response.content.decode()


def list_rows(client: Client, **query: str) -> list[str]:
    """List the rows of resources as text."""
    body = read(client, **query).partition('id="result_list"')[2].partition("</table>")[0]
    texts = re.split(r"<tr[^>]*>", body.partition("<tbody>")[2])[1:]
    return [" ".join(re.sub("<[^>]+>", " ", text).split()) for text in texts]


def list_waiting(client: Client) -> list[str]:
    body = read(client).partition('id="waiting"')[2].partition("</section>")[0]
    texts = re.findall(r"<li>(.*?)</li>", body, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", "", text).split()) for text in texts]


def find_address(client: Client, text: str) -> str:
    """Find the address of the first link with a text."""
    found = re.search(rf'<a [^>]*href="([^"]*)"[^>]*>{text}</a>', read(client))
    assert found, text
    return found[1]


def test_the_page_is_the_first_of_the_tables_in_every_language(staff: Client) -> None:
    for language in ("en", "vi", "ar", "de", "fr", "es", "pt-br"):
        page = staff.get(f"/{language}/admin/").content.decode()
        addresses = re.findall(r'href="/[a-z-]+(/admin/datastore_search/\w+/)"', page)
        assert addresses[0] == "/admin/datastore_search/datastore/", language


@pytest.mark.usefixtures("no_resource")
def test_a_clerk_is_led_through_the_five_steps(admin_client: Client, admin_user: Any) -> None:
    response = admin_client.post(find_address(admin_client, "Upload a file"), build_form(_save="1"))
    resource = Resource.objects.get()
    assert response.headers["Location"] == f"{LIST}{resource.pk}/load/"
    (row,) = list_rows(admin_client)
    assert row.endswith("Load a file not loaded yet – – public")
    assert find_address(admin_client, "Load a file") == f"{LIST}{resource.pk}/load/"

    load_text(resource, "a\n1\n", user=admin_user)
    (row,) = list_rows(admin_client)
    assert re.search(r" Look · Replace ready 1 .+ admin public$", row)
    assert find_address(admin_client, "Look") == f"/en/datastore/{resource.pk}/"
    assert find_address(admin_client, "Replace") == f"{LIST}{resource.pk}/load/"

    load = load_text(resource, "a\n1\n2\n", user=admin_user)
    address = find_address(admin_client, "Take back")
    assert address == f"{LOADS}{load.pk}/change/#former"
    assert 'id="former"' in admin_client.get(address).content.decode()
    assert load.former
    admin_client.post(f"{LOADS}{load.pk}/former/", {"publish": load.former["version"]})
    (row,) = list_rows(admin_client)
    assert " Look · Replace · The load is taken back ready 1 " in row

    load_text(resource, "a\n3\n")  # as a schedule does, which keeps nothing
    (row,) = list_rows(admin_client)
    assert " Look · Replace ready 1 " in row


def test_the_newest_tables_come_first_and_are_searched(staff: Client) -> None:
    for name in ("rivers", "lakes"):
        list_with_load(name, title=name.title())
    Resource.objects.get(name="rivers").save()

    assert [row.split()[0] for row in list_rows(staff)] == ["Rivers", "Lakes"]
    assert [row.split()[0] for row in list_rows(staff, q="lak")] == ["Lakes"]


def test_loads_wait_until_a_newer_one_of_their_resource(staff: Client) -> None:
    draft, failed, bad, fine = (list_with_load(name) for name in ("draft", "failed", "bad", "fine"))
    draft.loads.create(source="draft.csv", state=LoadState.DRAFT)
    failed.loads.create(
        source="failed.csv",
        state=LoadState.FAILED,
        failure={"code": "file.empty", "parameters": {}},
    )
    bad.loads.create(source="bad.csv", state=LoadState.READY, row_error_count=3)
    fine.loads.create(source="old.csv", state=LoadState.FAILED)
    fine.loads.create(source="new.csv", state=LoadState.READY)

    waiting = list_waiting(staff)
    assert [each.split()[1] for each in waiting] == ["bad.csv", "failed.csv", "draft.csv"]
    assert waiting[0] == "ready bad.csv (bad): 3 bad rows"
    assert waiting[1].startswith("failed failed.csv (failed): The file is empty")
    assert waiting[2] == "draft draft.csv (draft): Look at the preview, and load it."

    draft.loads.create(source="again.csv", state=LoadState.READY)
    assert len(list_waiting(staff)) == 2


def test_only_some_of_many_waiting_loads_are_shown(staff: Client) -> None:
    for number in range(11):
        resource = create_resource(name=f"r{number}")
        resource.loads.create(source=f"{number}.csv", state=LoadState.FAILED)

    assert len(list_waiting(staff)) == 10
    assert "All loads" in read(staff)


def test_only_what_the_clerk_may_change_is_shown(client: Client, guardian: None) -> None:
    clerk = make_user("clerk", is_staff=True)
    seen, kept, secret = (
        list_with_load(name, title=f"{name} plans", private=True)
        for name in ("seen", "kept", "secret")
    )
    for resource in (seen, kept, secret):
        resource.loads.create(source=f"{resource.name}-draft.csv", state=LoadState.DRAFT)
    grant(clerk, "view", seen)
    grant(clerk, "change", kept)
    client.force_login(clerk, backend="django.contrib.auth.backends.ModelBackend")

    page = read(client)
    assert len(list_rows(client)) == len(list_waiting(client)) == 1
    assert "kept plans" in page
    assert "seen" not in page
    assert "secret" not in page
    assert "Upload a file" not in page  # who may change one may not add others
    assert list_rows(client, q="secret") == []
    assert PAGE in client.get(INDEX).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "status"), [("editor", 200), ("member", 403)])
def test_editors_of_an_organization_see_its_tables(client: Client, role: str, status: int) -> None:
    groups = [MemberGroup.objects.create(pk=name, name=name) for name in ("ours", "theirs")]
    for group in groups:
        create_resource(name=f"{group.name}-table", owner_org=group)
    user = make_user("edith", is_staff=True)
    Membership.objects.create(group=groups[0], user=user, role=role)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    assert client.get(PAGE).status_code == status
    assert (PAGE in client.get(INDEX).content.decode()) == (status == 200)
    if status == 200:
        (row,) = list_rows(client)
        assert row.startswith("ours-table")
        assert "theirs" not in read(client)


@pytest.mark.parametrize("page", ["add/", "{0}/change/", "{0}/delete/", "{0}/history/"])
def test_the_page_has_no_forms(staff: Client, page: str) -> None:
    resource = create_resource(name="rivers")

    assert staff.get(PAGE + page.format(resource.pk)).status_code == 404


@pytest.mark.parametrize("many", [100, pytest.param(20_000, marks=pytest.mark.slow)])
def test_many_tables_ask_as_few_queries_as_one(staff: Client, many: int) -> None:
    user = make_user("clerk")

    def count_queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get(PAGE)
        return len(captured)

    def add(count: int) -> None:
        resources = Resource.objects.bulk_create(Resource(name=f"r{n}") for n in range(count))
        states = (LoadState.READY, LoadState.FAILED, LoadState.READY)
        Load.objects.bulk_create(
            Load(resource=each, source="x", state=state, user=user, finished_at=timezone.now())
            for each in resources
            for state in states
        )

    list_with_load("one", title="One").loads.update(user=user)
    count_queries()  # which reads content types
    before = count_queries()
    add(many)

    began = time.monotonic()
    assert count_queries() <= before + 1  # of the second page
    assert time.monotonic() - began < 5
    assert len(list_rows(staff)) == len(list_rows(staff, p="2")) == 20
