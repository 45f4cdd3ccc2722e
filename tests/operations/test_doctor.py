"""``datastore_doctor``: each kind of damage is made, found, and mended where that loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, connection
from django.db.migrations import RunSQL
from django.db.migrations.loader import MigrationLoader
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.tables.orders import index_order
from datastore_search.contrib.operations import doctor
from datastore_search.contrib.operations.schema import diagnose_schema, restore_functions
from datastore_search.database.indexes import (
    Indexes,
    add_indexes,
    name_key_index,
    name_substring_index,
    set_key,
)
from datastore_search.database.tables import drop_indexes
from datastore_search.models import Resource, TableVersion
from datastore_search.writing.records import get_table_id

from ..builders import get_ids, get_record_table, make_resource, run_command, search
from ..files.builders import load_csv, make_loaded_resource, make_unpublished_version
from ..processes import build_database_url


def examine(*arguments: str) -> list[dict[str, Any]]:
    """Run the command, and return what it finds; it fails when anything damaged is left."""
    out, failure = StringIO(), None
    try:
        call_command("datastore_doctor", "--json", *arguments, stdout=out)
    except CommandError as error:
        failure = error
    found: list[dict[str, Any]] = json.loads(out.getvalue())
    assert bool(failure) is any(row["is_damage"] and not row["is_fixed"] for row in found)
    return found


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def list_codes(found: list[dict[str, Any]]) -> list[str]:
    return [row["code"] for row in found]


def check_is_mended(code: str, name: str) -> None:
    """Damage is found, mended, and not found again."""
    (found,) = examine()
    assert (found["code"], found["name"], found["is_fixed"]) == (code, name, False)
    (mended,) = examine("--fix")
    assert (mended["code"], mended["is_fixed"]) == (code, True)
    assert examine() == []


def test_a_portal_that_is_whole_has_no_finding(resource: Resource) -> None:
    assert run_command("datastore_doctor", "--count")[0] == "Nothing is damaged.\n"
    assert examine("--count") == []


def test_a_function_of_another_version_is_replaced(resource: Resource) -> None:
    execute(
        "CREATE OR REPLACE FUNCTION datastore_search_split(text text) RETURNS text"
        " LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT RETURN 'other'"
    )

    # Search vectors are not compared with those of a damaged function.
    check_is_mended("function.outdated", "datastore_search_split(text)")


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE datastore_search_resource DISABLE TRIGGER datastore_search_version",
        "DROP TRIGGER datastore_search_version ON datastore_search_resource",
        (
            "CREATE OR REPLACE TRIGGER datastore_search_version BEFORE UPDATE"
            " ON datastore_search_resource FOR EACH ROW"
            " EXECUTE FUNCTION datastore_search_set_version()"
        ),
    ],
    ids=["disabled", "missing", "of-another-definition"],
)
def test_a_trigger_is_restored(resource: Resource, statement: str) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # or the test's own changes hold the table
    execute(statement)

    check_is_mended("trigger.disabled", "datastore_search_resource.datastore_search_version")


@pytest.mark.django_db(transaction=True)
def test_changes_without_a_version_are_answered_once_triggers_are_restored(client: Client) -> None:
    resource = make_resource("code\n1\n2\n")
    assert len(get_ids(search(client, resource))) == 2
    execute("ALTER TABLE datastore_search_resource DISABLE TRIGGER USER")
    load_csv(resource, "code\n1\n")
    modified_at = Resource.objects.get().modified_at

    examine("--fix")

    assert len(get_ids(search(client, resource))) == 1
    assert Resource.objects.get().modified_at == modified_at


def test_all_triggers_are_restored_at_once(resource: Resource) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE datastore_search_resource DISABLE TRIGGER USER")
    execute("ALTER TABLE datastore_search_field DISABLE TRIGGER USER")

    with CaptureQueriesContext(connection) as queries:
        found = examine("--fix")

    assert len(found) > 1
    assert {(each["code"], each["is_fixed"]) for each in found} == {("trigger.disabled", True)}
    renewed = "UPDATE datastore_search_resource SET version"
    assert sum(each["sql"].startswith(renewed) for each in queries) == 1


@pytest.mark.parametrize(
    "command",
    ["datastore_doctor", "datastore_cleanup", "datastore_move", "create_api_token reader"],
)
def test_a_command_says_that_the_database_is_read_only(resource: Resource, command: str) -> None:
    get_user_model().objects.create_user("reader")
    TableVersion.objects.update(is_placed=True)  # which would be moved
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("SET LOCAL transaction_read_only = on")

    with pytest.raises(CommandError) as refusal:
        run_command(*command.split())

    assert str(refusal.value) == "The database is read-only at the moment. Nothing was changed."


MISSING = "missing, or not that of this version."


@pytest.mark.parametrize(
    ("statement", "name", "message"),
    [
        (
            "ALTER TABLE {}files_load ADD http_validators jsonb NOT NULL",
            "files_load.http_validators",
            "The column is jsonb NOT NULL, not there.",
        ),
        (
            "ALTER TABLE {}field DROP COLUMN extra_info",
            "field.extra_info",
            "The column is missing, not jsonb NOT NULL.",
        ),
        (
            "ALTER TABLE {}field ALTER label TYPE varchar(100)",
            "field.label",
            "The column is character varying(100) NOT NULL, not character varying(500) NOT NULL.",
        ),
        (
            "ALTER TABLE {}field ALTER translations DROP DEFAULT",
            "field.translations",
            "The column is jsonb NOT NULL, not jsonb NOT NULL DEFAULT '{}'::jsonb.",
        ),
        (
            "ALTER TABLE {}field ALTER label DROP NOT NULL",
            "field.label",
            "The column is character varying(500), not character varying(500) NOT NULL.",
        ),
        (
            "ALTER TABLE {}field ADD UNIQUE (label, id)",
            "field.UNIQUE (label, id)",
            "The constraint is not of this version.",
        ),
        (
            "ALTER TABLE {}alias DROP CONSTRAINT {}alias_name_key",
            "alias.UNIQUE (name)",
            f"The constraint is {MISSING}",
        ),
        ("DROP TABLE {}files_rowerror", "files_rowerror", "The table is missing."),
        ("DROP TABLE {}scale_placed", "scale_placed", "The table is missing."),
        (
            "DROP INDEX {}catalogue_tags",
            (
                "catalogue_dataset.CREATE INDEX ON {}catalogue_dataset USING gin"
                " ({}catalogue_fold(tags))"
            ),
            f"The index is {MISSING}",
        ),
    ],
)
def test_tables_of_another_version_are_named_and_left_to_a_person(
    resource: Resource, statement: str, name: str, message: str
) -> None:
    prefix = "datastore_search_"
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute(statement.replace("{}", prefix))

    found = [each for each in diagnose_schema(connection) if not each.name.endswith("_like")]

    named = prefix + name.replace("{}", prefix), message
    assert named in [(each.name, each.message) for each in found]
    assert {(each.code, each.is_damage, each.mend) for each in found} == {
        ("schema.different", True, None)
    }


def test_a_column_that_no_write_notices_is_no_damage(resource: Resource) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE datastore_search_field ADD later text, ADD own int NOT NULL DEFAULT 1")

    found = examine()

    assert [(each["name"], each["is_damage"]) for each in found] == [
        ("datastore_search_field.later", False),
        ("datastore_search_field.own", False),
    ]


def test_indexes_triggers_and_functions_of_a_portal_are_its_own(resource: Resource) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute(
        "CREATE INDEX ON datastore_search_field (label);"
        "CREATE FUNCTION portal() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        "CREATE TRIGGER portal AFTER INSERT ON datastore_search_field"
        " FOR EACH ROW EXECUTE FUNCTION portal()"
    )

    assert examine() == []


def test_record_tables_of_another_portal_are_not_those_of_this_one(resource: Resource) -> None:
    execute("CREATE SCHEMA other")
    execute("CREATE TABLE other.datastore_search_record_123456 (_id bigint)")
    execute("SET LOCAL search_path = public, other")

    assert examine() == []


def test_functions_are_restored_though_others_call_them(db: None) -> None:
    for name in ("split(text)", "letters(text)", "values(jsonb)"):
        execute(f"DROP FUNCTION datastore_search_{name} CASCADE")

    assert "function.outdated" in list_codes(examine("--fix"))
    assert list(diagnose_schema(connection)) == []


def test_the_last_definition_of_the_migrations_is_expected(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "-- It's new; see above.\n"
        "CREATE OR REPLACE FUNCTION datastore_search_phrase(run text)\n RETURNS text"
        " LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$SELECT 'new; 1'$$"
    )
    node = MigrationLoader(None).disk_migrations["datastore_search", "0004_placement"]
    operations = [*node.operations, RunSQL(text)]
    monkeypatch.setattr(type(node), "operations", operations)

    check_is_mended("function.outdated", "datastore_search_phrase(text)")
    execute("SELECT datastore_search_phrase('')")


@pytest.mark.parametrize(
    "change", ["ADD COLUMN own text", "ALTER COLUMN search DROP EXPRESSION", "DROP COLUMN search"]
)
def test_columns_of_another_kind_are_left_to_a_person(resource: Resource, change: str) -> None:
    execute(f"ALTER TABLE {get_record_table(resource)} {change}")

    found = examine("--fix")[0]

    assert (found["code"], found["name"]) == ("table.columns", str(resource.pk))
    assert not found["can_be_fixed"]


def make_outdated(resource: Resource, condition: str = "_id = 1") -> None:
    """Give some records the words of functions that did not fold letters."""
    execute(
        "CREATE OR REPLACE FUNCTION datastore_search_vector(data jsonb, language regconfig)"
        " RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT"
        " RETURN to_tsvector('simple', 'Cœur');"
        f"UPDATE {get_record_table(resource)} SET data = data WHERE {condition}"
    )
    restore_functions(connection)


@pytest.mark.parametrize("condition", ["_id = 1", "_id = 6", "true"])
def test_tables_with_the_words_of_an_earlier_version_are_counted(
    resource: Resource, condition: str
) -> None:
    make_outdated(resource, condition)

    (found,) = examine("--fix", "--count")

    assert found == {
        "code": "vectors.outdated",
        "name": str(resource.pk),
        "message": (
            "Tables with the words of an earlier version: 1. Some searches miss their records."
            " Load the files again (load_resource --force)."
        ),
        "is_damage": False,
        "can_be_fixed": False,
        "is_fixed": False,
    }
    assert run_command("datastore_doctor")[0].endswith("Nothing is damaged.\n")

    execute(f"UPDATE {get_record_table(resource)} SET data = data")
    assert examine() == []


def test_five_outdated_tables_are_named_the_oldest_first(db: None) -> None:
    resources = [make_resource() for _ in range(6)]
    for resource in resources:
        make_outdated(resource)

    (found,) = examine()

    assert found["name"] == ", ".join(str(resource.pk) for resource in resources[:5])
    assert found["message"].startswith("Tables with the words of an earlier version: 6.")


@pytest.mark.parametrize(("number", "is_found"), [(20, True), (21, False), (41, True)])
def test_twenty_records_at_each_end_are_compared(db: None, number: int, is_found: bool) -> None:
    rows = "".join(f"{each}\n" for each in range(60))
    make_outdated(make_resource(f"code\n{rows}"), f"_id = {number}")

    assert list_codes(examine()) == ["vectors.outdated"] * is_found


def test_only_so_many_tables_are_sampled(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_MAX_SAMPLED_TABLES", 1)
    make_resource()
    make_outdated(make_resource())

    assert examine() == []


@pytest.mark.django_db(transaction=True)
def test_a_table_that_is_locked_or_replaced_is_not_counted() -> None:
    resource = make_resource()
    make_outdated(resource)
    table = get_record_table(resource)

    with psycopg.connect(build_database_url()) as other:
        other.execute(f"LOCK TABLE {table}".encode())
        assert list(doctor._find_outdated_vectors(connection, Resource.objects.all())) == []
    assert len(list(doctor._find_outdated_vectors(connection, Resource.objects.all()))) == 1
    execute(f"DROP TABLE {table}")
    assert list(doctor._find_outdated_vectors(connection, Resource.objects.all())) == []


@pytest.mark.django_db(transaction=True)
def test_a_deleted_field_is_left_to_a_person(indexed: Resource) -> None:
    indexed.fields.filter(name="level").delete()

    found = examine("--fix")

    assert list_codes(found) == ["field.missing", "index.superfluous"]
    assert [row["can_be_fixed"] for row in found] == [False, True]
    assert found[0]["message"] == "The records have values of “level”, which is not a field."
    assert list_codes(examine()) == ["field.missing"]


@pytest.mark.django_db(transaction=True)
def test_an_invalid_index_is_rebuilt(no_small_tables: None) -> None:
    index = make_invalid_index(make_resource())

    check_is_mended("index.invalid", index)


def make_invalid_index(resource: Resource) -> str:
    """Create an index again, which gives up as another session still writes; return its name."""
    table = get_record_table(resource)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s"
            " AND indexdef LIKE '%%(search)%%'",
            [table],
        )
        name, definition = cursor.fetchone()
        cursor.execute(f"DROP INDEX {name}")
        with psycopg.connect(build_database_url()) as writer:
            writer.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE".encode())
            cursor.execute("SET lock_timeout = 100")
            with pytest.raises(OperationalError):
                cursor.execute(definition.replace("INDEX", "INDEX CONCURRENTLY", 1))
            cursor.execute("RESET lock_timeout")
    return str(name)


def list_indexes(resource: Resource) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT replace(indexdef, tablename, 't') AS definition FROM pg_indexes"
            " WHERE tablename = %s ORDER BY definition",
            [get_record_table(resource)],
        )
        return [definition for (definition,) in cursor.fetchall()]


def index_all_fields(resource: Resource) -> None:
    indexes = Indexes(["filters", "words"])
    add_indexes(connection, get_table_id(resource), indexes)


@pytest.fixture
def indexed() -> Resource:
    """A resource with an index of each kind but substrings, and a key."""
    rows = "".join(f"{number},{number % 7},river\n" for number in range(2_001))
    resource = make_loaded_resource(f"code,level,kind\n{rows}", indexes=_KINDS)
    version = resource.table_version
    assert version
    for name in ("code", "level", "kind"):
        index_order(version.pk, name)
    set_key(connection, version.pk, ["code"])
    Resource.objects.update(primary_key=["code"])
    return Resource.objects.get()


_KINDS = ["filters", "words", "numbers", "dates", "texts"]


@pytest.mark.django_db(transaction=True)
def test_a_missing_index_is_created_as_it_was(no_small_tables: None, indexed: Resource) -> None:
    before = list_indexes(indexed)
    for definition, role in (
        ("gin (data jsonb_path_ops)", "filters"),
        ("gin (search)", "words"),
        ("data -> 'level'::text", "_by_"),
        ("UNIQUE INDEX", "_key"),
    ):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT indexname FROM pg_indexes WHERE tablename = %s"
                " AND strpos(indexdef, %s) > 0 AND NOT indexname LIKE '%%pkey'",
                [get_record_table(indexed), definition],
            )
            ((name,),) = cursor.fetchall()
            cursor.execute(f"DROP INDEX {name}")

        (found,) = examine()
        assert (found["code"], found["name"]) == ("index.missing", str(indexed.pk))
        assert role in found["message"]
        assert list_codes(examine("--fix")) == ["index.missing"]
        assert examine() == []
        assert list_indexes(indexed) == before


@pytest.mark.django_db(transaction=True)
def test_a_table_that_has_grown_behind_the_portal_lacks_indexes(resource: Resource) -> None:
    table, long = get_record_table(resource), "x " * 2_000
    execute(
        f"INSERT INTO {table} (data) SELECT data || jsonb_build_object('title', '{long}')"
        f" FROM {table}, generate_series(1, 500)"
    )

    assert list_codes(examine()) == ["index.missing", "index.missing"]
    assert list_codes(examine("--fix")) == ["index.missing", "index.missing"]
    assert examine() == []


def test_a_small_table_may_keep_its_indexes(resource: Resource) -> None:
    execute(f"CREATE INDEX ON {get_record_table(resource)} USING gin (search)")

    assert examine() == []


@pytest.mark.django_db(transaction=True)
def test_a_key_that_records_break_is_left_to_a_person(indexed: Resource) -> None:
    table = get_record_table(indexed)
    execute(f"DROP INDEX {table}_key")
    execute(f"UPDATE {table} SET data = data || '{{\"code\": 1}}' WHERE _id = 3")

    (found,) = examine("--fix")

    assert (found["code"], found["is_fixed"]) == ("index.missing", False)
    assert [each["code"] for each in examine()] == ["index.missing"]


@pytest.mark.django_db(transaction=True)
def test_what_a_broken_creation_has_left_is_dropped() -> None:
    resource = make_resource("code\n1\n1\n")
    table, before = get_record_table(resource), list_indexes(resource)
    with pytest.raises(IntegrityError):
        execute(f"CREATE UNIQUE INDEX CONCURRENTLY by_hand ON {table} ((data -> 'code'))")

    check_is_mended("index.invalid", "by_hand")

    assert list_indexes(resource) == before


def test_an_index_that_nothing_uses_is_dropped(no_small_tables: None, resource: Resource) -> None:
    index_all_fields(resource)
    before = list_indexes(resource)
    execute(f"CREATE INDEX by_hand ON {get_record_table(resource)} USING gin (search)")

    (found,) = examine()
    assert (found["code"], found["name"]) == ("index.superfluous", "by_hand")
    execute("DROP INDEX by_hand")
    execute(f"CREATE INDEX by_hand ON {get_record_table(resource)} ((data -> 'title'))")
    check_is_mended("index.superfluous", "by_hand")

    assert list_indexes(resource) == before


def test_a_table_gets_the_indexes_that_were_chosen_since(
    no_small_tables: None, resource: Resource
) -> None:
    index_all_fields(resource)
    Resource.objects.update(indexes=["words"])
    version, before = Resource.objects.get().version, list_indexes(resource)

    assert list_codes(examine()) == ["index.choice"]
    assert list_codes(examine("--fix")) == ["index.choice", "index.superfluous"]

    assert examine() == []
    assert [each for each in before if "jsonb_path_ops" not in each] == list_indexes(resource)
    assert Resource.objects.get().version > version
    Resource.objects.update(indexes=["filters", "words"])
    assert list_codes(examine("--fix")) == ["index.choice", "index.missing"]
    assert list_indexes(resource) == before


def test_a_table_of_no_resource_is_dropped(resource: Resource) -> None:
    load = Load.objects.create(resource=resource, source="a.csv", state=LoadState.FAILED)
    version = make_unpublished_version(load)

    check_is_mended("table.unserved", str(version.pk))


def test_what_may_lose_records_is_left_to_a_person(resource: Resource) -> None:
    table = get_record_table(resource)
    execute(f"ALTER TABLE {table} ADD COLUMN more text")
    execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
    execute(f"DELETE FROM {table} WHERE _id = 1")

    found = examine("--fix", "--count")

    assert list_codes(found) == ["table.columns", "index.missing", "count.wrong"]
    assert {row["can_be_fixed"] for row in found} == {False}
    assert found[-1]["message"] == "There are 5 records, not 6."
    assert TableVersion.objects.get(resource=resource).record_count == 6


def test_a_missing_table_is_reported_and_not_made(resource: Resource) -> None:
    execute(f"DROP TABLE {get_record_table(resource)}")

    assert list_codes(examine("--fix", "--count")) == ["table.missing"]


def test_the_text_names_the_damage_and_the_status_is_1(resource: Resource) -> None:
    execute("CREATE TABLE datastore_search_staging_123456 (line bigint)")

    with pytest.raises(CommandError, match=r"Damaged: 1\.") as failure:
        run_command("datastore_doctor")

    assert failure.value.returncode == 1
    out, _err = run_command("datastore_doctor", "--fix")
    assert out == (
        "table.staging 123456: The load is over, and its rows are still in a table. Fixed.\n"
        "Nothing is damaged.\n"
    )


@pytest.mark.parametrize("stale", [True, False])
def test_a_resource_gets_back_the_table_of_its_last_version(
    resource: Resource, client: Client, stale: bool
) -> None:
    number = resource.table_version_id
    old = TableVersion.objects.create(resource=resource, language="simple")  # as of an older dump
    Resource.objects.update(table_version=old if stale else None)

    (found, *others) = [row for row in examine() if row["code"] == "table.lost"]
    assert f"version {number}: 6, of " in found["message"]
    assert others == []
    assert str(number) not in [row["name"] for row in examine()]
    assert list_codes(examine("--fix")) == ["table.lost"]
    assert examine() == []
    assert len(get_ids(search(client, resource))) == 6


@pytest.mark.django_db(transaction=True)
def test_a_fix_gives_up_after_two_seconds_of_waiting_for_a_reader() -> None:
    resource = make_resource()
    table = get_record_table(resource)
    execute(f"CREATE INDEX by_hand ON {table} USING brin (_id)")
    errors = StringIO()

    with psycopg.connect(build_database_url()) as reader:
        reader.execute(f"SELECT FROM {table}".encode())
        with pytest.raises(CommandError):
            call_command("datastore_doctor", "--fix", stdout=StringIO(), stderr=errors)

    assert errors.getvalue() == (
        "index.superfluous by_hand: The table is in use. Try again later.\n"
    )
    assert list_codes(examine("--fix")) == ["index.superfluous"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "change",
    [
        lambda number: set_key(connection, number, []),
        lambda number: drop_indexes(connection, name_key_index(number)),
    ],
)
def test_no_change_waits_long_for_readers(change: Callable[[int], None]) -> None:
    resource = make_resource()
    number = resource.table_version_id
    assert number
    table = get_record_table(resource)
    set_key(connection, number, ["code"])
    indexes = Indexes(orders={"code": "({v})"})
    add_indexes(connection, number, indexes)
    execute(f"CREATE INDEX {name_substring_index(number)} ON {table} (_id)")

    with psycopg.connect(build_database_url()) as reader:
        reader.execute(f"SELECT FROM {table}".encode())
        with pytest.raises(OperationalError) as caught:
            change(number)

    assert isinstance(caught.value.__cause__, psycopg.errors.LockNotAvailable)
