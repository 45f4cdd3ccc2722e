"""A table that a test writes to through the API, and reads from the database."""

from __future__ import annotations

import json
import threading
import uuid
from typing import Any

from django.apps import apps
from django.db import connection
from django.test import Client

from datastore_search.database.statements import execute
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Alias, Field, Resource, TableVersion

from ...builders import act, check_error
from ..ckan.writing.step import STOCK_FIELDS, STOCK_RECORDS


class _Clients(threading.local):
    """One client per thread, as a new client loads the middleware again."""

    def __init__(self) -> None:
        self.client = Client()


_CLIENTS = _Clients()


class Table:
    """A resource, which may not exist yet, and the token that writes to it."""

    def __init__(self, token: str, resource_id: str = "") -> None:
        self.token = token
        self.id = resource_id or str(uuid.uuid4())

    def call(self, action: str, /, **parameters: Any) -> Any:
        """Call one of the ``datastore_`` actions on the resource."""
        parameters = {"resource_id": self.id, **parameters}
        return act(_CLIENTS.client, f"datastore_{action}", parameters, self.token)

    def run(self, action: str, /, **parameters: Any) -> dict[str, Any]:
        """Call an action, which must succeed, and return its result."""
        response = self.call(action, **parameters)
        assert response.status_code == 200, response.getvalue()
        result: dict[str, Any] = json.loads(response.getvalue())["result"]  # large ones stream
        return result

    def get_refusal(self, action: str, /, **parameters: Any) -> dict[str, Any]:
        """Call an action, which must be refused, and return the error."""
        return check_error(self.call(action, **parameters), 409)

    def insert(self, *records: object, **parameters: Any) -> dict[str, Any]:
        return self.run("upsert", method="insert", records=list(records), **parameters)

    def upsert(self, *records: object, **parameters: Any) -> dict[str, Any]:
        return self.run("upsert", records=list(records), **parameters)

    def read_records(self, **parameters: Any) -> list[dict[str, Any]]:
        """Return the records by ``_id``; their total must be their number."""
        result = self.run("search", **{"sort": "_id", "limit": 32_000, **parameters})
        records: list[dict[str, Any]] = result["records"]
        assert result["total"] == len(records)
        return records

    def read_ids(self, **parameters: Any) -> list[int]:
        return [record["_id"] for record in self.read_records(**parameters)]

    def read_values(self, name: str, **parameters: Any) -> list[Any]:
        return [record[name] for record in self.read_records(**parameters)]

    def read_fields(self) -> list[dict[str, Any]]:
        """Return the fields as a search lists them, without ``_id``."""
        fields: list[dict[str, Any]] = self.run("search", limit=0)["fields"]
        return fields[1:]

    def read_state(self) -> dict[str, Any]:
        """Return all data of the resource in the database, which a failed call must not change."""
        mine = {"resource_id": self.id}
        versions = list(TableVersion.objects.filter(**mine).order_by("pk").values())
        return {
            "resources": list(Resource.objects.order_by("pk").values()),
            "fields": list(Field.objects.filter(**mine).order_by("pk").values()),
            "aliases": list(Alias.objects.filter(**mine).order_by("name").values("name")),
            "contrib": list_contrib_rows(),
            "table_versions": versions,
            "tables": list_record_tables(connection),
            "rows": [_read_rows(version["id"]) for version in versions],
            "indexes": [_list_indexes(version["id"]) for version in versions],
        }

    @property
    def resource(self) -> Resource:
        return Resource.objects.get(pk=self.id)

    def exists(self) -> bool:
        return Resource.objects.filter(pk=self.id).exists()

    def get_record_table(self) -> str:
        return _get_record_table(self.resource.table_version_id)

    def count_records(self) -> tuple[int, int]:
        """Return the stored number of records, and the real one."""
        version = self.resource.table_version
        assert version is not None
        return version.record_count, len(_read_rows(version.pk))


def list_contrib_rows() -> list[dict[str, Any]]:
    """List the rows of all contrib apps that are installed, but the datasets of resources."""
    contrib = [
        model
        for model in apps.get_models()
        if model._meta.app_label.startswith("datastore_search_")
        and model._meta.label != "datastore_search_catalogue.Dataset"
    ]
    return [row for model in contrib for row in model._base_manager.order_by("pk").values()]


def make_stock(table: Table) -> Table:
    """Make a table with three records, a primary key and an alias."""
    table.run(
        "create",
        fields=STOCK_FIELDS,
        records=STOCK_RECORDS,
        primary_key=["code"],
        aliases=["stock"],
    )
    return table


def _read_rows(table_id: int) -> list[tuple[Any, ...]]:
    return _fetch_all(
        f"SELECT _id, data::text, search::text FROM {_get_record_table(table_id)} ORDER BY _id"
    )


def _list_indexes(table_id: int) -> list[tuple[Any, ...]]:
    name = _get_record_table(table_id)
    return _fetch_all(
        f"SELECT indexdef FROM pg_indexes WHERE tablename = '{name}' ORDER BY indexdef"
    )


def _get_record_table(table_id: int | None) -> str:
    return f"datastore_search_record_{table_id}"


def _fetch_all(statement: str) -> list[tuple[Any, ...]]:
    return execute(connection, statement)
