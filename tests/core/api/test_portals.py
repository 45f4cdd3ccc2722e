"""The API within a portal: its authentication classes, REST framework settings and database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.cache.backends.locmem import LocMemCache
from django.db import connection
from django.test import Client
from django.utils import translation
from rest_framework import exceptions as rest
from rest_framework.authentication import BaseAuthentication
from rest_framework.metadata import SimpleMetadata
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import FileUploadParser
from rest_framework.permissions import IsAdminUser
from rest_framework.renderers import BrowsableAPIRenderer
from rest_framework.throttling import AnonRateThrottle
from rest_framework.versioning import NamespaceVersioning, QueryParameterVersioning
from rest_framework.views import APIView
from rest_framework_simplejwt.tokens import AccessToken

from datastore_search.api.views import EnvelopeView
from datastore_search.messages.access import TokenWriteDenied
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ...builders import act, check_error, get_ids, make_resource, make_token, make_user, search
from ...shared import MAKE_READ_ONLY, MAKE_WRITABLE

OURS = "datastore_search.api.authentication.BareTokenAuthentication"
SIMPLEJWT = "rest_framework_simplejwt.authentication.JWTAuthentication"
RAISING = "tests.core.api.test_portals.Raising"


class Raising(BaseAuthentication):
    """A custom authentication class that raises the error of the test."""

    error: Exception

    def authenticate(self, request: Any) -> None:
        raise self.error


@pytest.fixture
def set_error(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Return a function that sets the error of the custom authentication class."""
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [RAISING]
    return lambda error: monkeypatch.setattr(Raising, "error", error, raising=False)


