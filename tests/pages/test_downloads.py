"""The files that a data page offers, and what is answered where one fails."""

from __future__ import annotations

import gzip
import html
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.urls import include, path

from datastore_search.contrib.files.downloads import workbook
from datastore_search.contrib.pages import table
from datastore_search.downloads.formats import formats
from datastore_search.models import Resource
from datastore_search.urls import dump_urlpatterns, page_urlpatterns

from ..builders import check_error, make_resource, make_user
from ..core.downloads.files import request_file
from .parsing import extract_text, parse_table

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


def test_excel_is_the_first_of_the_menu(client: Client, resource: Resource) -> None:
    assert next(iter(list_downloads(get_page(client, resource)))) == "Excel (XLSX)"


def test_the_entry_of_a_format_tells_the_size_of_its_file(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, sizes in (("new", (0, 0, 5_000)), ("other", (0, 0, 0))):
        entry = replace(formats["json"], name=name, label=name, sizes=sizes)
        monkeypatch.setitem(formats, name, entry)
    page = html.unescape(get_page(client, resource).content.decode()).replace("\xa0", " ")

    assert ">new</button> <small>≈ 4.9 KB<" in page
    assert ">other</button></li>" in page


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

    assert list(files) == ["Excel (XLSX)", "CSV", "CSV pour Excel", "TSV"]
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


# Downloads that fail: a page for browsers in their language, the envelope for programs ------------

#: What browsers send when a link is followed, and what programs send.
BROWSERS = {
    "Chrome": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
    "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
    "Firefox": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Lynx": "text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01",
}
PROGRAMS = {"curl": "*/*", "pandas": None, "json": "application/json", "csv": "text/csv, */*;q=0.5"}


class OnlyDownloads:
    """The addresses of a portal with nothing but downloads."""

    urlpatterns = (path("", include((dump_urlpatterns, "datastore_search"))),)


def open_as(client: Client, address: str, accept: str | None, **query: str) -> Any:
    headers = {} if accept is None else {"Accept": accept}
    return client.get(address, query, headers=headers)


def test_a_browser_gets_a_page_and_a_program_the_envelope(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(workbook, "MAX_COLUMNS", 2)
    path = f"datastore/dump/{resource.pk}"
    message = "An Excel sheet has at most 2 columns. Ask for fewer fields, or for CSV."

    for browser in BROWSERS.values():
        page = open_as(client, f"/en/{path}", browser, format="xlsx")
        assert page.status_code == 409
        assert page["Content-Type"] == "text/html; charset=utf-8"
        assert "no-store" in page["Cache-Control"]
        assert "Accept" in page["Vary"]
        assert "Content-Disposition" not in page
        text = extract_text(page)
        assert all(each in text for each in ("This file cannot be downloaded", message))
        assert "All resources" in text
        assert f"/de/{path}?format=xlsx" in page.content.decode()
    for program in PROGRAMS.values():
        envelope = open_as(client, f"/en/{path}", program, format="xlsx")
        assert check_error(envelope, 409) == {"format": [message]}
        assert "Accept" in envelope["Vary"]
    settings.ROOT_URLCONF = OnlyDownloads  # a portal without pages
    check_error(open_as(client, f"/{path}", BROWSERS["Chrome"], format="xlsx"), 409)


def test_a_wrong_parameter_is_named(client: Client, resource: Resource) -> None:
    response = open_as(
        client, f"/en/datastore/dump/{resource.pk}", BROWSERS["Chrome"], limit="<b>", wrong="1"
    )

    assert response.status_code == 409
    assert "limit: Invalid integer<br>" in response.content.decode()
    assert "<b>" not in response.content.decode()
    assert "__extras" not in response.content.decode()


def test_an_unknown_format_is_answered_by_those_that_exist(
    client: Client, resource: Resource
) -> None:
    address = f"/en/datastore/dump/{resource.pk}"
    response = open_as(client, address, BROWSERS["Chrome"], format="exe", limit="x")

    text = extract_text(response)
    assert response.status_code == 409
    assert "There is no such format. The formats are: csv, csv-excel, tsv, json, " in text
    assert "limit: Invalid integer" in text


def test_a_private_resource_asks_to_sign_in(client: Client, db: None) -> None:
    resource = make_resource(private=True, title="Secret")
    address = f"/en/datastore/dump/{resource.pk}"

    visitor = open_as(client, address, BROWSERS["Chrome"])
    client.force_login(make_user())
    user = open_as(client, address, BROWSERS["Chrome"])

    assert (visitor.status_code, user.status_code) == (403, 403)
    assert "Sign in with an account that may read it." in extract_text(visitor)
    assert f"next=/en/datastore/dump/{resource.pk}" in visitor.content.decode().replace("%2F", "/")
    assert "your account may not read it" in extract_text(user)
    assert "Secret" not in visitor.content.decode() + user.content.decode()


def test_a_file_is_the_same_for_browsers(client: Client, resource: Resource) -> None:
    address = f"/en/datastore/dump/{resource.pk}"

    browser = open_as(client, address, BROWSERS["Chrome"])

    assert browser.getvalue() == request_file(client, resource, "csv").getvalue()
    assert "Accept" not in browser["Vary"]
