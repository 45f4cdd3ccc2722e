"""Replacing records: keys, bad rows, their report, and files that are the same as before."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.utils import translation

from datastore_search.contrib.files.models import Load, LoadState, RowError
from datastore_search.contrib.files.publishing import bad_rows, plan, publish
from datastore_search.database.statements import execute
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Field, Resource

from ...core.writing.tables import Table
from ..builders import (
    fails_with,
    list_row_errors,
    load_new_resource,
    load_text,
    make_loaded_table,
    read_records,
    read_rows,
    render_messages,
)


def get_failed_load(resource: Resource) -> Load:
    failed = resource.loads.latest("pk")
    assert failed.state == LoadState.FAILED
    return failed


# Keys ---------------------------------------------------------------------------------------------


def test_a_key_is_set_and_kept_by_the_next_load(db: None) -> None:
    resource = load_new_resource("a,b\n1,x\n2,y\n", key=("a",))
    assert resource.primary_key == ["a"]

    load_text(resource, "b,a\nz,3\n")

    assert resource.primary_key == ["a"]
    with fails_with("load.bad_rows"):
        load_text(resource, "b,a\nz,3\nw,3\n")


def test_a_key_whose_field_is_gone_is_forgotten_and_said(db: None) -> None:
    resource = load_new_resource("a,b\n1,x\n", key=("a",))

    load = load_text(resource, "b\ny\n", drop_missing_fields=True)

    assert resource.primary_key == []
    assert (
        render_messages(load.notices)[-1]
        == "The key was removed, because the file lacks some of its fields: a."
    )


def test_a_key_can_be_taken_away(db: None) -> None:
    resource = load_new_resource("a\n1\n", key=("a",))

    load_text(resource, "a\n1\n1\n", key=())

    assert resource.primary_key == []
    assert read_rows(resource) == [[1, 1], [2, 1]]


def test_rows_that_the_key_refuses_are_all_reported(db: None) -> None:
    resource = Resource.objects.create(name="r")
    long = "k" * 3000

    with fails_with("load.bad_rows") as refusal:
        load_text(resource, f'a,b\n1,x\n1,x\n,y\n"",y\n2,\n{long},z\n1,x\n', key=("a", "b"))

    assert refusal.value.parameters["count"] == 6
    assert list_row_errors(get_failed_load(resource)) == [
        (3, "a, b", "1, x", "Line 2 has the same key."),
        (4, "a", "", "A field of the key is empty."),
        (5, "a", "", "A field of the key is empty."),
        (6, "b", "", "A field of the key is empty."),
        (7, "a, b", "k" * 100, "The key has 3033 bytes; at most 2600 can be indexed."),
        (8, "a, b", "1, x", "Line 2 has the same key."),
    ]


def test_the_longest_key_can_be_stored(db: None) -> None:
    key = "".join(chr(0x4E00 + number) for number in range(861))  # three bytes each, no two alike

    resource = load_new_resource(f"a\n{key}\n", key=("a",))

    assert read_rows(resource) == [[1, key]]


def test_of_a_repeated_key_the_first_row_that_can_be_loaded_is_taken(db: None) -> None:
    resource = load_new_resource(
        "a,b\n1,many\n1,2\n1,3\n", key=("a",), types={"b": "int4"}, bad_rows="skip"
    )

    assert read_rows(resource) == [[1, 1, 2]]


@pytest.mark.parametrize(
    ("key", "failure"),
    [(("b",), "key.missing_field"), (tuple(f"f{n}" for n in range(33)), "key.too_many_fields")],
)
def test_a_key_that_cannot_be_is_refused(db: None, key: tuple[str, ...], failure: str) -> None:
    header = ",".join(f"f{number}" for number in range(33))

    with fails_with(failure):
        load_new_resource(f"{header}\n{header}\n", key=key)


# Bad rows -----------------------------------------------------------------------------------------

BAD = "n,b\n1,x\nmany,y\n3,z\n,w\nsome,v\n"


def test_bad_rows_refuse_a_file_and_are_all_listed(db: None) -> None:
    resource = load_new_resource("n,b\n0,old\n")

    with fails_with("load.bad_rows") as refusal:
        load_text(resource, BAD, types={"n": "int4"})

    assert str(refusal.value) == (
        "Rows that cannot be loaded: 2. The first: Line 3, field “n”, value “many”: The value is"
        " not of type whole number."
    )
    assert read_rows(resource) == [[1, 0, "old"]]
    failed = get_failed_load(resource)
    assert failed.row_error_count == 2
    assert list_row_errors(failed) == [
        (3, "n", "many", "The value is not of type whole number."),
        (6, "n", "some", "The value is not of type whole number."),
    ]
    with fails_with("load.bad_rows"):  # of nothing but bad rows
        load_text(resource, "n,b\nmany,x\nsome,y\n", types={"n": "int4"}, bad_rows="skip")
    assert read_rows(resource) == [[1, 0, "old"]]


def test_a_long_report_is_cut_and_says_so(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "MAX_REPORTED_ERRORS", 3)
    monkeypatch.setattr(publish, "_ERRORS_PER_STATEMENT", 2)
    resource = Resource.objects.create(name="r")

    with fails_with("load.bad_rows"):
        load_text(resource, "n\n" + "many\n" * 5, types={"n": "int4"})

    failed = get_failed_load(resource)
    assert failed.row_error_count == 5
    assert [line for line, *_rest in list_row_errors(failed)] == [2, 3, 4]
    assert render_messages(failed.notices) == ["The report lists the first 3 faults of 5."]


#: The last three have numbers that become too long when they are written out.
REFUSED_JSON = (
    r"""{"a": "\u0000"}""",
    r"""["\\\u0000"]""",
    """{"a": NaN}""",
    "1e200000",
    "[" * 3000 + "1e0000" + "]" * 3000,
    "1e1000",
    "[1e131071]",
    "[" + ",".join(["1e99"] * 30_000) + "]",
)
_TOO_LONG = (
    "The value has numbers with exponents that are too long when they are written out; each may"
    " have 1000 digits."
)
ACCEPTED_JSON = (r"""{"a": "\\u0000"}""", """{"a": "NaN"}""", "[1e999]", """["1e99999"]""")


def test_what_postgresql_s_json_refuses_is_a_bad_row(db: None) -> None:
    resource = Resource.objects.create(name="r")
    quoted = [value.replace('"', '""') for value in (*REFUSED_JSON, *ACCEPTED_JSON)]
    text = "a,j\n" + "".join(f'1,"{value}"\n' for value in quoted)

    load = load_text(resource, text, types={"j": "json"}, bad_rows="skip")

    errors = list_row_errors(load)
    assert [line for line, *_rest in errors] == [*range(2, 2 + len(REFUSED_JSON))]
    assert [reason for *_rest, reason in errors[-3:]] == [_TOO_LONG] * 3
    assert len(read_records(resource)) == len(ACCEPTED_JSON)


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_what_only_postgresql_refuses_is_named_by_line(
    db: None, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    resource = load_new_resource('a,j\n0,"{}"\n', types={"j": "json"})
    monkeypatch.setattr(plan, "record_unstorable_values", lambda *_given: None)

    with fails_with("load.unstorable_record") as refusal:
        load_text(resource, 'a,j\nx\n1,"{}"\n2,"""\\u0000"""\n', bad_rows="skip", mode=mode)

    assert str(refusal.value) == "Line 4 contains a value that PostgreSQL cannot store."
    assert len(read_records(resource)) == 1


def test_the_report_is_a_csv_in_the_reader_s_language(db: None) -> None:
    resource = Resource.objects.create(name="r")
    with fails_with("load.bad_rows"):
        load_text(resource, 'n\n"=1+1"\n"a, ""b"""\n"+84"\n', types={"n": "bool"})

    text = ""
    with translation.override("fr"):
        for piece in bad_rows.write_row_error_report(get_failed_load(resource), "vi"):
            assert translation.get_language() == "fr"
            text += piece

    assert text.startswith("\ufeff")
    header, *rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    with translation.override("vi"):
        reason = RowError.objects.all()[0].reason
        assert header == [
            translation.gettext(word) for word in ("Line", "Field", "Value", "Reason")
        ]
    assert rows == [
        ["2", "n", "'=1+1", reason],
        ["3", "n", 'a, "b"', reason],
        ["4", "n", "'+84", reason],
    ]


