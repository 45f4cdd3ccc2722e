"""
What members of organizations may do, by each action; ``tests/test_access.py`` has the entrances.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from datastore_search.contrib.catalogue.models import Dataset, MemberGroup, Membership, build_id
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..builders import act, check_error, make_resource, make_user

pytestmark = pytest.mark.django_db

MANAGERS = {"admin", "staff"}
EDITORS = {"editor", "admin", "staff"}
EVERYONE = {"nobody", "other", "member", "editor of another", "editor", "admin", "staff"}
USERS = EVERYONE - {"nobody"}

#: A private dataset without resources.
PAPERS = "7d2a1c9e-0b3f-4e5d-8a6b-1c2d3e4f5a6b"

#: Each action with what it is sent, and the kinds of users whom it does not refuse.
ROWS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("organization_create", {"name": "new"}, {"staff"}),
    ("organization_update", {"id": "hue", "title": "new"}, MANAGERS),
    ("organization_patch", {"id": "hue", "title": "new"}, MANAGERS),
    ("organization_delete", {"id": "hue"}, set()),  # it has datasets
    ("organization_purge", {"id": "hue"}, set()),
    ("organization_member_create", {"id": "hue", "username": "other", "role": "admin"}, MANAGERS),
    ("organization_member_delete", {"id": "hue", "username": "editor"}, MANAGERS),
    ("organization_delete", {"id": "empty"}, MANAGERS),
    ("organization_purge", {"id": "empty"}, {"staff"}),
    ("group_create", {"name": "new"}, {"staff"}),
    ("group_update", {"id": "water", "title": "new"}, MANAGERS),
    ("group_patch", {"id": "water", "title": "new"}, MANAGERS),
    ("group_delete", {"id": "water"}, MANAGERS),
    ("group_purge", {"id": "water"}, {"staff"}),
    ("group_member_create", {"id": "water", "username": "other", "role": "admin"}, MANAGERS),
    ("group_member_delete", {"id": "water", "username": "editor"}, MANAGERS),
    ("organization_show", {"id": "hue"}, EVERYONE),
    ("organization_show", {"id": "gone"}, {"staff"}),
    ("group_show", {"id": "water"}, EVERYONE),
    ("group_package_show", {"id": "water"}, EVERYONE),
    ("organization_list", {}, EVERYONE),
    ("group_list", {}, EVERYONE),
    ("organization_list_for_user", {}, EVERYONE),
    ("group_list_authz", {}, EVERYONE),
    ("resource_show", {"id": "hidden"}, {"member", "editor", "admin", "staff"}),
    ("package_show", {"id": "hidden"}, {"member", "editor", "admin", "staff"}),
    ("datastore_search", {"id": "hidden"}, {"member", "editor", "admin", "staff"}),
    ("resource_patch", {"id": "hidden", "description": "new"}, EDITORS),
    ("resource_patch", {"id": "hidden", "owner_org": ""}, EDITORS),
    ("resource_patch", {"id": "hidden", "owner_org": "vinh"}, {"staff"}),
    (
        "datastore_upsert",
        {"id": "hidden", "method": "insert", "records": [{"a": 2}], "force": True},
        EDITORS,
    ),
    ("datastore_delete", {"id": "hidden", "force": True}, EDITORS),
    ("resource_create", {"name": "new"}, {"staff"}),
    ("resource_create", {"name": "new", "owner_org": "hue", "private": True}, EDITORS),
    ("package_create", {"name": "new"}, {"staff"}),
    ("package_create", {"name": "new", "owner_org": "hue", "private": True}, EDITORS),
    ("package_create", {"name": "new", "owner_org": "vinh"}, {"staff", "editor of another"}),
    ("package_show", {"id": "papers"}, {"member", "editor", "admin", "staff"}),
    ("package_patch", {"id": "papers", "title": "new"}, EDITORS),
    ("package_patch", {"id": "papers", "groups": [{"name": "water"}]}, EDITORS),
    ("package_patch", {"id": "papers", "groups": [{"name": "roads"}]}, {"staff"}),
    ("package_patch", {"id": "papers", "owner_org": "vinh"}, {"staff"}),
    ("resource_patch", {"id": "hidden", "publisher": "Vinh"}, {"staff"}),
    ("resource_patch", {"id": "hidden", "publisher": "Quy"}, EDITORS),
    ("resource_create", {"package_id": "papers", "name": "new", "url": "a.csv"}, EDITORS),
    ("datastore_create", {"resource": {"package_id": "papers"}, "fields": [{"id": "a"}]}, EDITORS),
    ("package_delete", {"id": "papers"}, EDITORS),
    ("dataset_purge", {"id": "papers"}, EDITORS),
    ("user_show", {}, USERS),
    ("user_show", {"id": "other"}, {"other", "staff"}),
    ("user_list", {}, EVERYONE),
    ("api_token_list", {"user": "other"}, {"other"}),
    ("api_token_create", {"user": "other", "name": "a"}, {"other"}),
]


@pytest.fixture
def tokens() -> dict[str, str]:
    """Make the tokens of each kind of user, by name; their organization owns ``hidden``."""
    organizations = [
        MemberGroup.objects.create(pk=name, name=name, is_deleted=name == "gone")
        for name in ("hue", "empty", "gone")
    ]
    water = MemberGroup.objects.create(pk="water", name="water", is_organization=False)
    vinh = MemberGroup.objects.create(pk="vinh", name="vinh")
    make_resource("a\n1\n", name="hidden", private=True, owner_org=organizations[0])
    MemberGroup.objects.create(pk="roads", name="roads", is_organization=False)
    Dataset.objects.create(pk=PAPERS, name="papers", members={}, owner_org=organizations[0])
    users = {name: make_user(name) for name in sorted(USERS)}
    for row in (*organizations, water):
        for role in ("member", "editor", "admin"):
            Membership.objects.create(group=row, user=users[role], role=role)
    Membership.objects.create(group=vinh, user=users["editor of another"], role="editor")
    users["staff"].is_staff = True
    users["staff"].save()
    names = ("_resource", "_membergroup")
    found = Permission.objects.all()
    users["staff"].user_permissions.set([each for each in found if each.codename.endswith(names)])
    return {"nobody": "", **{name: issue_token(user) for name, user in users.items()}}


@pytest.mark.parametrize("kind", sorted(EVERYONE))
@pytest.mark.parametrize(("action", "sent", "kinds"), ROWS)
def test_an_action_is_open_to_the_right_roles_alone(
    tokens: dict[str, str], kind: str, action: str, sent: dict[str, Any], kinds: set[str]
) -> None:
    before = take_picture()

    response = act(Client(), action, sent, tokens[kind])

    if kind in kinds:
        assert response.status_code == 200, response.content
    elif response.status_code == 409:
        assert (sent["id"], kind in MANAGERS) == ("hue", True)
        assert "still has datasets" in response.json()["error"]["message"]
    else:
        assert response.status_code in {403, 404}
        check_error(response, response.status_code)
        assert take_picture() == before


def take_picture() -> list[Any]:
    models = (MemberGroup, Membership, Resource, Dataset, AuthToken)
    return [sorted(map(str, model.objects.values_list())) for model in models]


@pytest.mark.parametrize("kind", sorted(EVERYONE))
def test_members_are_shown_to_members(tokens: dict[str, str], kind: str) -> None:
    shown = act(Client(), "organization_show", {"id": "hue"}, tokens[kind])

    sees = kind in {"member", "editor", "admin", "staff"}
    users = shown.json()["result"]["users"]
    assert {each["name"] for each in users} == ({"member", "editor", "admin"} if sees else set())
    assert ("public" in shown["Cache-Control"]) is not sees


@pytest.mark.parametrize("kind", sorted(EVERYONE))
def test_private_datasets_are_found_by_members(tokens: dict[str, str], kind: str) -> None:
    found = act(Client(), "package_search", {"include_private": True}, tokens[kind])

    names = {"hidden", "papers"} if kind in {"member", "editor", "admin", "staff"} else set()
    assert {each["name"] for each in found.json()["result"]["results"]} == names
    assert found.json()["result"]["count"] == len(names)


@pytest.mark.parametrize("kind", ["other", "editor", "staff"])
def test_users_see_themselves_and_staff_all(tokens: dict[str, str], kind: str) -> None:
    listed = act(Client(), "user_list", {}, tokens[kind]).json()["result"]

    assert {each["name"] for each in listed} == (USERS if kind == "staff" else {kind})
    assert {each["name"] for each in listed if "email" in each} == {kind}
    assert act(Client(), "user_list", {}).json()["result"] == []


def test_times_of_users_and_tokens_are_in_utc_in_a_portal_without_zones(settings: Any) -> None:
    token = issue_token(make_user())

    def list_times() -> list[str]:
        user = act(Client(), "user_show", {}, token).json()["result"]
        tokens = act(Client(), "api_token_list", {"user": "reader"}, token).json()["result"]
        return [user["created"], *(each["created_at"] for each in tokens)]

    before = list_times()
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Ho_Chi_Minh"

    assert list_times() == before
    assert len(before) == 2


@pytest.mark.parametrize(("role", "status"), [("editor", 200), ("member", 403)])
def test_the_first_call_of_an_editor_may_be_large(role: str, status: int) -> None:
    row, user = MemberGroup.objects.create(pk="new", name="new"), make_user("first")
    Membership.objects.create(group=row, user=user, role=role)
    sent = {"name": "large", "owner_org": "new", "notes": "a" * 300_000}

    response = act(Client(), "package_create", sent, issue_token(user))

    assert response.status_code == status


def test_the_roles_of_a_deleted_organization_have_no_effect(tokens: dict[str, str]) -> None:
    MemberGroup.objects.filter(name="hue").update(is_deleted=True)

    refused = act(Client(), "datastore_search", {"id": "hidden"}, tokens["admin"])

    check_error(refused, 403)


def test_a_group_gives_no_permission_for_datasets(tokens: dict[str, str]) -> None:
    row = MemberGroup.objects.get(name="hue")
    Membership.objects.filter(group=row).delete()
    Dataset.objects.update(groups=[MemberGroup.objects.get(name="water").to_group().to_json()])

    for kind in ("member", "editor", "admin"):
        refused = act(Client(), "datastore_search", {"id": "hidden"}, tokens[kind])
        check_error(refused, 403)


def test_no_name_or_id_of_a_group_avoids_its_roles(tokens: dict[str, str]) -> None:
    MemberGroup.objects.filter(name="roads").delete()
    MemberGroup.objects.create(pk=build_id("group/streets"), name="roads", is_organization=False)
    before = take_picture()

    for group in ({"name": "other", "id": build_id("group/streets")}, {"name": "streets"}):
        sent = {"id": "papers", "groups": [group]}
        refused = act(Client(), "package_patch", sent, tokens["editor"])
        check_error(refused, 403)
    assert take_picture() == before


@pytest.mark.parametrize("owner", ["Vinh", "vinh ", "vinh"])
def test_no_spelling_of_an_organization_avoids_its_roles(
    tokens: dict[str, str], owner: str
) -> None:
    refused = act(Client(), "package_patch", {"id": "papers", "owner_org": owner}, tokens["editor"])

    check_error(refused, 403)


@pytest.mark.parametrize("name", ["papers", "unknown"])
def test_an_editor_of_another_does_not_learn_whether_a_dataset_exists(
    tokens: dict[str, str], name: str
) -> None:
    member = {"package_id": name, "owner_org": "vinh"}
    for action, sent in (("resource_create", member), ("datastore_create", {"resource": member})):
        refused = act(Client(), action, sent, tokens["editor of another"])
        check_error(refused, 403)


def test_a_user_has_so_many_tokens_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    token, sent = issue_token(user), {"user": "reader", "name": "a"}
    monkeypatch.setattr("datastore_search.api.actions.users.MAX_LISTED", 2)

    assert act(Client(), "api_token_create", sent, token).status_code == 200
    refused = act(Client(), "api_token_create", sent, token)

    assert refused.json()["error"]["user"] == ["A user has at most 2 API tokens."]
    assert AuthToken.objects.filter(user=user).count() == 2


def test_a_token_that_expires_issues_none_that_expires_later(db: None) -> None:
    user, expires_at = make_user(), timezone.now() + timedelta(hours=1)
    token = issue_token(user, expires_at=expires_at)

    sent = {"user": "reader", "name": "a"}
    assert act(Client(), "api_token_create", sent, token).status_code == 200

    later = [each.expiry - expires_at for each in AuthToken.objects.filter(user=user)]
    assert len(later) == 2
    assert max(later) < timedelta(seconds=1)


def test_a_token_is_listed_used_and_revoked(tokens: dict[str, str]) -> None:
    user = {"user": "other"}
    made = act(Client(), "api_token_create", {**user, "name": "a"}, tokens["other"])
    token, token_id = made.json()["result"]["token"], made.json()["result"]["id"]

    listed = act(Client(), "api_token_list", user, token).json()["result"]
    assert [each["id"] for each in listed][1:] == [token_id]
    assert token not in str(listed)
    foreign = act(Client(), "api_token_revoke", {"jti": token_id}, tokens["editor"])
    check_error(foreign, 403)
    revoked = act(Client(), "api_token_revoke", {"token": token}, token)
    assert (revoked.status_code, revoked.json()["result"]) == (200, None)
    check_error(act(Client(), "api_token_list", user, token), 403)
