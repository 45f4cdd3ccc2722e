"""Profiles that a write has outdated are made anew by the worker, as a load makes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from datastore_search.contrib.files.jobs import queue, tasks
from datastore_search.contrib.files.jobs.queue import clean_up
from datastore_search.contrib.files.publishing import profiles, renewal
from datastore_search.models import TableVersion, read_profiles

from ...builders import make_writer_token
from ...core.writing.tables import Table
from ...processes import DATABASE
from ..builders import make_loaded_table
from ..files import load_text

CSV = "a,b\n1,x\n1,y\n3,y\n"


@pytest.fixture
def table(db: None) -> Table:
    return make_loaded_table(CSV)


def get_version(table: Table) -> TableVersion:
    return TableVersion.objects.get(resource=table.resource)


def read_fields(table: Table) -> Any:
    found = read_profiles(get_version(table).pk, using="default")
    return found and found.fields


def let_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "REST", timedelta(0))


#: Values of each type as a file has them: repeated ones, the ends of what the type holds.
TYPED: dict[str, list[Any]] = {
    "text": ["a", "a", '""', "ö\t\\", "0"],
    "int4": [1, 1, -5, 2147483647],
    "int8": [9007199254740993, 9007199254740993, -1],
    "numeric": ["1.50", "0.12345678901234567890123", "1.50", "NaN"],
    "float8": [1.5, 1.5, "Infinity", 1e300, -2.5e-7],
    "bool": ["true", "true", "false"],
    "date": ["2024-02-29", "2024-02-29", "0001-01-01"],
    "timestamp": ["2024-02-29T10:00:00", "2024-02-29T10:00:00", "2025-01-01T00:00:00.123456"],
    "timestamptz": ["2024-02-29T10:00:00+02:00", "2024-02-29T08:00:00Z", "2025-01-01T00:00:00Z"],
    "time": ["10:00:00", "10:00:00", "23:59:59.5"],
    "json": ['"{""a"":1}"', '"{""a"":1}"', "[1]"],
    "_text": ['"[""a""]"', '"[""a""]"', "[]"],
}


@pytest.mark.parametrize("kind", TYPED)
def test_renewed_profiles_are_those_of_a_load(db: None, kind: str) -> None:
    rows = "".join(f"{value},x\n" for value in [*TYPED[kind], ""])
    table = make_loaded_table(f"a,b\n{rows}", types={"a": kind})
    made = read_fields(table)
    TableVersion.objects.update(profiles={})

    assert renewal.renew_profiles(get_version(table))

    assert read_fields(table) == made


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_infinite_moments_are_profiled(db: None, kind: str) -> None:
    table = Table(make_writer_token())
    values = ["infinity", "-infinity", "2024-02-29"]
    records: list[Any] = [{"a": value} for value in values]
    table.run("create", fields=[{"id": "a", "type": kind}], records=records)

    assert renewal.renew_profiles(get_version(table))

    assert read_fields(table)["a"]["count"] == 3


def test_a_write_queues_one_renewal_for_when_the_records_rest(
    transactional_db: None, table: Table, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django_tasks_db.models import DBTaskResult  # noqa: PLC0415 - once the app is installed

    settings.TASKS = DATABASE
    for number in range(3):
        table.upsert({"a": number, "b": "z"}, method="insert", force=True)

    (task,) = DBTaskResult.objects.all()
    assert task.task_path == "datastore_search.contrib.files.jobs.tasks.renew_profiles"
    assert timedelta(minutes=9) < task.run_after - timezone.now() <= queue.REST
    assert read_fields(table) is None

    assert tasks.renew_profiles.func(get_version(table).pk) == "waiting"  # written just now
    assert DBTaskResult.objects.count() == 2
    assert read_fields(table) is None

    version = table.resource.version
    let_rest(monkeypatch)
    assert tasks.renew_profiles.func(get_version(table).pk) == "renewed"
    assert tasks.renew_profiles.func(get_version(table).pk) == "gone"
    assert read_fields(table)["b"]["top"] == [
        {"value": "z", "count": 3},
        {"value": "y", "count": 2},
    ]
    assert table.resource.version > version


def test_a_merge_queues_a_renewal(transactional_db: None, table: Table, settings: Any) -> None:
    from django_tasks_db.models import DBTaskResult  # noqa: PLC0415 - once the app is installed

    settings.TASKS = DATABASE

    load_text(table.resource, "a,b\n4,z\n", mode="append")

    assert DBTaskResult.objects.count() == 1


def test_a_write_renews_nothing_itself(transactional_db: None, table: Table) -> None:
    table.upsert({"a": 4, "b": "z"}, method="insert", force=True)  # its backend cannot wait

    assert read_fields(table) is None


def test_a_clean_up_renews_what_rests(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.run("records_delete", filters={"a": 1}, force=True)
    assert not any("profiles" in line for line in clean_up())

    let_rest(monkeypatch)
    assert "Resources whose profiles are made anew: 1." in list(clean_up())
    assert read_fields(table)["b"]["count"] == 1
    assert not any("profiles" in line for line in clean_up())
    TableVersion.objects.update(fingerprint="other")  # profiles that an older version has left
    assert read_fields(table) is None
    assert "Resources whose profiles are made anew: 1." in list(clean_up())
    assert read_fields(table)["b"]["count"] == 1


def test_records_that_change_while_they_are_profiled_keep_no_profiles(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.run("records_delete", filters={"a": 1}, force=True)
    build = profiles.build_profiles

    def write_meanwhile(*arguments: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE datastore_search_resource SET version = version")
        return build(*arguments)

    monkeypatch.setattr(f"{renewal.__name__}.build_profiles", write_meanwhile)

    assert not renewal.renew_profiles(get_version(table))
    assert read_fields(table) is None


def test_a_table_that_is_replaced_has_nothing_to_renew(table: Table) -> None:
    version = get_version(table)
    load_text(table.resource, "a,b\n1,x\n")

    assert tasks.renew_profiles.func(version.pk) == "gone"
