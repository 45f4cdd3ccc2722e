"""Organizations and groups as rows: their actions, their members, what datasets show of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html import unescape
from time import sleep
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from datastore_search.contrib.catalogue.models import (
    MAX_GROUP_LENGTHS,
    Dataset,
    MemberGroup,
    Membership,
)
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.database.statements import lock_aliases
from datastore_search.messages.availability import WriteBlocked
from datastore_search.web.tokens import issue_token

from ..builders import act, make_resource, make_user
from ..processes import count_waiting_sessions

pytestmark = pytest.mark.django_db

KINDS = pytest.mark.parametrize("kind", ["organization", "group"])


@pytest.fixture
def token() -> str:
    permissions = [f"{verb}_membergroup" for verb in ("add", "change", "delete")]
    return issue_token(
        make_user("ministry", permissions=(*permissions, "add_resource", "change_resource"))
    )


def call(token: str, action: str, status: int = 200, **sent: Any) -> Any:
    response = act(Client(), action, sent, token)
    assert response.status_code == status, response.content
    return response.json()["result"] if status == 200 else response.json()["error"]


@KINDS
def test_one_is_created_as_in_ckan(token: str, kind: str) -> None:
    made = call(
        token,
        f"{kind}_create",
        name="hue",
        title="City of Hue",
        description="A city",
        image_url="https://hue.example.org/a.png",
        extras=[{"key": "region", "value": "centre"}],
        approval="unknown members are ignored",
    )

    (member,) = made.pop("users")
    assert (member["name"], member["capacity"]) == ("ministry", "admin")
    assert "email" not in member
    assert made.pop("created")
    assert made.pop("id") == MemberGroup.objects.get(name="hue").pk
    assert made == {
        "approval_status": "approved",
        "description": "A city",
        "display_name": "City of Hue",
        "extras": [{"key": "region", "value": "centre"}],
        "groups": [],
        "image_display_url": "https://hue.example.org/a.png",
        "image_url": "https://hue.example.org/a.png",
        "is_organization": kind == "organization",
        "name": "hue",
        "num_followers": 0,
        "package_count": 0,
        "state": "active",
        "tags": [],
        "title": "City of Hue",
        "type": kind,
    }
    assert call("", f"{kind}_list") == ["hue"]
    assert call("", f"{kind}_show", id="hue")["title"] == "City of Hue"


@KINDS
@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({}, {"name": ["Missing value"]}),
        ({"name": "taken"}, {"name": ["Group name already exists in database"]}),
        ({"name": "new", "id": "t"}, {"id": ["Id already exists"]}),
        ({"name": "a"}, {"name": ["Must be at least 2 characters long"]}),
        (
            {"name": "A b"},
            {
                "name": [
                    "Must be purely lowercase alphanumeric (ascii) characters and these symbols: -_"
                ]
            },
        ),
        ({"name": "new", "image_url": "javascript:x"}, {"image_url": ["Enter a valid URL."]}),
    ],
)
def test_one_is_refused_as_in_ckan(
    token: str, kind: str, sent: dict[str, Any], error: dict[str, Any]
) -> None:
    MemberGroup.objects.create(pk="t", name="taken", is_organization=kind == "group")

    refused = call(token, f"{kind}_create", 409, **sent)

    assert refused == {"__type": "Validation Error", **error}


def test_the_name_of_a_deleted_one_stays_taken_until_it_is_purged(token: str) -> None:
    call(token, "organization_create", name="hue")

    assert call(token, "organization_delete", id="hue") is None
    call("", "organization_show", 404, id="hue")
    assert call(token, "organization_show", id="hue")["state"] == "deleted"
    assert call(token, "organization_list") == []
    taken = call(token, "organization_create", 409, name="hue")
    assert taken["name"] == ["Group name already exists in database"]
    assert call(token, "organization_purge", id="hue") is None
    call(token, "organization_purge", 404, id="hue")
    call(token, "organization_create", name="hue")


@KINDS
def test_an_update_keeps_what_is_not_sent_but_extras(token: str, kind: str) -> None:
    extras = [{"key": "a", "value": "b"}]
    call(token, f"{kind}_create", name="hue", description="A city", extras=extras)

    patched = call(token, f"{kind}_patch", id="hue", title="Hue")
    updated = call(token, f"{kind}_update", id="hue", name="hue-city")

    assert (patched["title"], patched["extras"]) == ("Hue", extras)
    assert (updated["title"], updated["extras"], updated["description"]) == ("Hue", [], "A city")
    call(token, f"{kind}_show", 404, id="hue")
    assert call(token, f"{kind}_patch", id=updated["id"], title="")["display_name"] == "hue-city"


def test_datasets_show_their_organization_and_groups_as_they_are_now(token: str) -> None:
    call(token, "organization_create", name="hue", title="Hue")
    call(token, "group_create", name="water", title="Water")
    water = MemberGroup.objects.get(name="water")
    own = Dataset(id="rivers", name="rivers", groups=[water.to_group().to_json()], is_public=True)
    sync_dataset(own)
    Dataset.objects.filter(pk="rivers").update(owner_org=MemberGroup.objects.get(name="hue"))
    resource = make_resource(name="lakes", owner_org=MemberGroup.objects.get(name="hue"))
    before = resource.version

    make_resource(name="wells", owner_org=MemberGroup.objects.get(name="hue"), private=True)
    patched = call(token, "organization_patch", id="hue", name="hue-city", title="City of Hue")
    assert patched["package_count"] == 2
    assert call(token, "group_patch", id="water", title="Waters")["package_count"] == 1

    for name in ("rivers", "lakes"):
        shown = call("", "package_show", id=name)
        assert shown["organization"]["title"] == "City of Hue"
        assert shown["owner_org"] == shown["organization"]["id"]
    resource.refresh_from_db()
    assert resource.version > before
    assert call("", "package_show", id="rivers")["groups"][0]["title"] == "Waters"
    assert [each["name"] for each in call("", "group_package_show", id="water")] == ["rivers"]
    listed = call("", "organization_show", id="hue-city", include_datasets=True)
    assert {each["name"] for each in listed["packages"]} == {"rivers", "lakes"}
    assert listed["package_count"] == 2
    refused = call(token, "organization_delete", 409, id="hue-city")
    assert refused["message"] == "Organization cannot be deleted while it still has datasets"
    call(token, "organization_purge", 409, id="hue-city")
    call(token, "group_delete", id="water")
    assert call("", "package_show", id="rivers")["groups"] == []


def test_a_dataset_that_is_restored_leaves_a_deleted_organization(token: str) -> None:
    call(token, "organization_create", name="hue-city")
    call(token, "package_create", name="rivers", owner_org="hue-city")
    call(token, "package_delete", id="rivers")
    call(token, "organization_delete", id="hue-city")

    restored = call(token, "package_patch", id="rivers", state="active")

    assert restored["owner_org"] is restored["organization"] is None
    assert call(token, "organization_list") == []


def test_an_organization_of_texts_is_listed_and_can_become_a_row(token: str) -> None:
    make_resource(name="lakes", publisher="City of Hue")
    named = call("", "organization_show", id="city-of-hue")

    made = call(token, "organization_create", name="city-of-hue", description="A city")

    assert (named["package_count"], named["created"]) == (1, None)
    assert made["id"] == named["id"]
    shown = call("", "organization_show", id="city-of-hue")
    assert (shown["description"], shown["package_count"]) == ("A city", 1)
    assert call("", "organization_list") == ["city-of-hue"]


@KINDS
def test_members_are_added_changed_and_removed(token: str, kind: str) -> None:
    row = call(token, f"{kind}_create", name="hue")
    lan = make_user("lan")

    added = call(token, f"{kind}_member_create", id="hue", username="lan", role="member")
    changed = call(token, f"{kind}_member_create", id="hue", username=str(lan.pk), role="editor")

    assert changed == {
        "id": added["id"],
        "table_name": "user",
        "table_id": str(lan.pk),
        "capacity": "editor",
        "group_id": row["id"],
        "state": "active",
    }
    assert Membership.objects.get(user=lan).role == "editor"
    assert call(token, f"{kind}_member_delete", id="hue", username="lan") is None
    assert call(token, f"{kind}_member_delete", id="hue", username="lan") is None
    assert not Membership.objects.filter(user=lan).exists()


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        ({"id": "hue"}, {"username", "role"}),
        ({"id": "hue", "username": "nobody", "role": "editor"}, {"username"}),
        ({"id": "hue", "username": "lan", "role": "king"}, {"role"}),
        ({"id": "nope", "username": "lan", "role": "editor"}, {"id"}),
    ],
)
def test_a_member_is_refused_as_in_ckan(token: str, sent: dict[str, Any], names: set[str]) -> None:
    call(token, "organization_create", name="hue")
    make_user("lan")

    refused = call(token, "organization_member_create", 409, **sent)

    assert refused.keys() - {"__type"} == names


@pytest.mark.parametrize(
    ("permission", "roles"),
    [
        (None, {"member", "editor", "admin"}),
        ("read", {"member", "editor", "admin"}),
        ("create_dataset", {"editor", "admin"}),
        ("update_dataset", {"editor", "admin"}),
        ("delete", {"admin"}),
        ("nope", {"admin"}),
    ],
)
def test_users_find_their_organizations_by_permission(
    permission: str | None, roles: set[str]
) -> None:
    user = make_user("lan")
    for name in ("member", "editor", "admin", "none"):
        row = MemberGroup.objects.create(pk=name, name=name)
        if name != "none":
            Membership.objects.create(group=row, user=user, role=name)
    sent: dict[str, Any] = {"permission": permission} if permission else {}

    found = call(issue_token(user), "organization_list_for_user", **sent)

    assert {each["name"] for each in found} == roles
    assert all(each["capacity"] == each["name"] for each in found)
    assert call("", "organization_list_for_user", **sent) == []


def test_a_user_who_is_deleted_is_no_member(token: str) -> None:
    call(token, "organization_create", name="hue")

    User.objects.get(username="ministry").delete()

    assert not Membership.objects.exists()


def test_the_owner_of_a_resource_is_given_by_name_or_id(token: str) -> None:
    row = call(token, "organization_create", name="hue", title="Hue")

    made = call(token, "resource_create", name="Lakes", owner_org="hue")

    def show_owner(**sent: Any) -> Any:
        call(token, "resource_patch", id=made["id"], **sent)
        return call(token, "package_show", id=made["id"])["owner_org"]

    shown = call(token, "package_show", id=made["id"])
    assert (shown["owner_org"], shown["organization"]["name"]) == (row["id"], "hue")
    assert show_owner(owner_org=row["id"]) == row["id"]
    assert show_owner(description="Their depths") == row["id"]
    assert show_owner(owner_org="") is None
    for action, member in (("resource_patch", {"id": made["id"]}), ("resource_create", {})):
        unknown = call(token, action, 409, owner_org="nope", **member)
        assert unknown["owner_org"] == ["Organization does not exist"]


def test_an_editor_creates_a_table_in_an_organization(token: str) -> None:
    row = call(token, "organization_create", name="hue")
    editor = make_user("editor")
    Membership.objects.create(group_id=row["id"], user=editor, role="editor")
    own_token = issue_token(editor)

    resource = {"name": "Lakes", "owner_org": "hue"}
    made = call(own_token, "datastore_create", resource=resource, fields=[{"id": "a"}])

    assert call(token, "package_show", id=made["resource_id"])["owner_org"] == row["id"]
    call(own_token, "datastore_upsert", id=made["resource_id"], method="insert", records=[{"a": 1}])


def test_a_resource_is_shown_with_its_owner() -> None:
    row = MemberGroup.objects.create(pk="hue", name="hue", title="City of Hue")
    resource = make_resource("a\n1\n", owner_org=row)

    for path in ("", f"{resource.pk}/", f"{resource.pk}/about/"):
        assert "City of Hue</bdi>" in Client().get(f"/en/datastore/{path}").content.decode()


def test_a_portal_with_members_and_without_the_backend_is_warned(settings: Any) -> None:
    def list_warnings() -> set[str | None]:
        return {each.id for each in run_checks(databases=["default"])}

    row = MemberGroup.objects.create(pk="hue", name="hue")
    backends = settings.AUTHENTICATION_BACKENDS
    settings.AUTHENTICATION_BACKENDS = backends[:1]
    assert "datastore_search.W026" not in list_warnings()

    Membership.objects.create(group=row, user=make_user())
    assert "datastore_search.W026" in list_warnings()
    settings.AUTHENTICATION_BACKENDS = backends
    assert "datastore_search.W026" not in list_warnings()


def test_no_name_is_the_id_of_another_and_no_id_its_name(token: str) -> None:
    vinh = call(token, "organization_create", name="vinh")
    call(token, "organization_create", name="hue")

    for action, sent in (
        ("organization_patch", {"id": "hue", "name": vinh["id"]}),
        ("organization_create", {"id": "vinh", "name": "another"}),
    ):
        refused = call(token, action, 409, **sent)
        assert refused["name"] == ["Group name already exists in database"]


@pytest.mark.parametrize("action", ["package_create", "resource_create"])
def test_an_owner_with_a_character_that_cannot_be_stored_is_refused(
    token: str, action: str
) -> None:
    for owner in ("a\0", "\ud800"):
        assert set(call(token, action, 409, name="new", owner_org=owner)) >= {"owner_org"}


@pytest.mark.parametrize("name", ["description", "extras"])
def test_texts_that_every_list_has_are_not_too_long(token: str, name: str) -> None:
    text = "a" * (MAX_GROUP_LENGTHS[name] + 1)
    sent: Any = text if name == "description" else [{"key": "a", "value": text}]

    assert call(token, "organization_create", 409, name="hue", **{name: sent})[name]


def test_a_name_that_is_the_id_of_another_user_finds_neither(token: str) -> None:
    call(token, "organization_create", name="hue")
    user = make_user("new")
    make_user(str(user.pk))

    member = {"id": "hue", "username": str(user.pk), "role": "editor"}
    refused = call(token, "organization_member_create", 409, **member)

    assert refused["username"] == ["User not found"]


# At once ------------------------------------------------------------------------------------------


def wait_for_lock() -> None:
    for _attempt in range(500):
        if count_waiting_sessions():
            return
        sleep(0.01)
    raise TimeoutError


@pytest.mark.django_db(transaction=True)
@KINDS
def test_one_is_renamed_while_its_dataset_is_changed(token: str, kind: str) -> None:
    row = call(token, f"{kind}_create", name="hue")
    members = {"owner_org": "hue"} if kind == "organization" else {"groups": [{"name": "hue"}]}
    call(token, "package_create", name="papers", **members)

    def rename() -> None:
        with closing(connection):
            call(token, f"{kind}_patch", id="hue", title="City of Hue")

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            dataset = Dataset.objects.select_for_update().get(name="papers")
            renamed = pool.submit(rename)
            wait_for_lock()
            lock_aliases(connection)  # as a request that names the dataset
            dataset.owner_org, dataset.organization = None, {"name": "vinh"}
            dataset.groups = [*dataset.groups, {"name": "roads"}]
            dataset.save()
        renamed.result()

    dataset.refresh_from_db()
    assert dataset.organization["name"] == "vinh"
    *former, new = dataset.groups
    shown = {"id": row["id"], "name": "hue", "title": "City of Hue"}
    assert (former, new["name"]) == ([shown] if kind == "group" else [], "roads")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("action", "sent", "status"),
    [
        ("package_create", {"name": "papers", "owner_org": "hue"}, 200),
        ("organization_member_create", {"id": "hue", "username": "new", "role": "editor"}, 404),
    ],
)
def test_what_names_an_organization_waits_for_its_purge(
    token: str, action: str, sent: dict[str, Any], status: int
) -> None:
    call(token, "organization_create", name="hue")
    make_user("new")

    def send() -> None:
        with closing(connection):
            call(token, action, status, **sent)

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            row = MemberGroup.objects.select_for_update().get(name="hue")
            sending = pool.submit(send)
            wait_for_lock()
            row.delete()
        sending.result()

    assert not Dataset.objects.exclude(owner_org=None).exists()


@pytest.mark.django_db(transaction=True)
def test_a_dataset_does_not_replace_one_that_is_added_just_now(token: str) -> None:
    own = "46105e8a-4a6f-4e21-8889-c6f8cb88c1bd"

    def create() -> None:
        with closing(connection):
            error = call(token, "package_create", 409, id=own, name="new")
            assert error["id"] == ["Invalid id provided"]

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            lock_aliases(connection)  # as a request that names a dataset
            creating = pool.submit(create)
            wait_for_lock()
            Dataset.objects.create(pk=own, name="first", members={})
        creating.result()

    assert Dataset.objects.get(pk=own).name == "first"


# In the admin -------------------------------------------------------------------------------------


@pytest.fixture
def path(client: Client) -> str:
    """Return the path of an organization in the admin, for its admin, who has logged in."""
    row = MemberGroup.objects.create(pk="hue", name="hue")
    chief = make_user("chief", is_staff=True)
    Membership.objects.create(group=row, user=chief, role="admin")
    client.force_login(chief)
    return reverse("admin:datastore_search_catalogue_membergroup_change", args=["hue"])


def send_form(client: Client, path: str, **sent: Any) -> str:
    counts = {"memberships-TOTAL_FORMS": 1, "memberships-INITIAL_FORMS": 0}
    return unescape(
        client.post(path, {"name": "hue", **counts, **sent}, follow=True).content.decode()
    )


@KINDS
def test_the_change_of_another_request_is_kept(
    token: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(token, f"{kind}_create", name="hue", title="Hue", description="A city")
    rows = MemberGroup.objects.filter(name="hue")

    def change_first(*_asked: object) -> None:
        rows.update(title="City of Hue")

    # Between the check of the permission and the lock of the row.
    monkeypatch.setattr("datastore_search.contrib.catalogue.groups.lock_resources", change_first)
    changed = call(token, f"{kind}_patch", id="hue", description="An old city")

    assert (changed["title"], changed["description"]) == ("City of Hue", "An old city")
    monkeypatch.setattr(
        "datastore_search.contrib.catalogue.groups.lock_resources", lambda *_asked: rows.delete()
    )
    call(token, f"{kind}_patch", 404, id="hue", description="New")


def test_a_member_whom_another_request_has_added_is_refused_in_the_admin(
    client: Client, path: str
) -> None:
    user = make_user("new")
    Membership.objects.create(group_id="hue", user=user, role="editor")

    member = {"memberships-0-user": user.pk, "memberships-0-role": "admin"}
    shown = send_form(client, path, image_url="hue.example.org/a.png", **member)

    assert "already exists" in shown
    assert [each.role for each in Membership.objects.filter(user=user)] == ["editor"]
    assert MemberGroup.objects.get().image_url == ""


def test_the_admin_shows_a_member_whose_user_is_missing(client: Client, path: str) -> None:
    Membership.objects.create(group_id="hue", user_id=10**6, role="editor")

    assert "1000000: editor" in client.get(path).content.decode()


@pytest.mark.parametrize("error", [WriteBlocked(), ValidationError("This name is taken")])
def test_the_admin_says_that_another_request_is_in_the_way(
    client: Client, path: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_row: MemberGroup) -> None:
        raise error

    monkeypatch.setattr("datastore_search.contrib.catalogue.admin.store_group", fail)

    shown = send_form(client, path, **{"memberships-TOTAL_FORMS": 0})

    assert str(getattr(error, "message", error)) in shown
