"""
Record tables on workers: what we ask of Citus, and what we read, with a stand-in for its functions.

The tests in ``tests/citus`` run with Citus itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client, override_settings

from datastore_search.contrib.files.models import Mode
from datastore_search.contrib.files.tables.orders import index_order
from datastore_search.database import placement
from datastore_search.database.statements import execute, fetch_column, fetch_value
from datastore_search.database.tables import list_record_tables, name_record_table
from datastore_search.models import Resource, TableVersion

from ..builders import ask, get_result, make_resource, search
from ..core.ckan.test_replay import (  # noqa: F401 - it is collected here, with our ``site``
    Site,
    test_ckan_answers_the_same_or_the_difference_is_documented as test_ckan_answers_the_same,
)
from ..files.builders import fails_with, load_text
from ..shared import ModuleTransaction

#: The functions note what they are asked for, and leave the tables where they are.
_STAND_IN = """
CREATE TABLE pg_dist_partition (logicalrelid regclass);
CREATE TABLE placed (name text, beside text);
CREATE FUNCTION create_distributed_table(name text, spread_by text, colocate_with text)
    RETURNS void LANGUAGE sql AS 'INSERT INTO placed VALUES (name, colocate_with)';
CREATE FUNCTION create_distributed_function(function regprocedure) RETURNS void
    LANGUAGE sql AS $$INSERT INTO placed VALUES (function::text, 'function')$$;
CREATE FUNCTION citus_add_local_table_to_metadata(name regclass) RETURNS void
    LANGUAGE sql AS 'INSERT INTO pg_dist_partition VALUES (name)';
CREATE FUNCTION citus_total_relation_size(name regclass, fails boolean) RETURNS bigint
    LANGUAGE sql AS 'SELECT 1234::bigint';
"""


@pytest.fixture(scope="module", autouse=True)
def stand_in(module_transaction: ModuleTransaction) -> Iterator[None]:
    execute(connection, _STAND_IN)
    with override_settings(DATASTORE_SEARCH_PLACEMENT="citus"):
        placement.prepare_server(using=connection.alias)
        yield


@pytest.fixture(scope="module")
def site(stand_in: None) -> Site:
    """The API of the cases, on placed tables."""
    return Site()


def is_placed(record_table: str) -> bool:
    version_table = placement.name_version_table(record_table)
    return bool(fetch_value(connection, "SELECT to_regclass(%s) IS NOT NULL", [version_table]))


def read_placed_version(resource: Resource) -> int | None:
    """Read the version beside the record table; None without one."""
    name = name_record_table(Resource.objects.get(pk=resource.pk).table_version_id or 0)
    if not is_placed(name):
        return None
    return int(fetch_value(connection, placement.compile_version(name).text))


def read_version(resource: Resource) -> int:
    return Resource.objects.values_list("version", flat=True).get(pk=resource.pk)


def test_the_workers_get_every_function_once() -> None:
    placed = fetch_column(connection, "SELECT name FROM placed WHERE beside = 'function'")

    assert "datastore_search_vector(jsonb,regconfig)" in placed
    assert len(placed) == len(set(placed)) > 10
    assert not [name for name in placed if "version_placed" in name]  # a trigger
    placement.prepare_server(using=connection.alias)
    known = fetch_column(connection, "SELECT logicalrelid::text FROM pg_dist_partition")
    assert known == ["datastore_search_scale_placed"]


def test_a_table_is_placed_with_its_version_and_its_staging_table(db: None) -> None:
    resource = Resource.objects.create(name="placed")
    load = load_text(resource, "key,text\n1,river\n2,lake\n", key=("key",))
    load_text(resource, "key,text\n2,sea\n3,pond\n", Mode.UPSERT)

    name = name_record_table(load.table_version_id or 0)
    placed = execute(connection, "SELECT * FROM placed WHERE beside <> 'function'")
    assert placed[-3:-1] == [(name, "none"), (f"{name}_version", name)]
    assert placed[-1][0].startswith("datastore_search_staging_")
    assert placed[-1][1] == name
    found = get_result(search(Client(), resource, q="sea"))
    assert [record["key"] for record in found["records"]] == [2]


def test_every_change_of_a_resource_reaches_the_version_beside_its_table(db: None) -> None:
    resource = make_resource()
    first = read_version(resource)
    assert read_placed_version(resource) == first

    Resource.objects.filter(pk=resource.pk).update(private=True)
    assert first < read_version(resource)
    assert read_placed_version(resource) == read_version(resource)

    field = resource.fields.all()[0]
    field.label = "Label"
    field.save()
    assert read_placed_version(resource) == read_version(resource)


def test_a_table_of_no_resource_has_a_version_that_nobody_expects(db: None) -> None:
    resource = make_resource()
    version = placement.compile_version(name_record_table(resource.table_version_id or 0))
    before = fetch_value(connection, version.text)

    Resource.objects.filter(pk=resource.pk).update(table_version=None)
    assert fetch_value(connection, version.text) == read_version(resource) > before
    Resource.objects.filter(pk=resource.pk).update(table_version=resource.table_version_id)
    before = fetch_value(connection, version.text)
    resource.delete()
    assert fetch_value(connection, version.text) != before


def test_a_dropped_table_leaves_nothing(db: None, django_capture_on_commit_callbacks: Any) -> None:
    resource = make_resource()
    with django_capture_on_commit_callbacks(execute=True):
        resource.delete()

    assert resource.table_version_id not in list_record_tables(connection)
    placed = fetch_column(connection, "SELECT table_id FROM datastore_search_scale_placed")
    assert resource.table_version_id not in placed
    assert not is_placed(name_record_table(resource.table_version_id or 0))


def test_records_move_there_and_back(
    db: None, settings: Any, capsys: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.DATASTORE_SEARCH_PLACEMENT = ""
    resource = Resource.objects.create(name="moved")
    rows = "".join(f"k{number},{number}\n" for number in range(3000))
    load = load_text(resource, f"key,n\n{rows}", key=("key",))
    index_order(load.table_version_id or 0, "n")
    query = {"resource_id": str(resource.pk), "q": "k17", "sort": "n desc", "filters": {"n": 17}}
    before = get_result(ask(Client(), query))

    for setting in ("citus", ""):
        settings.DATASTORE_SEARCH_PLACEMENT = setting
        served = TableVersion.objects.get(resource=resource)
        with django_capture_on_commit_callbacks(execute=True):
            call_command("datastore_move", "moved")
        assert capsys.readouterr().out.startswith("moved: 300")
        moved = TableVersion.objects.get(resource=resource)
        assert moved.is_placed == bool(setting)
        assert moved.value_counts == served.value_counts
        assert moved.field_formats == served.field_formats
        assert served.pk not in list_record_tables(connection)
        load.refresh_from_db()
        assert load.table_version_id == moved.pk
        assert get_result(ask(Client(), query)) == before
        with fails_with("load.bad_rows"):
            load_text(resource, "key,n\nk1,9\n", Mode.APPEND)
        load_text(resource, f"key,n\nnew{setting},9\n", Mode.APPEND)
        resource.fields.get(name="n", has_order_index=True)
    call_command("datastore_move")
    assert "moved: " not in capsys.readouterr().out


def test_a_resource_that_has_no_records_is_named(db: None) -> None:
    with pytest.raises(CommandError, match="No resource with records has the name nothing"):
        call_command("datastore_move", "nothing")
