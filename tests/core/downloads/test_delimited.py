"""CSV for Excel, and dumps that are resumed."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.test import Client

from datastore_search.web import caching

from ...builders import make_resource
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


#: Texts, and what CSV for Excel has in their place.
FORMULAS = {
    "=1+1": "'=1+1",
    "+1": "'+1",
    "-1": "'-1",
    "@SUM(A1)": "'@SUM(A1)",
    "＝1": "'＝1",
    " =1": " '=1",
    "\t=1": "\t'=1",
    "\r\n=1": "\r\n'=1",
    "\u00a0\u200b\ufeff\u0001＋1": "\u00a0\u200b\ufeff\u0001'＋1",
    "a;=1+1": "a;'=1+1",
    "a, \t-1": "a, \t'-1",
    "a\n@x": "a\n'@x",
    'a;"=1+1&"': 'a;"\'=1+1&"',
    "a;-5,3+1": "a;'-5,3+1",
    "a=b - c;d": "a=b - c;d",
    "\tx": "\tx",
}

#: How a spreadsheet calculates a cell, after what it passes over.
_SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_PLAIN_NUMBER = re.compile("-[0-9]+([.,][0-9]+)?")


def read_excel_rows(written: bytes, delimiter: str) -> list[list[str]]:
    text = written.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_harmless_in_excel_and_exact_elsewhere(
    client: Client, db: None, text: str
) -> None:
    quoted = text.replace('"', '""')
    resource = make_resource(f'a,=b\n"{quoted}",x\n', types={"a": "text"})

    def read_rows(name: str) -> list[list[str]]:
        written = read_file(request_file(client, resource, name, fields='a,"=b"'))
        return read_excel_rows(written, ",")

    assert read_rows("csv-excel") == [["a", "'=b"], [FORMULAS[text], "x"]]
    assert read_rows("csv") == [["a", "=b"], [text, "x"]]


@pytest.mark.parametrize("fields", ["n,a,b", "a,n,b", "_id,a,n,b"])
@pytest.mark.parametrize("locale", ["en", "fr"])
def test_no_cell_is_a_formula_under_any_separator(
    client: Client, db: None, locale: str, fields: str
) -> None:
    cells = [text.replace('"', '""') for text in [*FORMULAS, "3+cmd()", 'x""', "x\n", "x;"]]
    rows = "".join(f'-5.25,"{a}","{b}"\n' for a in cells for b in (a, "=1", "3+cmd()"))
    resource = make_resource(f"n,a,b\n{rows}", types={"n": "numeric", "a": "text", "b": "text"})

    written = read_file(request_file(client, resource, "csv-excel", locale, fields=fields))

    for delimiter in (",", ";", "\t"):
        read = [cell for row in read_excel_rows(written, delimiter) for cell in row]
        starts = [re.sub("^[^\\w=+@＝＋－＠',;-]+", "", cell) for cell in read]
        signs = [start for start in starts if start.startswith(_SIGNS)]
        # A negative number before a quoted cell is not a formula.
        formulas = [each for each in signs if not re.match('-5([.,]25)?($|[,;]"|")', each)]
        assert formulas == []
        if delimiter == ("," if locale == "en" else ";"):
            assert all(map(_PLAIN_NUMBER.fullmatch, signs))


def test_a_number_below_zero_stays_a_number(client: Client, db: None) -> None:
    resource = make_resource("n,f\n-5,-Infinity\n", types={"n": "int4", "f": "float8"})

    written = read_file(request_file(client, resource, "csv-excel", fields="n,f"))

    assert written.decode("utf-8-sig") == '"n","f"\r\n"-5","\'-Infinity"\r\n'


@pytest.mark.parametrize(
    ("name", "headers"), [("csv", 1), ("csv-excel", 1), ("tsv", 1), ("ndjson", 0)]
)
def test_a_dump_that_broke_off_is_resumed_by_id(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch, name: str, headers: int
) -> None:
    monkeypatch.setattr(caching, "_MIN_AGE", timedelta(days=-1))  # as if it had changed long ago
    resource = make_resource("n\n" + "".join(f"{n}\n" for n in range(100)))
    whole = request_file(client, resource, name)
    lines = read_file(whole).splitlines(keepends=True)
    received = lines[: headers + 40]

    rest = request_file(client, resource, name, filters={"_id": {"gt": 40}})

    assert rest["Last-Modified"] == whole["Last-Modified"]
    assert [*received, *read_file(rest).splitlines(keepends=True)[headers:]] == lines
