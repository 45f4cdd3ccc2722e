"""What a full-text query matches is marked: in cells, below a row, on the page of a record."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from selenium.webdriver import Chrome

from datastore_search.contrib.pages import records
from datastore_search.contrib.pages.records import Marker
from datastore_search.models import Field, Resource
from datastore_search.search import Query, with_consistent_read

from ..builders import make_resource
from ..files.builders import make_loaded_resource
from .parsing import open_page
from .test_browser import measure_overflow, set_size


@pytest.fixture
def without_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks of a portal that has not installed ``analysis``."""
    monkeypatch.setattr(records, "apps", SimpleNamespace(is_installed=lambda _name: False))


def mark(resource: Resource, q: str, text: str) -> str:
    """Mark a text as one of a resource."""
    query = Query(limit=1, q=q)
    return with_consistent_read(resource.pk, lambda read: Marker(read, query, text).mark(text))


def list_excerpts(page: str) -> list[tuple[int, str]]:
    """Return the text of each excerpt after the ``_id`` of its record."""
    rows = re.findall(r"<th scope=row rowspan=2>.*?(\d+)(.*?)(?=<tr>|</tbody>)", page, re.DOTALL)
    found = []
    for number, row in rows:
        cells = row.partition("<tr class=datastore-found>")[2]
        found += [
            (int(number), html.unescape(re.sub(r"</?(?:bdi|td)[^>]*>", "", text)).strip())
            for text in cells.split("<p>")[1:]
        ]
    return found


# Words --------------------------------------------------------------------------------------------

#: Query, text and marked text, by the words as they are written.
WRITTEN = [
    ("river", "Rivers & river", "<mark>Rivers</mark> &amp; <mark>river</mark>"),
    ("ha noi", "Hà Nội", "<mark>Hà</mark> <mark>Nội</mark>"),
    ("Hà", "Ha Hà", "Ha <mark>Hà</mark>"),
    ("duong", "Đường", "<mark>Đường</mark>"),
    ("ri", "river ri", "river <mark>ri</mark>"),
    ("b", "<b>b</b>", "&lt;<mark>b</mark>&gt;<mark>b</mark>&lt;/<mark>b</mark>&gt;"),
    ("-", "a-b", "a-b"),
    ("café", "Cafe\u0301s", "<mark>Cafe\u0301s</mark>"),
    ("coeur", "Sacré-Cœur", "Sacré-<mark>Cœur</mark>"),
    ("हिन्दी", "हिन्दी, ह न", "<mark>हिन्दी</mark>, ह न"),
    ('"old bridge"', "bridge, old", "<mark>bridge</mark>, <mark>old</mark>"),
    ("river -lake", "river of lakes", "<mark>river</mark> of lakes"),
    ("river OR lake", "the lake or", "the <mark>lake</mark> or"),
    ("上海", "在上海，浦东 and 海上", "在<mark>上海</mark>，浦东 and 海上"),
    ("上海，浦东", "在上海浦东新区", "在<mark>上海</mark><mark>浦东</mark>新区"),
    ("น้ำ", "แม่น้ำ", "แม่<mark>น้ำ</mark>"),
    ("iphone", "iPhone手机", "<mark>iPhone</mark>手机"),
]


@pytest.mark.parametrize("fixture", ["db", "without_analysis"])
@pytest.mark.parametrize("words", WRITTEN)
def test_words_of_the_search_are_marked(
    request: pytest.FixtureRequest, resource: Resource, fixture: str, words: tuple[str, str, str]
) -> None:
    request.getfixturevalue(fixture)
    q, text, marked = words

    assert mark(resource, q, text) == marked


@pytest.mark.parametrize(
    ("q", "text", "marked"),
    [
        ("rivers", "the river, riverine", "the <mark>river</mark>, riverine"),
        ("cities", "City rivers", "<mark>City</mark> rivers"),
        ("running", "It runs; a rung", "It <mark>runs</mark>; a rung"),
        ("-rivers", "river", "river"),
    ],
)
def test_other_forms_of_a_word_are_marked_with_analysis(
    resource: Resource, monkeypatch: pytest.MonkeyPatch, q: str, text: str, marked: str
) -> None:
    assert mark(resource, q, text) == marked

    monkeypatch.setattr(records, "apps", SimpleNamespace(is_installed=lambda _name: False))
    assert "<mark>" not in mark(resource, q, text)


# Excerpts -----------------------------------------------------------------------------------------

LONG = "word " * 40

TEXTS = f"""\
name,summary,notes,built,cost
one,short,the old river bridge,1890-05-06,12345.50
two,{LONG}a river <b> flows {LONG},a river,1891-01-01,2
River three,a brook,river,1892-01-01,3
four,"a\nb\nthe river",no,1893-01-01,4
five,{"x" * 200}river river-{"y" * 300},no,1894-01-01,5
"""


