"""
Who may use which door to a private resource.

A door is an address that shows, lists or changes a resource.  The rows are compared with the tables
of the app itself (URLs, actions, formats, pages of the admin, template tags), so that a new door
without a row fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib import import_module
from itertools import cycle, product
from typing import Any, Final
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, Group
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Model
from django.template import Context, Template
from django.test import Client, RequestFactory
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone
from django.utils.http import http_date
from knox.models import AuthToken

from datastore_search import urls
from datastore_search.api.actions import actions
from datastore_search.contrib.agents.tools import get_tools
from datastore_search.contrib.catalogue.groups import group_actions
from datastore_search.contrib.catalogue.models import Dataset, MemberGroup, Membership
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.contrib.files.messages import BadRow
from datastore_search.contrib.files.models import (
    Load,
    LoadState,
    ResourceFile,
    RowError,
    get_upload_storage,
)
from datastore_search.contrib.operations.health import urls as health_urls
from datastore_search.contrib.operations.metrics import urls as metrics_urls
from datastore_search.contrib.pages.models import SavedView
from datastore_search.contrib.pages.templatetags import datastore as tags
from datastore_search.database.statements import execute
from datastore_search.downloads.formats import formats
from datastore_search.models import Alias, Resource
from datastore_search.web.tokens import issue_token

from .agents.exchange import request, send as send_message
from .backends import install_guardian
from .builders import READING, act, check_error, get_record_table, grant, make_resource, make_user
from .shared import ModuleTransaction

#: Begins the names and values of the private resource: no refusal may have it.
SECRET: Final = "zq"

CSV = "code,zqname,latitude,longitude\nzq1,zqfirst,21.03,105.85\nzq2,zqsecond,10.78,106.7\n"

PASSWORD = "django.contrib.auth.backends.ModelBackend"

ALL_VERBS = frozenset({"view", "add", "change", "delete"})


# Users --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of user: how the permissions were given, and what became of token and session."""

    permissions: frozenset[str] = frozenset()  # for all resources
    granted: frozenset[str] = frozenset()  # for the private resource, with django-guardian
    is_in_group: bool = False  # and to a group of the user
    role: str = ""  # or by a role in the organization that owns the private resource
    granted_other: frozenset[str] = frozenset()  # for another private resource
    is_staff: bool = False
    is_superuser: bool = False
    lost: str = ""

    @property
    def verbs(self) -> frozenset[str]:
        if self.lost:
            return frozenset()
        return ALL_VERBS if self.is_superuser else self.permissions | self.granted


#: The kinds of users; ``make_visitors`` makes one of each.
KINDS: dict[str, Kind] = {
    "nobody": Kind(lost="everything"),
    "wrong": Kind(lost="everything"),
    "other": Kind(granted_other=ALL_VERBS),
    "adder": Kind(permissions=frozenset({"add"})),
    "reader of all": Kind(permissions=frozenset({"view"})),
    "reader of this": Kind(granted=frozenset({"view"})),
    "reader by group": Kind(granted=frozenset({"view"}), is_in_group=True),
    "writer of this": Kind(granted=frozenset({"view", "change"})),
    "writer of all": Kind(permissions=frozenset({"view", "change", "delete"})),
    "blind writer of this": Kind(granted=frozenset({"change", "delete"})),
    "blind writer of all": Kind(permissions=frozenset({"add", "change", "delete"})),
    "member": Kind(granted=frozenset({"view"}), role="member"),
    "editor": Kind(granted=frozenset({"view", "change", "delete"}), role="editor"),
    "editor of another": Kind(granted_other=ALL_VERBS, role="editor"),
    "staff and admin of it": Kind(
        granted=frozenset({"view", "change", "delete"}), role="admin", is_staff=True
    ),
    "staff": Kind(is_staff=True),
    "staff for this": Kind(granted=frozenset({"view", "change", "delete"}), is_staff=True),
    "superuser": Kind(is_superuser=True),
    "revoked": Kind(is_superuser=True, lost="token and session"),
    "expired": Kind(is_superuser=True, lost="time"),
    "inactive": Kind(is_superuser=True, lost="account"),
    "former reader": Kind(granted=frozenset({"view"}), lost="permission"),
    "former editor": Kind(granted=frozenset({"view"}), role="editor", lost="membership"),
}


@dataclass(frozen=True)
class Visitor:
    kind: Kind
    token: str = ""
    session: str = ""
    conditions: dict[str, str] = field(default_factory=dict)

    def open_client(self) -> Client:
        client = Client(headers=self.conditions)
        if self.session:
            client.cookies[django_settings.SESSION_COOKIE_NAME] = self.session
        return client

    @property
    def headers(self) -> dict[str, str]:
        return {**self.conditions, **({"Authorization": self.token} if self.token else {})}


