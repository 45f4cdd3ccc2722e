"""Permissions to read and write, and the messages of refusals."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations, product
from typing import Any

import pytest
from django.contrib.auth.backends import BaseBackend
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from knox.models import AuthToken

from datastore_search.api.actions import actions
from datastore_search.api.authentication import find_token_user
from datastore_search.models import Alias, Resource
from datastore_search.search import Query
from datastore_search.web.tokens import issue_token

from ...backends import install_guardian
from ...builders import (
    READING,
    act,
    check_error,
    fetch_page,
    get_ids,
    get_result,
    grant,
    make_resource,
    make_token,
    make_user,
    make_user_token,
    search,
)

VERBS = ("view", "add", "change", "delete")


@dataclass(frozen=True)
class Write:
    """A writing request, and the permission that it requires."""

    action: str
    sent: dict[str, Any]
    verb: str = "change"

    def send(self, client: Client, name: object, token: str = "") -> Any:
        return act(client, self.action, {"id": str(name), "force": True, **self.sent}, token)


WRITES = [
    Write("datastore_create", {"fields": [{"id": "more", "type": "text"}]}),
    Write("datastore_create", {"records": [{"code": "007"}]}),
    Write("datastore_create", {"aliases": ["rivers"]}),
    Write("datastore_create", {"private": True}),
    Write("datastore_create", {"private": False}),
    Write("datastore_create", {"primary_key": ["code"]}),
    Write("datastore_upsert", {"method": "insert", "records": [{"code": "007"}]}),
    Write("datastore_upsert", {"records": [{"_id": 1, "code": "007"}]}),
    Write("datastore_upsert", {"method": "update", "records": [{"_id": 1, "code": "7"}]}),
    Write("datastore_delete", {"filters": {"code": "001"}}),
    Write("datastore_records_delete", {"filters": {}}),
    Write("datastore_delete", {}, "delete"),
]
each_write = pytest.mark.parametrize(
    "write", WRITES, ids=[f"{write.action}-{'-'.join(write.sent)}" for write in WRITES]
)

#: Views, datasets, organizations and tokens have tests of their own (``tests/pages``, and in
#: ``tests/catalogue`` ``test_publishing.py`` and ``test_roles.py``).
WRITING = [
    name
    for name, action in actions.items()
    if action.is_writing
    and "_view_" not in name
    and not name.startswith(("organization_", "group_", "api_token_", "package_", "dataset_"))
]
#: Those that find a resource.
CHANGING = [name for name in WRITING if name != "resource_create"]


@pytest.mark.parametrize(
    "form", ["Bearer {}", "Token {}", '"{}"', "{}x", "x", "đ", "\udcff", "' OR 1=1 --"]
)
def test_a_wrong_token_is_anonymous_and_the_refusal_says_so(
    client: Client, hidden: Resource, resource: Resource, form: str
) -> None:
    token = form.format(make_token())

    assert len(get_ids(search(client, resource, token))) == 6
    error = check_error(search(client, hidden, token), 403)
    assert "token is not valid" in error["message"]


each_reading = pytest.mark.parametrize("action", READING)


@pytest.mark.parametrize("token", ["", "wrong", "Bearer wrong", None])
@pytest.mark.needs("analysis")
def test_a_refusal_names_the_alias_of_the_request_and_never_the_resource(
    client: Client, hidden: Resource, token: str | None
) -> None:
    Alias.objects.create(resource=hidden, name="secret plans")
    sent = issue_token(make_user("nobody")) if token is None else token
    headers = {"Authorization": sent} if sent else {}

    refused = [
        *(
            act(client, name, {"resource_id": "secret plans", **required}, sent)
            for name, required in READING.items()
        ),
        client.get("/en/api/action/datastore_facets?id=secret%20plans&facets=x", headers=headers),
        client.get("/en/api/action/datastore_aggregate?id=secret%20plans", headers=headers),
        client.get("/en/api/action/datastore_search?id=secret%20plans", headers=headers),
        client.get("/en/datastore/dump/secret%20plans", headers=headers),
        *(
            Write(name, {"filters": {}} if "records" in name else {}).send(
                client, "secret plans", sent
            )
            for name in WRITING
        ),
        act(client, "datastore_create", {"id": "secret plans"}, sent),
        act(client, "datastore_upsert", {"id": "secret plans", "records": []}, sent),
    ]

    for response in refused:
        check_error(response, 403)
        everything = f"{response.content.decode()} {response.headers}"
        assert str(hidden.pk) not in everything
        assert hidden.pk.hex not in everything
        assert not {"ETag", "Last-Modified", "Location"} & {*response.headers}
    assert "secret plans" in refused[0].json()["error"]["message"]


def test_a_token_and_its_user_are_read_by_one_statement(
    db: None, django_assert_num_queries: Any
) -> None:
    user_made = make_user(first_name="Đào")
    token = issue_token(user_made)

    with django_assert_num_queries(1):
        user = find_token_user(token)
        assert user is not None
        assert {field.name: getattr(user, field.name) for field in user._meta.concrete_fields} == {
            field.name: getattr(user_made, field.name) for field in user_made._meta.concrete_fields
        }
    assert find_token_user(token[:-1]) is None


def test_a_token_is_stored_only_as_a_hash(db: None) -> None:
    token = make_token()

    row = AuthToken.objects.values().get()
    assert token not in map(str, row.values())


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("datastore_search", {"filters": {"nope": 1}}),
        ("datastore_search", {"filters": {"code": "001"}, "limit": 0}),
        ("datastore_search", {"q": "river"}),
        ("datastore_facets", {"facets": ["nope"]}),
        ("datastore_facets", {"facets": ["code"], "filters": {"code": "001"}}),
        ("datastore_facets", {"facets": [{"field": "code", "interval": "day"}], "limit": 0}),
        ("datastore_aggregate", {"group_by": ["nope"]}),
        ("datastore_aggregate", {"metrics": ["sum(nope)", "count"]}),
        ("datastore_aggregate", {"metrics": ["sum(code)"]}),
        ("datastore_aggregate", {"having": {"nope": 1}}),
        ("datastore_aggregate", {"filters": {"code": "001"}, "records_format": "csv"}),
        ("datastore_suggest", {"field": "nope"}),
        ("datastore_suggest", {"field": "code", "prefix": "0"}),
        ("datastore_suggest", {"q": "rivr"}),
    ],
)
def test_a_refusal_reveals_nothing_of_the_fields(
    client: Client, hidden: Resource, action: str, sent: dict[str, Any]
) -> None:
    refused = act(client, action, {"resource_id": str(hidden.pk), **sent})

    error = check_error(refused, 403)
    assert error == check_error(search(client, hidden), 403)


def test_a_token_is_not_valid_where_no_class_reads_tokens(
    client: Client, hidden: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "rest_framework.authentication.SessionAuthentication"
    ]

    error = check_error(search(client, hidden, "0" * 64), 403)

    assert error["message"].endswith("is private and the API token is not valid.")


def test_the_header_of_older_clients_is_read_by_choice(
    client: Client, hidden: Resource, settings: Any
) -> None:
    address, key = f"/en/api/action/datastore_search?resource_id={hidden.pk}", "X-CKAN-API-Key"
    token = make_token()
    refused = check_error(client.get(address, headers={key: token}), 403)
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "datastore_search.api.authentication.BareTokenAuthentication",
        "datastore_search.api.authentication.CkanKeyAuthentication",
    ]

    found = client.get(address, headers={key: token})
    both = client.get(address, headers={key: "0" * 64, "Authorization": token})
    wrong = check_error(client.get(address, headers={key: "0" * 64}), 403)
    none = check_error(client.get(address), 403)

    assert (found.status_code, both.status_code) == (200, 200)
    assert refused["message"] == none["message"]
    assert wrong["message"].endswith("is private and the API token is not valid.")


# Writing ------------------------------------------------------------------------------------------


def read_state(resource: Resource) -> Any:
    """Return all data of a resource that a writing action could change."""
    resource = Resource.objects.described(resource.pk)
    fields = [(field.name, field.type, field.info) for field in resource.schema]
    records = fetch_page(resource, Query(limit=None)).records
    aliases = list(resource.aliases.values_list("name", flat=True))
    return fields, records, aliases, resource.primary_key, resource.private


@each_write
def test_a_write_requires_a_valid_token(
    client: Client, resource: Resource, hidden: Resource, write: Write
) -> None:
    wrong = f"Bearer {make_user_token('writer', *VERBS)}"

    for each in (resource, hidden):
        before = read_state(each)

        assert check_error(write.send(client, each.pk), 403) == {
            "message": "Access denied: changing a resource requires an API token."
        }
        assert check_error(write.send(client, each.pk, wrong), 403) == {
            "message": "Access denied: the API token is not valid."
            " Send the token alone, without “Bearer” before it."
        }
        assert read_state(each) == before


@each_write
def test_a_user_without_the_permission_may_not_write(
    client: Client, resource: Resource, write: Write
) -> None:
    before = read_state(resource)
    token = make_user_token("clerk", *(verb for verb in VERBS if verb != write.verb))

    refused = write.send(client, resource.pk, token)

    assert check_error(refused, 403) == {
        "message": f"Access denied: user clerk may not change resource {resource.pk}."
    }
    assert read_state(resource) == before


@each_write
def test_a_permission_for_one_resource_is_for_that_one_alone(
    client: Client, hidden: Resource, resource: Resource, settings: Any, write: Write
) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.core.api.test_permissions.AllOnMineBackend"]
    Resource.objects.filter(pk=resource.pk).update(name="mine")
    token, before = make_user_token("clerk"), read_state(hidden)

    refused = write.send(client, hidden.pk, token)
    done = write.send(client, resource.pk, token)

    check_error(refused, 403)
    assert read_state(hidden) == before
    assert done.status_code == 200


class AllOnMineBackend(BaseBackend):
    """Gives the clerk all permissions on the resource named “mine”."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        is_mine = isinstance(obj, Resource) and obj.name == "mine"
        return is_mine and user_obj.get_username() == "clerk"


