"""Previews of files: what a load would do, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.publishing import preview
from datastore_search.contrib.files.publishing.preview import Preview, build_preview
from datastore_search.models import Field, Resource

from ..builders import load_new_resource, make_loaded_resource

pytestmark = pytest.mark.usefixtures("read_here")


def build_text_preview(
    folder: Path, text: str, resource: Resource | None = None, **options: Any
) -> Preview:
    path = folder / "file.csv"
    path.write_text(text)
    return build_preview(resource, path, LoadOptions(**options))


def test_a_preview_shows_fields_rows_and_reasons(db: None, tmp_path: Path) -> None:
    preview = build_text_preview(tmp_path, "No.,code,day\n1,007,31/12/2024\n2,,1/2/2024\n")

    assert [(f.name, f.label, f.format, f.is_chosen, f.values) for f in preview.fields] == [
        ("No.", "No.", "int4", False, ("1", "2")),
        ("code", "code", "text", False, ("007",)),
        ("day", "day", "date:dmy", False, ("31/12/2024", "1/2/2024")),
    ]
    assert [str(field.explanation) for field in preview.fields] == [
        "whole number: all values are of this type",
        "text: numbers would lose the leading zeros of values, first in line 2: “007”",
        "date (as in 31/12/2024): all values are of this type",
    ]
    assert preview.rows == (("1", "007", "31/12/2024"), ("2", None, "1/2/2024"))
    assert (preview.row_count, preview.bad_row_count, preview.row_errors, preview.notices) == (
        2,
        0,
        (),
        (),
    )


def test_a_preview_writes_nothing(db: None, tmp_path: Path) -> None:
    resource = make_loaded_resource("a\n1\n")
    before = Resource.objects.values().get(pk=resource.pk)

    build_text_preview(tmp_path, "a,b\nx,1\n", resource, types={"a": "text"}, nulls=("x",))

    assert Resource.objects.values().get(pk=resource.pk) == before
    assert Load.objects.count() == 1
    assert [field.name for field in Field.objects.all()] == ["a"]


def test_a_preview_has_the_first_rows_and_row_errors_and_counts_all(
    db: None, tmp_path: Path
) -> None:
    rows = "".join(f"{line},{'x' if line % 2 else line}\n" for line in range(1, 301))

    preview = build_text_preview(tmp_path, "n,m\n" + rows, types={"m": "int"})

    assert (len(preview.rows), preview.row_count) == (20, 300)
    assert [row[0] for row in preview.last_rows] == ["296", "297", "298", "299", "300"]
    assert (len(preview.row_errors), preview.bad_row_count) == (50, 150)
    row_error = preview.row_errors[0]
    assert (row_error.line, row_error.field, row_error.value) == (2, "m", "x")
    assert str(row_error.reason) == "The value is not of type whole number."


def test_a_preview_has_the_changes_of_fields(db: None, tmp_path: Path) -> None:
    resource = make_loaded_resource("kept,gone,retyped\n1,2,3\n")

    changes = build_text_preview(tmp_path, "kept,retyped,new\n1,x,2\n", resource).changes

    assert (changes.added, changes.missing) == (("new",), ("gone",))
    (retyped,) = changes.retyped
    assert retyped.parameters == {"field": "retyped", "before": "int4", "type": "text"}


def test_a_preview_uses_the_saved_options(db: None, tmp_path: Path) -> None:
    resource = make_loaded_resource("day,n\n01/02/2024,NA\n")
    resource.options = {"nulls": ["NA"], "date_order": "dmy"}
    resource.save()
    Field.objects.filter(resource=resource, name="n").update(chosen_type="numeric")

    preview = build_text_preview(tmp_path, "day,n\n01/02/2024,NA\n", resource)

    assert [field.format for field in preview.fields] == ["date:dmy", "numeric"]
    assert [str(field.explanation) for field in preview.fields] == [
        "date (as in 31/12/2024): the order of dates was chosen; the values leave it open",
        "number: chosen",
    ]
    assert preview.rows == (("01/02/2024", None),)


def test_a_file_without_rows_has_a_preview(db: None, tmp_path: Path) -> None:
    preview = build_text_preview(tmp_path, "a,b\n")

    assert [str(field.explanation) for field in preview.fields] == [
        "text: the field has no values"
    ] * 2
    assert (preview.rows, preview.row_count) == ((), 0)


# What a file that replaces the records changes ----------------------------------------------------

STOCK = "code,name,price,note\na,apple,1.50,\nb,bread,2.50,x\nc,corn,3.50,\nd,dill,4.50,\n"


def describe_replacement(folder: Path, text: str, resource: Resource, **options: Any) -> str:
    notices = build_text_preview(folder, text, resource, **options).notices
    (found,) = [str(notice) for notice in notices if notice.code.startswith("notice.records_")]
    return found


def test_a_preview_counts_what_is_added_changed_and_removed_by_the_key(
    db: None, tmp_path: Path
) -> None:
    resource = load_new_resource(STOCK, key=("code",))
    file = "code,name,price,note\nd,dill,4.5,\nc,corn,3.50,\na,apples,1.50,\ne,egg,1.50,\n"

    text = describe_replacement(tmp_path, file, resource)

    # Numbers with other digits are changed: readers see them.
    assert text == (
        "Compared by “code” with the published records: added: 1; changed: 2; removed: 1."
    )


def test_a_preview_compares_records_whose_fields_differ(db: None, tmp_path: Path) -> None:
    resource = load_new_resource(STOCK, key=("code",))
    rows = "code,name,price,more\na,apple,1.50,\nb,bread,2.50,\nc,corn,3.50,x\n"

    # A field that is gone or new is a change where it has a value.
    assert describe_replacement(tmp_path, rows, resource, drop_missing_fields=True) == (
        "Compared by “code” with the published records: added: 0; changed: 2; removed: 1."
    )


def test_bad_rows_are_not_compared(db: None, tmp_path: Path) -> None:
    resource = load_new_resource(STOCK, key=("code",))

    assert describe_replacement(tmp_path, STOCK + ",none,1,\na,twice,1,\n", resource) == (
        "Compared by “code” with the published records: added: 0; changed: 0; removed: 0."
    )


@pytest.mark.parametrize("key", [None, ("code", "name")])
def test_without_the_key_of_the_records_a_preview_counts_them(
    db: None, tmp_path: Path, key: tuple[str, ...] | None
) -> None:
    resource = make_loaded_resource(STOCK)

    assert describe_replacement(tmp_path, "code,name\na,b\n", resource, key=key) == (
        "Published records: 4; after the load: 1. With the same key in both, the preview says"
        " what changes."
    )


def test_a_preview_says_that_a_long_comparison_was_given_up(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = load_new_resource(STOCK, key=("code",))
    monkeypatch.setattr(preview, "MAX_COMPARING_SECONDS", 0)

    assert describe_replacement(tmp_path, STOCK, resource) == (
        "Published records: 4; after the load: 4. Comparing them takes too long."
    )


def test_a_failed_comparison_leaves_the_preview_usable(db: None, tmp_path: Path) -> None:
    resource = load_new_resource(STOCK, key=("code",))
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE datastore_search_record_{resource.table_version_id}")

    text = describe_replacement(tmp_path, STOCK, resource)

    assert text.startswith("Published records: 4; after the load: 4.")
    assert Resource.objects.exists()
