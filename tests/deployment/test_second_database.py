"""A portal with two databases: the app in the second one, or in the first one beside another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.checks import run_checks
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.urls import reverse

from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search.contrib.catalogue.models import MemberGroup, Membership
from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.database.tables import list_record_tables as list_tables_of
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token
from example_project import embedded_postgres

from ..builders import act, ask, check_error, get_result, make_user
from ..files.builders import load_csv
from .portals import check_reads, use_databases
from .servers import run_own_server

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "how-to" / "deploy.md"
(_ROUTER,) = re.findall(r"(?ms)^```python\n(class DataRouter:.*?)^```", _PAGE.read_text())

_names: dict[str, Any] = {"__name__": __name__}
exec(_ROUTER, _names)
DataRouter: type = _names["DataRouter"]


@pytest.fixture(scope="module")
def server() -> Iterator[ThrowawayServer]:
    with run_own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE data TEMPLATE {embedded_postgres.TEMPLATE}")
        yield server


@pytest.fixture(scope="module")
def portal(server: ThrowawayServer, django_db_blocker: Any) -> Iterator[None]:
    """A portal with the app in the database “data”, and everything else in “default”."""
    urls = {"default": server.url, "data": server.url.replace("/portal?", "/data?")}
    with django_db_blocker.unblock(), use_databases(urls, router=DataRouter):
        for alias in urls:
            call_command("migrate", verbosity=0, database=alias)
        make_user("boss", is_staff=True, is_superuser=True)
        yield


@pytest.fixture
def boss(portal: None) -> Client:
    client = Client()
    client.login(username="boss", password="secret")
    return client


@pytest.fixture
def rivers(portal: None) -> Iterator[Resource]:
    resource = Resource.objects.create(name="rivers")
    load_csv(resource, "code,text\na,river\nb,lake\n")
    yield resource
    Resource.objects.all().delete()


def list_tables(alias: str) -> list[str]:
    return connections[alias].introspection.table_names()


@pytest.mark.slow
def test_each_database_has_its_own_tables_and_no_others(rivers: Resource) -> None:
    default, data = list_tables("default"), list_tables("data")

    assert "auth_user" in default
    assert "auth_user" not in data
    assert [name for name in default if name.startswith("datastore_search")] == []
    assert f"datastore_search_record_{Resource.objects.get().table_version_id}" in data


def test_the_checks_find_nothing(portal: None) -> None:
    found = run_checks(databases=["default", "data"], include_deployment_checks=False)

    # Tests of guardian in the same process leave its check behind.
    assert [each for each in found if not str(each.id).startswith("guardian.")] == []


def test_every_question_is_answered_from_the_second_database(rivers: Resource) -> None:
    check_reads(rivers)
    for path in ("/health/ready", "/en/datastore/changes.atom"):
        assert Client().get(path).status_code == 200, path


def test_a_private_resource_is_read_with_a_permission_of_the_first_database(
    rivers: Resource,
) -> None:
    rivers.private = True
    rivers.save()
    reader = make_user("reader", permissions=("view_resource",))
    question = {"resource_id": str(rivers.pk)}

    check_error(ask(Client(), question), 403)
    assert get_result(ask(Client(), question, Authorization=issue_token(reader)))["total"] == 2
    assert act(Client(), "package_search", {}, issue_token(reader)).status_code == 200
    reader.delete()


def test_the_writing_actions_write_into_the_second_database(rivers: Resource) -> None:
    token = issue_token(make_user("writer", is_superuser=True))

    def write(action: str, **parameters: Any) -> Any:
        sent = {"force": True, **parameters}
        return get_result(act(Client(), action, sent, token))

    created = write(
        "datastore_create",
        resource={"name": "written"},
        primary_key=["k"],
        aliases=["w"],
        records=[{"k": 1, "v": "a"}],
    )["resource_id"]
    write("datastore_upsert", resource_id=created, records=[{"k": 2, "v": "b"}])
    assert get_result(ask(Client(), {"resource_id": "w"}))["total"] == 2
    write("datastore_records_delete", resource_id=created, filters={"k": 1})
    assert get_result(ask(Client(), {"resource_id": "w"}))["total"] == 1
    write("datastore_delete", resource_id=created)
    assert list_record_tables() == {rivers.table_version_id}


def list_record_tables() -> set[int]:
    return list_tables_of(connections["data"])


def test_the_admin_makes_loads_and_deletes_a_resource(boss: Client, uploads: Path) -> None:
    added = boss.post(
        reverse("admin:datastore_search_resource_add"),
        {
            "title": "Lakes", "name": "lakes", "description": "", "language": "english",
            "aliases-TOTAL_FORMS": "1", "aliases-INITIAL_FORMS": "0",
            "dataset-TOTAL_FORMS": "0", "dataset-INITIAL_FORMS": "0",
            "saved_views-TOTAL_FORMS": "0", "saved_views-INITIAL_FORMS": "0",
            "aliases-0-name": "still", "_load": "1",
        },
    )  # fmt: skip
    assert added.status_code == 302, added.context["errors"]
    file = ContentFile(b"a,b\n1,x\n2,y\n", name="lakes.csv")
    draft = boss.post(added["Location"], {"file": file, "mode": "replace", "bad_rows": "refuse"})
    seen = boss.get(draft["Location"]).context["preview"]["digest"]
    sent = {"load": "1", "bad_rows": "refuse", "seen": seen, "type_0": "", "type_1": ""}
    loaded = boss.post(draft["Location"], sent)
    page = boss.get(loaded["Location"])
    assert page.context["load"].state == LoadState.READY
    assert get_result(ask(Client(), {"resource_id": "still"}))["total"] == 2

    (resource,) = Resource.objects.all()
    for name in ("change", "history", "delete"):
        address = reverse(f"admin:datastore_search_resource_{name}", args=[resource.pk])
        assert boss.get(address).status_code == 200, name
    assert "lakes" in boss.get(reverse("admin:datastore_search_resource_changelist")).text
    deleted = boss.post(address, {"post": "yes"})
    assert deleted.status_code == 302
    assert list_record_tables() == set()
    assert LogEntry.objects.filter(user__username="boss").count() == 3  # added, loaded, deleted


def test_a_deleted_user_is_a_member_of_nothing(portal: None) -> None:
    row = MemberGroup.objects.create(pk="hue", name="hue")
    users = [make_user(name) for name in ("stays", "goes")]
    Membership.objects.bulk_create(Membership(group=row, user_id=each.pk) for each in users)

    users[1].delete()

    assert [*Membership.objects.values_list("user_id", flat=True)] == [users[0].pk]


def test_what_a_killed_load_leaves_is_cleaned_up(rivers: Resource) -> None:
    load_csv(rivers, "code,text\nc,pond\n")
    load = Load.objects.create(resource=rivers, state=LoadState.COPYING)
    rivers.refresh_from_db()

    call_command("datastore_cleanup", verbosity=0, stdout=StringIO())
    clean_up_loads()

    load.refresh_from_db()
    assert load.state == LoadState.FAILED
    assert list_record_tables() == {rivers.table_version_id}


def test_the_doctor_finds_nothing(rivers: Resource) -> None:
    out = StringIO()
    call_command("datastore_doctor", "--count", stdout=out)
    assert out.getvalue() == "Nothing is damaged.\n"


# The portal's own tests ---------------------------------------------------------------------------

_MUSEUM = {
    "__init__": "",
    "settings": """
