"""Workbooks of Excel: cells, limits, and what is left on the disk."""

from __future__ import annotations

import datetime as dt
import io
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.test import Client

from datastore_search.contrib.files.downloads import workbook
from datastore_search.models import Resource
from datastore_search.search import run

from ...builders import check_error, make_resource
from ...core.downloads import files
from ...core.downloads.files import read_file, request_file

TYPES = {**files.TYPES, "list": "_int4"}

CSV = (
    "text,i,big,n,f,ok,day,at,zoned,clock,doc,list\n"
    "Đắk,-5,123456789012345,0.10,1e300,true,2020-02-29,2020-02-29T12:34:56.789,"
    '2020-02-29T12:00:00+00:00,23:59:59,"{""k"": 1.50}","[1, null]"\n'
    '"",0,9223372036854775807,12345678901234567890.5,NaN,false,1899-12-31,'
    "2020-01-01T00:00:00.000001,,24:00:00,null,[]\n"
    ",,,,,,,,,,,\n"
)


def read_sheet(response: Any) -> Any:
    return openpyxl.load_workbook(io.BytesIO(read_file(response))).active


def read_rows(response: Any) -> list[tuple[Any, ...]]:
    return list(read_sheet(response).iter_rows(values_only=True))


def test_cells_have_the_types_and_values_of_the_fields(client: Client, db: None) -> None:
    resource = make_resource(CSV, types=TYPES)

    header, first, second, third = read_rows(request_file(client, resource, "xlsx"))

    assert header == ("_id", "text", *TYPES)
    assert first == (
        *(1, "Đắk", -5, 123456789012345, 0.1, 1e300, True),
        dt.datetime.fromisoformat("2020-02-29"),
        dt.datetime.fromisoformat("2020-02-29T12:34:56.789"),
        "2020-02-29T12:00:00.000+00:00",
        dt.time(23, 59, 59),
        '{"k": 1.50}',
        "[1, null]",
    )
    assert third == (3, *[None] * 12)
    assert second[2:] == (
        *(0, "9223372036854775807", "12345678901234567890.5", "NaN", False),
        "1899-12-31",
        "2020-01-01T00:00:00.000001",
        *(None, "24:00:00", None, "[]"),
    )


def test_a_number_that_python_rounds_keeps_its_digits(client: Client, db: None) -> None:
    numbers = ["9" * 38, "-0." + "9" * 30, "1e30"]
    resource = make_resource("\n".join(["n", *numbers]), types={"n": "numeric"})

    rows = read_rows(request_file(client, resource, "xlsx", fields="n"))

    assert [value for (value,) in rows[1:]] == [*numbers[:2], 1e30]


def test_a_sheet_is_ready_to_work_with(client: Client, db: None) -> None:
    long = "a long description of the road " * 9
    csv = f"code,description,opened\nA1,{long},2024-02-29\nB2,short,2024-03-01\n"
    resource = make_resource(csv, types={"opened": "date"})

    sheet = read_sheet(request_file(client, resource, "xlsx", fields="code,description,opened"))

    assert all(cell.font.bold for cell in sheet[1])
    assert not any(cell.font.bold for cell in sheet[2])
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", "A1:C3")
    widths = [round(sheet.column_dimensions[name].width) for name in "ABC"]
    assert widths == [9, 61, 12]  # Excel adds the margins of a cell
    assert [cell.number_format for cell in sheet["C"][1:]] == ["yyyy-mm-dd"] * 2


def test_a_text_is_exactly_that_text(client: Client, db: None) -> None:
    texts = ["=1+1", "@SUM(A1)", "\tx", "http://example.org", "12", "<r>&</r>", " x ", "x\ny"]
    resource = make_resource("a\n" + "".join(f'"{text}"\n' for text in texts), types={"a": "text"})

    rows = read_sheet(request_file(client, resource, "xlsx", fields="a")).iter_rows(min_row=2)

    assert [(cell.value, cell.data_type, cell.hyperlink, cell.quotePrefix) for (cell,) in rows] == [
        (text, "s", None, text.startswith(("=", "@"))) for text in texts
    ]