@dataclass
class Portal:
    """A portal with a private resource, its loads, and one visitor of each kind."""

    hidden: Resource
    load: Load
    draft: Load
    token: AuthToken
    view: SavedView
    visitors: dict[str, Visitor]


def make_visitor(name: str, kind: Kind, hidden: Resource, other: Resource) -> Visitor:
    user = make_user(
        name,
        permissions=tuple(f"{verb}_resource" for verb in kind.permissions),
        is_staff=kind.is_staff or kind.is_superuser,
        is_superuser=kind.is_superuser,
    )
    holder = Group.objects.create(name=name) if kind.is_in_group else user
    if kind.is_in_group:
        user.groups.add(holder)
    if kind.role:
        owned = other if kind.granted_other else hidden
        owner = Dataset.objects.get(resource=owned).owner_org_id
        Membership.objects.create(group_id=str(owner), user=user, role=kind.role)
    for verb in () if kind.role else kind.granted:
        grant(holder, verb, hidden)
    for verb in () if kind.role else kind.granted_other:
        grant(user, verb, other)
    client = Client()
    client.force_login(user, backend=PASSWORD)
    visitor = Visitor(
        kind, issue_token(user), client.cookies[django_settings.SESSION_COOKIE_NAME].value
    )
    take_away(kind.lost, user, client, hidden)
    return visitor


def take_away(lost: str, user: Any, client: Client, hidden: Resource) -> None:
    """End what a user had: the credentials, their time, the account, or the permission."""
    session = client.session
    match lost:
        case "token and session":
            AuthToken.objects.filter(user=user).delete()
            session.delete()
        case "time":
            AuthToken.objects.filter(user=user).update(expiry=timezone.now() - timedelta(hours=1))
            session.set_expiry(-3600)
            session.save()
        case "account":
            user.is_active = False
            user.save()
        case "membership":
            Membership.objects.filter(user=user.pk).delete()
        case "permission":
            import_module("guardian.shortcuts").remove_perm("view_resource", user, hidden)


def make_visitors(hidden: Resource, other: Resource) -> dict[str, Visitor]:
    visitors = {
        name: make_visitor(name, kind, hidden, other)
        for name, kind in KINDS.items()
        if name not in {"nobody", "wrong"}
    }
    nobody = Visitor(KINDS["nobody"])
    return {**visitors, "nobody": nobody, "wrong": Visitor(KINDS["wrong"], "0" * 64, "0" * 32)}


@pytest.fixture(scope="module")
def _portal(module_transaction: ModuleTransaction) -> Iterator[Portal]:
    with install_guardian():
        hidden = make_resource(
            CSV,
            name="zqname",
            title="zqtitle",
            description="Rivers",
            publisher="Office",
            tags=["zqtag"],
            owner_org=MemberGroup.objects.create(pk="o1", name="owner"),
            private=True,
        )
        for name in ("door", "zqalias"):
            Alias.objects.create(resource=hidden, name=name)
        owner_org = MemberGroup.objects.create(pk="o2", name="other-owner")
        other = make_resource("a\n1\n", name="other", owner_org=owner_org, private=True)
        load = hidden.loads.create(source="zqfile.csv", state=LoadState.FAILED)
        bad_row = BadRow("row.empty_key")
        RowError.objects.create(
            load=load, line=2, field="code", value="zqbad", message=bad_row.to_json()
        )
        draft = hidden.loads.create(source="zqdraft.csv", state=LoadState.DRAFT)
        owner = make_user("zqowner")
        issue_token(owner)
        token = AuthToken.objects.get(user=owner)
        view = SavedView.objects.create(resource=hidden, title="zqview")
        yield Portal(hidden, load, draft, token, view, make_visitors(hidden, other))
        ModuleTransaction.end_current()


@pytest.fixture
def portal(_portal: Portal, db: None) -> Portal:
    """The portal; the hidden resource has a file."""
    content = ContentFile(CSV.encode())
    name = get_upload_storage().save("datastore_search/files/zqfile.csv", content)
    ResourceFile.objects.create(
        resource=_portal.hidden,
        file=name,
        name="zqfile.csv",
        size_bytes=content.size,
        stored_at=timezone.now(),
    )
    return _portal


# Doors --------------------------------------------------------------------------------------------


Send = Callable[[Portal, Visitor], Any]


def may_enter_admin(kind: Kind) -> bool:
    return not kind.lost and (kind.is_staff or kind.is_superuser)


