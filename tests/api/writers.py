"""Who writes, and what a resource looks like before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client

from datastore_search import storage
from datastore_search.models import Load, Resource, TableVersion
from datastore_search.tokens import issue_token

from ..builders import check_error

VERBS = ("view", "add", "change", "delete")


def make_writer(name: str = "writer", *, verbs: Sequence[str] = VERBS) -> str:
    """Make a user who may do some things to resources, and return a token."""
    # Without a password: to hash one takes half a second.
    user = get_user_model().objects.create(username=name)
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search",
            codename__in=[f"{verb}_resource" for verb in verbs],
        )
    )
    return issue_token(user)


@dataclass(frozen=True)
class Api:
    """The API as one user sees it; actions are named without their ``datastore_``."""

    token: str | None
    client: Client = field(default_factory=Client)

    def ask(self, action: str, sent: Any = None, **more: Any) -> Any:
        """Send a request; a text is sent as it is."""
        body = sent if isinstance(sent, str) else json.dumps({**(sent or {}), **more})
        return self.client.post(
            f"/en/api/action/datastore_{action}",
            body,
            content_type="application/json",
            headers={} if self.token is None else {"Authorization": self.token},
        )

    def result(self, action: str, sent: Any = None, **more: Any) -> dict[str, Any]:
        """Give the result of a request that must succeed."""
        response = self.ask(action, sent, **more)
        answer = response.json()
        assert response.status_code == 200, answer
        assert answer["success"] is True
        assert answer["help"].endswith(f"/api/3/action/help_show?name=datastore_{action}")
        result: dict[str, Any] = answer["result"]
        return result

    def error(self, action: str, sent: Any = None, **more: Any) -> dict[str, Any]:
        """Give the error of a request that must be refused for its parameters."""
        return check_error(self.ask(action, sent, **more), 409, "Validation Error")

    def records(self, name: Any, **sent: Any) -> list[dict[str, Any]]:
        """Give all records of a resource, and check that their number is right."""
        result = self.result("search", resource_id=str(name), limit=32_000, **sent)
        if not sent.get("offset"):
            assert result["total"] == len(result["records"])
        found: list[dict[str, Any]] = result["records"]
        return found

    def found_by(self, name: Any, q: str) -> list[int]:
        """Give the ids of the records that a word finds."""
        return sorted(record["_id"] for record in self.records(name, q=q))


def state_of(api: Api, resource_id: Any) -> dict[str, Any]:
    """Give everything about a resource, and which tables there are."""
    resource = Resource.objects.select_related("table_version").get(pk=resource_id)
    fields = resource.fields.values_list("name", "type", "position", "label", "notes", "extra_info")
    version = resource.table_version
    versions = TableVersion.objects.filter(resource_id=resource_id)
    return {
        "resource": Resource.objects.filter(pk=resource_id).values().get(),
        "fields": list(fields),
        "aliases": sorted(resource.aliases.values_list("name", flat=True)),
        "table_versions": list(versions.values()),
        "loads": Load.objects.count(),
        "records": api.records(resource_id) if version else None,
        "tables": storage.list_record_tables(connection),
    }
