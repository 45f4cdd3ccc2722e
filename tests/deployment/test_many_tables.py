"""Two thousand resources cost a search, a page and a command no more statements than twenty."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from datastore_search.database.indexes import create_indexes
from datastore_search.database.statements import execute, fetch_value
from datastore_search.database.tables import create_table
from datastore_search.models import Field, Origin, Resource, TableVersion
from datastore_search.writing import Method, open_writer

from ..builders import ask

FEW, MANY = 20, 2_000

#: Of the doctor, for a table that is whole.
MAX_STATEMENTS_OF_A_TABLE = 16

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

_numbers = count()


def make_resources(number: int) -> None:
    """Make resources with a table of five records each, without the ways of a single one."""
    numbers = [next(_numbers) for _ in range(number)]
    resources = Resource.objects.bulk_create(
        Resource(name=f"table-{each:05}", title=f"Table {each}") for each in numbers
    )
    for resource in resources:
        version = TableVersion.objects.create(
            resource=resource,
            origin=Origin.API,
            language="english",
            indexes=["filters", "words"],
            record_count=5,
            published_at=timezone.now(),
        )
        create_table(connection, version.pk, language="english")
        execute(
            connection,
            f"INSERT INTO datastore_search_record_{version.pk} (data)"
            " SELECT jsonb_build_object('name', 'river', 'number', each)"
            " FROM generate_series(1, 5) AS each",
        )
        create_indexes(connection, version.pk, resource.choose_indexes({}))
        resource.table_version = version
    Resource.objects.bulk_update(resources, ["table_version"], batch_size=500)
    Field.objects.bulk_create(
        Field(resource=resource, name=name, type=kind, position=place)
        for resource in resources
        for place, (name, kind) in enumerate([("name", "text"), ("number", "int4")])
    )


def list_statements(run: Callable[[], object]) -> list[str]:
    """Run something, and list its statements."""
    with CaptureQueriesContext(connection) as captured:
        run()
    return [str(query["sql"]) for query in captured.captured_queries]


def count_scanned_rows(statement: str) -> int:
    """Count the rows that the scans of a statement read, of tables and of PostgreSQL's own."""
    if not statement.lstrip("(").startswith(("SELECT", "WITH")):
        return 0
    plans = fetch_value(connection, f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {statement}")
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in walk((plans if isinstance(plans, list) else json.loads(plans))[0]["Plan"])
        if "Relation Name" in node
    )


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from walk(child)


def list_runs(client: Client, admin: Client) -> dict[str, Callable[[], object]]:
    """List what is done with a resource that the process has not read yet, and with lists."""
    fresh = list(Resource.objects.exclude(pk__in=_used).order_by("name")[:5])
    _used.update(each.pk for each in fresh)
    one, two, three, four, five = (str(each.pk) for each in fresh)

    def run_action(name: str, **parameters: Any) -> Callable[[], object]:
        return lambda: check(ask(client, parameters, path=f"/en/api/action/{name}"))

    def get(path: str, client: Client = client) -> Callable[[], object]:
        return lambda: check(client.get(path))

    return {
        "search": run_action("datastore_search", resource_id=one, limit=5),
        "q": run_action("datastore_search", resource_id=two, q="river"),
        "info": run_action("datastore_info", id=three),
        "data page": get(f"/en/datastore/{four}/"),
        "upsert": lambda: upsert(five),
        "package_search": run_action("package_search", rows=10),
        "package_list": run_action("package_list", limit=10),
        "resource_search": run_action("resource_search", query="name:Table", limit=10),
        "catalogue page": get("/en/datastore/"),
        "search of the catalogue": get("/en/datastore/?q=river"),
        "sitemap": get("/en/datastore/sitemap.xml?page=1"),
        "feed": get("/en/datastore/changes.atom"),
        "admin list": get("/en/admin/datastore_search/resource/", admin),
        "search of the admin": get("/en/admin/datastore_search/resource/?q=table-0001", admin),
        "cleanup": lambda: call_command("datastore_cleanup", stdout=StringIO()),
        "doctor": diagnose,
        "check": lambda: call_command("check", databases=["default"], stdout=StringIO()),
    }


_used: set[UUID] = set()

#: Those that read a single resource, and so as few rows of all tables as before.
OF_ONE_RESOURCE = {"search", "q", "info", "data page", "upsert"}


def check(answer: Any) -> None:
    assert answer.status_code == 200, answer.content


def upsert(pk: str) -> None:
    with open_writer(Resource.objects.get(pk=pk)) as writer:
        writer.write([{"name": "bridge", "number": 6}], Method.INSERT)


def test_no_request_costs_more_statements(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # Django keeps 9,000 statements.
    monkeypatch.setattr(connections[connection.alias], "queries_log", deque())
    make_resources(FEW)
    few = measure(Client(), staff)
    make_resources(MANY - FEW)
    many = measure(Client(), staff)

    doctor = [len(each.pop("doctor")) for each in (few, many)]
    assert {name: len(each) for name, each in many.items()} == {
        name: len(each) for name, each in few.items()
    }
    for name in OF_ONE_RESOURCE:
        scanned = [sum(map(count_scanned_rows, each[name])) for each in (few, many)]
        assert scanned[1] <= 2 * scanned[0] + FEW, (name, scanned)
    assert (doctor[1] - doctor[0]) / (MANY - FEW) <= MAX_STATEMENTS_OF_A_TABLE


def measure(client: Client, admin: Client) -> dict[str, list[str]]:
    """List the statements of each run, once the caches of the process are filled."""
    execute(connection, "ANALYZE")
    for name, run in list_runs(client, admin).items():
        if name != "doctor":  # which keeps nothing
            run()
    return {name: list_statements(run) for name, run in list_runs(client, admin).items()}


def diagnose() -> None:
    out = StringIO()
    call_command("datastore_doctor", stdout=out)
    assert out.getvalue() == "Nothing is damaged.\n"
