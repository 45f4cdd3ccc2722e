"""Who may read what, and what a refusal says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from datastore_search.models import Resource
from datastore_search.tokens import issue_token

from ..builders import ask, error_of, ids_of, make_resource, make_token, make_user, result_of


@pytest.fixture
def hidden(db: None) -> Resource:
    return make_resource(private=True)


def find(client: Client, resource: Resource, token: str | None = None, **sent: Any) -> Any:
    headers = {} if token is None else {"Authorization": token}
    return ask(client, {"resource_id": str(resource.pk), **sent}, **headers)


def test_a_public_resource_needs_no_token(client: Client, resource: Resource) -> None:
    assert len(ids_of(find(client, resource))) == 6


def test_a_private_resource_is_refused_without_a_token(client: Client, hidden: Resource) -> None:
    error = error_of(find(client, hidden), 403, "Authorization Error")

    assert "Send an API token" in error["message"]


def test_a_private_resource_is_read_with_the_bare_token(client: Client, hidden: Resource) -> None:
    assert len(ids_of(find(client, hidden, make_token()))) == 6


@pytest.mark.parametrize(
    "form", ["Bearer {}", "Token {}", '"{}"', "{}x", "x", "đ", "\udcff", "' OR 1=1 --"]
)
def test_a_wrong_token_is_anonymous_and_the_refusal_says_so(
    client: Client, hidden: Resource, resource: Resource, form: str
) -> None:
    token = form.format(make_token())

    assert len(ids_of(find(client, resource, token))) == 6
    error = error_of(find(client, hidden, token), 403, "Authorization Error")
    assert "token is not valid" in error["message"]


def test_a_token_elsewhere_does_not_count(client: Client, hidden: Resource) -> None:
    token = make_token()

    response = ask(client, {"resource_id": str(hidden.pk)}, **{"X-CKAN-API-Key": token})

    error_of(response, 403, "Authorization Error")
    error_of(find(client, hidden, api_key=token), 409, "Validation Error")


def test_a_user_without_the_permission_is_refused_by_name(client: Client, hidden: Resource) -> None:
    error = error_of(
        find(client, hidden, issue_token(make_user("nobody"))), 403, "Authorization Error"
    )

    assert "nobody" in error["message"]


def test_a_session_is_not_a_token(client: Client, hidden: Resource) -> None:
    client.force_login(make_user(is_superuser=True))

    error_of(find(client, hidden), 403, "Authorization Error")


def test_an_expired_token_is_not_valid(client: Client, hidden: Resource) -> None:
    user = make_user(permissions=("view_resource",))
    now = timezone.now()

    expired = issue_token(user, until=now - timedelta(seconds=1))
    lasting = issue_token(user, until=now + timedelta(hours=1))

    error_of(find(client, hidden, expired), 403, "Authorization Error")
    assert len(ids_of(find(client, hidden, lasting))) == 6


def test_the_token_of_an_inactive_user_is_not_valid(client: Client, hidden: Resource) -> None:
    user = make_user(permissions=("view_resource",))
    token = issue_token(user)
    user.is_active = False
    user.save()

    error_of(find(client, hidden, token), 403, "Authorization Error")


def test_a_token_is_kept_only_as_a_hash(db: None) -> None:
    token = make_token()

    row = AuthToken.objects.values().get()
    assert token not in map(str, row.values())


@pytest.mark.parametrize(
    "sent", [{"filters": {"nope": 1}}, {"q": "river"}, {"filters": {"code": "001"}}, {"limit": 0}]
)
def test_a_refusal_reveals_nothing_of_the_fields(
    client: Client, hidden: Resource, sent: dict[str, Any]
) -> None:
    refused = find(client, hidden, **sent)

    error = error_of(refused, 403, "Authorization Error")
    assert error == error_of(find(client, hidden), 403, "Authorization Error")


def test_permission_is_asked_with_the_object_too(hidden: Resource, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.api.test_access.OwnerBackend"]
    owner, other = make_user("owner"), make_user("other")

    assert hidden.readable_by(owner)
    assert not hidden.readable_by(other)
    assert not hidden.readable_by(AnonymousUser())


class OwnerBackend:
    """A portal's own backend: one user owns every resource."""

    def authenticate(self, request: Any, **credentials: Any) -> None:
        return None

    def has_perm(self, user: Any, permission: str, obj: Any = None) -> bool:
        return bool(obj and permission == "datastore_search.view_resource") and (
            user.get_username() == "owner"
        )


def test_the_authentication_classes_are_a_setting(
    client: Client, hidden: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "rest_framework.authentication.SessionAuthentication"
    ]
    client.force_login(make_user(permissions=("view_resource",)))

    result = result_of(
        client.get(f"/en/api/action/datastore_search?resource_id={hidden.pk}&limit=1")
    )

    assert len(result["records"]) == 1