@dataclass(frozen=True)
class Door:
    name: str
    verb: str
    send: Send
    is_admin: bool = False
    is_superusers: bool = False  # other users may not, whatever their permissions for the resource
    is_list: bool = False  # a list is shown to all, with what the user may read
    status: int = 200

    def is_open_to(self, kind: Kind) -> bool:
        if self.is_superusers:
            return "add" in kind.verbs and kind.is_superuser
        if self.is_admin:
            verbs = {self.verb, "change"} if self.verb == "view" else {self.verb}
            return bool(verbs & kind.verbs) and may_enter_admin(kind)
        return self.verb in kind.verbs and not self.is_hidden_from(kind)

    def is_hidden_from(self, kind: Kind) -> bool:
        """Return whether the API says that there is no resource: it is written, but not read."""
        is_write = not self.is_admin and self.verb in {"change", "delete"}
        return is_write and self.verb in kind.verbs and "view" not in kind.verbs


#: Every action that writes, with parameters and the permission.
WRITING: dict[str, list[tuple[dict[str, Any], str]]] = {
    "datastore_create": [
        ({"fields": [{"id": "zqmore", "type": "text"}]}, "change"),
        ({"private": False}, "change"),
    ],
    "datastore_upsert": [({"method": "insert", "records": [{"code": "zq3"}]}, "change")],
    "datastore_delete": [({"filters": {"code": "zq1"}}, "change"), ({}, "delete")],
    "datastore_records_delete": [({"filters": {}}, "change")],
    "resource_update": [({"frequency": "daily"}, "change")],
    "resource_patch": [({"private": True}, "change")],
    "resource_view_create": [({"title": "zqnew", "view_type": "text_view"}, "change")],
    "resource_view_update": [({"title": "zqnew"}, "change")],
    "resource_view_reorder": [({"order": []}, "change")],
    "resource_view_delete": [({}, "change")],
    "resource_delete": [({}, "delete")],
    "datapusher_submit": [({}, "change")],
}

#: The actions that only make a resource or a dataset.
ADDING = {"resource_create", "package_create"}

#: Those that change a published dataset: ``catalogue/test_publishing.py`` asks for each permission.
OF_DATASETS = {
    "package_update",
    "package_patch",
    "package_revise",
    "package_delete",
    "package_resource_reorder",
    "dataset_purge",
}


#: The actions of the catalogue that describe a resource by its id.
DESCRIBING = (
    "package_show",
    "resource_show",
    "resource_view_list",
    "resource_view_show",
    "task_status_show",
)

#: The parameter that names the resource, where it is not ``id``.
ID_PARAMETERS = {"resource_view_create": "resource_id", "task_status_show": "entity_id"}

#: The actions that name a view by its id.
OF_VIEW = {"resource_view_show", "resource_view_update", "resource_view_delete"}

#: Answers without a word of the resource: pixels.
WORDLESS = {"task_status_show", "page chart show=count by=code format=png", "page map format=png"}

#: The lists of the catalogue that have what the user may read.
LISTING: dict[str, dict[str, Any]] = {"package_search": {"include_private": True}}

#: The lists that have what anonymous users may read, for every user.
PUBLIC_LISTING: dict[str, dict[str, Any]] = {
    "package_list": {},
    "package_search": {},
    "package_autocomplete": {"q": "zq"},
    "current_package_list_with_resources": {},
    "resource_search": {"query": "name:zq"},
    "organization_list": {"all_fields": True},
    "organization_show": {"id": "office", "include_datasets": True},
    "group_list": {"all_fields": True},
    "tag_list": {"all_fields": True},
    "group_show": {"id": "zqgroup", "include_datasets": True},
    "group_package_show": {"id": "zqgroup"},
    "tag_search": {"query": "zq"},
    "tag_autocomplete": {"query": "zq"},
    "tag_show": {"id": "zqtag", "include_datasets": True},
    "format_autocomplete": {"q": "csv"},
}

#: The actions that show no resource, or name theirs in a statement (``tests/analysis/api``).
OTHER_ACTIONS = {
    *("datastore_search_sql", "help_show", "status_show", "license_list", "site_read"),
    *("vocabulary_list", "user_show", "user_list", "api_token_list"),
    *("organization_list_for_user", "group_list_authz"),  # ``tests/catalogue/test_roles.py``
}

#: The actions that write, and change no resource (``tests/catalogue/test_roles.py``).
OTHER_WRITING = {
    *(action.name for action in group_actions),
    *("api_token_create", "api_token_revoke"),
}

#: Every tool of agents that reads a resource, with the arguments that it requires.
TOOLS: dict[str, dict[str, Any]] = {
    "describe_table": {},
    "search_records": {},
    "aggregate_records": {"group_by": ["code"]},
    "count_values": {"facets": ["code"]},
    "suggest_values": {"field": "code"},
}
LISTING_TOOLS: dict[str, dict[str, Any]] = {"find_tables": {}}

