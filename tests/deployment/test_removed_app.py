"""A portal that takes a contrib app with tables away again, before or after its tables."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.contrib.files.models import Load, RowError
from datastore_search.database.statements import execute, fetch_column
from datastore_search.database.tables import list_record_tables, mark_unserved
from datastore_search.management.commands import datastore_cleanup
from datastore_search.models import Resource, table_versions
from datastore_search.web.tokens import issue_token

from ..builders import make_resource, make_user
from ..files.builders import load_csv, make_loaded_resource
from ..processes import PROJECT, build_database_url

_APPS = ("agents", "analysis", "catalogue", "files", "openapi", "operations", "pages")
#: The apps that have tables, with these.
_TABLES = {
    "analysis": {"datastore_search_analysis_change", "datastore_search_analysis_snapshot"},
    "files": {
        "datastore_search_files_load",
        "datastore_search_files_resourcefile",
        "datastore_search_files_rowerror",
        "datastore_search_files_storeddownload",
    },
    "catalogue": {
        "datastore_search_catalogue_dataset",
        "datastore_search_catalogue_datasettext",
        "datastore_search_catalogue_membergroup",
        "datastore_search_catalogue_membership",
        "datastore_search_catalogue_use",
    },
    "pages": {"datastore_search_pages_savedview"},
}
_VISIT = """
import os, django
django.setup()
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from datastore_search.database.tables import mark_unserved
from datastore_search.management.commands import datastore_cleanup
from datastore_search.models import Resource, table_versions

call_command("check", databases=["default"])
client, headers = Client(), {"Authorization": os.environ["TOKEN"]}
first, second = Resource.objects.order_by("name")
Resource.objects.create(name="later").delete()
search = client.get(f"/en/api/action/datastore_search?resource_id={first.pk}&q=river")
assert search.json()["result"]["total"] == 1, search.content
page = client.get(f"/en/datastore/{first.pk}/")
has_pages = apps.is_installed("datastore_search.contrib.pages")
assert page.status_code == (200 if has_pages else 404), page.content
delete = client.post(
    "/en/api/action/datastore_delete", {"resource_id": str(first.pk), "force": True},
    content_type="application/json", headers=headers,
)
assert delete.status_code == 200, delete.content
client.force_login(get_user_model().objects.get())
for path in ("", f"{first.pk}/change/", f"{second.pk}/change/"):
    shown = client.get(f"/en/admin/datastore_search/resource/{path}")
    assert shown.status_code == 200, shown.content
for resource in (first, second):
    delete = client.post(
        f"/en/admin/datastore_search/resource/{resource.pk}/delete/", {"post": "yes"}
    )
    assert delete.status_code == 302, delete.content
