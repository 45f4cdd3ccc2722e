"""Append and upsert: records, fields and keys, and readers and writers at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction

from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.contrib.files.models import LoadState
from datastore_search.contrib.files.publishing import publish
from datastore_search.contrib.files.tables.filling import list_staging_tables, stage_rows
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Field, Resource
from datastore_search.writing.records import RecordTable

from ...builders import make_writer_token
from ...core.writing.tables import Table
from ..builders import (
    fails_with,
    list_row_errors,
    load_new_resource,
    load_text,
    read_records,
    read_rows,
    read_types,
    render_messages,
)

STOCK = "code,name,count\na,apple,1\nb,bread,2\nc,,3\n"


@pytest.fixture
def stock(db: None) -> Resource:
    return load_new_resource(STOCK, key=("code",))


# Append -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [100, 2_000])
def test_a_small_table_that_a_load_makes_larger_gets_its_indexes(db: None, rows: int) -> None:
    added = "".join(f"{number},{'river bridge ' * 80}\n" for number in range(rows))
    resource = load_new_resource("a,b\n1,x\n")
    assert count_indexes(resource) == 1

    load_text(resource, f"a,b\n{added}", mode="append")

    assert count_indexes(resource) == (1 if rows == 100 else 3)
    assert count_indexes(load_new_resource(f"a,b\n{added}")) == (1 if rows == 100 else 3)


def count_indexes(resource: Resource) -> int:
    table = f"datastore_search_record_{resource.table_version_id}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_indexes WHERE tablename = %s", [table])
        (number,) = cursor.fetchone() or (0,)
    return int(number)


def test_append_adds_the_rows_behind_the_records(db: None) -> None:
    resource = load_new_resource("a,b\n1,x\n2,y\n")
    served = resource.table_version

    load = load_text(resource, "a,b\n3,z\n1,x\n", mode="append")

    assert read_rows(resource) == [[1, 1, "x"], [2, 2, "y"], [3, 3, "z"], [4, 1, "x"]]
    assert resource.table_version == served
    assert served is not None
    served.refresh_from_db()
    assert (served.record_count, served.value_counts) == (4, {})
    assert (load.state, load.record_count) == (LoadState.READY, 2)
    assert render_messages(load.notices) == ["Records added: 2; changed: 0; the same as before: 0."]
    assert list_staging_tables(connection) == set()


def test_records_lack_a_field_that_only_the_others_have(db: None) -> None:
    resource = load_new_resource("a,b\n1,x\n")

    load = load_text(resource, "a,New one\n2,5\n", mode="append")

    assert read_types(resource) == {"a": "int4", "b": "text", "New one": "int4"}
    assert read_records(resource) == [
        {"_id": 1, "a": 1, "b": "x", "New one": None},
        {"_id": 2, "a": 2, "b": None, "New one": 5},
    ]
    for name in ("New one", "b"):
        assert len(read_records(resource, filters={name: None})) == 1
    assert render_messages(load.notices)[:2] == [
        "New fields: “New one”.",
        "Fields that the file does not have, empty in the new records: “b”.",
    ]


def test_a_type_chosen_for_later_does_not_change_the_records(db: None) -> None:
    resource = load_new_resource("a\n1\n")
    Field.objects.filter(resource=resource).update(chosen_type="text")

    load = load_text(resource, "a\n2\n", mode="append")

    assert read_types(resource) == {"a": "int4"}
    assert read_rows(resource) == [[1, 1], [2, 2]]
    assert (
        render_messages(load.notices)[0]
        == "Field “a” keeps its type whole number, though text was chosen."
    )


@pytest.mark.parametrize(
    ("before", "types", "added", "row"),
    [
        ("31/12/2023,1", {}, "02/03/2024,2", ["2024-03-02", 2]),
        ("31/12/2023,1", {}, ",2", [None, 2]),
        ("31/12/99,5 %", {"day": "date:dmyy", "n": "int4:%"}, "02/03/00,7 %", ["2000-03-02", 7]),
    ],
)
def test_values_are_read_as_the_file_before_wrote_them(
    db: None, before: str, types: dict[str, str], added: str, row: list[Any]
) -> None:
    resource = load_new_resource(f"day,n\n{before}\n", types=types)

    load_text(resource, f"day,n\n{added}\n", mode="append")

    assert read_types(resource) == {"day": "date", "n": "int4"}
    assert read_rows(resource)[1:] == [[2, *row]]


def test_formats_by_choice_are_not_guessed_for_added_records(db: None) -> None:
    resource = load_new_resource("day,share\n2023-12-31,5\n")

    with fails_with("load.bad_rows"):
        load_text(resource, "day,share\n02/03/00,7 %\n", mode="append")
    choices: dict[str, Any] = {"date_order": "dmyy", "types": {"share": "int4:%"}}
    load_text(resource, "day,share\n02/03/00,7 %\n", mode="append", **choices)

    assert read_rows(resource)[1:] == [[2, "2000-03-02", 7]]


def test_records_appended_to_a_key_may_not_share_it(stock: Resource) -> None:
    with fails_with("load.bad_rows"):
        load_text(stock, "code,name,count\nd,x,1\nb,x,2\n,x,3\nd,x,4\nc,x,many\n", mode="append")

    assert len(read_records(stock)) == 3
    failed = stock.loads.latest("pk")
    assert list_row_errors(failed) == [
        (3, "code", "b", "A record with this key already exists."),
        (4, "code", "", "A field of the key is empty."),
        (5, "code", "d", "Line 2 has the same key."),
        (6, "count", "many", "The value is not of type whole number."),
    ]
    assert failed.row_error_count == 4


def test_records_with_a_key_that_is_there_can_be_skipped(stock: Resource) -> None:
    load = load_text(stock, "code,name,count\nd,x,1\nb,x,2\n", mode="append", bad_rows="skip")

    assert [row[1:] for row in read_rows(stock)][3:] == [["d", "x", 1]]
    assert len(read_rows(stock)) == 4
    assert (load.record_count, load.row_error_count, load.row_errors.count()) == (1, 1, 1)


# Upsert -------------------------------------------------------------------------------------------


def test_an_upsert_keeps_what_the_file_does_not_say_and_empties_what_it_leaves_empty(
    stock: Resource,
) -> None:
    load = load_text(stock, "code,name\nb,\nd,dill\na,apple\n", mode="upsert")

    assert read_rows(stock, sort="_id") == [
        [1, "a", "apple", 1],
        [2, "b", None, 2],
        [3, "c", None, 3],
        [4, "d", "dill", None],
    ]
    assert (
        render_messages(load.notices)[-1] == "Records added: 1; changed: 1; the same as before: 1."
    )
    assert load.record_count == 3


def test_the_key_may_be_given_with_the_first_upsert(db: None) -> None:
    resource = load_new_resource("a,b\n1,x\n2,y\n")

    load_text(resource, "a,b\n2,z\n", mode="upsert", key=("a",))
    load_text(resource, "a,b\n1,w\n", mode="upsert")

    assert resource.primary_key == ["a"]
    assert read_rows(resource, sort="_id") == [[1, 1, "w"], [2, 2, "z"]]


@pytest.mark.parametrize(
    ("text", "options", "failure"),
    [
        ("a\n1\n", {}, "key.required"),
        ("a\n1\n", {"key": ("b",)}, "key.missing_field"),
        ("a,b\n1,1\n", {"key": ("a",)}, "key.duplicate"),
    ],
)
def test_an_upsert_without_a_key_that_tells_records_apart_is_refused(
    db: None, text: str, options: dict[str, Any], failure: str
) -> None:
    resource = load_new_resource("a,b\n1,x\n1,y\n")

    with fails_with(failure):
        load_text(resource, text, mode="upsert", **options)

    assert read_rows(resource) == [[1, 1, "x"], [2, 1, "y"]]
    resource.refresh_from_db()
    assert resource.primary_key == []


@pytest.mark.parametrize(
    ("kind", "first", "rows"),
    [
        ("numeric", "100", ("1e2", "+100")),
        ("json", "[1]", ("[1.0]", "[1]")),
        ("json", "[1]", ("[2]", "[2.0]")),
    ],
)
def test_rows_whose_key_postgresql_alone_takes_for_the_same_do_not_replace_each_other(
    db: None, kind: str, first: str, rows: tuple[str, str]
) -> None:
    options: dict[str, Any] = {"types": {"k": kind}, "key": ("k",)}
    resource = load_new_resource(f"k,by\n{first},old\n", **options)
    before = read_records(resource)

    with fails_with("key.duplicate"):
        load_text(resource, "k,by\n{},x\n{},y\n".format(*rows), mode="upsert", **options)

    assert read_records(resource) == before


def test_another_key_is_refused(stock: Resource) -> None:
    with fails_with("key.cannot_change") as refusal:
        load_text(stock, "code,count\na,5\n", mode="upsert", key=("count",))

    assert str(refusal.value) == (
        "The key of the resource is code. Only a load that replaces the records can change it."
    )


# The API's tables, and others who change them -----------------------------------------------------


def test_a_table_of_the_api_is_appended_to_and_stays_the_api_s(db: None) -> None:
    table = Table(make_writer_token())
    table.run(
        "create",
        fields=[{"id": "key", "type": "int8"}, {"id": "by", "type": "text"}],
        primary_key=["key"],
        records=[{"key": 5, "by": "api"}],
    )

    load_text(table.resource, "by,key\nfile,6\n", mode="append")
    table.run("upsert", records=[{"key": 6, "by": "api"}, {"key": 7}])

    assert [(row["_id"], row["key"], row["by"]) for row in table.read_records()] == [
        (1, 5, "api"),
        (2, 6, "api"),
        (3, 7, None),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda stock: stock.fields.filter(name="count").update(type="text"),
        lambda stock: Resource.objects.filter(pk=stock.pk).update(table_version=None),
    ],
    ids=["field", "table"],
)
def test_a_resource_that_changed_between_reading_and_merging_refuses_the_file(
    stock: Resource, monkeypatch: pytest.MonkeyPatch, change: Callable[[Resource], object]
) -> None:
    stage = stage_rows

    def stage_and_change(*arguments: Any) -> Any:
        rows = stage(*arguments)
        change(stock)
        return rows

    monkeypatch.setattr(publish, "stage_rows", stage_and_change)

    with fails_with("load.resource_changed"):
        load_text(stock, "code,count\na,5\n", mode="upsert")


def test_a_merge_that_fails_leaves_everything_as_it_was(
    stock: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError

    before = read_rows(stock)
    monkeypatch.setattr(RecordTable, "insert", fail)

    with pytest.raises(RuntimeError):
        load_text(stock, "code,name,count,more\na,x,9,1\nd,x,9,1\n", mode="upsert")

    assert read_rows(stock) == before
    assert "more" not in read_types(stock)
    assert list_record_tables(connection) >= {stock.table_version_id}


# At once ------------------------------------------------------------------------------------------


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Table]:
    table = Table(make_writer_token())
    resource = Resource.objects.create(name="r", pk=table.id)
    load_text(resource, write_records(0, "old"), key=("key",))
    yield table
    Resource.objects.all().delete()
    clean_up_loads()


def write_records(first: int, by: str) -> str:
    return "key,by\n" + "".join(f"{key},{by}\n" for key in range(first, first + 300))


def test_writers_of_the_api_wait_for_a_merge_and_both_stay(
    committed: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged, go_on = threading.Event(), threading.Event()
    add = RecordTable.insert

    def add_and_wait(*arguments: Any) -> int:
        count = add(*arguments)
        merged.set()
        assert go_on.wait(30)
        return count

    monkeypatch.setattr(RecordTable, "insert", add_and_wait)

    def merge() -> None:
        try:
            load_text(committed.resource, write_records(900, "file"), mode="append")
        finally:
            connections.close_all()

    def write() -> int:
        try:
            records = [{"key": 0, "by": "api"}, {"key": 5000, "by": "api"}]
            response = committed.call("upsert", records=records, force=True)
            return int(response.status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        merge_future = pool.submit(merge)
        assert merged.wait(30)
        write_future = pool.submit(write)
        with pytest.raises(TimeoutError):
            write_future.result(timeout=0.5)
        assert len(committed.read_records()) == 300
        go_on.set()
        merge_future.result(timeout=60)
        assert write_future.result(timeout=60) == 200

    assert committed.count_records() == (601, 601)
    by = [record["by"] for record in committed.read_records()]
    assert [by.count(name) for name in ("old", "file", "api")] == [299, 300, 2]


def test_a_load_within_a_transaction_that_is_taken_back_changes_nothing(stock: Resource) -> None:
    before = read_rows(stock)

    with transaction.atomic():
        load_text(stock, "code\nz\n", mode="append")
        transaction.set_rollback(True)

    assert read_rows(stock) == before
