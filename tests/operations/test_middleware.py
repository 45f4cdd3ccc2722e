"""The middleware for all views of a portal: outages of the database, logins."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import translation

from datastore_search.contrib.operations.middleware import DatabaseErrorMiddleware, LoginThrottle
from datastore_search.guards import shares
from datastore_search.messages.availability import ShareExceeded

# Outages of the database --------------------------------------------------------------------------


def answer_error(*statements: str) -> HttpResponse | None:
    """Let the middleware answer the error that the last of some statements raises in a view."""
    request = RequestFactory().get("/vi/about/")
    request.user, request.resolver_match = AnonymousUser(), None
    *preparing, failing = statements
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in preparing:
            cursor.execute(statement)
        with pytest.raises(DatabaseError) as error, transaction.atomic():
            cursor.execute(failing)
        transaction.set_rollback(True)
    with translation.override("vi"):
        return DatabaseErrorMiddleware(lambda _request: HttpResponse()).process_exception(
            request, error.value
        )


@pytest.mark.django_db
def test_a_page_of_the_portal_that_writes_to_a_read_only_database_is_503() -> None:
    page = answer_error(
        "SET LOCAL transaction_read_only = on", "DELETE FROM datastore_search_resource"
    )

    assert page is not None
    assert (page.status_code, page["Retry-After"]) == (503, "60")
    assert '<html lang="vi">' in page.content.decode()
    assert "Hiện chỉ có thể đọc cơ sở dữ liệu" in page.content.decode()
    assert "DELETE" not in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statements",
    [
        ("SELECT nonsense",),
        ("SELECT 1 / 0",),
        ("SET LOCAL statement_timeout = 1", "SELECT pg_sleep(1)"),
    ],
)
def test_any_other_database_error_of_a_page_is_djangos(statements: tuple[str, ...]) -> None:
    assert answer_error(*statements) is None


# Logins -------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, float]:
    """A clock that stands still, in a portal with a rate of logins."""
    clock = {"now": 1_700_006_400.0}
    monkeypatch.setattr(LoginThrottle, "timer", staticmethod(lambda: clock["now"]))
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"login": "2/minute"}}
    cache.clear()
    return clock


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose passwords were checked."""
    hashed: list[str] = []

    def check(_backend: ModelBackend, _request: Any, username: str = "", **_more: Any) -> None:
        hashed.append(username)

    monkeypatch.setattr(ModelBackend, "authenticate", check)
    return hashed


def log_in(client: Client, name: str = "admin", **more: Any) -> Any:
    sent = {"username": name, "password": "guess"}
    return client.post("/vi/admin/login/", sent, **more)


def test_one_login_too_many_of_an_address_is_429_before_a_password_is_hashed(
    client: Client, db: None, clock: dict[str, float], hashed: list[str]
) -> None:
    statuses = [log_in(client, name).status_code for name in "abcd"]
    refused = log_in(client)
    elsewhere = log_in(client, "e", REMOTE_ADDR="192.0.2.1")
    shown = client.get("/vi/admin/login/")
    clock["now"] += 60

    assert statuses == [200, 200, 429, 429]
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    assert '<html lang="vi">' in refused.content.decode()
    assert (elsewhere.status_code, shown.status_code, log_in(client).status_code) == (200,) * 3
    assert hashed == ["a", "b", "e", "admin"]


def test_logins_are_not_counted_without_their_rate(
    client: Client, db: None, settings: Any, hashed: list[str]
) -> None:
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"anon": "1/minute"}}

    assert [log_in(client).status_code for _ in range(3)] == [200] * 3


def test_a_login_without_the_token_of_its_form_is_not_counted(
    db: None, client: Client, clock: dict[str, float], hashed: list[str]
) -> None:
    forged = Client(enforce_csrf_checks=True)

    assert [log_in(forged).status_code for _ in range(3)] == [403] * 3
    assert log_in(client).status_code == 200


def test_a_login_takes_a_slot_and_gives_it_back(client: Client, db: None, full: None) -> None:
    form = {"username": "nobody", "password": "wrong"}

    refused = client.post("/en/admin/login/", form)
    shares.process_shares._waiting.clear()
    shares.process_shares._working.clear()
    answers = [client.post("/en/admin/login/", form).status_code for _ in range(2)]

    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert str(ShareExceeded()) in refused.content.decode()
    assert answers == [200, 200]
    assert not shares.process_shares._working
    assert not shares.process_shares.held_key