@pytest.mark.parametrize("action", WRITING)
@pytest.mark.parametrize("method", ["get", "head"])
def test_a_writing_action_by_get_is_400_and_does_nothing(
    client: Client, resource: Resource, action: str, method: str
) -> None:
    before = read_state(resource)
    sent = {"resource_id": str(resource.pk), "force": "true", "filters": "{}", "records": "[{}]"}

    response = getattr(client, method)(
        f"/en/api/3/action/{action}",
        sent,
        headers={"Authorization": make_user_token("writer", *VERBS)},
    )

    assert response.status_code == 400
    if method == "get":
        assert check_error(response, 400) == {
            "message": f"Action “{action}” changes data: send it by POST."
        }
    assert read_state(resource) == before


@pytest.mark.parametrize(
    "sent",
    [
        {"records": [{"nope": 1}]},
        {"records": [{"code": "001"}]},
        {"records": [{"amount": "x"}]},
        {"fields": [{"id": "code"}]},
        {"fields": [{"id": "nope", "type": "nonsense"}]},
        {"filters": {"nope": 1}},
        {"filters": {"amount": "x"}},
        {"primary_key": ["nope"]},
        {"aliases": ["_"]},
        {"indexes": ["nope"]},
    ],
)
def test_a_refusal_to_write_reveals_nothing_of_a_private_resource(
    client: Client, hidden: Resource, sent: dict[str, Any]
) -> None:
    Alias.objects.create(resource=hidden, name="secret")
    token = make_user_token("clerk", "add")

    for action, name in product(CHANGING, (str(hidden.pk), "secret")):
        parameters = actions[action].parameters().fields
        accepted = {key: value for key, value in sent.items() if key in parameters}
        if action == "datastore_records_delete":
            accepted.setdefault("filters", {})
        refused = Write(action, accepted).send(client, name, token)
        assert check_error(refused, 403) == {
            "message": f"Access denied: user clerk may not change resource {name}."
        }


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("loaded", ["unknown", "never loaded"])
def test_an_unknown_resource_is_404_for_every_user(
    client: Client, db: None, private: bool, loaded: str
) -> None:
    resource = Resource(name="empty", private=private)
    if loaded == "never loaded":
        resource.save()

    for token in (
        "",
        "wrong",
        make_user_token("clerk"),
        make_user_token("writer", "change", "delete"),
    ):
        for write in WRITES:
            if write.action != "datastore_create":
                check_error(write.send(client, resource.pk, token), 404)