import os
from example_project.settings import INSTALLED_APPS, MIDDLEWARE, TEMPLATES
import dj_database_url
SECRET_KEY = "of a test"
INSTALLED_APPS = [*INSTALLED_APPS, "museum"]
ROOT_URLCONF = "example_project.urls"
DATABASES = {alias: dj_database_url.parse(os.environ[alias]) for alias in ("default", "data")}
DATABASE_ROUTERS = ["museum.routers." + os.environ["ROUTER"]]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
""",
    "routers": f"""{_ROUTER}
class MuseumRouter:
    def db_for_read(self, model, **hints):
        return "data" if model._meta.app_label == "museum" else None

    db_for_write = db_for_read

    def allow_migrate(self, alias, app_label, **hints):
        return (alias == "data") == (app_label == "museum")
""",
    "models": """
from django.db import models

class Exhibit(models.Model):
    name = models.CharField(max_length=50)
""",
    "tests": """
import pathlib, tempfile
from django.core.management import call_command
from django.test import TestCase, TransactionTestCase
from datastore_search.models import Resource
from museum.models import Exhibit

class Portal:
    databases = {"default", "data"}

    def test_a_file_is_loaded_and_searched(self):
        Exhibit.objects.create(name="Boat")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "rivers.csv")
            file.write_text("code,text\\na,river\\nb,lake\\n")
            call_command("load_resource", str(file), "--name", "rivers", verbosity=0)
        resource = Resource.objects.get()
        path = f"/en/api/action/datastore_search?resource_id={resource.pk}&q=river"
        self.assertEqual(self.client.get(path).json()["result"]["total"], 1)
        resource.delete()

class Rolled(Portal, TestCase): pass
class Committed(Portal, TransactionTestCase): pass
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("router", ["DataRouter", "MuseumRouter"])
def test_the_tests_of_a_portal_run_with_a_router(
    server: ThrowawayServer, tmp_path: Path, router: str
) -> None:
    (tmp_path / "museum").mkdir()
    for name, text in _MUSEUM.items():
        (tmp_path / "museum" / f"{name}.py").write_text(text)
    urls = {"default": server.url, "data": server.url.replace("/portal?", "/data?")}

    warnings = "error::DeprecationWarning:museum"
    process = subprocess.run(
        [sys.executable, "-W", warnings, "-m", "django", "test", "museum"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={
            **os.environ, **urls, "DATABASE_URL": server.url, "ROUTER": router,
            "DJANGO_SETTINGS_MODULE": "museum.settings", "PYTHONPATH": f"{tmp_path}:{_ROOT}",
        },
    )  # fmt: skip

    assert process.returncode == 0, process.stderr
    assert "Ran 2 tests" in process.stderr
