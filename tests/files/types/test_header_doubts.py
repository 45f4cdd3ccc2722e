"""A file without a header: its first record is noticed among the names, and can be loaded."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from datastore_search.contrib.files.admin.drafts import build_preview_context
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.publishing.preview import build_preview
from datastore_search.contrib.files.types.inference import collect_type_notices, decide_formats
from datastore_search.models import Resource

from ...builders import run_command
from ..builders import load_new_resource, read_rows, read_types
from ..formats.staging import read_in_process

EVENTS = "2024-03-08,Schools close\n2024-03-13,Flights stop\n2024-03-15,Borders close\n"
IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.2,virginica\n"


@pytest.mark.parametrize(
    ("text", "is_doubted"),
    [
        # Names beside rows, and of objects.
        ('[{"5": 3, "9": 4}]', False),
        ('{"columns": ["5", "9"], "data": [[5, 9], [6, 8]]}', False),
        (EVENTS, True),
        (IRIS, True),
        ("1,Alice,30\n2,Bob,25\n3,Eve,41\n", True),
        ("Alice;30;true\nBob;25;false\n", True),
        ("31/12/2024,x\n30/11/2024,y\n", True),
        ("08:00:00,x\n09:30:00,y\n", True),
        ("Berlin,2019,3.5\nUlm,2020,3.1\nBonn,2021,2.9\n", True),
        # Names, or not the types of the columns.
        ("day,title\n2024-03-08,Schools close\n", False),
        ("town,2019,2020,2021\nUlm,1900,2100,2000\n", False),
        ("town,2019\nUlm,2010\nBonn,2030\n", False),
        ("2021,2020\n2000,2100\n", False),
        ("town,0,1,2,3\nUlm,5,6,2,1\nBonn,0,0,1,2\n", False),
        ("town,10,20,30\nUlm,15,16,25\nBonn,10,20,35\n", False),
        ("town,10115,80331\nUlm,5,6\nBonn,0,3\n", False),
        ("town,2024-01-01,2024-01-02\nUlm,5,6\nBonn,0,3\n", False),
        ("no,name\n1,A\n2,B\n", False),
        ("007,name\n1,A\n2,B\n", False),
        ("1,name\n,\nx,B\n", False),
        ("Alice,Berlin\nBob,Ulm\n", False),
        ("a,b\n", False),
        ("1,2\n", False),
    ],
)
def test_a_first_row_that_fits_all_types_and_is_no_names_is_noticed(
    tmp_path: Path, text: str, is_doubted: bool
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    options = LoadOptions()
    with read_in_process(path, options) as table:
        notices = collect_type_notices(table, options, decide_formats(table, options))

    assert [notice.code for notice in notices if "header" in notice.code] == (
        ["notice.header_like_record"] if is_doubted else []
    )


def build_xlsx(*rows: list[Any]) -> bytes:
    book, content = Workbook(), io.BytesIO()
    for row in rows:
        book.worksheets[0].append(row)
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("file.csv", IRIS.encode()),
        ("file.csv", ("\n" + IRIS.replace("\n", "\r\n")).encode("utf-16")),
        ("file.json", b'[["2024-03-08", "a"], ["2024-03-13", "b"]]'),
        ("file.xlsx", build_xlsx([5.5, "a"], [6.5, "b"], [None, None], [7.5, "c"])),
    ],
)
def test_a_file_of_each_format_has_its_first_record_by_choice(
    read_here: None, db: None, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    guessed = build_preview(None, path, LoadOptions())
    chosen = build_preview(None, path, LoadOptions(no_header=True))

    assert "notice.header_like_record" in [notice.code for notice in guessed.notices]
    assert "notice.header_like_record" not in [notice.code for notice in chosen.notices]
    assert chosen.row_count == guessed.row_count + 1
    assert [field.name for field in chosen.fields] == [
        f"field_{number}" for number in range(1, len(chosen.fields) + 1)
    ]
    assert chosen.rows[0] == tuple(field.label for field in guessed.fields)


def test_the_preview_and_the_command_offer_the_choice_which_is_saved(
    read_here: None, db: None, tmp_path: Path
) -> None:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)

    (offer,) = build_preview_context(build_preview(None, path, LoadOptions()).to_json())["offers"]
    assert (offer.option, offer.key, str(offer.label)) == (
        "no_header", "True", "Load the first row as a record",
    )  # fmt: skip
    assert offer.apply(False) is True
    output, _errors = run_command("load_resource", path)
    notice = "The first row looks like a record, not like the names of fields: “2024-03-08”"
    assert f"- {notice}" in output
    assert "\n  --no-header\n" in output

    run_command("load_resource", path, "--no-header", "--name", "whole")
    resource = Resource.objects.get(name="whole")
    assert read_types(resource) == {"field_1": "date", "field_2": "text"}
    assert [row[1] for row in read_rows(resource)] == ["2024-03-08", "2024-03-13", "2024-03-15"]
    assert resource.options == {"no_header": True}


def test_rows_of_other_widths_and_lines_to_skip_keep_their_lines(db: None) -> None:
    resource = load_new_resource(
        "# from a sensor\n1.5,x\n2.5\n3.5,z\n", no_header=True, skip=1, bad_rows="skip"
    )

    assert [row[1:] for row in read_rows(resource)] == [[1.5, "x"], [3.5, "z"]]
    assert [row.line for row in resource.loads.get().row_errors.all()] == [3]
