"""The migrations run both ways."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.db import connection

from datastore_search import storage
from datastore_search.models import Field, Resource
from datastore_search.search import Query

from .builders import make_resource, page_of


@pytest.mark.django_db(transaction=True)
def test_the_migrations_can_be_undone_and_done_again() -> None:
    make_resource()

    call_command("migrate", "datastore_search", "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'datastore_search%'"
            " UNION SELECT proname FROM pg_proc WHERE proname LIKE 'datastore_search%'"
        )
        left = cursor.fetchall()
    call_command("migrate", "datastore_search", verbosity=0)

    assert left == []
    assert storage.stored_loads(connection) == set()


def _triggers() -> set[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE tgname LIKE 'datastore_search%'"
        )
        return set(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
def test_versions_and_indexes_come_to_resources_that_are_there() -> None:
    resource = make_resource()
    field = resource.fields.get(name="code")
    triggers = _triggers()
    assert len(triggers) == 7

    call_command("migrate", "datastore_search", "0004", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE datastore_search_field SET label = 'Code'")
        cursor.execute("SELECT column_name FROM information_schema.columns"
                       " WHERE column_name IN ('ordered', 'indexes', 'common')")  # fmt: skip
        columns = cursor.fetchall()
    before = _triggers()
    call_command("migrate", "datastore_search", verbosity=0)

    assert (before, columns) == (set(), [])
    assert _triggers() == triggers
    modified = Resource.objects.get().modified
    assert modified == resource.modified  # nobody noticed
    field.refresh_from_db()
    assert (field.label, field.ordered) == ("Code", False)
    load = Resource.objects.get().current_load
    assert load is not None
    assert (load.indexes, load.common) == (["filters", "words"], {})
    assert json.loads(page_of(resource, Query(limit=1)).text)[0]["_id"] == 1
    Field.objects.update(label="")
    assert Resource.objects.get().modified > modified
    resource.delete()


@pytest.mark.django_db
def test_the_models_need_no_further_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