# Authentication classes ---------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [[OURS, SIMPLEJWT], [SIMPLEJWT, OURS]])
def test_a_bearer_token_is_left_to_the_class_that_knows_it(
    client: Client, hidden: Resource, settings: Any, classes: list[str]
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = classes
    reader = make_user(permissions=("view_resource",))

    assert len(get_ids(search(client, hidden, f"Bearer {AccessToken.for_user(reader)}"))) == 6
    assert len(get_ids(search(client, hidden, issue_token(reader)))) == 6


@pytest.mark.parametrize("action", ["datastore_search", "datastore_delete"])
@pytest.mark.parametrize(("sent", "scheme"), [("Bearer {}", "Bearer"), ("token\t{}", "token")])
def test_a_token_behind_a_scheme_gets_the_hint_to_send_it_alone(
    client: Client, hidden: Resource, action: str, sent: str, scheme: str
) -> None:
    refused = act(client, action, {"id": str(hidden.pk)}, sent.format(make_token()))

    error = check_error(refused, 403)
    assert f"Send the token alone, without “{scheme}”" in error["message"]


def test_a_bare_token_that_is_not_valid_asks_no_other_class(
    client: Client, hidden: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [OURS, RAISING]

    error = check_error(search(client, hidden, "nonsense"), 403)

    assert "the API token is not valid" in error["message"]


def test_a_dump_is_read_by_session_where_the_header_is_of_another_scheme(
    client: Client, hidden: Resource
) -> None:
    client.force_login(make_user(permissions=("view_resource",)))

    response = client.get(f"/en/datastore/dump/{hidden.pk}", headers={"Authorization": "Basic x"})

    assert response.status_code == 200


def test_a_refusal_of_simplejwt_is_a_sentence(
    client: Client, hidden: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [SIMPLEJWT]

    for path in ("api/action/datastore_search?resource_id=", "datastore/dump/"):
        for language in ("en", "vi"):
            response = client.get(
                f"/{language}/{path}{hidden.pk}", headers={"Authorization": "Bearer nonsense"}
            )
            with translation.override(language):
                refusal = str(TokenWriteDenied())
            assert check_error(response, 403) == {
                "message": f"{refusal} Given token not valid for any token type"
            }


class Teapot(rest.APIException):
    """An API exception with its own status."""

    status_code = 418


class Unauthorized(rest.APIException):
    """A 401 that is not derived from REST framework's own."""

    status_code = 401


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (
            rest.AuthenticationFailed({"detail": "No.", "code": "token_not_valid"}),
            (403, "Access denied: the API token is not valid. No."),
        ),
        (rest.AuthenticationFailed(), (403, "Access denied: the API token is not valid.")),
        (rest.NotAuthenticated(["Sign in.", "Sign in.", "Soon."]), (403, "Sign in. Soon.")),
        (
            rest.PermissionDenied({"reason": {"message": "Blocked."}, "also": ["Ask."]}),
            (403, "Blocked. Ask."),
        ),
        (rest.ValidationError("Odd."), (409, "Odd.")),
        (rest.ValidationError(["Odd.", ["Even."]]), (409, "Odd. Even.")),
        (Unauthorized({}), (403, "A server error occurred.")),
        (Teapot({"detail": ["Short.", {"message": "Stout."}]}), (418, "Short. Stout.")),
        (rest.APIException({"detail": "Down."}), (500, "Down.")),
        (rest.Throttled(3), (429, "Too many requests. Try again in 3 seconds.")),
    ],
)
def test_an_error_of_a_custom_class_is_a_sentence_in_the_envelope(
    client: Client,
    hidden: Resource,
    set_error: Callable[[Exception], None],
    error: Exception,
    failure: tuple[int, str],
) -> None:
    status, message = failure
    set_error(error)

    assert check_error(search(client, hidden), status) == {"message": message}


def test_an_object_of_errors_keeps_its_parameters(
    client: Client, hidden: Resource, set_error: Callable[[Exception], None]
) -> None:
    set_error(rest.ValidationError({"site": ["Odd."]}))

    assert check_error(search(client, hidden), 409) == {"site": ["Odd."]}


# REST framework's settings ------------------------------------------------------------------------

#: Settings that REST framework turns into class attributes at import.
HOSTILE_CLASSES: dict[str, Any] = {
    "renderer_classes": [BrowsableAPIRenderer],
    "parser_classes": [FileUploadParser],
    "permission_classes": [IsAdminUser],
    "content_negotiation_class": DefaultContentNegotiation,
    "metadata_class": SimpleMetadata,
    "schema": None,
}

#: Settings that it reads for each request.
HOSTILE_SETTINGS: dict[str, Any] = {
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": lambda: "nobody",
    "EXCEPTION_HANDLER": "rest_framework.views.exception_handler",
    "URL_FORMAT_OVERRIDE": "limit",
    "FORMAT_SUFFIX_KWARG": "action",
    "NON_FIELD_ERRORS_KEY": "hostile",
    "COERCE_DECIMAL_TO_STRING": False,
    "UNICODE_JSON": False,
    "COMPACT_JSON": False,
    "STRICT_JSON": False,
    "ALLOWED_VERSIONS": ["9.9"],
    "VERSION_PARAM": "action",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.CursorPagination",
    "PAGE_SIZE": 1,
    "DEFAULT_FILTER_BACKENDS": ["rest_framework.filters.SearchFilter"],
    "SEARCH_PARAM": "q",
    "ORDERING_PARAM": "sort",
}


def collect_answers(client: Client, public: Resource, private: Resource, token: str) -> list[Any]:
    """Ask at all doors, and give what of the answers a client goes by."""
    action = "/en/api/action/"
    got = [
        client.get(f"{action}datastore_search?resource_id={public.pk}&limit=1&q=river&sort=code"),
        client.get(f"{action}datastore_search?resource_id={public.pk}&format=api&version=1"),
        client.get(f"{action}datastore_search?resource_id=_table_metadata&sort=name"),
        client.get(f"{action}datastore_search?resource_id={private.pk}"),
        client.get(f"{action}datastore_info?id={private.pk}", headers={"Authorization": token}),
        client.get(f"{action}datastore_search?resource_id={public.pk}&limit=x&nope=1"),
        client.get(f"{action}nothing"),
        client.get("/en/api/3", headers={"Accept": "text/html; version=1"}),
        client.get(f"/en/datastore/dump/{public.pk}?format=json"),
        client.get(f"/en/datastore/dump/{private.pk}"),
        client.options(f"{action}datastore_search"),
        search(client, public, limit=1.5),
        search(client, private, token),
        act(client, "datastore_create", {"resource": {"name": "new"}}),
        act(client, "datastore_upsert", {"id": str(public.pk), "records": []}),
        act(client, "datastore_delete", {"id": str(public.pk)}, "nonsense"),
    ]
    return [
        (
            each.status_code,
            each.headers.get("Content-Type"),
            re.sub(rb'"db_size": \d+', b"", each.getvalue()),  # other work changes it
            each.headers.get("Allow"),
        )
        for each in got
    ]


@pytest.mark.parametrize("versioning", [NamespaceVersioning, QueryParameterVersioning])
def test_the_portals_defaults_for_its_own_views_change_no_answer(
    client: Client,
    resource: Resource,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    versioning: type,
) -> None:
    private, token = make_resource(private=True), make_token()
    before = collect_answers(client, resource, private, token)

    monkeypatch.setattr(APIView, "versioning_class", versioning)
    for name, value in HOSTILE_CLASSES.items():
        monkeypatch.setattr(APIView, name, value)
    settings.REST_FRAMEWORK = HOSTILE_SETTINGS

    assert collect_answers(client, resource, private, token) == before
    assert [status for status, *_rest in before] == [
        200, 409, 200, 403, 200, 409, 400, 200, 200, 403, 200, 409, 200, 403, 403, 403,
    ]  # fmt: skip


def test_the_portals_throttles_hold(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnceAnHour(AnonRateThrottle):
        rate = "1/hour"
        cache = LocMemCache("throttles", {})

    monkeypatch.setattr(EnvelopeView, "throttle_classes", [OnceAnHour])

    assert search(client, resource).status_code == 200
    refused = search(client, resource)

    check_error(refused, 429)
    assert 3_500 < int(refused["Retry-After"]) <= 3_600


# A database that cannot be written to -------------------------------------------------------------

READ_ONLY = "The database is read-only at the moment. Nothing was changed."
UNPRIVILEGED = (
    "The portal’s database user lacks a required privilege. Nothing was changed. Tell the "
    "portal’s administrators."
)


REFUSALS: dict[str, tuple[list[str], list[str]]] = {
    # A standby, or a database with this setting.
    READ_ONLY: (MAKE_READ_ONLY, MAKE_WRITABLE),
    UNPRIVILEGED: (
        ["REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public FROM CURRENT_USER"],
        ["GRANT ALL ON ALL TABLES IN SCHEMA public TO CURRENT_USER"],
    ),
}


def execute(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture(params=REFUSALS, ids=["read-only", "unprivileged"])
def refusal(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[str]:
    """A database that refuses writes, and its message."""
    resource = make_resource()
    make_user("writer", is_superuser=True)
    begin, end = REFUSALS[request.param]
    execute(begin)
    yield request.param
    execute(end)
    resource.delete()


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("datastore_create", {"resource": {"name": "new"}, "fields": [{"id": "a"}]}),
    ("datastore_create", {"fields": [{"id": "more", "type": "text"}]}),
    ("datastore_create", {"aliases": ["other"]}),
    ("datastore_create", {"private": True}),
    ("datastore_upsert", {"method": "insert", "records": [{"code": "007"}]}),
    ("datastore_records_delete", {"filters": {}}),
    ("datastore_delete", {}),
]


@pytest.mark.needs("pages")
def test_a_database_that_refuses_to_write_is_503_and_says_so(
    client: Client, settings: Any, refusal: str
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "tests.core.api.test_portals.AlwaysTheWriter"
    ]
    resource = Resource.objects.get()

    for action, sent in WRITES:
        named = {} if "resource" in sent else {"id": str(resource.pk), "force": True}
        refused = act(client, action, named | sent)
        assert check_error(refused, 503) == {"message": refusal}, sent
        assert refused["Retry-After"] == "60"
    assert len(get_ids(search(client, resource))) == 6
    assert client.get(f"/en/datastore/{resource.pk}/").status_code == 200


class AlwaysTheWriter(BaseAuthentication):
    """Everybody is the user who may write."""

    def authenticate(self, request: Any) -> tuple[Any, None]:
        return get_user_model().objects.get(username="writer"), None


@pytest.mark.parametrize("refusal", [UNPRIVILEGED], indirect=True)
@pytest.mark.needs("pages")
def test_a_database_that_may_not_be_read_is_503_in_the_api_and_on_pages(
    client: Client, refusal: str
) -> None:
    resource = Resource.objects.get()
    execute(["REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM CURRENT_USER"])

    error = check_error(search(client, resource), 503)
    page = client.get(f"/en/datastore/{resource.pk}/")
    catalogue = client.get("/en/datastore/")

    assert error == {"message": refusal}
    assert (page.status_code, catalogue.status_code) == (503, 503)
    assert refusal in page.content.decode()
    assert "permission denied" not in page.content.decode()
