"""Builders of resources and users, requests, and assertions about answers."""

from __future__ import annotations

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.utils import timezone

from datastore_search import storage
from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Load, LoadState, Resource, TableVersion
from datastore_search.search import Page, Query, read_page, with_consistent_read
from datastore_search.tokens import issue_token

from .reading import read_in_test_process

SURVEY = """\
code,subject,stage,title,amount,seen
001,watershed,active,River level at the old bridge,10.50,2019-01-02
002,survey,active,Foxes and other mammals,20.25,2020-02-29
003,watershed,closed,Mực nước sông Hồng,0.00,2020-12-31
004,air,active,Chất lượng không khí Hà Nội,,2021-01-01
005,survey,planned,Running waters of Ha Noi,7.00,
006,,active,No subject at all,9.00,2023-09-09
"""

#: Every action that reads a resource, with what it requires of one with a field ``code``.
READING: dict[str, dict[str, Any]] = {
    "datastore_search": {},
    "datastore_info": {},
    "datastore_facets": {"facets": ["code"]},
    "datastore_aggregate": {"group_by": ["code"]},
    "datastore_suggest": {"field": "code"},
}


def make_resource(
    csv: str | bytes = SURVEY, *, types: dict[str, str] | None = None, **values: Any
) -> Resource:
    """Make a resource and load a CSV into it."""
    values.setdefault("name", f"resource-{Resource.objects.count() + 1}")
    resource = Resource.objects.create(**values)
    load_csv(resource, csv, types=types)
    return resource


def make_listed_resource(name: str, **values: Any) -> Resource:
    """Make a resource that is listed like a loaded one, without a table of records."""
    resource = Resource.objects.create(name=name, **values)
    load = Load.objects.create(resource=resource, source=f"{name}.csv", state=LoadState.READY)
    resource.table_version = TableVersion.objects.create(
        resource=resource, load=load, language="english", published_at=timezone.now()
    )
    resource.save(update_fields=["table_version"])
    return resource


def make_unpublished_version(load: Load) -> TableVersion:
    """Make a table version with one record that its load has not published."""
    version = TableVersion.objects.create(resource=load.resource, load=load, language="english")
    storage.create_records(
        connection,
        storage.NewTable(version.pk, load.pk),
        language="english",
        batches=[storage.Batch(['{"a":1}'])],
    )
    return version


def get_version_id(load: Load) -> int:
    """Return the number of the table version that a load has made."""
    return load.table_versions.get().pk


def grant(user: Any, verb: str, resource: Resource) -> None:
    """Give a user or a group a permission on one resource, with django-guardian."""
    import_module("guardian.shortcuts").assign_perm(f"{verb}_resource", user, resource)


def load_csv(
    resource: Resource, csv: str | bytes, *, types: dict[str, str] | None = None
) -> Resource:
    """Load a CSV into a resource and read the resource again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        path.write_bytes(csv.encode() if isinstance(csv, str) else csv)
        with read_in_test_process():
            load_file(
                resource, path, options=LoadOptions(types=types or {}, drop_missing_fields=True)
            )
    resource.refresh_from_db()
    return resource


def fetch_page(resource: Resource, query: Query) -> Page:
    """Read a page of a resource's records."""
    return with_consistent_read(resource.pk, lambda read: read_page(read, query))


def get_record_table(resource: Resource) -> str:
    """Return the name of the table of a resource's records."""
    return f"datastore_search_record_{resource.table_version_id}"


def make_slow(resource: Resource, seconds: float = 30) -> None:
    """Make every read of a resource's records take this many seconds."""
    table = get_record_table(resource)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO slow")
        cursor.execute(
            f"CREATE VIEW {table} AS SELECT slow.*, slow.ctid FROM slow, pg_sleep({seconds})"
        )


def make_user(name: str = "reader", *, permissions: tuple[str, ...] = (), **values: Any) -> Any:
    """Make a user who has some of the app's permissions."""
    user = get_user_model().objects.create_user(name, password="secret", **values)
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search", codename__in=permissions
        )
    )
    return user


def make_token(user: Any = None) -> str:
    """Issue a token of a user, by default of one with permission to view all resources."""
    return issue_token(user or make_user(permissions=("view_resource",)))


def make_user_token(name: str, *verbs: str) -> str:
    """Make a user with these permissions for resources and no password, and return a token."""
    user = get_user_model().objects.create(username=name)
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search",
            codename__in=[f"{verb}_resource" for verb in verbs],
        )
    )
    return issue_token(user)


def make_writer_token(name: str = "writer") -> str:
    """Make a user with all permissions for resources, and return a token."""
    return make_user_token(name, "view", "add", "change", "delete")


def ask(
    client: Any, parameters: Any, *, path: str = "/en/api/action/datastore_search", **headers: str
) -> Any:
    """Send a request to ``datastore_search`` by POST."""
    return client.post(
        path,
        parameters if isinstance(parameters, str | bytes) else json.dumps(parameters),
        content_type="application/json",
        headers=headers,
    )


def act(client: Any, action: str, parameters: Any, token: str = "", *, locale: str = "en") -> Any:
    """Call an action by POST."""
    return client.post(
        f"/{locale}/api/3/action/{action}",
        json.dumps(parameters),
        content_type="application/json",
        headers={"Authorization": token} if token else {},
    )


def get_result(response: Any, action: str = "datastore_search") -> dict[str, Any]:
    """Return the result of an answer of an action that must be a success."""
    answer = response.json()
    assert response.status_code == 200, answer
    assert answer["success"] is True
    assert answer["help"].endswith(f"/api/3/action/help_show?name={action}")
    result: dict[str, Any] = answer["result"]
    return result


def get_ids(response: Any) -> list[int]:
    """Return the ``_id`` of each record of an answer."""
    return [record["_id"] for record in get_result(response)["records"]]


def check_error(response: Any, status: int, kind: str) -> dict[str, Any]:
    """Assert the shape of a failure, and return its ``error`` without the type."""
    answer = response.json()
    assert response.status_code == status, answer
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert set(answer) == {"help", "success", "error"}
    assert answer["success"] is False
    error: dict[str, Any] = answer["error"]
    assert error.pop("__type") == kind
    assert error
    for word in ("SELECT", "psycopg", "Traceback", "LINE 1", "django"):
        assert word not in json.dumps(error)
    return error


def list_other_connections() -> set[int]:
    """List the other connections to the database of the tests, by their process ids."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return {pid for (pid,) in cursor.fetchall()}
