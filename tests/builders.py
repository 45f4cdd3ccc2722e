"""Builders of resources and users, requests, and assertions about answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from io import StringIO
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection, transaction
from django.dispatch import Signal
from django.utils import timezone

from datastore_search.api.actions import actions
from datastore_search.api.envelope import ERROR_TYPES
from datastore_search.database.indexes import analyze_records
from datastore_search.database.statements import execute, fetch_column
from datastore_search.field_types import get_field_type
from datastore_search.models import Origin, Resource, TableVersion
from datastore_search.search import Query, SearchAnswer, read_answer, with_consistent_read
from datastore_search.web.tokens import issue_token
from datastore_search.writing import GivenField, Method, open_writer
from datastore_search.writing.records import get_table_id

#: What a full-text query that PostgreSQL cannot parse is answered.
QUERY_LANGUAGE_MESSAGE = (
    "The full-text query cannot be understood in PostgreSQL’s query language. Join words by “&”"
    " (and), “|” (or) or “<->” (followed by); with “plain” true, blanks are enough, and a phrase is"
    " written in quotation marks."
)

SURVEY = """\
code,subject,stage,title,amount,seen
001,watershed,active,River level at the old bridge,10.50,2019-01-02
002,survey,active,Foxes and other mammals,20.25,2020-02-29
003,watershed,closed,Mực nước sông Hồng,0.00,2020-12-31
004,air,active,Chất lượng không khí Hà Nội,,2021-01-01
005,survey,planned,Running waters of Ha Noi,7.00,
006,,active,No subject at all,9.00,2023-09-09
"""

_READING: dict[str, dict[str, Any]] = {
    "datastore_search": {},
    "datastore_info": {},
    "datastore_facets": {"facets": ["code"]},
    "datastore_aggregate": {"group_by": ["code"]},
    "datastore_suggest": {"field": "code"},
}

#: Every action that reads a resource, with what it requires of one with a field ``code``: those of
#: the apps that are installed.
READING = {name: required for name, required in _READING.items() if name in actions}


#: A cell of a CSV: what is in its quotes, or what has none, and what ends it.
_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|\Z)')

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMERIC = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+|-?[1-9][0-9]{0,17}|0")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_MOMENT = re.compile(rf"{_DAY.pattern}[T ]{_CLOCK.pattern}(\.[0-9]{{3}})?")

#: The types that a column of a CSV may turn out to have, each with what all its texts meet.
_INFERRED_TYPES: Sequence[tuple[str, Callable[[str], object]]] = (
    ("int4", lambda text: _INTEGER.fullmatch(text) and -(2**31) <= int(text) < 2**31),
    ("int8", lambda text: _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63),
    ("numeric", _NUMERIC.fullmatch),
    ("bool", {"true", "false"}.__contains__),
    ("bool", {"True", "False"}.__contains__),
    ("bool", {"TRUE", "FALSE"}.__contains__),
    ("date", _DAY.fullmatch),
    ("timestamp", _MOMENT.fullmatch),
    ("time", re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}").fullmatch),
)


def create_resource(**values: Any) -> Resource:
    """Create a resource without records; its metadata is stored where there is a catalogue."""
    values.setdefault("name", f"resource-{Resource.objects.count() + 1}")
    columns = {"pk", *(field.name for field in Resource._meta.concrete_fields)}
    resource = Resource.objects.create(
        **{name: value for name, value in values.items() if name in columns}
    )
    if metadata := {name: value for name, value in values.items() if name not in columns}:
        describe(resource, **metadata)
    return resource


def describe(resource: Resource, **metadata: Any) -> None:
    rows = import_module("datastore_search.contrib.catalogue.models").Dataset.objects
    row = rows.get(resource=resource)
    for name, value in metadata.items():
        setattr(row, name, value)
    row.full_clean()
    row.save()


def make_resource(
    csv: str | bytes = SURVEY, *, types: dict[str, str] | None = None, **values: Any
) -> Resource:
    """
    Make a resource with the records of a CSV, as if its file had been loaded.

    The records are what a load would make of them, with null for each empty cell; the resource has
    no load, and nothing of what a load finds out about the values.
    """
    return fill_table(create_resource(**values), csv, types=types)


def fill_table(
    resource: Resource, csv: str | bytes, *, types: dict[str, str] | None = None
) -> Resource:
    """Give a resource a new table with the records of a CSV, and read the resource again."""
    chosen = types or {}
    names, *rows = parse_csv(csv)
    types_by_name = {
        name or "": chosen.get(name or "") or infer_type(column)
        for name, *column in zip(names, *rows, strict=True)
    }
    fields = [GivenField(name, kind) for name, kind in types_by_name.items()]
    records = [
        {
            name: read_cell(kind, cell)
            for (name, kind), cell in zip(types_by_name.items(), row, strict=True)
        }
        for row in rows
    ]
    with transaction.atomic():
        Resource.objects.filter(pk=resource.pk).update(table_version=None, primary_key=[])
        with open_writer(resource) as writer:
            writer.create(fields, [])
            writer.write(records, Method.INSERT)
        table_id = get_table_id(Resource.objects.get(pk=resource.pk))
        TableVersion.objects.filter(pk=table_id).update(origin=Origin.FILE)
        for name, kind in chosen.items():
            resource.fields.filter(name=name).update(chosen_type=kind)
        clean_pending_lists(table_id)
        analyze_records(connection, table_id)
    resource.refresh_from_db()
    return resource


def clean_pending_lists(table_id: int) -> None:
    """Move what waits in the GIN indexes of a table into them, as when they are built by a load."""
    execute(
        connection,
        "SELECT gin_clean_pending_list(indexrelid) FROM pg_index"
        " JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam"
        " WHERE indrelid = %s::regclass AND amname = 'gin'",
        [f"datastore_search_record_{table_id}"],
    )


def parse_csv(text: str | bytes) -> list[list[str | None]]:
    """
    Parse a CSV; an empty cell without quotes is null.

    As in a file that is loaded, an empty line is no record.
    """
    rows: list[list[str | None]] = []
    row: list[str | None] = []
    for cell in _CELL.finditer(text if isinstance(text, str) else text.decode()):
        quoted, plain, end = cell.groups()
        row.append(plain or None if quoted is None else quoted.replace('""', '"'))
        if end != ",":
            rows += [row] if row != [None] else []
            row = []
    return rows


def infer_type(cells: Iterable[str | None]) -> str:
    """Infer the type of a column as a load does, from texts that are plainly of one."""
    texts = [cell for cell in cells if cell]
    kinds = (kind for kind, is_of in _INFERRED_TYPES if texts and all(map(is_of, texts)))
    return next(kinds, "text")


def read_cell(kind: str, cell: str | None) -> Any:
    """Read a cell of a type as what a client of the API sends for it."""
    if get_field_type(kind).is_nested:
        return json.loads(cell, parse_float=Decimal) if cell else None
    return cell


def make_listed_resource(name: str, **values: Any) -> Resource:
    """Make a resource that is listed like a loaded one, without a table of records."""
    resource = create_resource(name=name, **values)
    resource.table_version = TableVersion.objects.create(
        resource=resource, language="english", published_at=timezone.now()
    )
    resource.save(update_fields=["table_version"])
    return resource


def grant(user: Any, verb: str, resource: Resource) -> None:
    import_module("guardian.shortcuts").assign_perm(f"{verb}_resource", user, resource)


def fetch_page(resource: Resource, query: Query) -> SearchAnswer:
    return with_consistent_read(resource.pk, lambda read: read_answer(read, query))


def get_record_table(resource: Resource) -> str:
    return f"datastore_search_record_{resource.table_version_id}"


def make_slow(resource: Resource, seconds: float = 30) -> None:
    """Make every read of a resource's records take this many seconds."""
    table = get_record_table(resource)
    execute(connection, f"ALTER TABLE {table} RENAME TO slow")
    view = f"CREATE VIEW {table} AS SELECT slow.*, slow.ctid FROM slow, pg_sleep({seconds})"
    execute(connection, view)