def test_a_user_without_the_permission_to_add_makes_no_resource(
    client: Client, no_resource: None
) -> None:
    token = make_user_token("clerk", "view", "change", "delete")

    for refused in ("", "wrong", token):
        by_description = act(client, "datastore_create", {"resource": {"name": "New"}}, refused)
        by_id = act(client, "datastore_create", {"resource_id": str(uuid.uuid4())}, refused)
        check_error(by_description, 403)
        check_error(by_id, 404)

    assert not Resource.objects.exists()


def test_a_user_with_the_permission_to_add_makes_a_resource(client: Client, db: None) -> None:
    new, token = str(uuid.uuid4()), make_user_token("clerk", "add")

    by_id = act(client, "datastore_create", {"resource_id": new}, token)
    by_description = act(client, "datastore_create", {"resource": {"name": "New"}}, token)

    assert by_id.json()["result"]["resource_id"] == new
    assert Resource.objects.get(title="New").pk == uuid.UUID(
        by_description.json()["result"]["resource_id"]
    )


def list_permissions_without_view() -> list[tuple[str, ...]]:
    return [each for size in (1, 2, 3) for each in combinations(("add", "change", "delete"), size)]


@pytest.fixture(params=["general", "for this resource"])
def guarded(request: pytest.FixtureRequest, hidden: Resource) -> Iterator[Any]:
    """Give permissions in general, or by django-guardian for the private resource."""

    def make_clerk(*verbs: str) -> str:
        if request.param == "general":
            return make_user_token("clerk", *verbs)
        user = make_user("clerk")
        for verb in verbs:
            grant(user, verb, hidden)
        return issue_token(user)

    with install_guardian():
        yield make_clerk


