"""The migrations run both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction

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


#: The function of the vector before migration 0008, whose names a restore does not find.
_BEFORE_0008 = """
CREATE OR REPLACE FUNCTION datastore_search_folded(text text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS 'SELECT text';
CREATE OR REPLACE FUNCTION datastore_search_vector(data jsonb, language regconfig)
RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    RETURN coalesce(to_tsvector(language, datastore_search_folded(
        datastore_search_words(left(datastore_search_values(data), 100000)))), '');
END $$
"""


@pytest.mark.django_db(transaction=True)
def test_tables_that_are_there_can_be_restored_after_the_migration() -> None:
    resource = make_resource()  # by today's models, of which the tables of records know nothing
    call_command("migrate", "datastore_search", "0007", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(_BEFORE_0008)
    table = f"datastore_search_record_{resource.current_load_id}"

    def copy_as_a_restore_does() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL search_path = ''")
            cursor.execute(f"INSERT INTO public.{table} (_id, data) SELECT 99, data"
                           f" FROM public.{table} WHERE _id = 2 RETURNING search")  # fmt: skip
            found.append(cursor.fetchone())
            transaction.set_rollback(True)

    found: list[Any] = []
    with pytest.raises(ProgrammingError, match=r"datastore_search_\w+\(\w+\) does not exist"):
        copy_as_a_restore_does()
    call_command("migrate", "datastore_search", verbosity=0)
    copy_as_a_restore_does()
    with connection.cursor() as cursor:
        cursor.execute("SELECT datastore_search_vector(data, 'english') FROM " + table
                       + " WHERE _id = 2")  # fmt: skip
        assert found == [cursor.fetchone()]
        cursor.execute("SELECT to_regprocedure('datastore_search_folded(text)')")
        assert cursor.fetchone() == (None,)

    call_command("migrate", "datastore_search", "0007", verbosity=0)  # and back
    copy_as_a_restore_does()
    call_command("migrate", "datastore_search", verbosity=0)
    resource.delete()


@pytest.mark.django_db
def test_fields_and_aliases_change_the_version_without_a_search_path(resource: Resource) -> None:
    before = Resource.objects.described(resource.pk).version
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL search_path = ''")
        cursor.execute("UPDATE public.datastore_search_field SET label = 'x'")
        cursor.execute("SET LOCAL search_path = public")

    assert Resource.objects.described(resource.pk).version != before


@pytest.mark.django_db
def test_the_models_need_no_further_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
