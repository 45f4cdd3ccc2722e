"""Permissions on many resources: the same result as one by one, with fewer checks."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group, User
from django.test import Client
from django.utils.functional import SimpleLazyObject

from datastore_search.models import Alias, Resource, object_permissions
from datastore_search.web.tokens import issue_token

from ...backends import ViewAllBackend
from ...builders import ask, get_result, grant, make_listed_resource, make_user
from ...pages.parsing import extract_text

PASSWORD = "django.contrib.auth.backends.ModelBackend"
MINE = "tests.backends.ViewMineBackend"
FILTER_PERMITTED = "tests.backends.FilterPermittedBackend"

CATALOGUE = "/en/datastore/"


def list_readable_names(user: Any) -> set[str]:
    """Return the names of the readable resources, and check each of them."""
    readable = Resource.objects.readable_by(user)
    names = {each.name for each in Resource.objects.filter(readable.condition)}
    assert readable.is_complete
    assert names == {each.name for each in Resource.objects.all() if each.is_readable_by(user)}
    return names


def find_names(client: Client, user: Any = None, **sent: Any) -> dict[str, Any]:
    headers = {"Authorization": issue_token(user)} if user else {}
    return get_result(ask(client, {"resource_id": "_table_metadata", **sent}, **headers))


@pytest.fixture
def resources(db: None) -> dict[str, Resource]:
    names = ("mine", "secret", "ann-1", "ann-secret", "bob-1")
    resources = {name: make_listed_resource(name, private=True) for name in names}
    return {**resources, "open": make_listed_resource("open")}


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        ([PASSWORD], set()),
        (["tests.backends.NoSignInBackend", "tests.backends.NoPermissionsBackend"], set()),
        ([PASSWORD, MINE], {"mine"}),
        ([PASSWORD, "tests.backends.CollectMineBackend"], {"mine"}),
        ([PASSWORD, FILTER_PERMITTED], {"ann-1", "ann-secret"}),
        ([FILTER_PERMITTED, MINE], {"mine", "ann-1", "ann-secret"}),
        ([PASSWORD, "tests.backends.VetoSecretBackend", FILTER_PERMITTED, MINE], {"mine", "ann-1"}),
        (["tests.backends.ViewAllBackend"], {"mine", "secret", "ann-1", "ann-secret", "bob-1"}),
    ],
)
def test_many_are_found_as_one_by_one(
    resources: dict[str, Resource], settings: Any, backends: list[str], expected: set[str]
) -> None:
    settings.AUTHENTICATION_BACKENDS = backends
    ann = make_user("ann")

    for user in (ann, SimpleLazyObject(lambda: ann)):
        assert list_readable_names(user) == {"open", *expected}


def test_permissions_in_general_are_for_all(resources: dict[str, Resource]) -> None:
    reader = make_user("reader", permissions=("view_resource",))
    for user in (reader, make_user("boss", is_superuser=True)):
        assert list_readable_names(user) == {*resources}
        assert Resource.objects.readable_by(user).is_complete
    assert list_readable_names(make_user("nobody")) == {"open"}
    assert list_readable_names(make_user("gone", is_superuser=True, is_active=False)) == {"open"}
    assert list_readable_names(AnonymousUser()) == {"open"}


def test_guardian_finds_those_of_users_and_groups(
    resources: dict[str, Resource], guardian: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, group = make_user("ann"), Group.objects.create(name="rivers")
    ann.groups.add(group)
    grant(ann, "view", resources["ann-1"])
    grant(group, "view", resources["bob-1"])
    grant(ann, "change", resources["mine"])
    grant(make_user("bob"), "view", resources["secret"])

    assert list_readable_names(ann) == {"open", "ann-1", "bob-1"}
    assert list_readable_names(AnonymousUser()) == {"open"}
    ann.is_active = False
    assert list_readable_names(ann) == {"open"}

    anybody = get_user_model().objects.create_user("AnonymousUser")
    grant(anybody, "view", resources["mine"])
    guardian_settings = import_module("guardian.conf").settings
    monkeypatch.setattr(guardian_settings, "ANONYMOUS_USER_NAME", "AnonymousUser")
    assert list_readable_names(AnonymousUser()) == {"open", "mine"}


def test_a_user_model_with_its_own_permissions_is_used(resources: dict[str, Resource]) -> None:
    class Deciding(User):
        class Meta:
            proxy = True
            app_label = "auth"

        def has_perm(self, perm: str, obj: Any = None) -> bool:
            return isinstance(obj, Resource) and obj.name == "secret"

    assert list_readable_names(Deciding(username="x")) == {"open", "secret"}


def test_a_user_without_has_perm_finds_nothing(resources: dict[str, Resource]) -> None:
    view = "datastore_search.view_resource"
    found = object_permissions.find_permitted(object(), [view], Resource.objects.all())

    assert not Resource.objects.filter(found.condition).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.needs("pages")
def test_lists_check_no_single_resource_and_take_the_same_queries_for_many(
    client: Client, settings: Any, django_assert_max_num_queries: Any, is_known: bool
) -> None:
    settings.AUTHENTICATION_BACKENDS = [PASSWORD, "tests.backends.NoPermissionsBackend"]
    for number in range(30):
        made = make_listed_resource(f"r{number}", private=True)
        Alias.objects.create(resource=made, name=f"alias {number}")
    make_listed_resource("open")
    user = make_user() if is_known else None
    if user:
        client.force_login(user, backend=PASSWORD)

    with pytest.MonkeyPatch.context() as patch, django_assert_max_num_queries(24):
        patch.setattr(Resource, "permits", None)
        page = extract_text(client.get(CATALOGUE))
        result = find_names(client, user)

    assert "1–1 of 1" in page
    assert result["total"] == 1
    assert result["records"][0]["name"] == str(Resource.objects.get(name="open").pk)


@pytest.mark.needs("pages")
def test_lists_of_a_portal_with_guardian_are_exact_with_one_check(
    client: Client, guardian: None, django_assert_max_num_queries: Any
) -> None:
    made = [make_listed_resource(f"r{number}", private=True) for number in range(30)]
    ann = make_user("ann")
    for each in made[:2]:
        grant(ann, "view", each)
    Alias.objects.create(resource=made[0], name="alias")
    Alias.objects.create(resource=made[9], name="hidden alias")
    client.force_login(ann, backend=PASSWORD)

    with django_assert_max_num_queries(30):
        page = extract_text(client.get(CATALOGUE))
        result = find_names(client, ann, sort="name")

    assert "1–2 of 2" in page
    assert result["total"] == 3
    assert {each["name"] for each in result["records"]} == {*(str(r.pk) for r in made[:2]), "alias"}
    assert find_names(client)["total"] == 0


@pytest.mark.needs("pages")
def test_checks_of_a_backend_without_querysets_are_limited_and_no_total_is_shown(
    client: Client, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AUTHENTICATION_BACKENDS = [PASSWORD, "tests.backends.ViewAllBackend"]
    monkeypatch.setattr(object_permissions, "MAX_CHECKED_OBJECTS", 4)
    for number in range(6):
        make_listed_resource(f"r{number}", private=number > 0)
    client.force_login(make_user("ann"), backend=PASSWORD)

    ViewAllBackend.checks.clear()
    page = client.get(CATALOGUE).content.decode()
    assert +ViewAllBackend.checks == {"datastore_search.view_resource": 4}
    assert page.count("<h2>") == 5
    assert "of 5" not in page
    ViewAllBackend.checks.clear()
    result = find_names(client, get_user_model().objects.get(username="ann"))
    assert ViewAllBackend.checks == {"datastore_search.view_resource": 4}
    assert "total" not in result
    assert len(result["records"]) == 5

    monkeypatch.setattr(object_permissions, "MAX_CHECKED_OBJECTS", 5)
    assert "1–6 of 6" in extract_text(client.get(CATALOGUE))