#: The pages, and what each can be asked for beside its plain address.
PAGES: dict[str, list[dict[str, str]]] = {
    "resource": [{}, {"embed": "1"}, {"q": "first"}, {"page": "99"}, {"q": ""}],
    "about": [{}],
    "api-examples": [{}],
    "chart": [
        {},
        {"show": "count", "by": "code"},
        {"show": "count", "by": "code", "embed": "1"},
        {"show": "count", "by": "code", "format": "csv"},
        {"show": "count", "by": "code", "format": "svg"},
        {"show": "count", "by": "code", "format": "png"},
    ],
    "compare": [{}, {"format": "csv"}],
    "map": [{}, {"embed": "1"}, {"format": "places.json"}, {"format": "svg"}, {"format": "png"}],
    "record": [{}],
    "schema": [{}],
    "data-package": [{}],
    "file": [{}],
}

#: The answers that are neither 200 nor a refusal.
STATUSES = {
    "page resource page=99": 404,
    "page resource q=": 302,
    "admin datastore_search_files_load_cancel": 302,
    "admin datastore_search_files_load_retry": 302,
    "admin datastore_search_files_load_former": 302,
}

#: Pages that know no tokens of others, and redirect as Django does for what does not exist.
NOT_FOUND_IN_ADMIN = {"admin knox_authtoken_history"}

#: The lists of resources.
LISTS = {"catalogue": [{}, {"q": "rivers"}]}

#: The lists of public resources for machines, the same for everyone.
PUBLIC_LISTS = {"catalog-turtle", "catalog-jsonld", "sitemap", "feed"}

#: The addresses for operators, which a portal includes by choice: they show no resource.
OPERATORS = {
    str(pattern.name): module.__name__
    for module in (health_urls, metrics_urls)
    for pattern in module.urlpatterns
}

#: The addresses of the example portal itself, which show no resource.
PORTAL_PAGES = {"home", "schema", "swagger-ui", "set_language"}

#: What the example portal includes, by namespace: the admin, and what the rows have.
INCLUDED = {
    "admin",
    "datastore_search",
    "datastore_search_ckan",
    "datastore_search_health",
    "datastore_search_mcp",
    "datastore_search_metrics",
}

#: The other addresses, which the rows of actions and dumps have.
OTHER_URLS = {"action", "action-3", "dump", "named", "outlines", "sql", "unknown", "version", None}

#: The pages of the admin, and the permission of each; None where only superusers may.
ADMIN: dict[str, str | None] = {
    "datastore_search_resource_changelist": "view",
    "datastore_search_resource_add": None,
    "datastore_search_resource_history": "view",
    "datastore_search_resource_delete": "delete",
    "datastore_search_resource_change": "view",
    "datastore_search_resource_load": "change",
    "datastore_search_resource_translation": "change",
    "datastore_search_datastore_changelist": "change",
    "datastore_search_files_load_preview": "change",
    "datastore_search_files_load_options": "change",
    "datastore_search_files_load_cancel": "change",
    "datastore_search_files_load_retry": "change",
    "datastore_search_files_load_former": "change",
    "datastore_search_files_load_bad_rows": "view",
    "datastore_search_files_load_changelist": "view",
    "datastore_search_files_load_history": "view",
    "datastore_search_files_load_change": "view",
    "knox_authtoken_changelist": None,
    "knox_authtoken_add": None,
    "knox_authtoken_history": None,
    "knox_authtoken_delete": None,
    "knox_authtoken_change": None,
}

#: Shown to every member of staff, with the loads that the user may view.
ADMIN_LISTS = {"datastore_search_files_load_progress"}

#: Refused to all: a load is made by its resource, and deleted with it.
CLOSED_ADMIN = {"datastore_search_files_load_add", "datastore_search_files_load_delete"}

#: The tags that show a resource; another one only links a file.
TAGS = {"datastore_table": "", "datastore_chart": ' show="count" by="code"', "datastore_map": ""}
OTHER_TAGS = {"datastore_styles"}


def encode_query(parameters: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in parameters.items()
    }


def identify(portal: Portal, action: str, name: str = "") -> dict[str, str]:
    """Name what an action is about: the resource, or its view."""
    if action in OF_VIEW:
        return {"id": str(portal.view.pk)}
    return {ID_PARAMETERS.get(action, "id"): name or str(portal.hidden.pk)}


def send_action(
    method: str, action: str, sent: dict[str, Any], *, by_alias: bool = False, path: str = "3/"
) -> Send:
    is_new = "resource" in sent or action in ADDING

    def send(portal: Portal, visitor: Visitor) -> Any:
        identity = identify(portal, action, "door" if by_alias else str(portal.hidden.pk))
        parameters = sent if is_new else {**identity, **sent}
        if action == "package_create":  # which refuses a name that is taken
            parameters = {"name": f"new-{uuid4()}"}
        address = f"/en/api/{path}action/{action}"
        if method == "post":
            return Client().post(
                address, parameters, content_type="application/json", headers=visitor.headers
            )
        return Client().get(address, encode_query(parameters), headers=visitor.headers)

    return send