# Unchanged ----------------------------------------------------------------------------------------


@pytest.fixture
def table(db: None) -> Table:
    return make_loaded_table("a,b\n1,x\n")


def load_again(table: Table, text: str = "a,b\n1,x\n", **options: Any) -> str:
    return str(load_text(table.resource, text, **options).state)


def test_the_same_file_is_not_loaded_again(table: Table) -> None:
    served = table.resource.table_version_id

    load = load_text(table.resource, "a,b\n1,x\n", name="other.csv")

    assert load.state == LoadState.UNCHANGED
    assert load.finished_at is not None
    assert table.resource.table_version_id == served
    assert list_record_tables(connection) >= {served}
    assert load_again(table) == "unchanged"


@pytest.mark.parametrize("options", [{"force": True}, {"types": {"a": "text"}}, {"key": ("a",)}])
def test_the_same_file_is_loaded_again_where_that_makes_a_difference(
    table: Table, options: dict[str, Any]
) -> None:
    assert load_again(table, **options) == "ready"
    if options != {"force": True}:
        assert load_again(table, **options) == "unchanged"


def _insert_and_delete_record(table: Table) -> None:
    table.run("upsert", records=[{"a": 2}], method="insert", force=True)
    table.run("records_delete", filters={"a": 2}, force=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.resource.fields.filter(name="a").update(chosen_type="text"),
        lambda table: table.resource.fields.filter(name="b").update(extra_info={"weight": 4}),
        lambda table: Resource.objects.filter(pk=table.id).update(language="simple"),
        lambda table: Resource.objects.filter(pk=table.id).update(indexes=["filters"]),
        _insert_and_delete_record,
        lambda table: load_text(table.resource, "a,b\n2,y\n", mode="append"),
        lambda table: table.run("delete", force=True),
    ],
)
def test_the_same_file_is_loaded_again_after_a_change(table: Table, change: Any) -> None:
    change(table)

    assert load_again(table) == "ready"
    assert load_again(table) == "unchanged"


