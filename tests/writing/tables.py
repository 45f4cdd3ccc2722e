"""A table that a test writes to through the API, and all there is to it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client

from datastore_search import storage
from datastore_search.models import Alias, Field, Load, Resource, TableVersion
from datastore_search.tokens import issue_token

from ..builders import act, check_error

STOCK_FIELDS = [
    {"id": "code", "type": "text"},
    {"id": "name", "type": "text"},
    {"id": "count", "type": "int4"},
    {"id": "amount", "type": "numeric"},
]
STOCK_RECORDS = [
    {"code": "a", "name": "apple", "count": 1, "amount": "1.50"},
    {"code": "b", "name": "bread", "count": 2, "amount": "2.00"},
    {"code": "c", "name": None, "count": None, "amount": None},
]


class _Clients(threading.local):
    """One client for each thread, since a new one loads the middleware anew."""

    def __init__(self) -> None:
        self.client = Client()


_CLIENTS = _Clients()


class Table:
    """A resource, there or not, and who writes to it."""

    def __init__(self, token: str, resource_id: str = "") -> None:
        self.token = token
        self.id = resource_id or str(uuid.uuid4())

    def call(self, action: str, /, **parameters: Any) -> Any:
        """Call one of the ``datastore_`` actions on the resource."""
        sent = {"resource_id": self.id, **parameters}
        return act(_CLIENTS.client, f"datastore_{action}", sent, self.token)

    def result(self, action: str, /, **parameters: Any) -> dict[str, Any]:
        """Call an action, which must succeed."""
        response = self.call(action, **parameters)
        assert response.status_code == 200, response.getvalue()
        result: dict[str, Any] = json.loads(response.getvalue())["result"]  # large ones stream
        return result

    def refusal(self, action: str, /, **parameters: Any) -> dict[str, Any]:
        """Call an action, which must be refused, and give the error."""
        return check_error(self.call(action, **parameters), 409, "Validation Error")

    def insert(self, *records: object, **parameters: Any) -> dict[str, Any]:
        return self.result("upsert", method="insert", records=list(records), **parameters)

    def upsert(self, *records: object, **parameters: Any) -> dict[str, Any]:
        return self.result("upsert", records=list(records), **parameters)

    def records(self, **parameters: Any) -> list[dict[str, Any]]:
        """Give the records, by ``_id``; their total must be their number."""
        result = self.result("search", **{"sort": "_id", "limit": 32_000, **parameters})
        records: list[dict[str, Any]] = result["records"]
        assert result["total"] == len(records)
        return records

    def ids(self, **parameters: Any) -> list[int]:
        return [record["_id"] for record in self.records(**parameters)]

    def values(self, name: str, **parameters: Any) -> list[Any]:
        return [record[name] for record in self.records(**parameters)]

    def fields(self) -> list[dict[str, Any]]:
        """Give the fields as a search lists them, without ``_id``."""
        fields: list[dict[str, Any]] = self.result("search", limit=0)["fields"]
        return fields[1:]

    def everything(self) -> dict[str, Any]:
        """Read all that the database holds of the resource: what a failed call may not change."""
        mine = {"resource_id": self.id}
        versions = list(TableVersion.objects.filter(**mine).order_by("pk").values())
        return {
            "resources": list(Resource.objects.order_by("pk").values()),
            "fields": list(Field.objects.filter(**mine).order_by("pk").values()),
            "aliases": list(Alias.objects.filter(**mine).order_by("name").values("name")),
            "loads": list(Load.objects.filter(**mine).order_by("pk").values()),
            "table_versions": versions,
            "tables": storage.list_record_tables(connection),
            "rows": [_rows(version["id"]) for version in versions],
            "indexes": [_indexes(version["id"]) for version in versions],
        }

    @property
    def resource(self) -> Resource:
        return Resource.objects.get(pk=self.id)

    def exists(self) -> bool:
        return Resource.objects.filter(pk=self.id).exists()

    def record_table(self) -> str:
        return _name(self.resource.table_version_id)

    def stored(self) -> tuple[int, int]:
        """Give the number of records that is kept, and the real one."""
        version = self.resource.table_version
        assert version is not None
        return version.record_count, len(_rows(version.pk))


def token_of(name: str, *verbs: str) -> str:
    """Make a user who may do some things to resources, without a password, and a token."""
    user = get_user_model().objects.create(username=name)
    codenames = [f"{verb}_resource" for verb in verbs]
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search", codename__in=codenames
        )
    )
    return issue_token(user)


def token_of_writer() -> str:
    """Make a user who may do everything to resources, and a token."""
    return token_of("writer", "add", "change", "delete", "view")


def make_stock(table: Table) -> Table:
    """Make a table with three records, a primary key and an alias."""
    table.result(
        "create",
        fields=STOCK_FIELDS,
        records=STOCK_RECORDS,
        primary_key=["code"],
        aliases=["stock"],
    )
    return table


def _rows(table_id: int) -> list[tuple[Any, ...]]:
    return _asked(f"SELECT _id, data::text, search::text FROM {_name(table_id)} ORDER BY _id")


def _indexes(table_id: int) -> list[tuple[Any, ...]]:
    return _asked(
        f"SELECT indexdef FROM pg_indexes WHERE tablename = '{_name(table_id)}' ORDER BY indexdef"
    )


def _name(table_id: int | None) -> str:
    return f"datastore_search_record_{table_id}"


def _asked(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return list(rows)
