"""How pages look: rows, cards, paper, directions, what is copied; and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from datastore_search.contrib.pages import head
from datastore_search.contrib.pages.head import render_markdown
from datastore_search.contrib.pages.question import PAGE_SIZES
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .test_browser import measure_overflow, set_size, tab_to, wait_until

#: Conditions, and the largest page with them, in bytes.
MAX_PAGE_BYTES = {0: 48 * 1024, 3: 60_000, 20: 83_500}

#: The lines of a card: the number of the record, and values.
MAX_CARD_LINES = 8

LINK = '<a href="//a.example" rel="nofollow noopener">a</a>'

COUNT_LINES = """
return [...document.querySelectorAll("tbody tr")].map(
    (row) => [...row.cells].filter((each) => each.checkVisibility()).length);
"""

IS_ONE_MENU_IN_TABLE = """
const [menu, ...others] = document.querySelectorAll("thead [open] ul");
const table = document.querySelector(".datastore-table").getBoundingClientRect();
const { left, right, bottom } = menu.getBoundingClientRect();
return !others.length && left >= table.left && right <= table.right && bottom <= table.bottom;
"""

#: Open the menus of a page one after the other; return where each begins and ends.
MEASURE_MENUS = """
const menus = [...document.querySelectorAll(".datastore-tools details, .datastore-menu")];
return menus.map((menu) => {
    menus.forEach((each) => { each.open = each === menu; });
    const { left, right } = menu.lastElementChild.getBoundingClientRect();
    return [Math.round(left), Math.round(right)];
});
"""

COPY_TABLE = """
getSelection().selectAllChildren(document.querySelector(".datastore-table table"));
return getSelection().toString();
"""


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


def test_the_name_of_a_record_stays_in_sight_when_a_far_column_sorts(
    browser: Chrome, page: str
) -> None:
    set_size(browser, 768, 900)
    browser.get(page)
    button = "thead th:nth-last-child(3) > button"
    browser.execute_script(f"document.querySelector('{button}').click()")
    wait_until(browser, lambda: "sort=" in browser.current_url)
    browser.execute_script("document.querySelector('.datastore-table').scrollLeft = 9999")

    shown = browser.execute_script(
        "const left = document.querySelector('.datastore-table').getBoundingClientRect().left;"
        "return [...document.querySelectorAll('.h, tbody th')].map((each) => {"
        "  const { x, y } = each.getBoundingClientRect();"
        "  return [each.tagName, Math.round(x - left)];"
        "})"
    )
    assert {(tag, left) for tag, left in shown} == {("TH", 1), ("TD", 81), ("TH", 81)}


def test_a_menu_of_a_heading_lies_over_the_records(browser: Chrome, page: str) -> None:
    set_size(browser, 1440, 900)
    measure_rows = (
        "return [...document.querySelectorAll('tr')].map((row) => row.getBoundingClientRect().top)"
    )
    for query in ("", "?field.project_code=002"):
        browser.get(f"{page}{query}")
        before = browser.execute_script(measure_rows)
        for position in (2, 7, 14):
            summary = f"thead th:nth-child({position}) summary"
            browser.execute_script(f"document.querySelector('{summary}').click()")
            assert browser.execute_script(measure_rows) == before
            # Only it is open, and all of it can be seen in the table.
            wait_until(browser, lambda: browser.execute_script(IS_ONE_MENU_IN_TABLE))


def test_right_to_left_the_menu_of_a_number_and_a_short_description_begin_at_the_right(
    browser: Chrome, page: str, sample: Resource
) -> None:
    Resource.objects.filter(pk=sample.pk).update(description="Short", content_language="en")
    set_size(browser, 1440, 900)
    browser.get(page.replace("/en/", "/ar/"))

    directions, title, description = browser.execute_script(
        "const right = (name) => document.querySelector(name).getBoundingClientRect().right;"
        "return [[...document.querySelectorAll('thead ul')].map("
        "  (menu) => getComputedStyle(menu).direction),"
        "  right('h1'), right('.datastore-description p')]"
    )
    assert set(directions) == {"rtl"}
    assert description == title


def test_no_sign_between_facts_is_shown_at_the_edge_of_a_line(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 900)
    browser.get(page)

    # The sign is left of its fact: left of the list, which cuts it off, or beside another fact.
    lefts, overflow = browser.execute_script(
        "const list = document.querySelector('.datastore-facts');"
        "const left = list.getBoundingClientRect().left;"
        "return [[...list.children].filter((each) => each.checkVisibility()).map((each) =>"
        "  Math.round(each.getBoundingClientRect().left - left)), getComputedStyle(list).overflow]"
    )
    assert lefts.count(0) > 1
    assert overflow == "clip"


def test_on_a_phone_a_choice_of_the_order_is_wide_enough(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 900)
    browser.get(page.replace("/en/", "/de/"))
    browser.execute_script("document.querySelector('#sort').closest('.datastore-menu').open = true")

    assert browser.find_element(By.ID, "sort").size["width"] >= 120
    assert measure_overflow(browser) == 0


def test_the_focus_of_a_tab_is_whole(browser: Chrome, page: str) -> None:
    browser.get(page)
    tab_to(browser, ".datastore-tabs a")

    style = "getComputedStyle(document.activeElement)"
    assert browser.execute_script(f"return [{style}.outlineWidth, {style}.outlineOffset]") == [
        "2px",
        "-2px",
    ]


@pytest.mark.parametrize("width", [360, pytest.param(768, marks=pytest.mark.slow)])
def test_no_menu_leaves_the_window(browser: Chrome, page: str, width: int) -> None:
    set_size(browser, width, 900)
    for locale in ("de", "ar"):
        browser.get(page.replace("/en/", f"/{locale}/"))
        menus = browser.execute_script(MEASURE_MENUS)
        assert len(menus) >= 4
        assert [menu for menu in menus if menu[0] < 0 or menu[1] > width] == []


def test_the_name_of_a_record_is_the_heading_of_its_card(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 740)
    browser.get(page)

    heading = browser.find_element(By.CSS_SELECTOR, "tbody .h a")

    tops = browser.execute_script(
        "const [row] = document.querySelectorAll('tbody tr');"
        "return [...row.cells].filter((each) => each.checkVisibility())"
        ".toSorted((a, b) => a.offsetTop - b.offsetTop).map((each) => each.className)"
    )
    assert tops[0] == "h"
    assert heading.text == "001"
    heading.click()
    wait_until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".datastore-record"))
    assert browser.find_element(By.CSS_SELECTOR, "h1").text == "001"


def test_a_record_is_a_card_on_a_phone(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 740)
    browser.get(page)

    assert not browser.execute_script("return document.querySelector('thead').checkVisibility()")
    assert {*browser.execute_script(COUNT_LINES)} == {MAX_CARD_LINES}
    assert measure_overflow(browser) <= 0

    browser.get(f"{page}?sort=budget+desc")
    assert max(browser.execute_script(COUNT_LINES)) == MAX_CARD_LINES + 1
    budgets = browser.find_elements(By.CSS_SELECTOR, "td[data-n='budget']")
    assert all(each.is_displayed() for each in budgets)
    assert len(budgets) == PAGE_SIZES[0]


@pytest.mark.parametrize("query", ["", "?sort=summary", "?q=otter+confluence"])
def test_each_value_of_a_card_has_its_label(browser: Chrome, page: str, query: str) -> None:
    set_size(browser, 360, 740)
    browser.get(f"{page}{query}")

    labels = browser.execute_script(
        "return [...document.querySelectorAll('tbody td:not(.h, [colspan])')]"
        ".filter((each) => each.checkVisibility()).map((each) => Object.values(each.dataset)[0])"
    )
    assert len(labels) > MAX_CARD_LINES
    assert all(labels)


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
    browser.get(f"{page}api/")
    (program, answer) = [
        each for each in browser.find_elements("css selector", "pre") if each.is_displayed()
    ]
    assert program.text.startswith("curl")
    assert answer.get_property("scrollWidth") == answer.get_property("clientWidth")
    browser.get(f"{page}chart/")
    assert not browser.find_element("css selector", "main details").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("count", MAX_PAGE_BYTES)
def test_a_page_is_small(client: Client, sample: Resource, count: int) -> None:
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
        page = client.get(f"/{locale}/datastore/{sample.pk}/?{query}", follow=True)
        assert "datastore-table" in page.content.decode()
        assert len(page.content) <= MAX_PAGE_BYTES[count]


# Texts of both directions: each begins where the lines of the page begin --------------------------

#: Measure the text in each element: what is free where its line begins, and its right end.
MEASURE = """
const [selector, textSelector] = arguments;
return [...document.querySelectorAll(selector)].filter(each => each.offsetWidth).map(element => {
    const range = document.createRange(), box = element.getBoundingClientRect();
    range.selectNodeContents(textSelector ? element.querySelector(textSelector) : element);
    const line = range.getBoundingClientRect();
    const before = document.dir === "rtl" ? box.right - line.right : line.left - box.left;
    return [Math.round(before), Math.round(line.right)];
});
"""

#: The widest label, and the space after it.
MAX_LABEL_WIDTH = 80


@pytest.fixture
def mixed(transactional_db: None) -> Iterator[Resource]:
    """Words of both directions, numbers and dates, below labels of both directions."""
    kinds = ("air (dry)", "نهر 2020 (abc)", "sông")
    rows = "".join(
        f"{kinds[n % 3]},{10 ** (n % 4)},2020-12-{n % 28 + 1:02},{n % 2 == 0},{kinds[n % 3]},{n}\n"
        for n in range(60)
    )
    resource = make_loaded_resource(f"kind,n,day,open,نوع,{'x' * 63}\n{rows}", title="Khảo sát")
    yield resource
    Resource.objects.all().delete()


def test_on_a_phone_a_long_value_does_not_cover_its_label(
    browser: Chrome, live_server: Any, transactional_db: None
) -> None:
    regions = ("Trung du và miền núi phía Bắc nước ta", "Đồng bằng sông Hồng và vùng ven biển")
    rows = "".join(f"{n},{regions[n % 2]}\n" for n in range(40))
    resource = make_loaded_resource(f"n,Vùng kinh tế – xã hội\n{rows}")
    set_size(browser, 360, 740)
    browser.get(f"{live_server.url}/ar/datastore/{resource.pk}/")

    room = browser.execute_script(
        "const value = document.querySelector('td > i'), cell = value.parentElement;"
        "return cell.getBoundingClientRect().right - value.getBoundingClientRect().right"
    )
    assert room > MAX_LABEL_WIDTH
    Resource.objects.all().delete()


def measure(browser: Chrome, selector: str, text_selector: str = "") -> list[list[int]]:
    found: list[list[int]] = browser.execute_script(MEASURE, selector, text_selector)
    assert found, selector
    return found


def test_a_condition_begins_with_its_field_in_the_direction_of_the_page(
    browser: Chrome, live_server: Any, mixed: Resource
) -> None:
    for locale in ("en", "ar"):
        path = f"{live_server.url}/{locale}/datastore/{mixed.pk}/"
        browser.get(f"{path}?field.نوع=نهر 2020 (abc)")
        parts = browser.find_elements(By.CSS_SELECTOR, ".datastore-chips bdi > bdi")
        field, value = (each.rect["x"] for each in parts)
        assert (field < value) is (locale == "en")


@pytest.mark.parametrize("locale", [pytest.param("en", marks=pytest.mark.slow), "ar"])
def test_texts_begin_where_the_lines_of_the_page_begin_and_figures_end_at_the_right(
    browser: Chrome, live_server: Any, mixed: Resource, locale: str
) -> None:
    page = f"{live_server.url}/{locale}/datastore/{mixed.pk}"

    set_size(browser, 360, 740)
    browser.get(f"{page}/")
    for before, _right in measure(browser, "tbody td:not(:last-child)"):  # cards
        assert 0 < before <= MAX_LABEL_WIDTH
    cell = "document.querySelector('tbody td:last-child')"
    assert browser.execute_script(f"return {cell}.scrollWidth <= {cell}.clientWidth")
    assert measure_overflow(browser) <= 0

    set_size(browser, 1440, 900)
    browser.get(f"{page}/")
    values = measure(browser, ".datastore-facets label:has(i)", "bdi, em")
    assert len({before for before, _right in values}) == 1
    counts = measure(browser, ".datastore-facets fieldset:first-of-type label b")
    assert len({right for _before, right in counts}) == 1
    browser.get(f"{page}/r/2/")
    assert {before for before, _right in measure(browser, ".datastore-record dd")} == {0}
    browser.get(f"{page}/chart/?show=sum&of=n&by=day")
    for column in ("td:nth-child(2)", "td:nth-child(3)"):
        ends = measure(browser, f".datastore-figures {column}")
        assert len({right for _before, right in ends}) == 1


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
