"""The files that a data page offers."""

from __future__ import annotations

import gzip
import html
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.urls import include, path

from datastore_search.contrib.pages import table
from datastore_search.downloads.formats import formats
from datastore_search.models import Resource
from datastore_search.urls import page_urlpatterns

from ..builders import make_resource
from .parsing import parse_table

#: A portal with only the pages.
urlpatterns = [path("", include((page_urlpatterns, "datastore_search")))]


def get_page(client: Client, resource: Resource, locale: str = "en", **parameters: Any) -> Any:
    query = {name.replace("__", "."): value for name, value in parameters.items()}
    return client.get(f"/{locale}/datastore/{resource.pk}/", query, follow=True)


def list_downloads(response: Any, group: str = "all") -> dict[str, str]:
    """Return the addresses of the files of a group by label."""
    start = '<form class="datastore-downloads" action="([^"]*)" aria-labelledby'
    found = re.search(
        rf'{start}="downloads-{group}">.*?</form>', response.content.decode(), re.DOTALL
    )
    if not found:
        return {}
    pattern = r'<button name=format value="([^"]*)">([^<]*)</button>'
    pairs = re.findall('name="([^"]*)" value="([^"]*)"', found[0])
    hidden = {name: html.unescape(value) for name, value in pairs}
    return {
        label: f"{found[1]}?{urlencode({'format': name, **hidden})}"
        for name, label in re.findall(pattern, found[0])
    }


def test_a_data_page_offers_all_its_records_in_each_format(
    client: Client, resource: Resource
) -> None:
    page = get_page(client, resource)
    files = list_downloads(page)

    schema = f"/en/datastore/{resource.pk}/schema.json"
    assert f'<a href="{schema}">Table Schema</a>' in page.content.decode()
    assert files == {
        str(kind.label): f"/en/datastore/dump/{resource.pk}?format={name}"
        for name, kind in formats.items()
        if not kind.needs_places
    }
    for address in (*files.values(), schema):
        assert client.get(address).status_code == 200


def test_the_files_hold_what_was_found_on_all_pages(client: Client, db: None) -> None:
    rows = "".join(f'{n},it\'s,"5""0%"\n' for n in range(30))
    resource = make_resource(f"n,a%b,$c\n{rows}31,other,5\n")

    response = get_page(
        client, resource, "en_GB", q="it's 0", **{"field.a%b": "it's", "field.$c": '5"0%'}, page=2
    )

    assert len(parse_table(response)[1:]) == 5
    address = list_downloads(response)["CSV"]
    parts = urlsplit(address)
    assert parts.path == f"/en_GB/datastore/dump/{resource.pk}"
    assert parse_qs(parts.query) == {
        "format": ["csv"],
        "q": ["it's 0"],
        "filters": ['{"a%b":{"ieq":"it\'s"},"$$c":["5\\"0%"]}'],
    }
    lines = client.get(address).getvalue().decode().splitlines()
    assert len(lines) == 31
    assert "31,other" not in lines[-1]


FILES: list[tuple[dict[str, str], bytes]] = [
    ({"sort": "n desc"}, b'_id,n,"a,b",c\n2,2,y,z\n1,1,x,z\n'),
    ({"hide": "n"}, b'"a,b",c\nx,z\ny,z\n'),
    ({"first": "c"}, b'c,n,"a,b"\nz,1,x\nz,2,y\n'),
    ({"fields": '"a,b"', "sort": '"a,b" desc'}, b'"a,b"\ny\nx\n'),
]


def test_the_files_have_the_columns_and_the_order_of_the_page(client: Client, db: None) -> None:
    resource = make_resource('n,"a,b",c\n1,x,z\n2,y,z\n')

    for parameters, file in FILES:
        address = list_downloads(get_page(client, resource, **parameters))["CSV"]
        assert client.get(address).getvalue() == file


def test_files_with_labels_are_offered_where_fields_have_labels(client: Client, db: None) -> None:
    resource = make_resource("n,c\n1,x\n")
    assert list_downloads(get_page(client, resource), "labels") == {}
    field = resource.fields.get(name="n")
    field.label, field.translations = "Amount", {"fr": {"label": "Montant"}}
    field.save()

    files = list_downloads(get_page(client, resource, "fr", sort="n desc"), "labels")

    assert list(files) == ["CSV", "CSV pour Excel", "TSV", "Excel (XLSX)"]
    assert client.get(files["CSV"]).getvalue() == b"_id,Montant,c\n1,1,x\n"
    assert list_downloads(get_page(client, resource, hide="n"), "labels") == {}


def test_packed_files_are_offered_where_there_are_many_records(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_downloads(get_page(client, resource), "packed") == {}
    monkeypatch.setattr(table, "_MIN_PACKED_RECORDS", 6)

    files = list_downloads(get_page(client, resource), "packed")

    assert list(files) == ["CSV", "CSV for Excel", "TSV", "JSON", "NDJSON", "XML"]
    plain = client.get(files["CSV"].replace("&gzip=true", "")).getvalue()
    assert gzip.decompress(client.get(files["CSV"]).getvalue()) == plain


def test_a_page_that_found_nothing_offers_nothing(client: Client, resource: Resource) -> None:
    assert list_downloads(get_page(client, resource, q="nowhere")) == {}
    assert list_downloads(get_page(client, resource, field__amount="much")) == {}
    assert list_downloads(get_page(client, make_resource("a\n"))) == {}


@pytest.mark.urls("tests.pages.test_downloads")
def test_a_portal_without_the_dump_offers_none(client: Client, resource: Resource) -> None:
    response = client.get(f"/datastore/{resource.pk}/")

    assert len(parse_table(response)) == 7
    assert list_downloads(response) == {}
    assert b"curl" not in response.content
