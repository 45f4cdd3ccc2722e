"""How pages look: rows, cards, paper, what is copied; and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from selenium.webdriver import Chrome

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.pages import head
from datastore_search.contrib.pages.head import render_markdown
from datastore_search.models import Resource

from .test_browser import measure_overflow, set_size

SAMPLE = Path(__file__).parents[2] / "example_project" / "sample_data" / "watershed_survey.csv"

#: Conditions, and the largest page with them, in bytes.
MAX_PAGE_BYTES = {0: 60_000, 3: 60_000, 20: 80_000}

#: The lines of a card: the number of the record, and values.
MAX_CARD_LINES = 8

LINK = '<a href="//a.example" rel="nofollow noopener">a</a>'

COUNT_LINES = """
return [...document.querySelectorAll("tbody tr")].map(
    (row) => [...row.cells].filter((each) => each.checkVisibility()).length);
"""

COPY_TABLE = """
getSelection().selectAllChildren(document.querySelector(".datastore-table table"));
return getSelection().toString();
"""


@pytest.fixture
def survey(transactional_db: None) -> Iterator[Resource]:
    resource = Resource.objects.create(name="survey", title="Watershed survey programme")
    load_file(resource, SAMPLE, options=LoadOptions())
    yield resource
    resource.delete()


@pytest.fixture
def page(live_server: Any, survey: Resource) -> str:
    return f"{live_server.url}/en/datastore/{survey.pk}/"


# The table ----------------------------------------------------------------------------------------


def test_a_record_is_a_line_below_headings_that_stay(browser: Chrome, page: str) -> None:
    set_size(browser, 1440, 900)
    browser.get(page)

    heights = browser.execute_script(
        "return [...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)"
    )
    assert max(heights) <= 40
    top = browser.execute_script(
        "const table = document.querySelector('.datastore-table'); table.scrollTop = 300;"
        "return document.querySelector('thead th').getBoundingClientRect().top"
        " - table.getBoundingClientRect().top"
    )
    assert 0 <= top <= 2


def test_a_record_is_a_card_on_a_phone(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 740)
    browser.get(page)

    assert not browser.execute_script("return document.querySelector('thead').checkVisibility()")
    assert {*browser.execute_script(COUNT_LINES)} == {MAX_CARD_LINES}
    assert measure_overflow(browser) <= 0


def test_a_copied_table_is_pasted_as_a_table(browser: Chrome, page: str) -> None:
    set_size(browser, 1440, 900)
    browser.get(f"{page}?fields=project_code,title,budget")

    lines = browser.execute_script(COPY_TABLE).strip().splitlines()

    assert lines[1].split("\t") == ["No.", "project_code", "title", "budget"]
    assert {len(line.split("\t")) for line in lines[2:]} == {4}


def test_paper_has_all_columns_and_no_form(browser: Chrome, page: str) -> None:
    browser.get(f"{page}?q=otter")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    set_size(browser, 1050, 740)  # A4

    shown = browser.execute_script(
        "return [...document.querySelectorAll('thead th, form, .datastore-tabs, .datastore-chips')]"
        ".filter((each) => each.checkVisibility()).map((each) => each.tagName)"
    )
    assert shown.count("TH") == 14
    assert shown.count("UL") == 1
    assert {*shown} == {"TH", "UL"}
    assert measure_overflow(browser) <= 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("count", MAX_PAGE_BYTES)
def test_a_page_is_small(client: Client, survey: Resource, count: int) -> None:
    values = [f"subject={each}" for each in ("forest", "watershed", "coast", "survey", "tide")]
    values += [f"region={each}" for each in ("Delta", "Karst", "Uplands", "Lowlands")]
    values += ["stage=planned", "stage=closed"]
    conditions = [
        *("q=river", "field.stage=active", "from.budget=100"),
        *(f"field.{each}" for each in values),
        *("from.start_date=2011-01-01", "to.start_date=2025-12-31", "not.lead=V.+Rossi"),
        *("not.lead=T.+Okoro", "empty.title=no", "contains.summary=e"),
    ]
    assert len(conditions) == max(MAX_PAGE_BYTES)
    query = "&".join(conditions[:count])

    for locale in ("en", "vi", "ar"):
        page = client.get(f"/{locale}/datastore/{survey.pk}/?{query}", follow=True)
        assert "datastore-table" in page.content.decode()
        assert len(page.content) <= MAX_PAGE_BYTES[count]


# Descriptions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("All *of* it\nhere", "<p>All <em>of</em> it<br />\nhere</p>"),
        ("<b onclick=x()>a</b>", "<p>&lt;b onclick=x()&gt;a&lt;/b&gt;</p>"),
        ("[a](//a.example)", f"<p>{LINK}</p>"),
        ("[a](javascript:x)", "<p>[a](javascript:x)</p>"),
        ("![a](//a.example)", f"<p>!{LINK}</p>"),
        ("# a", "<p># a</p>"),
        ("\u202ea", "<p>‹U+202E›a</p>"),
        ("", ""),
    ],
)
def test_a_description_is_markdown(text: str, html: str) -> None:
    assert render_markdown(text, 100).strip() == html


def test_a_description_is_plain_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "find_spec", lambda _name: None)

    assert render_markdown("*a* <b>\nc", 100) == "<p>*a* &lt;b&gt;<br>c</p>"
    assert render_markdown("a" * 200, 100).count("a") == 99
