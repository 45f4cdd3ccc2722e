"""API tokens in the admin: who may issue, see and revoke them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from datastore_search.api.authentication import find_token_user
from datastore_search.web.tokens import issue_token

from ...builders import make_user

TOKENS = "/en/admin/knox/authtoken/"
ADD = f"{TOKENS}add/"


@pytest.fixture
def clerk(db: None) -> Any:
    """Staff who may add, see and delete tokens."""
    user = make_user("clerk", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(content_type__app_label="knox"))
    return user


@pytest.fixture
def office(client: Client, clerk: Any) -> Client:
    client.force_login(clerk)
    return client


def list_messages(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def get_shown_token(response: Any) -> str:
    (message,) = [text for text in list_messages(response) if "datastore-token" in text]
    return message.split('<code class="datastore-token">')[1].split("<")[0]


def test_a_superuser_issues_a_token_of_any_user_which_is_shown_once(staff: Client) -> None:
    reader = make_user("reader")

    token = get_shown_token(staff.post(ADD, {"user": reader.pk}, follow=True))

    assert find_token_user(token) == reader
    assert AuthToken.objects.get().expiry is None
    assert token not in staff.get(TOKENS).content.decode()


def test_a_token_may_expire(staff: Client) -> None:
    until = timezone.now() + timedelta(days=2)

    staff.post(
        ADD,
        {
            "user": make_user("reader").pk,
            "expiry_0": until.strftime("%Y-%m-%d"),
            "expiry_1": until.strftime("%H:%M:%S"),
        },
    )

    expiry = AuthToken.objects.get().expiry
    assert abs(expiry - until) < timedelta(seconds=5)


def test_staff_who_may_add_tokens_issue_their_own(office: Client, clerk: Any) -> None:
    form = office.get(ADD).content.decode()

    token = get_shown_token(office.post(ADD, {}, follow=True))

    assert 'name="user"' not in form
    assert 'name="expiry_0"' in form
    assert find_token_user(token) == clerk


@pytest.mark.parametrize("user_id", ["{boss}", "{reader}", "0", "boss", " {clerk}", "x" * 5_000])
def test_staff_cannot_issue_a_token_of_another_user(
    office: Client, clerk: Any, boss: Any, user_id: str
) -> None:
    known = {"boss": boss.pk, "reader": make_user("reader").pk, "clerk": clerk.pk}

    response = office.post(ADD, {"user": user_id.format(**known)})

    assert response.status_code == 403
    assert not AuthToken.objects.exists()


def test_staff_see_and_revoke_their_own_tokens_alone(office: Client, clerk: Any, boss: Any) -> None:
    issue_token(clerk)
    issue_token(boss)
    own, other = (AuthToken.objects.get(user=user) for user in (clerk, boss))

    listed = office.get(TOKENS).content.decode()
    found_page = office.get(TOKENS, {"q": other.token_key}).content.decode()
    for page in ("change/", "history/", "delete/"):
        answer = office.get(f"{TOKENS}{other.pk}/{page}", follow=True).content.decode()
        assert other.token_key not in answer
        assert "boss" not in answer
    deleted = office.post(f"{TOKENS}{other.pk}/delete/", {"post": "yes"}, follow=True)
    chosen = {"action": "delete_selected", "_selected_action": [other.pk, own.pk], "post": "yes"}
    office.post(TOKENS, chosen)

    assert own.token_key in listed
    assert other.token_key not in listed + deleted.content.decode()
    assert other.pk not in found_page
    assert "boss" not in listed + found_page
    assert [*AuthToken.objects.all()] == [other]


def test_staff_without_the_permission_neither_add_nor_see_tokens(client: Client, boss: Any) -> None:
    client.force_login(make_user("clerk", is_staff=True))
    issue_token(boss)

    for address in (TOKENS, ADD, f"{TOKENS}{AuthToken.objects.get().pk}/change/"):
        assert client.get(address).status_code == 403
    assert client.post(ADD, {}).status_code == 403


def test_a_token_cannot_be_changed(staff: Client, clerk: Any) -> None:
    issue_token(clerk)
    token = AuthToken.objects.get()

    response = staff.post(f"{TOKENS}{token.pk}/change/", {"user": clerk.pk})

    assert response.status_code == 403