def build_page_address(name: str, portal: Portal) -> str:
    arguments: dict[str, object] = {} if name in LISTS else {"resource_id": portal.hidden.pk}
    if name == "record":
        arguments["key"] = "1"
    if name == "file":
        arguments |= {"dataset_id": portal.hidden.pk, "name": "zqfile.csv"}
    return reverse(f"datastore_search:{name}", kwargs=arguments)


def open_page(name: str, query: dict[str, str]) -> Send:
    return lambda portal, visitor: visitor.open_client().get(
        build_page_address(name, portal), query
    )


def open_dump(extension: str, *, by_alias: bool, by_session: bool) -> Send:
    def send(portal: Portal, visitor: Visitor) -> Any:
        address = f"/en/datastore/dump/{'door' if by_alias else portal.hidden.pk}"
        client, headers = (visitor.open_client(), {}) if by_session else (Client(), visitor.headers)
        return client.get(address, {"format": extension}, headers=headers)

    return send


def build_admin_address(name: str, portal: Portal) -> str:
    page = name.removeprefix("datastore_search_").removeprefix("files_").removeprefix("knox_")
    if page.endswith(("_changelist", "_add", "_progress")):
        return reverse(f"admin:{name}")
    model = page.partition("_")[0]
    objects: dict[str, Model] = {
        "resource": portal.hidden,
        "authtoken": portal.token,
        "load": portal.draft if page in {"load_preview", "load_options"} else portal.load,
    }
    language = ["vi"] if page == "resource_translation" else []
    return reverse(f"admin:{name}", args=[objects[model].pk, *language])


def open_admin(name: str) -> Send:
    def send(portal: Portal, visitor: Visitor) -> Any:
        client, address = visitor.open_client(), build_admin_address(name, portal)
        if name.endswith(("_cancel", "_retry", "_former")):
            return client.post(address)
        return client.get(address, {"load": portal.load.pk} if name.endswith("_progress") else {})

    return send


def call_list(action: str, sent: dict[str, Any]) -> Send:
    return lambda _portal, visitor: act(Client(), action, sent, visitor.token)


def call_tool(tool: str, arguments: dict[str, Any]) -> Send:
    def send(portal: Portal, visitor: Visitor) -> Any:
        named = {} if tool in LISTING_TOOLS else {"resource_id": str(portal.hidden.pk)}
        message = request("tools/call", name=tool, arguments={**named, **arguments})
        return send_message(Client(), message, **visitor.headers)

    return send


def render_tag(tag: str, arguments: str) -> Send:
    def send(portal: Portal, visitor: Visitor) -> Any:
        request = RequestFactory().get("/en/")
        page = visitor.open_client().get("/en/datastore/")
        request.user = getattr(page.wsgi_request, "user", AnonymousUser())
        text = f"{{% load datastore %}}{{% {tag} resource{arguments} %}}"
        context = Context({"request": request, "resource": portal.hidden.pk})
        page.content = Template(text).render(context).encode()
        return page

    return send


def list_api_doors() -> Iterator[Door]:
    # The ways to name the resource take turns: all actions and formats share their code.
    for action, sent in READING.items():
        for method, by_alias in (("get", False), ("post", True)):
            path = "" if method == "get" else "3/"
            send = send_action(method, action, sent, by_alias=by_alias, path=path)
            yield Door(f"{method} {action} {'by alias' * by_alias}", "view", send)
    turns = cycle(product((False, True), repeat=2))
    for action, rows in WRITING.items():
        for (sent, verb), (_by_session, by_alias) in zip(rows, turns, strict=False):
            send = send_action("post", action, {"force": True, **sent}, by_alias=by_alias)
            yield Door(f"{action} {' '.join(sent)} {'by alias' * by_alias}", verb, send)
    new = {"resource": {"name": "new"}, "fields": [{"id": "a"}]}
    yield Door("datastore_create resource", "add", send_action("post", "datastore_create", new))
    for action in sorted(ADDING):
        yield Door(action, "add", send_action("post", action, {"name": "new"}))
    for action in DESCRIBING:
        yield Door(action, "view", send_action("post", action, {}))
    for action, sent in LISTING.items():
        yield Door(action, "view", call_list(action, sent), is_list=True)
    names = call_list("datastore_search", {"resource_id": "_table_metadata"})
    yield Door("_table_metadata", "view", names, is_list=True)
    for tool, arguments in {**TOOLS, **LISTING_TOOLS}.items():
        yield Door(f"tool {tool}", "view", call_tool(tool, arguments), is_list=True)
    for extension, (by_alias, by_session) in zip(formats, turns, strict=False):
        send = open_dump(extension, by_alias=by_alias, by_session=by_session)
        name = f"dump {extension} {'by alias' * by_alias} {'by session' * by_session}"
        yield Door(name, "view", send)


