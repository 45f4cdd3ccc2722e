"""The migrations run both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from datastore_search.database.statements import execute
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Field, Resource

from ..builders import ask, fill_table, get_ids, make_resource


@pytest.mark.django_db(transaction=True)
def test_the_migrations_can_be_undone_and_done_again() -> None:
    make_resource()

    call_command("migrate", "datastore_search", "zero", verbosity=0)
    left = execute(
        connection,
        "SELECT relname FROM pg_class WHERE relname LIKE 'datastore_search%'"
        " UNION SELECT proname FROM pg_proc WHERE proname LIKE 'datastore_search%'",
    )
    call_command("migrate", verbosity=0)  # of the contrib apps, too

    assert left == []
    assert list_record_tables(connection) == set()


@pytest.mark.django_db(transaction=True)
def test_the_triggers_come_and_go_with_the_migrations() -> None:
    resource = make_resource()
    triggers = _list_triggers()

    call_command("migrate", "datastore_search", "0001", verbosity=0)
    without = _list_triggers()
    call_command("migrate", verbosity=0)  # of the contrib apps, too

    assert (without, len(triggers)) == (set(), 9)
    assert _list_triggers() == triggers
    modified = Resource.objects.get().modified_at
    assert modified == resource.modified_at
    Field.objects.update(label="Code")
    assert Resource.objects.get().modified_at > modified


def _list_triggers() -> set[tuple[str, str]]:
    rows = execute(
        connection,
        "SELECT relname, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE tgname LIKE 'datastore_search%' AND tgname <> 'datastore_search_version_placed'"
        " AND tgname || relname !~ 'catalogue|pages'",
    )
    return {(table, trigger) for table, trigger in rows}


#: The last migrations before they were frozen.
FROZEN = {"datastore_search": "0004", "datastore_search_files": "0002"}


@pytest.mark.needs("files", "operations")
@pytest.mark.django_db(transaction=True)
def test_a_database_of_the_frozen_migrations_is_brought_to_this_version(client: Client) -> None:
    from datastore_search.contrib.files.models import Load  # noqa: PLC0415 - may be missing
    from datastore_search.contrib.operations.schema import diagnose_schema  # noqa: PLC0415 - so

    resource = make_resource("code,title\n1,bridge\n")
    for label, name in FROZEN.items():
        call_command("migrate", label, name, verbosity=0)
    execute(
        connection,
        f"INSERT INTO datastore_search_record_{resource.table_version_id} (data)"
        """ VALUES ('{"code": 2, "title": "Cœur"}');"""
        "UPDATE datastore_search_tableversion SET record_count = 2;"
        "INSERT INTO datastore_search_alias (name, resource_id)"
        " SELECT 'old', id FROM datastore_search_resource;"
        "INSERT INTO datastore_search_files_load (resource_id, state, mode, source, file, url,"
        " checksum, options, record_count, rows_written, progress, notices, row_error_count,"
        " created_at) SELECT id, 'ready', 'replace', 'old.csv', '', '', '', '{}', 1, 1, 1,"
        " '[]', 0, now() FROM datastore_search_resource",
    )

    call_command("migrate", verbosity=0)

    load = Load.objects.get(source="old.csv")
    assert (load.state, load.user_id, load.record_count) == ("ready", None, 1)
    for q, expected in (("bridge", [1]), ("coeur", [2]), ("", [1, 2])):
        assert get_ids(ask(client, {"resource_id": "old", "q": q, "sort": "_id"})) == expected
    assert list(diagnose_schema(connection)) == []
    fill_table(resource, "code,title\n3,new\n")
    assert len(get_ids(ask(client, {"resource_id": "old", "q": "new"}))) == 1


@pytest.mark.django_db
def test_records_are_copied_without_a_search_path_as_in_a_restore(resource: Resource) -> None:
    table = f"datastore_search_record_{resource.table_version_id}"
    copy = (
        f"INSERT INTO public.{table} (_id, data) SELECT 99, data FROM public.{table} WHERE _id = 2"
    )
    execute(connection, "SET LOCAL search_path = ''")
    copied = execute(connection, f"{copy} RETURNING search")
    execute(connection, "SET LOCAL search_path = public")
    assert copied == execute(connection, f"SELECT search FROM {table} WHERE _id = 2")


@pytest.mark.django_db
def test_fields_and_aliases_change_the_version_without_a_search_path(resource: Resource) -> None:
    before = Resource.objects.described(resource.pk).version
    execute(connection, "SET LOCAL search_path = ''")
    execute(connection, "UPDATE public.datastore_search_field SET label = 'x'")
    execute(connection, "SET LOCAL search_path = public")

    assert Resource.objects.described(resource.pk).version != before


@pytest.mark.django_db
def test_the_models_need_no_further_migration() -> None:
    call_command("makemigrations", "datastore_search", "--check", "--dry-run", verbosity=0)


@pytest.fixture
def _old_database(transactional_db: None) -> Iterator[None]:
    """A table of the versions before 1.0."""
    execute(connection, "CREATE TABLE datastore_search_load ()")
    yield
    execute(connection, "DROP TABLE datastore_search_load")


@pytest.mark.usefixtures("_old_database")
@pytest.mark.parametrize("arguments", [(), ("datastore_search", "zero")])
def test_a_database_of_before_is_refused_and_left_as_it_is(arguments: tuple[str, ...]) -> None:
    resource = make_resource()

    with pytest.raises(CommandError, match="which cannot be upgraded"):
        call_command("migrate", *arguments, verbosity=0)

    assert Resource.objects.get() == resource


@pytest.mark.usefixtures("_old_database")
def test_a_database_of_before_is_migrated_where_a_router_has_the_app_elsewhere(
    settings: Any,
) -> None:
    settings.DATABASE_ROUTERS = [Elsewhere()]

    call_command("migrate", verbosity=0)


class Elsewhere:
    """A router that has the app in another database."""

    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool:
        return not app_label.startswith("datastore_search")