assert not Resource.objects.exists()
call_command("datastore_cleanup")
"""


def list_tables() -> set[str]:
    return {each for each in connection.introspection.table_names() if "record_" not in each}


def list_functions() -> list[str]:
    statement = "SELECT proname FROM pg_proc WHERE proname LIKE 'datastore_search%' ORDER BY 1"
    return fetch_column(connection, statement)


@pytest.mark.parametrize("app", _TABLES)
@pytest.mark.django_db(transaction=True)
def test_a_portal_without_an_app_goes_on_with_what_was_loaded(app: str) -> None:
    resources = [
        make_loaded_resource("code,text\na,river\nb,lake\n", name=name, license="CC0-1.0")
        for name in ("one", "two")
    ]
    sync_dataset(Dataset(id="own", name="own"), resources)
    RowError.objects.create(load=Load.objects.earliest("pk"), line=1, message={})
    token = issue_token(make_user(is_superuser=True, is_staff=True))

    process = subprocess.run(
        [sys.executable, "-c", _VISIT], capture_output=True, text=True, check=False, timeout=120,
        env={
            **os.environ, "DATABASE_URL": build_database_url(), "TOKEN": token,
            "CONTRIB_APPS": " ".join(each for each in _APPS if each != app),
            "DJANGO_SETTINGS_MODULE": "tests.contrib_settings",
            "ALLOWED_HOSTS": "testserver", "PYTHONPATH": str(PROJECT),
        },
    )  # fmt: skip

    assert process.returncode == 0, process.stderr
    assert "(datastore_search.W021) The database “default” has tables of" in process.stderr
    assert (Load.objects.count(), RowError.objects.count()) == (0, 0)
    assert [*Dataset.objects.values_list("pk", flat=True)] == ["own"]
    assert list_record_tables(connection) == set()


def test_the_keys_of_contrib_apps_are_also_deleted_by_postgresql(db: None) -> None:
    found = execute(
        connection,
        "SELECT attname, confdeltype, condeferred FROM pg_constraint JOIN pg_attribute"
        " ON attrelid = conrelid AND attnum = conkey[1] WHERE contype = 'f'"
        " AND conrelid::regclass::text ~ '^datastore_search_(analysis|catalogue|files|pages)_'"
        " ORDER BY conrelid::regclass::text, attname",
    )

    assert found == [
        ("table_version_id", "c", True),
        ("owner_org_id", "a", True),  # of organizations, which the app alone deletes
        ("part_of_id", "n", True),
        ("resource_id", "c", True),
        ("dataset_id", "c", True),
        ("resource_id", "c", True),
        ("group_id", "a", True),
        ("resource_id", "c", True),
        ("table_version_id", "n", True),
        ("resource_id", "c", True),
        ("load_id", "c", True),
        ("resource_id", "c", True),
        ("resource_id", "c", True),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_table_version_is_deleted_by_postgresql_and_its_load_stays() -> None:
    resource = make_loaded_resource("a\n1\n")
    load_csv(resource, "a\n2\n")

    execute(connection, "UPDATE datastore_search_resource SET table_version_id = NULL")
    execute(connection, "DELETE FROM datastore_search_tableversion")

    assert list(Load.objects.values_list("table_version", flat=True)) == [None, None]


@pytest.mark.parametrize("app", _TABLES)
@pytest.mark.django_db(transaction=True)
def test_undoing_the_migrations_of_an_app_removes_its_tables_and_nothing_else(app: str) -> None:
    resource = make_loaded_resource("a\n1\n")
    before, functions = list_tables(), list_functions()

    call_command("migrate", f"datastore_search_{app}", "zero", verbosity=0)
    without = list_tables()
    records = list_record_tables(connection)
    left = [each for each in list_functions() if f"search_{app}" in each]
    Resource.objects.create(name="later")
    call_command("migrate", f"datastore_search_{app}", verbosity=0)

    assert (before - without, without - before, left) == (_TABLES[app], set(), [])
    assert list_functions() == functions
    assert {each.shown_name for each in Dataset.objects.all()} == {resource.name, "later"}
    Resource.objects.get(name="later").delete()
    assert list_tables() == before
    assert Resource.objects.get() == resource
    assert records == {resource.table_version_id}


@pytest.mark.django_db(transaction=True)
def test_a_deleted_table_that_was_being_read_is_dropped_without_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(datastore_cleanup, "cleanups", {})
    resource, other = make_resource(), make_resource()
    assert other.table_version_id
    mark_unserved(connection, other.table_version_id, datetime.min.replace(tzinfo=UTC))

    with monkeypatch.context() as reading:
        reading.setattr(table_versions, "drop_record_table", lambda _connection, _table_id: False)
        resource.delete()
    assert len(list_record_tables(connection)) == 2
    call_command("datastore_cleanup")

    assert list_record_tables(connection) == {other.table_version_id}
    assert capsys.readouterr().out == "Dropped tables of deleted resources: 1.\n"


@pytest.mark.parametrize("app", _TABLES)
@pytest.mark.django_db
def test_tables_of_an_app_that_is_not_installed_are_w021(
    monkeypatch: pytest.MonkeyPatch, app: str
) -> None:
    monkeypatch.setattr(apps, "is_installed", f"datastore_search.contrib.{app}".__ne__)

    messages = run_checks(databases=["default"])

    (message,) = [each for each in messages if each.id == "datastore_search.W021"]
    assert f"datastore_search.contrib.{app}, which" in message.msg
    assert f"“migrate datastore_search_{app} zero”" in str(message.hint)