def test_a_number_that_no_double_holds_is_its_text(client: Client, db: None) -> None:
    numbers = "1e400,-1e400,1e-400,0", "1.7976931348623157e308"  # a float8, of 17 digits
    resource = make_resource(
        "\n".join(["a,b", *(f"{n},{numbers[1]}" for n in numbers[0].split(","))]),
        types={"a": "numeric", "b": "float8"},
    )

    _header, *rows = read_rows(request_file(client, resource, "xlsx", fields="a,b"))

    assert [a for a, _b in rows] == ["1" + "0" * 400, "-1" + "0" * 400, "0." + "0" * 399 + "1", 0]
    assert {float(b) for _a, b in rows if isinstance(b, str)} == {1.7976931348623157e308}


def test_more_than_a_sheet_has_is_refused(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most, message in (
        ("MAX_ROWS", 6, "5 rows, and 6 records were found. Ask for fewer records,"),
        ("MAX_COLUMNS", 2, "2 columns. Ask for fewer fields,"),
    ):
        monkeypatch.setattr(workbook, name, most)
        response = request_file(client, resource, "xlsx", limit=5 if name == "MAX_COLUMNS" else 100)
        assert check_error(response, 409) == {
            "format": [f"An Excel sheet has at most {message} or for CSV."]
        }

    fewer = request_file(client, resource, "xlsx", fields="_id,code", limit=5)
    assert len(read_rows(fewer)) == 6
    found = request_file(client, resource, "xlsx", fields="_id", filters={"stage": "active"})
    assert len(read_rows(found)) == 5


def test_a_longer_text_than_a_cell_has_is_cut(client: Client, db: None) -> None:
    longest, emoji = "x" * 32_767, "😀" * 16_383
    csv = f"a,b\n{longest},1\n{longest}y,2\n{emoji}z,3\n{emoji}zz,4\nx{emoji}zz,5\n"
    resource = make_resource(csv)

    file = openpyxl.load_workbook(io.BytesIO(read_file(request_file(client, resource, "xlsx"))))

    records, notes = file.worksheets
    assert [row[1] for row in records.iter_rows(min_row=2, values_only=True)] == [
        longest,
        f"{longest[1:]}…",
        f"{emoji}z",
        f"{emoji}…",
        f"x{emoji[1:]}…",
    ]
    assert file.active is records
    assert list(notes.iter_rows(values_only=True)) == [
        (
            (
                "Number of texts that are too long for an Excel cell (32767 characters) and "
                "are cut in this file: 3. They end in “…”. CSV has the whole texts."
            ),
        )
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def long(transactional_db: None) -> Resource:
    """5,000 records, more than the work that is reported at once."""
    return make_resource("n,text\n" + "".join(f"{n},{'x' * 100}\n" for n in range(5_000)))


def test_a_workbook_is_sent_in_blocks_and_leaves_nothing(
    client: Client, long: Resource, folder: Path
) -> None:
    response = request_file(client, long, "xlsx")

    assert list(folder.iterdir()) == []  # before the first block
    rows = read_rows(response)
    assert len(rows) == 5_001
    assert rows[-1] == (5_000, 4_999, "x" * 100)


def test_a_workbook_that_takes_too_much_is_refused(
    client: Client, long: Resource, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[Any, str, Any, str]] = [
        (workbook, "MAX_SPOOL_BYTES", 99_999, "The file would take more than 99999 bytes of disk"),
        (run, "FILE_TIMEOUT", timedelta(0), "Writing the file takes more than 0 seconds"),
    ]
    for module, name, value, message in limits:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            error = check_error(request_file(client, long, "xlsx"), 409)

        assert error == {"format": [f"{message}. Ask for fewer records or fields, or for CSV."]}
        assert list(folder.iterdir()) == []


def test_a_workbook_needs_a_slot_and_a_client_while_it_is_made(
    client: Client, long: Resource, folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("datastore_search.guards.shares.Client.is_gone", lambda _client: True)
        check_error(request_file(client, long, "xlsx"), 503)
    assert list(folder.iterdir()) == []
    settings.DATASTORE_SEARCH_MAX_STREAMS = 0

    check_error(request_file(client, long, "xlsx"), 503)

    assert list(folder.iterdir()) == []
    assert len(read_rows(request_file(client, long, "xlsx", limit=100))) == 101
