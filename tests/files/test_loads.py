"""Loads: their states, what they leave behind, and what readers see meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, clean_up_loads, load_file
from datastore_search.contrib.files.jobs.runner import JobMonitor
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.publishing import publish
from datastore_search.contrib.files.tables.filling import create_indexes
from datastore_search.contrib.files.tables.locks import hold_job_lock
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource, TableVersion

from ..builders import SURVEY, get_ids, search
from .builders import (
    fails_with,
    load_csv,
    make_loaded_resource,
    make_unpublished_version,
    read_records,
)

pytestmark = pytest.mark.usefixtures("no_tables_of_others")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    return path


def test_a_load_records_what_it_did(db: None, path: Path) -> None:
    resource = Resource.objects.create(name="r")

    load = load_file(resource, path)

    load.refresh_from_db()
    resource.refresh_from_db()
    assert resource.table_version is not None
    assert (resource.table_version.loads.get(), resource.table_version.record_count) == (load, 2)
    assert resource.table_version.language == "english"
    assert resource.table_version.published_at == load.finished_at
    assert (load.state, load.record_count, load.source, load.error) == ("ready", 2, "file.csv", "")
    assert load.finished_at is not None
    assert load.finished_at >= load.created_at


def test_a_load_passes_through_its_states_and_reports_all_rows(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("a\n" + "1\n" * 5000)
    states: list[LoadState] = []
    reported: list[tuple[int, int]] = []
    enter_state = JobMonitor.enter_state

    def record_state(monitor: JobMonitor, state: LoadState) -> None:
        states.append(state)
        enter_state(monitor, state)

    monkeypatch.setattr(JobMonitor, "enter_state", record_state)

    load_file(Resource.objects.create(name="r"), path, progress=lambda *n: reported.append(n))

    assert states == [LoadState.READING, LoadState.COPYING, LoadState.INDEXING, LoadState.READY]
    assert (reported[0], reported[-1]) == ((0, 5000), (5000, 5000))
    assert reported == sorted(reported)


def test_a_failed_load_leaves_the_old_records_in_place(resource: Resource, path: Path) -> None:
    before = read_records(resource)
    tables = list_record_tables(connection)
    path.write_text("")

    with fails_with("file.empty"):
        load_file(resource, path)

    load = resource.loads.latest("pk")
    assert (load.state, load.error) == (LoadState.FAILED, "The file is empty.")
    assert load.finished_at is not None
    assert read_records(resource) == before
    assert list_record_tables(connection) == tables


def test_an_unexpected_failure_is_recorded_and_raised(
    resource: Resource, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(publish, "create_indexes", fail)

    with pytest.raises(RuntimeError, match="secret"):
        load_file(resource, path, options=LoadOptions(drop_missing_fields=True))

    load = resource.loads.latest("pk")
    assert load.state == LoadState.FAILED
    assert "secret" not in load.error
    assert list_record_tables(connection) == {resource.table_version_id}
    assert TableVersion.objects.get().pk == resource.table_version_id


def test_a_reload_replaces_records_and_drops_the_old_table(resource: Resource) -> None:
    first = resource.table_version_id

    load_csv(resource, "a\n1\n")

    assert read_records(resource) == [{"_id": 1, "a": 1}]
    assert resource.table_version_id != first
    assert first not in list_record_tables(connection)


def test_a_dump_in_json_is_loaded_again(client: Client, db: None, tmp_path: Path) -> None:
    resource = make_loaded_resource(SURVEY)
    before = read_records(resource)
    dumped = client.get(f"/en/datastore/dump/{resource.pk}?format=json")
    path = tmp_path / "dump.json"
    path.write_bytes(dumped.getvalue())

    load_file(resource, path)

    resource.refresh_from_db()
    assert read_records(resource) == [{**each, "_id_2": each["_id"]} for each in before]


def test_names_of_any_kind_are_stored_and_given_back(client: Client, db: None) -> None:
    names = [
        "name with blanks", "it's 50%, \"or so\"", "%s", "100%", "v1.2", "; DROP TABLE x; --", "{}",
        "Mức độ hoàn thành nhiệm vụ khảo sát lưu vực sông trong năm báo cáo (phần trăm)",
        "UPPER", "upper", "data", "search", "\\", "$x", "n" * 200, "名前", "a\tb"[::2],
    ]  # fmt: skip
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    resource = make_loaded_resource(
        f"{header}\n" + ",".join(f"v{i}" for i in range(len(names))) + "\n"
    )

    (record,) = read_records(resource)

    assert list(record) == ["_id", *names]
    assert list(record.values()) == [1, *(f"v{i}" for i in range(len(names)))]
    for index, name in enumerate(names):
        key = f"${name}" if name.startswith("$") else name
        response = search(client, resource, filters={key: f"v{index}"})
        assert get_ids(response) == [1]


def test_the_language_of_the_search_takes_effect_with_the_next_load(
    client: Client, resource: Resource
) -> None:
    def search_ids() -> list[int]:
        return get_ids(search(client, resource, q="running"))

    resource.language = "simple"
    resource.save()
    csv = "a\nruns\nrunning\n"
    assert search_ids() == [5]
    load_csv(resource, csv)
    assert search_ids() == [2]
    resource.language = "english"
    resource.save()
    load_csv(resource, csv)
    assert sorted(search_ids()) == [1, 2]


# What is left behind ------------------------------------------------------------------------------


@pytest.fixture
def resource_loaded(transactional_db: None) -> Any:
    yield make_loaded_resource(SURVEY)
    Resource.objects.all().delete()


def test_a_load_at_work_is_left_alone(transactional_db: None, resource_loaded: Resource) -> None:
    load = Load.objects.create(resource=resource_loaded, source="x", state=LoadState.COPYING)
    with hold_job_lock(connection, load.pk):
        version = make_unpublished_version(load)

        assert clean_up_loads() == 0

        load.refresh_from_db()
        assert load.state == LoadState.COPYING
        assert version.pk in list_record_tables(connection)
    clean_up_loads()


def test_a_resource_deleted_during_its_load_leaves_nothing(
    transactional_db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = Resource.objects.create(name="gone")
    index = create_indexes

    def delete_meanwhile(*args: Any, **options: Any) -> None:
        index(*args, **options)
        Resource.objects.all().delete()

    monkeypatch.setattr(publish, "create_indexes", delete_meanwhile)

    with fails_with("load.resource_deleted"):
        load_file(resource, path)

    assert list_record_tables(connection) == set()
