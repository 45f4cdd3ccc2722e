"""The table of formats: packed files, records in lines, what is installed."""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from decimal import Decimal
from pathlib import Path

import pytest
from django.test import Client

from datastore_search.downloads.formats import formats
from datastore_search.models import Resource

from ...builders import check_error, make_resource
from .files import FORMATS, read_file, request_file


def test_ndjson_has_an_object_in_each_line(client: Client, db: None) -> None:
    resource = make_resource(
        'text,n,doc\n"a\nb",12345678901234567890.10,"[1.50, null]"\n,,\n',
        types={"n": "numeric", "doc": "json"},
    )

    response = request_file(client, resource, "ndjson")

    assert response["Content-Type"] == "application/x-ndjson; charset=utf-8"
    first, second = (
        json.loads(line, parse_float=Decimal) for line in read_file(response).splitlines()
    )
    assert first == {
        "_id": 1,
        "text": "a\nb",
        "n": Decimal("12345678901234567890.10"),
        "doc": [Decimal("1.50"), None],
    }
    assert second == {"_id": 2, "text": None, "n": None, "doc": None}


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "xlsx"])
def test_every_format_is_packed_on_request(client: Client, resource: Resource, name: str) -> None:
    plain = request_file(client, resource, name)

    packed = request_file(client, resource, name, gzip="true")

    assert packed["Content-Type"] == "application/gzip"
    assert packed["Content-Disposition"].endswith(f'.{formats[name].extension}.gz"')
    assert gzip.decompress(read_file(packed)) == read_file(plain)


@pytest.mark.slow
def test_a_packed_file_is_compressed_as_it_is_read(client: Client, transactional_db: None) -> None:
    text = "x" * 1000
    resource = make_resource("text\n" + f"{text}\n" * 20_000)

    tracemalloc.start()
    packed = read_file(request_file(client, resource, "csv", gzip="true"))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(gzip.decompress(packed)) > 20_000_000
    assert peak < 2 * 2**20


@pytest.mark.needs("files")
def test_a_format_that_is_not_installed_is_refused_and_not_offered(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.downloads.formats._find_package", lambda _package: None)

    response = request_file(client, resource, "xlsx")

    assert check_error(response, 409) == {
        "format": [
            "This portal cannot write Excel (XLSX): its administrator must install xlsxwriter."
        ]
    }
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    assert "format=csv" in page
    assert "format=xlsx" not in page


# The reference ------------------------------------------------------------------------------------

REFERENCE = (Path(__file__).parents[3] / "docs/reference/dump.md").read_text(encoding="utf-8")


@pytest.mark.needs("openapi")
def test_the_reference_describes_every_format_with_its_type() -> None:
    sections = re.findall(r"^### (`.*)\n\n(.*)\n\n", REFERENCE, re.MULTILINE)

    described = {
        name: kind
        for names, kinds in sections
        for name, kind in zip(
            re.findall("`(.*?)`", names), re.findall("`(.*?)`", kinds), strict=True
        )
    }

    assert described == {name: kind.content_type for name, kind in formats.items()}


@pytest.mark.needs("openapi")
def test_the_reference_says_which_formats_have_headers_and_need_packages() -> None:
    headers = REFERENCE.partition("### Headers\n\nThe first row of ")[2].partition(" names ")[0]
    extras = re.findall(r"datastore-search\[(.*?)\]", REFERENCE)[0].split(",")

    assert set(re.findall("`(.*?)`", headers)) == {
        name for name, kind in formats.items() if kind.has_header
    }
    # The extra of files has what writes Excel.
    named = {"xlsx": "files"}
    assert sorted(extras) == sorted(
        named.get(name, name) for name, kind in formats.items() if kind.package
    )