def list_html_doors() -> Iterator[Door]:
    for page, queries in {**PAGES, **LISTS}.items():
        for query in queries:
            name = " ".join([f"page {page}", *map("=".join, query.items())])
            yield Door(name, "view", open_page(page, query), is_list=page in LISTS)
    for tag, arguments in TAGS.items():
        yield Door(f"tag {tag}", "view", render_tag(tag, arguments), is_list=True)
    for page, verb in ADMIN.items():
        send = open_admin(page)
        yield Door(f"admin {page}", verb or "", send, is_admin=True, is_superusers=verb is None)


DOORS = {
    door.name: replace(door, status=STATUSES.get(door.name, 200))
    for door in (*list_api_doors(), *list_html_doors())
}
READING_DOORS = [name for name, door in DOORS.items() if door.verb == "view" and not door.is_list]


def pair_with_kinds(names: Iterable[str]) -> list[Any]:
    """
    Pair each door with each kind of user.

    Only nobody, one kind that may enter and one that may not, in turn, are no slow tests.
    """
    pairs = []
    for number, name in enumerate(names):
        groups: dict[bool, list[str]] = {True: [], False: []}
        for kind, details in KINDS.items():
            groups[name in DOORS and DOORS[name].is_open_to(details)].append(kind)
        chosen = {"nobody", *(kinds[number % len(kinds)] for kinds in groups.values() if kinds)}
        pairs += [
            pytest.param(name, kind, marks=[] if kind in chosen else pytest.mark.slow)
            for kind in KINDS
        ]
    return pairs


# The table ----------------------------------------------------------------------------------------


def test_every_door_has_a_row() -> None:
    named = {pattern.name for pattern in urls.urlpatterns}
    pages = {
        pattern.name
        for model, owner in admin.site._registry.items()
        if model._meta.app_label in {"datastore_search", "datastore_search_files", "knox"}
        for pattern in owner.get_urls()
        if isinstance(pattern, URLPattern) and pattern.name
    }

    by_id = READING.keys() | WRITING.keys() | set(DESCRIBING)
    lists, new = LISTING.keys() | PUBLIC_LISTING.keys(), ADDING | OF_DATASETS | OTHER_WRITING
    assert {*actions} == by_id | lists | OTHER_ACTIONS | new
    assert {name for name, action in actions.items() if action.is_writing} == {*WRITING} | new
    assert named == PAGES.keys() | LISTS.keys() | PUBLIC_LISTS | OTHER_URLS
    assert pages == ADMIN.keys() | ADMIN_LISTS | CLOSED_ADMIN
    assert get_tools().keys() == TOOLS.keys() | LISTING_TOOLS.keys()
    assert tags.register.tags.keys() == TAGS.keys() | OTHER_TAGS


def list_portal_addresses(patterns: Iterable[Any]) -> Iterator[str]:
    for each in patterns:
        if isinstance(each, URLPattern):
            yield str(each.name)
        elif each.app_name:
            yield each.app_name
        else:
            yield from list_portal_addresses(each.url_patterns)


def test_the_example_portal_has_no_other_address() -> None:
    names = set(list_portal_addresses(get_resolver().url_patterns))

    assert names | {"datastore_search_metrics"} == PORTAL_PAGES | INCLUDED


@pytest.mark.parametrize("name", sorted(PORTAL_PAGES - {"set_language"}))
def test_a_page_of_the_portal_itself_shows_no_resource(portal: Portal, name: str) -> None:
    visitor = portal.visitors["superuser"]

    response = visitor.open_client().get(reverse(name), headers=visitor.headers)

    assert response.status_code == 200
    assert SECRET not in read_text(response)
    assert str(portal.hidden.pk) not in read_text(response)


@pytest.mark.parametrize(("name", "kind"), pair_with_kinds(DOORS))
def test_a_door_is_open_to_those_with_the_permission_alone(
    portal: Portal, name: str, kind: str
) -> None:
    door, visitor = DOORS[name], portal.visitors[kind]

    response = door.send(portal, visitor)

    text = read_text(response)
    is_shown = SECRET in text
    if door.is_list:
        assert response.status_code == 200
        assert is_shown is door.is_open_to(visitor.kind)
    elif door.is_open_to(visitor.kind):
        assert response.status_code == door.status
        assert is_shown or door.name in WORDLESS or door.verb != "view" or door.status != 200
        assert "public" not in response.get("Cache-Control", "")
    else:
        check_is_refused(door, response, visitor.kind)