@pytest.fixture
def rivers(db: None) -> Resource:
    """Records with the word in a cell, behind the end of a cell, and in a field to hide."""
    resource = make_resource(TEXTS)
    Field.objects.filter(resource=resource, name="notes").update(label="Remarks & more")
    return resource


def test_a_match_that_the_table_does_not_show_is_below_its_row(
    client: Client, rivers: Resource
) -> None:
    page = open_page(client, rivers, {"q": "river", "hide": "notes", "sort": "_id"})

    before, after = "word " * 5, "word " * 11
    assert list_excerpts(page) == [
        (1, "Found in Remarks & more: the old <mark>river</mark> bridge"),
        (2, f"Found in summary: …{before}a <mark>river</mark> <b> flows {after}wo…"),
        (5, f"Found in summary: …{'x' * 44}river <mark>river</mark>-{'y' * 44}…"),
    ]
    assert page.count('<tr class=datastore-found><td colspan="4">') == 3
    assert "a &lt;b&gt;" not in page
    assert "&lt;b&gt; flows" in page


def test_a_word_that_is_marked_in_a_cell_has_no_excerpt(client: Client, rivers: Resource) -> None:
    shown = {"q": "river", "fields": "name,notes", "sort": "_id"}
    assert [number for number, _text in list_excerpts(open_page(client, rivers, shown))] == [4, 5]

    both = open_page(client, rivers, {"q": "river brook", "fields": "name"}, locale="vi")
    assert list_excerpts(both) == [(3, "Tìm thấy trong summary: a <mark>brook</mark>")]


def test_words_of_columns_on_another_page_have_two_excerpts(client: Client, db: None) -> None:
    names, values = [f"f{number}" for number in range(21)], ["old sea", "old lake", "old river"]
    resource = make_resource(f"{','.join(names)}\n{','.join([*['x'] * 18, *values])}\n")

    first, second = (
        open_page(client, resource, {"q": "river lake sea", "columns": start})
        for start in ("1", "19")
    )

    assert list_excerpts(first) == [
        (1, "Found in f18: old <mark>sea</mark>"),
        (1, "Found in f19: old <mark>lake</mark>"),
    ]
    assert list_excerpts(second) == []
    assert "<mark>river</mark>" in second


def test_numbers_and_dates_are_marked_as_a_whole(client: Client, rivers: Resource) -> None:
    page = open_page(client, rivers, {"q": "12345.50 1890-05-06"})
    assert "<mark>12,345.50</mark>" in page
    assert "<mark>May 6, 1890</mark>" in page

    hidden = open_page(client, rivers, {"q": "12345.50", "hide": "cost"})
    assert list_excerpts(hidden) == [(1, "Found in cost: <mark>12,345.50</mark>")]


def test_a_page_without_a_query_has_neither_marks_nor_excerpts(
    client: Client, rivers: Resource
) -> None:
    page = open_page(client, rivers, {"hide": "notes", "field.name": "one"})

    assert "<mark>" not in page
    assert list_excerpts(page) == []
    assert "rowspan" not in page


# Records ------------------------------------------------------------------------------------------


def test_the_page_of_a_record_marks_what_matched_in_all_fields(
    client: Client, rivers: Resource
) -> None:
    path = f"/en/datastore/{rivers.pk}/"
    page = client.get(path, {"q": "rivers 1891", "hide": "notes"}).content.decode()
    links = re.findall(r'<a href="(r/[^"]*)"', page)

    record = client.get(path + html.unescape(links[0])).content.decode()

    assert re.findall("<mark>(.*?)</mark>", record) == ["river", "river", "Jan 1, 1891"]
    assert "<mark>" not in client.get(f"{path}r/2/").content.decode()
    assert client.get(f"{path}r/2/", {"q": "x" * 1001}).status_code == 200


# In a browser -------------------------------------------------------------------------------------


def test_excerpts_stay_within_the_window(
    browser: Chrome, live_server: Any, transactional_db: None
) -> None:
    columns = [f"column {number}" for number in range(12)]
    row = ",".join(["some words of a value"] * 12)
    resource = make_loaded_resource(
        f"{','.join(columns)},remarks\n" + f"{row},{LONG}the old river {LONG}\n" * 3
    )
    address = f"datastore/{resource.pk}/?q=river&hide=remarks"
    for locale, size in (("en", (1440, 900)), ("ar", (1440, 900)), ("ar", (360, 740))):
        set_size(browser, *size)
        browser.get(f"{live_server.url}/{locale}/{address}")
        boxes = browser.execute_script(
            "const table = document.querySelector('.datastore-table');"
            "table.scrollLeft = document.dir === 'rtl' ? -5000 : 5000;"
            "return [...document.querySelectorAll('.datastore-found mark')].map((each) => {"
            "  const box = each.getBoundingClientRect(); return [box.left, box.right] })"
        )
        assert len(boxes) == 3
        assert all(left >= 0 and right <= size[0] for left, right in boxes)
        assert measure_overflow(browser) <= 0
    Resource.objects.all().delete()