def test_the_next_load_gives_the_words_of_a_field_their_weight(table: Table) -> None:
    table.resource.fields.filter(name="b").update(extra_info={"weight": 4})
    load_again(table)

    name = f"datastore_search_record_{table.resource.table_version_id}"
    assert execute(connection, f"SELECT search::text FROM {name}") == [("'1':1 'x':2B",)]


def test_what_changes_no_record_leaves_the_file_unchanged(table: Table) -> None:
    Field.objects.filter(resource=table.resource, name="a").update(label="The a")
    table.call("upsert", records=[{"a": 2}], method="insert", force=True, dry_run=True)

    assert load_again(table) == "unchanged"


def test_the_same_file_is_appended_once_and_by_force_again(table: Table) -> None:
    assert load_again(table, mode="append") == "ready"
    assert load_again(table, mode="append") == "unchanged"
    assert load_again(table, mode="append", force=True) == "ready"
    assert read_rows(table.resource) == [[1, 1, "x"], [2, 1, "x"], [3, 1, "x"]]


def test_a_file_that_was_refused_is_not_taken_for_loaded(table: Table) -> None:
    with fails_with("load.bad_rows"):
        load_again(table, "a,b\nx,x\n", types={"a": "int4"})

    with fails_with("load.bad_rows"):
        load_again(table, "a,b\nx,x\n", types={"a": "int4"})