def answer_without_name(response: Any, name: object) -> tuple[int, str]:
    return response.status_code, response.content.decode().replace(str(name), "NAME")


@pytest.mark.parametrize("verbs", list_permissions_without_view(), ids="+".join)
@pytest.mark.needs("catalogue")
def test_who_may_write_but_not_read_a_resource_is_told_that_there_is_none(
    client: Client, hidden: Resource, guarded: Any, verbs: tuple[str, ...]
) -> None:
    Alias.objects.create(resource=hidden, name="secret")
    token, before = guarded(*verbs), read_state(hidden)
    Write("datastore_delete", {}).send(client, "unknown", token)  # knows the content type now
    more = [
        Write("datastore_create", {}),
        Write("datastore_upsert", {"records": [{"_id": 1}], "include_records": True}),
        Write("datastore_upsert", {"records": [], "dry_run": True}),
        Write("datastore_delete", {"filters": {}, "include_deleted_records": True}),
        *(Write(action, {**sent}) for action in ("resource_patch", "resource_update")
          for sent in ({}, {"private": False}, {"title": "x"})),
    ]  # fmt: skip
    for write, name in product([*WRITES, *more], (hidden.pk, "secret")):
        unknown = uuid.uuid4() if name == hidden.pk else "unknown"
        if write.action == "datastore_create" and "add" in verbs:
            unknown = "unknown"  # an id would be made

        with CaptureQueriesContext(connection) as for_unknown:
            expected = answer_without_name(write.send(client, unknown, token), unknown)
        with CaptureQueriesContext(connection) as for_hidden:
            answer = write.send(client, name, token)

        assert expected[0] == 404
        if write.verb in verbs:
            assert answer_without_name(answer, name) == expected
            # It takes the same time: a name is found by one or two statements.
            assert abs(len(for_hidden) - len(for_unknown)) <= 2
        else:
            check_error(answer, 403)
        assert read_state(hidden) == before
    for action, sent in READING.items():
        refused = act(client, action, {"resource_id": str(hidden.pk), **sent}, token)
        check_error(refused, 403)  # as in CKAN


