"""Tables that have lost their resource: none goes at once that was served."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import Client

from datastore_search import storage
from datastore_search.loading.jobs import clean_up_loads
from datastore_search.models import Load, Resource

from ...builders import SURVEY, ask, ids_of, load_csv, make_resource


def lose(resource: Resource) -> int:
    """Take a resource's table away as a program of the portal might."""
    number = resource.current_load_id
    Resource.objects.filter(pk=resource.pk).update(current_load=None)
    assert number is not None
    return number


def test_a_table_that_was_served_is_kept_and_can_be_given_back(
    resource: Resource, client: Client
) -> None:
    number = lose(resource)

    out = StringIO()
    call_command("datastore_cleanup", stdout=out)
    Resource.objects.update(current_load=number)

    assert out.getvalue().startswith("0 tables dropped.\nThe table of load ")
    assert f"The table of load {number} is kept until 20" in out.getvalue()
    assert len(ids_of(ask(client, {"resource_id": str(resource.pk)}))) == 6
    clean_up_loads()
    assert storage.unserved_since(connection, [number]) == {}  # and counts as served again


def test_it_is_dropped_in_the_end(resource: Resource, settings: Any) -> None:
    number = lose(resource)
    assert clean_up_loads() == 0
    assert clean_up_loads() == 0

    settings.DATASTORE_SEARCH_KEEP_UNSERVED = timedelta(0)

    assert clean_up_loads() == 1
    assert number not in storage.stored_loads(connection)


def test_it_is_kept_from_when_it_was_found_without_a_resource(
    resource: Resource, settings: Any
) -> None:
    Load.objects.update(finished_at="2020-01-01T00:00:00Z")  # however long it was served
    number = lose(resource)
    clean_up_loads()
    (since,) = storage.unserved_since(connection, [number]).values()

    storage.note_unserved(connection, number, since - timedelta(hours=23))
    assert clean_up_loads() == 0
    storage.note_unserved(connection, number, since - timedelta(hours=25))
    assert clean_up_loads() == 1


def test_the_next_load_of_the_resource_says_that_nobody_misses_it(resource: Resource) -> None:
    number = lose(resource)

    load_csv(resource, SURVEY)

    assert storage.stored_loads(connection) == {resource.current_load_id} != {number}


def test_what_a_load_replaces_goes_at_once(resource: Resource) -> None:
    before = resource.current_load_id

    load_csv(resource, SURVEY + "007,,,,,\n")

    assert resource.current_load_id != before
    assert storage.stored_loads(connection) == {resource.current_load_id}


def test_a_table_of_which_nothing_else_is_known_is_kept_too(resource: Resource) -> None:
    number = resource.current_load_id
    with connection.cursor() as cursor:  # as where only record tables have been restored so far
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            "TRUNCATE datastore_search_resource, datastore_search_load,"
            " datastore_search_field, datastore_search_alias, datastore_search_rowerror"
        )

    assert clean_up_loads() == 0
    assert storage.stored_loads(connection) == {number}


@pytest.mark.django_db(transaction=True)
def test_a_deleted_table_that_is_being_read_goes_with_the_next_clean_up() -> None:
    resource = make_resource()
    number = resource.current_load_id
    reading, done = threading.Event(), threading.Event()

    def read() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SELECT FROM datastore_search_record_{number}")
                reading.set()
                done.wait(30)
        finally:
            connections.close_all()

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(30)
    resource.delete()
    assert storage.stored_loads(connection) == {number}
    done.set()
    reader.join()

    assert clean_up_loads() == 1
    assert storage.stored_loads(connection) == set()
