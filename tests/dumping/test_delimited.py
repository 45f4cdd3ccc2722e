"""CSV for Excel, and dumps that are resumed."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..builders import make_resource
from .files import read_file, request_file

TYPES = {"n": "numeric", "big": "int8", "f": "float8", "ok": "bool", "at": "timestamp"}

CSV = "text,n,big,f,ok,at\nĐắk Lắk,-1.50,12,-0.25,true,2020-02-29T12:34:56\n,,,Infinity,false,\n"


def test_excel_gets_a_mark_and_the_separator_of_the_language(client: Client, db: None) -> None:
    resource = make_resource(CSV, types=TYPES)

    english = read_file(request_file(client, resource, "csv-excel"))
    french = read_file(request_file(client, resource, "csv-excel", "fr"))

    assert english.decode() == (
        "\ufeff_id,text,n,big,f,ok,at\r\n"
        "1,Đắk Lắk,-1.50,12,-0.25,TRUE,2020-02-29 12:34:56\r\n"
        "2,,,,Infinity,FALSE,\r\n"
    )
    assert french.decode() == (
        "\ufeff_id;text;n;big;f;ok;at\r\n"
        "1;Đắk Lắk;-1,50;12;-0,25;TRUE;2020-02-29 12:34:56\r\n"
        "2;;;;Infinity;FALSE;\r\n"
    )


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_harmless_in_excel_and_exact_elsewhere(
    client: Client, db: None, text: str
) -> None:
    resource = make_resource(f'a,=b\n"{text}",x\n', types={"a": "text"})

    def read_rows(name: str) -> list[list[str]]:
        written = read_file(request_file(client, resource, name, fields='a,"=b"'))
        return list(csv.reader(io.StringIO(written.decode("utf-8-sig"), newline="")))

    assert read_rows("csv-excel") == [["a", "'=b"], [f"'{text}", "x"]]
    assert read_rows("csv") == [["a", "=b"], [text, "x"]]


def test_a_number_below_zero_stays_a_number(client: Client, db: None) -> None:
    resource = make_resource("n,f\n-5,-Infinity\n", types={"n": "int4", "f": "float8"})

    written = read_file(request_file(client, resource, "csv-excel", fields="n,f"))

    assert written.decode("utf-8-sig") == "n,f\r\n-5,'-Infinity\r\n"


def test_no_records_leave_the_header(client: Client, resource: Resource) -> None:
    written = read_file(request_file(client, resource, "csv-excel", fields="code", limit=0))

    assert written == b"\xef\xbb\xbfcode\r\n"


@pytest.mark.parametrize(
    ("name", "headers"), [("csv", 1), ("csv-excel", 1), ("tsv", 1), ("ndjson", 0)]
)
def test_a_dump_that_broke_off_is_resumed_by_id(
    client: Client, db: None, name: str, headers: int
) -> None:
    resource = make_resource("n\n" + "".join(f"{n}\n" for n in range(100)))
    whole = request_file(client, resource, name)
    lines = read_file(whole).splitlines(keepends=True)
    received = lines[: headers + 40]

    rest = request_file(client, resource, name, filters={"_id": {"gt": 40}})

    assert rest.get("Last-Modified") == whole.get("Last-Modified")
    assert [*received, *read_file(rest).splitlines(keepends=True)[headers:]] == lines