def test_who_may_not_add_a_resource_is_told_so(client: Client, db: None) -> None:
    token = make_user_token("clerk", "view", "change")

    asked = {"datastore_create": {"resource": {"name": "n"}}, "resource_create": {}}
    for action, sent in asked.items():
        if action not in actions:
            continue  # the catalogue is not installed
        error = check_error(act(client, action, sent, token), 403)
        assert error == {"message": "Access denied: user clerk may not add a resource."}


# Other names --------------------------------------------------------------------------------------


INVALID = "Access denied: resource ID is private and the API token is not valid."
REFUSALS = {
    "": "Access denied: resource ID is private. Send an API token.",
    "wrong": INVALID,
    "expired": INVALID,
    "inactive": INVALID,
    "nobody": "Access denied: user nobody may not read resource ID.",
}


@each_reading
@pytest.mark.parametrize("token", [*REFUSALS, "reader"])
def test_every_reading_action_asks_for_the_permission(
    client: Client, hidden: Resource, action: str, token: str
) -> None:
    sent = {"resource_id": str(hidden.pk), **READING[action]}
    permissions = () if token == "nobody" else ("view_resource",)
    user = make_user("nobody", permissions=permissions, is_active=token != "inactive")
    hours = -1 if token == "expired" else 1
    issued = issue_token(user, expires_at=timezone.now() + timedelta(hours=hours))
    if token in {"", "wrong"}:
        issued = token

    response = act(client, action, sent, issued)

    if token == "reader":
        assert response.status_code == 200
    else:
        error = check_error(response, 403)
        assert error == {"message": REFUSALS[token].replace("ID", str(hidden.pk))}


# The list of all names ----------------------------------------------------------------------------


@pytest.fixture
def named(no_resource: None) -> dict[str, str]:
    """The names in the list, each with its name in the tests; “empty” has never been loaded."""
    names: dict[str, str] = {}
    for name, private in (("open", False), ("mine", True), ("other", True)):
        resource = make_resource("code\n1\n", name=name, private=private)
        Alias.objects.create(resource=resource, name=f"the-{name}")
        names |= {str(resource.pk): name, f"the-{name}": f"the-{name}"}
    Alias.objects.create(resource=Resource.objects.create(name="empty"), name="the-empty")
    return names


OPEN = {"open", "the-open"}
MINE = OPEN | {"mine", "the-mine"}
EVERYTHING = MINE | {"other", "the-other"}


#: Searches in the list, and the names that match.
SEARCHES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, EVERYTHING),
    ({"q": "the"}, {"the-open", "the-mine", "the-other"}),
    ({"q": "other"}, {"the-other"}),
    ({"filters": {"name": "the-other"}}, {"the-other"}),
    ({"filters": {"name": ["the-open", "the-other"]}}, {"the-open", "the-other"}),
    ({"filters": {"alias_of": None}}, {"open", "mine", "other"}),
    ({"filters": [{"name": "the-mine"}, {"name": "the-other"}]}, {"the-mine", "the-other"}),
    ({"sort": "oid desc"}, EVERYTHING),
    ({"distinct": True, "fields": ["name"]}, EVERYTHING),
]


def test_the_list_of_names_has_what_the_reader_may_read(
    client: Client, named: dict[str, str], settings: Any
) -> None:
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        "tests.core.api.test_permissions.AllOnMineBackend",
    ]
    readers = [("", OPEN), ("wrong", OPEN), (make_token(), EVERYTHING)]
    readers.append((make_user_token("clerk"), MINE))

    for (token, may_see), (sent, answers) in product(readers, SEARCHES):
        parameters = {"resource_id": "_table_metadata", **sent}
        result = get_result(act(client, "datastore_search", parameters, token))

        names = [named[record["name"]] for record in result["records"]]
        assert sorted(names) == sorted(answers & may_see)
        assert result["total"] == len(names)


@pytest.mark.parametrize("action", WRITING)
def test_the_list_of_names_cannot_be_written(
    client: Client, no_resource: None, action: str
) -> None:
    token = make_user_token("writer", *VERBS)

    response = Write(action, {"filters": {}}).send(client, "_table_metadata", token)

    assert response.status_code in {404, 409}
    assert not Resource.objects.exists()