def make_user(name: str = "reader", *, permissions: tuple[str, ...] = (), **values: Any) -> Any:
    user = get_user_model().objects.create_user(name, password="secret", **values)
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label__startswith="datastore_search", codename__in=permissions
        )
    )
    return user


def make_token(user: Any = None) -> str:
    """Issue a token of a user, by default of one with permission to view all resources."""
    return issue_token(user or make_user(permissions=("view_resource",)))


def make_user_token(name: str, *verbs: str) -> str:
    """Make a user with these permissions for resources, and return a token."""
    return issue_token(make_user(name, permissions=tuple(f"{verb}_resource" for verb in verbs)))


def make_writer_token(name: str = "writer") -> str:
    return make_user_token(name, "view", "add", "change", "delete")


def ask(
    client: Any, parameters: Any, *, path: str = "/en/api/action/datastore_search", **headers: str
) -> Any:
    return client.post(
        path,
        parameters if isinstance(parameters, str | bytes) else json.dumps(parameters),
        content_type="application/json",
        headers=headers,
    )


def act(client: Any, action: str, parameters: Any, token: str = "", *, locale: str = "en") -> Any:
    return client.post(
        f"/{locale}/api/3/action/{action}",
        json.dumps(parameters),
        content_type="application/json",
        headers={"Authorization": token} if token else {},
    )


def search(client: Any, resource: Resource | str, token: str = "", **sent: Any) -> Any:
    """Search a resource, or one of this name, by POST."""
    name = str(getattr(resource, "pk", resource))
    return act(client, "datastore_search", {"resource_id": name, **sent}, token)


def get_result(response: Any) -> dict[str, Any]:
    """Return the result of an answer of an action that must be a success."""
    answer, action = response.json(), response.request["PATH_INFO"].rpartition("/")[2]
    assert response.status_code == 200, answer
    assert answer["success"] is True
    assert answer["help"].endswith(f"/api/3/action/help_show?name={action}")
    result: dict[str, Any] = answer["result"]
    return result


def get_ids(response: Any) -> list[int]:
    return [record["_id"] for record in get_result(response)["records"]]


def check_error(response: Any, status: int) -> dict[str, Any]:
    """Assert the shape of a failure, and return its ``error`` without the type."""
    answer = response.json()
    assert response.status_code == status, answer
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert set(answer) == {"help", "success", "error"}
    assert answer["success"] is False
    error: dict[str, Any] = answer["error"]
    assert error.pop("__type") == ERROR_TYPES.get(status, "Error")
    assert error
    for word in ("SELECT", "psycopg", "Traceback", "LINE 1", "django"):
        assert word not in json.dumps(error)
    return error


def list_other_connections() -> set[int]:
    """List the other connections to the database of the tests, by their process ids."""
    pids = fetch_column(
        connection,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )
    return set(pids)


@contextmanager
def receive(signal: Signal, sender: object = None) -> Iterator[list[dict[str, Any]]]:
    """Collect what a signal of a sender, or of all, brings within the block."""
    calls: list[dict[str, Any]] = []

    def note(sender: object, signal: Signal, **values: Any) -> None:
        calls.append(values)

    signal.connect(note, sender=sender)
    try:
        yield calls
    finally:
        signal.disconnect(note, sender=sender)


def run_command(*arguments: object, **options: Any) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()
