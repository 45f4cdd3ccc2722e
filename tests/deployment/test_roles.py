"""The roles of the page on them: what each may do, and for how long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.files.tables.locks import build_statement_comment, cancel_statements
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..builders import act, get_result
from ..files.builders import load_csv
from .portals import check_reads, migrate_portal, use_databases
from .servers import run_own_server

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "separate-roles.md"
_TEXT = _PAGE.read_text()
_CREATE, _REVOKE, _LIMITS = re.findall(r"(?ms)^```sql\n(.*?)^```", _TEXT)
(_ROUTER,) = re.findall(r"(?ms)^```python\n(# portal/routers.py\n.*?)^```", _TEXT)

_names: dict[str, Any] = {"__name__": __name__}
exec(_ROUTER, _names)


RoleRouter: type = _names["RoleRouter"]


def build_url(server: ThrowawayServer, role: str) -> str:
    return re.sub(r"//[^@]*@", f"//{role}:@", server.url)


@pytest.fixture(scope="module")
def server(django_db_blocker: Any) -> Iterator[ThrowawayServer]:
    """A server with the roles, and a resource that the loader has loaded."""
    with run_own_server() as server, django_db_blocker.unblock():
        run_sql(server, _CREATE)
        with use_databases({"default": build_url(server, "portal_loader")}):
            migrate_portal()
            run_sql(server, _REVOKE)
            run_sql(server, _LIMITS)
            connection.close()
            load_csv(Resource.objects.create(name="rivers"), "code,text\na,river\nb,lake\n")
        yield server


def run_sql(server: ThrowawayServer, text: str) -> None:
    with psycopg.connect(server.superuser_url) as admin:
        admin.execute(text.encode())


@pytest.fixture
def portal(server: ThrowawayServer) -> Iterator[Resource]:
    """The web server's side of the portal."""
    urls = {
        "default": build_url(server, "portal_web"),
        "reader": build_url(server, "portal_reader"),
    }
    with use_databases(urls, router=RoleRouter):
        yield Resource.objects.get(name="rivers")


def test_searches_dumps_and_pages_need_no_more_than_select(portal: Resource) -> None:
    with CaptureQueriesContext(connection) as on_default:
        check_reads(portal)

    table = f"datastore_search_record_{portal.table_version_id}"
    assert [query for query in on_default if table in query["sql"]] == []


def test_a_writer_creates_tables_that_the_reader_may_read(portal: Resource) -> None:
    token = issue_token(get_user_model().objects.create_superuser("writer"))
    created = get_result(
        act(
            Client(),
            "datastore_create",
            {"resource": {"name": "written"}, "fields": [{"id": "a"}], "records": [{"a": "x"}]},
            token,
        )
    )

    found = act(Client(), "datastore_search", {"resource_id": created["resource_id"]})

    assert [record["a"] for record in get_result(found)["records"]] == ["x"]


def test_the_loader_cancels_the_statements_of_its_loads(server: ThrowawayServer) -> None:
    url = build_url(server, "portal_loader")
    statement = f"{build_statement_comment(7)} SELECT pg_sleep(30)".encode()
    with (
        use_databases({"default": url}),
        psycopg.connect(url) as worker,
        ThreadPoolExecutor() as pool,
    ):
        sleeping = pool.submit(worker.execute, statement)
        while not sleeping.done():
            cancel_statements(connection, 7)
        with pytest.raises(psycopg.errors.QueryCanceled):
            sleeping.result()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE datastore_search_resource SET title = ''",
        "DELETE FROM datastore_search_files_load",
        "CREATE TABLE mine (a int)",
        "SELECT * FROM auth_user",
        "SELECT * FROM knox_authtoken",
        "SELECT * FROM django_session",
    ],
)
def test_the_reader_is_refused_by_postgresql(server: ThrowawayServer, statement: str) -> None:
    with psycopg.connect(build_url(server, "portal_reader")) as reader:
        reader.execute("SET TRANSACTION READ WRITE")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement.encode())


@pytest.mark.parametrize(
    ("role", "limits"),
    [
        ("portal_reader", ("2min", "10s", "5min")),
        ("portal_web", ("5min", "30s", "5min")),
        ("portal_loader", ("0", "10min", "1h")),
    ],
)
def test_every_connection_has_its_limits_of_time(
    server: ThrowawayServer, role: str, limits: tuple[str, ...]
) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    with psycopg.connect(build_url(server, role)) as session:
        found = [session.execute(f"SHOW {name}".encode()).fetchone() for name in names]

    assert found == [(limit,) for limit in limits]
