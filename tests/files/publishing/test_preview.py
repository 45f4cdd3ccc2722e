"""Previews of files: what a load would do, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.publishing.preview import Preview, build_preview
from datastore_search.models import Field, Resource

from ..builders import make_loaded_resource

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
