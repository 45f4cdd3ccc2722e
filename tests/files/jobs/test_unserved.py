"""Tables that have lost their resource: one that was served is not dropped at once."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import Client

from datastore_search.contrib.files.jobs import clean_up_loads, cleanup
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.tables.filling import list_staging_tables, stage_rows
from datastore_search.database.tables import list_record_tables, mark_unserved, read_unserved_since
from datastore_search.models import Resource, TableVersion

from ...builders import SURVEY, get_ids, search
from ..builders import load_csv, make_loaded_resource


def unserve_table(resource: Resource) -> int:
    """Remove the link to a resource's table, as a program of the portal might."""
    number = resource.table_version_id
    Resource.objects.filter(pk=resource.pk).update(table_version=None)
    assert number is not None
    return number


def test_a_table_that_was_served_is_kept_and_can_be_given_back(
    resource: Resource, client: Client
) -> None:
    number = unserve_table(resource)

    out = StringIO()
    call_command("datastore_cleanup", stdout=out)
    Resource.objects.update(table_version=number)

    expected = f"Dropped tables: 0.\nTable version {number} is kept until 20"
    assert out.getvalue().startswith(expected)
    assert len(get_ids(search(client, resource))) == 6
    clean_up_loads()
    assert read_unserved_since(connection, [number]) == {}  # and counts as served again
    unserve_table(resource)
    load_csv(resource, SURVEY)  # after which it is dropped
    assert list_record_tables(connection) == {resource.table_version_id} != {number}


def test_it_is_kept_from_when_it_was_found_without_a_resource(
    resource: Resource, settings: Any
) -> None:
    TableVersion.objects.update(published_at="2020-01-01T00:00:00Z")  # however long it was served
    number = unserve_table(resource)
    clean_up_loads()
    (since,) = read_unserved_since(connection, [number]).values()

    mark_unserved(connection, number, since - timedelta(days=6))
    assert clean_up_loads() == 0
    mark_unserved(connection, number, since - timedelta(days=8))
    assert clean_up_loads() == 1


def test_a_table_of_which_nothing_else_is_known_is_kept_too(resource: Resource) -> None:
    number = resource.table_version_id
    with connection.cursor() as cursor:  # as where only record tables have been restored so far
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            "TRUNCATE datastore_search_resource, datastore_search_catalogue_dataset,"
            " datastore_search_files_load, datastore_search_field, datastore_search_alias,"
            " datastore_search_files_rowerror, datastore_search_files_storeddownload,"
            " datastore_search_analysis_snapshot, datastore_search_tableversion,"
            " datastore_search_files_resourcefile, datastore_search_pages_savedview,"
            " datastore_search_catalogue_datasettext"
        )

    assert clean_up_loads() == 0
    assert list_record_tables(connection) == {number}


@pytest.mark.django_db(transaction=True)
def test_a_deleted_table_that_is_being_read_goes_with_the_next_clean_up() -> None:
    resource = make_loaded_resource()
    number = resource.table_version_id
    reading, finished = threading.Event(), threading.Event()

    def read() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SELECT FROM datastore_search_record_{number}")
                reading.set()
                finished.wait(30)
        finally:
            connections.close_all()

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(30)
    resource.delete()
    assert list_record_tables(connection) == {number}
    finished.set()
    reader.join(60)
    assert not reader.is_alive()

    assert clean_up_loads() == 1
    assert list_record_tables(connection) == set()


def test_deleting_all_loads_loses_no_records(resource: Resource, client: Client) -> None:
    Load.objects.all().delete()

    assert clean_up_loads() == 0
    resource.refresh_from_db()
    assert resource.table_version is not None
    assert not resource.table_version.loads.exists()
    assert len(get_ids(search(client, resource))) == 6


def test_the_table_of_a_deleted_table_version_is_kept_for_a_while(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = resource.table_version_id
    TableVersion.objects.all().delete()

    assert Resource.objects.get().table_version is None
    assert clean_up_loads() == 0
    assert list_record_tables(connection) == {number}
    monkeypatch.setattr(cleanup, "RETENTION", timedelta(0))
    assert clean_up_loads() == 1


def test_a_staging_table_of_an_interrupted_load_is_dropped(resource: Resource) -> None:
    load = Load.objects.create(resource=resource, source="x", state=LoadState.COPYING)
    stage_rows(connection, load.pk, [[(2, '{"a":1}')]])
    assert list_staging_tables(connection) == {load.pk}

    assert clean_up_loads() == 1
    assert list_staging_tables(connection) == set()
