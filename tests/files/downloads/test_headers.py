"""The headers of files: names or labels, in the language of the path."""

from __future__ import annotations

import io
from typing import Any

import openpyxl
import pytest
from django.test import Client

from datastore_search.downloads.dump import choose_headers
from datastore_search.downloads.formats import formats
from datastore_search.models import Resource

from ...builders import check_error, make_resource
from ...core.downloads.files import FORMATS, read_file, request_file

CSV = "n,m,code,day\n1,2,x,2020-01-01\n"


@pytest.fixture
def labelled(db: None) -> Resource:
    """Two fields have the same label, and one has none."""
    resource = make_resource(CSV)
    for name, label, french in (
        ("n", "Amount", "Montant"),
        ("m", "Amount", ""),
        ("day", "=Day; first", "Jour"),
    ):
        translations = {"fr": {"label": french}} if french else {}
        resource.fields.filter(name=name).update(label=label, translations=translations)
    return resource


@pytest.mark.parametrize(
    ("locale", "parameters", "header"),
    [
        ("fr", {}, "_id,n,m,code,day"),
        ("fr", {"headers": "names"}, "_id,n,m,code,day"),
        ("fr", {"headers": "labels"}, "_id,Montant,Amount,code,Jour"),
        ("vi", {"headers": "labels"}, "_id,Amount (n),Amount (m),code,=Day; first"),
    ],
)
def test_headers_are_names_or_labels_in_the_language_of_the_path(
    client: Client, labelled: Resource, locale: str, parameters: dict[str, str], header: str
) -> None:
    written = read_file(request_file(client, labelled, "csv", locale, **parameters))

    assert written.decode() == f"{header}\n1,1,2,x,2020-01-01\n"


def test_every_format_with_headers_has_them(client: Client, labelled: Resource) -> None:
    def read(name: str) -> bytes:
        return read_file(request_file(client, labelled, name, fields="day,m", headers="labels"))

    assert read("tsv").startswith(b"=Day; first\tAmount\n")
    assert read("csv-excel").startswith("\ufeff'=Day; first,Amount\r\n".encode())
    sheet: Any = openpyxl.load_workbook(io.BytesIO(read("xlsx"))).active
    (header,) = sheet.iter_rows(max_row=1)
    assert [cell.value for cell in header] == ["=Day; first", "Amount"]
    assert header[0].data_type == "s"


@pytest.mark.parametrize("name", [name for name in FORMATS if not formats[name].has_header])
def test_a_format_without_headers_refuses_labels(
    client: Client, labelled: Resource, name: str
) -> None:
    response = request_file(client, labelled, name, headers="labels")

    message = f"{formats[name].label} has no header row. Leave “headers” out, or ask for"
    assert check_error(response, 409) == {"headers": [f"{message} another format."]}
    assert request_file(client, labelled, name, headers="names").status_code == 200


def test_an_unknown_choice_is_refused(client: Client, labelled: Resource) -> None:
    response = request_file(client, labelled, "csv", headers="titles")

    assert check_error(response, 409) == {"headers": ["Value must be one of names, labels"]}


@pytest.mark.parametrize(
    ("labels", "headers"),
    [
        ({}, ["a", "b", "c"]),
        ({"a": "x", "b": "x"}, ["x (a)", "x (b)", "c"]),
        ({"a": "b"}, ["b (a)", "b", "c"]),
        ({"a": "x", "b": "x", "c": "x (a)"}, ["x (a)", "x (b)", "x (a) (c)"]),
        ({"a": " ", "b": 5, "c": "c"}, ["a", "b", "c"]),
        ({"a": " x "}, ["x", "b", "c"]),
    ],
)
def test_all_headers_differ(labels: dict[str, Any], headers: list[str]) -> None:
    infos = {name: {"label": label} for name, label in labels.items()}

    assert choose_headers(["a", "b", "c"], infos) == headers