def read_text(response: Any) -> str:
    """Read the headers and the body of an answer, without tokens, whose letters are random."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    text = f"{[*response.items()]}\n{body.decode(errors='replace')}"
    return re.sub(r"\b[A-Za-z0-9]{64}\b", "", text)


def check_is_refused(door: Door, response: Any, kind: Kind) -> None:
    if door.is_admin and not may_enter_admin(kind):
        assert response.status_code == 302
        assert response["Location"].startswith("/en/admin/login/?next=")
    elif door.name in NOT_FOUND_IN_ADMIN:
        assert (response.status_code, response["Location"]) == (302, "/en/admin/")
    else:
        assert response.status_code == (404 if door.is_hidden_from(kind) else 403)
    assert SECRET not in read_text(response)


@pytest.fixture
def own_portal(portal: Portal) -> Portal:
    """A portal that has put the hidden resource into a dataset of its own."""
    dataset = Dataset(
        id="zqid",
        name="zqset",
        title="zqrivers",
        notes="zqnotes",
        owner_org=MemberGroup.objects.get(name="owner"),
        groups=[{"name": "zqgroup"}],
        tags=["zqtag"],
    )
    sync_dataset(dataset, [portal.hidden])
    return portal


@pytest.fixture(params=["portal", "own_portal"])
def any_portal(request: pytest.FixtureRequest, portal: Portal) -> Portal:
    """A portal whose datasets are its resources, and one with datasets of its own."""
    chosen: Portal = request.getfixturevalue(request.param)
    return chosen


@pytest.mark.parametrize(("action", "kind"), pair_with_kinds(PUBLIC_LISTING))
def test_a_list_of_public_datasets_never_has_a_private_one(
    any_portal: Portal, action: str, kind: str
) -> None:
    sent = PUBLIC_LISTING[action]
    for each in [{**sent, "id": "zqoffice"}, sent] if "id" in sent else [sent]:
        response = call_list(action, each)(any_portal, any_portal.visitors[kind])

        assert response.status_code == (404 if "id" in sent else 200)
        assert not re.search(f"{SECRET}|ffice", json.dumps(response.json().get("result")))


@pytest.mark.parametrize(("name", "kind"), pair_with_kinds(sorted(PUBLIC_LISTS)))
def test_a_list_for_machines_never_has_a_private_resource(
    any_portal: Portal, name: str, kind: str
) -> None:
    visitor = any_portal.visitors[kind]
    address = reverse(f"datastore_search:{name}")
    response = visitor.open_client().get(address, headers=visitor.headers)

    text = read_text(response)
    assert response.status_code == 200
    assert SECRET not in text
    assert str(any_portal.hidden.pk) not in text
    assert "public" in response["Cache-Control"]


DATASET_DOORS = [*LISTING, "tool find_tables", "page catalogue", "page catalogue q=rivers"]


@pytest.mark.parametrize(("name", "kind"), pair_with_kinds(DATASET_DOORS))
def test_a_dataset_of_the_portals_own_shows_nobody_more(
    own_portal: Portal, name: str, kind: str
) -> None:
    door, visitor = DOORS[name], own_portal.visitors[kind]

    response = door.send(own_portal, visitor)

    assert response.status_code == 200
    assert (SECRET in read_text(response)) is door.is_open_to(visitor.kind)


@pytest.mark.parametrize(("name", "kind"), pair_with_kinds(["zqid", "zqset"]))
def test_a_dataset_is_not_found_by_those_who_may_read_none_of_it(
    own_portal: Portal, name: str, kind: str
) -> None:
    visitor = own_portal.visitors[kind]

    response = act(Client(), "package_show", {"id": name}, visitor.token)

    if DOORS["package_show"].is_open_to(visitor.kind):
        assert response.json()["result"]["resources"][0]["id"] == str(own_portal.hidden.pk)
        assert "public" not in response.get("Cache-Control", "")
    else:
        assert response.status_code == 404
        assert "zqrivers" not in read_text(response)


@pytest.mark.parametrize("kind", ["nobody", "superuser"])
@pytest.mark.parametrize("name", OPERATORS)
def test_an_address_for_operators_shows_no_resource(portal: Portal, name: str, kind: str) -> None:
    visitor = portal.visitors[kind]
    send_action("get", "datastore_search", {"q": SECRET})(portal, visitor)

    response = visitor.open_client().get(reverse(name, urlconf=OPERATORS[name]))

    assert response.status_code in {200, 404}  # the example portal names no metrics
    assert SECRET not in read_text(response)


@pytest.mark.parametrize(("name", "kind"), pair_with_kinds(sorted(CLOSED_ADMIN)))
def test_loads_are_added_and_deleted_with_their_resource_alone(
    portal: Portal, name: str, kind: str
) -> None:
    door, visitor = Door(name, "", open_admin(name), is_admin=True), portal.visitors[kind]

    check_is_refused(door, door.send(portal, visitor), visitor.kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_progress_of_loads_is_told_to_those_who_may_view_them(
    portal: Portal, kind: str
) -> None:
    visitor = portal.visitors[kind]
    door = Door(
        "progress", "view", open_admin("datastore_search_files_load_progress"), is_admin=True
    )

    response = door.send(portal, visitor)

    if may_enter_admin(visitor.kind):
        assert bool(response.json()["loads"]) is door.is_open_to(visitor.kind)
    else:
        check_is_refused(door, response, visitor.kind)


@pytest.mark.parametrize("kind", ["nobody", "superuser"])
def test_no_address_leads_to_an_upload(portal: Portal, kind: str) -> None:
    name = default_storage.save("zqupload.csv", ContentFile(CSV))
    client = portal.visitors[kind].open_client()

    for address in (f"/{name}", f"/media/{name}", f"/.media/{name}", f"/static/{name}"):
        assert client.get(address, follow=True).status_code == 404


# What an answer depends on ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nobody", "other"])
def test_a_copy_from_before_a_resource_turned_private_is_not_confirmed(
    portal: Portal, kind: str
) -> None:
    visitor = portal.visitors[kind]
    old = timezone.now() - timedelta(days=1)
    Resource.objects.filter(pk=portal.hidden.pk).update(private=False, modified_at=old)
    before = {name: DOORS[name].send(portal, visitor) for name in READING_DOORS}
    for answer in before.values():
        read_text(answer)  # a file that is sent is closed at its end
    # Without a signal, as a change by another worker: the caches of this one are not emptied.
    Resource.objects.filter(pk=portal.hidden.pk).update(private=True)

    for name, answer in before.items():
        for condition in list_conditions(answer):
            response = DOORS[name].send(portal, replace(visitor, conditions=condition))
            check_is_refused(DOORS[name], response, visitor.kind)


def list_conditions(response: Any) -> list[dict[str, str]]:
    """List the headers by which a client asks whether its copy is still right."""
    conditions = [{"If-None-Match": "*"}, {"If-Modified-Since": http_date()}]
    if "ETag" in response:
        conditions.append({"If-None-Match": response["ETag"]})
    return conditions


def test_a_refusal_reads_no_record(portal: Portal) -> None:
    visitor = portal.visitors["other"]
    before = {name: DOORS[name].send(portal, visitor) for name in READING_DOORS}
    execute(connection, f"ALTER TABLE {get_record_table(portal.hidden)} RENAME TO away")

    for name, answer in before.items():
        after = DOORS[name].send(portal, visitor)
        expected = (name, answer.status_code, answer.content)
        assert (name, after.status_code, after.content) == expected


# Requests of other sites --------------------------------------------------------------------------


def test_a_session_is_no_token(portal: Portal) -> None:
    session = replace(portal.visitors["superuser"], token="")
    client = session.open_client()
    sent = {"id": str(portal.hidden.pk)}

    for action, parameters in READING.items():
        refused = act(client, action, {**sent, **parameters})
        check_error(refused, 403)
    for action, rows in WRITING.items():
        for parameters, _verb in rows:
            refused = act(client, action, {**identify(portal, action), "force": True, **parameters})
            check_error(refused, 403)


@pytest.mark.parametrize("action", WRITING)
def test_an_api_with_sessions_asks_for_the_token_of_a_form(
    portal: Portal, settings: Any, action: str
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        "rest_framework.authentication.SessionAuthentication"
    ]
    client = Client(enforce_csrf_checks=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = portal.visitors["superuser"].session
    ((sent, _verb), *_) = WRITING[action]
    parameters = {**identify(portal, action), "force": True, **sent}

    refused = act(client, action, parameters)
    client.cookies[settings.CSRF_COOKIE_NAME] = token = "a" * 32
    done = client.post(
        f"/en/api/action/{action}",
        parameters,
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )

    assert "CSRF" in check_error(refused, 403)["message"]
    assert done.status_code == 200


@pytest.mark.parametrize("name", ADMIN)
def test_the_admin_takes_no_form_of_another_site(portal: Portal, name: str) -> None:
    session = portal.visitors["superuser"].session
    client = Client(enforce_csrf_checks=True)
    client.cookies[django_settings.SESSION_COOKIE_NAME] = session

    response = client.post(build_admin_address(name, portal), {"post": "yes", "cancel": "yes"})

    assert response.status_code == 403
    assert Resource.objects.filter(pk=portal.hidden.pk).exists()
    assert Load.objects.filter(pk=portal.draft.pk, state=LoadState.DRAFT).exists()


@pytest.mark.parametrize("name", [*PAGES, *LISTS])
def test_pages_take_no_form(portal: Portal, name: str) -> None:
    client = portal.visitors["superuser"].open_client()

    assert client.post(build_page_address(name, portal), {"private": "0"}).status_code == 405
