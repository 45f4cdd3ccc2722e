"""The script of the data page: conditions without a new page, and values for the search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from datastore_search.contrib.pages.table import ResourceView
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .conftest import list_violations
from .parsing import open_page
from .test_browser import list_errors, measure_overflow, press, set_size, tab_to, wait_until

HEADER = "no,kind,place,day"
ROWS = "".join(
    f"{n},{('river', 'lake', 'spring')[n % 3]},Place {'ABCDEFGHIJKL'[n % 12]},"
    f"2020-12-{n % 28 + 1:02}\n"
    for n in range(300)
)
RIVER = ".datastore-facets [value=river]"

#: Requests for values, as pairs of start and end; none begins before another has ended.
LIST_REQUESTS = """
return performance.getEntriesByType("resource")
    .filter((each) => each.name.includes("datastore_suggest"))
    .map((each) => [each.startTime, each.responseEnd]);
"""


@pytest.fixture
def survey(transactional_db: None) -> Iterator[Resource]:
    yield make_loaded_resource(f"{HEADER}\n{ROWS}", title="Survey")
    Resource.objects.all().delete()


@pytest.fixture
def page(live_server: Any, survey: Resource) -> str:
    return f"{live_server.url}/en/datastore/{survey.pk}/"


def answer_scripts(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[], HttpResponse | None]
) -> None:
    """Answer what scripts request; None answers with the page."""
    dispatch = ResourceView.dispatch

    def patched(self: ResourceView, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        answered = answer() if request.headers.get("Sec-Fetch-Dest") == "empty" else None
        return answered or dispatch(self, request, *args, **kwargs)

    monkeypatch.setattr(ResourceView, "dispatch", patched)


def find(browser: Chrome, selector: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, selector)


def read_status(browser: Chrome) -> str:
    """Read what assistive technology hears."""
    return str(find(browser, ".datastore-view + [role=status]").get_attribute("textContent"))


def has_focus(browser: Chrome, selector: str) -> bool:
    return bool(
        browser.execute_script("return document.activeElement.matches(arguments[0])", selector)
    )


def check(browser: Chrome, selector: str) -> None:
    """Check a box, which the browser's driver takes for hidden on a wide window."""
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)
    press(browser, Keys.SPACE)


def mark_window(browser: Chrome) -> None:
    browser.execute_script("window.isSame = true")


def is_same_page(browser: Chrome) -> bool:
    return bool(browser.execute_script("return window.isSame === true"))


# Conditions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 360])
def test_a_checked_box_applies_itself(browser: Chrome, page: str, width: int) -> None:
    set_size(browser, width, 800)
    browser.get(page)
    mark_window(browser)
    if width == 360:
        find(browser, ".datastore-facets summary").click()
    tab_to(browser, RIVER)
    top = find(browser, RIVER).rect["y"] - browser.execute_script("return scrollY")
    press(browser, Keys.SPACE)
    wait_until(browser, lambda: read_status(browser) == "100 records")

    assert browser.current_url == f"{page}?field.kind=river"
    assert browser.title.startswith("Survey")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".datastore-chips li")) == 1
    assert has_focus(browser, f"{RIVER}:checked")
    assert browser.execute_script("return document.activeElement.checkVisibility()")
    assert "river" in find(browser, ".datastore-tools [hreflang=de]").get_attribute("href")
    now = find(browser, RIVER).rect["y"] - browser.execute_script("return scrollY")
    assert abs(now - top) < 2
    browser.back()
    wait_until(browser, lambda: read_status(browser) == "300 records")
    assert not find(browser, RIVER).is_selected()
    browser.forward()
    wait_until(browser, lambda: find(browser, RIVER).is_selected())
    assert is_same_page(browser)
    assert list_errors(browser) == []


def test_a_search_and_an_amount_need_no_new_page(browser: Chrome, page: str) -> None:
    browser.get(page)
    mark_window(browser)
    find(browser, "#q").send_keys("lake", Keys.ENTER)
    wait_until(browser, lambda: read_status(browser) == "100 records")
    assert has_focus(browser, "#q[role=combobox]")
    start = find(browser, ".datastore-facets [name='from.day']")
    browser.execute_script("arguments[0].value = '2020-12-28'", start)
    start.send_keys(Keys.ENTER)
    wait_until(browser, lambda: "from.day" in browser.current_url)
    wait_until(browser, lambda: read_status(browser) in {"3 records", "4 records"})
    assert is_same_page(browser)
    browser.find_element(By.CSS_SELECTOR, ".datastore-skip-table").send_keys(Keys.ENTER)
    browser.back()  # to the same question: nothing is read again
    assert is_same_page(browser)


def test_a_chosen_value_is_the_whole_one_and_a_typed_word_a_part(
    browser: Chrome, page: str
) -> None:
    browser.get(page)
    for event, condition in (
        ("new InputEvent('input', {bubbles: true, inputType: 'insertText'})", "contains.place"),
        ("new Event('input', {bubbles: true})", "field.place"),
    ):
        find(browser, ".datastore-search summary").click()
        box = find(browser, ".datastore-search [list][name='contains.place']")
        browser.execute_script(
            f"arguments[0].value = 'Place A'; arguments[0].dispatchEvent({event})", box
        )
        box.send_keys(Keys.ENTER)
        wait_until(browser, lambda: read_status(browser) == "25 records")
        assert f"{condition}=Place+A" in browser.current_url
        browser.get(page)
    assert list_errors(browser) == []


def test_what_is_typed_goes_along_to_another_view(browser: Chrome, page: str) -> None:
    browser.get(f"{page}?contains.place=A&field.kind=lake")
    find(browser, ".datastore-search summary").click()
    place = find(browser, ".datastore-search [name='contains.place']")
    place.clear()
    place.send_keys("B")
    find(browser, ".datastore-search [name='from.no']").send_keys("100")
    browser.execute_script(
        """
        const [form] = document.getElementsByClassName("datastore-facets");
        form.elements["from.day"].value = "2020-12-28";
        form.elements["field.kind"].forEach((box) => (box.checked = box.value === "river"));
        """
    )

    browser.find_element(By.LINK_TEXT, "Chart").click()

    wait_until(browser, lambda: "/chart/" in browser.current_url)
    asked = parse_qsl(urlsplit(browser.current_url).query)
    assert sorted(asked) == [
        ("contains.place", "B"),
        ("field.kind", "river"),
        ("from.day", "2020-12-28"),
        ("from.no", "100"),
    ]


def test_what_is_typed_is_asked_with_a_checked_box(browser: Chrome, page: str) -> None:
    browser.get(f"{page}?q=place")
    words = find(browser, "#q")
    words.clear()
    words.send_keys("Place A")

    check(browser, RIVER)

    wait_until(browser, lambda: "field.kind" in browser.current_url)
    asked = parse_qsl(urlsplit(browser.current_url).query)
    assert sorted(asked) == [("field.kind", "river"), ("q", "Place A")]


def test_what_is_chosen_for_a_chart_is_drawn_with_a_checked_box(browser: Chrome, page: str) -> None:
    browser.get(f"{page}chart/?by=kind")
    Select(find(browser, "#by")).select_by_value("place")

    check(browser, RIVER)

    wait_until(browser, lambda: "field.kind" in browser.current_url)
    asked = parse_qsl(urlsplit(browser.current_url).query)
    assert sorted(asked) == [("by", "place"), ("field.kind", "river")]


def test_several_conditions_are_added_at_once(browser: Chrome, page: str, axe: str) -> None:
    browser.get(page)
    mark_window(browser)
    find(browser, ".datastore-search summary").click()
    find(browser, "[data-copy]").click()
    assert has_focus(browser, ".datastore-condition:nth-of-type(2) [name=field]")
    first, second = browser.find_elements(By.CSS_SELECTOR, ".datastore-condition")
    for row, values in ((first, ("kind", "filled", "")), (second, ("no", "between", "10", "19"))):
        names = ("field", "op", "value", "end")
        for name, value in zip(names, values, strict=False):
            field = row.find_element(By.NAME, name)
            assert field.is_displayed() or not value
            if value and field.tag_name == "select":
                (option,) = [
                    each for each in Select(field).options if each.get_property("value") == value
                ]
                option.click()
            elif value:
                field.send_keys(value)
    assert not first.find_element(By.NAME, "value").is_displayed()
    browser.execute_script(axe)
    assert list_violations(browser) == []
    second.find_element(By.NAME, "end").send_keys(Keys.ENTER)
    wait_until(browser, lambda: read_status(browser) == "10 records")
    assert browser.current_url == f"{page}?empty.kind=no&from.no=10&to.no=19"
    assert is_same_page(browser)


def test_a_heading_keeps_the_focus_and_a_fault_is_told_in_place(browser: Chrome, page: str) -> None:
    browser.get(page)
    mark_window(browser)
    tab_to(browser, "thead th:nth-child(3) > button")
    for order in ("ascending", "descending"):
        press(browser, Keys.ENTER)
        wait_until(browser, partial(find, browser, f"[aria-sort={order}] > :focus"))
    assert browser.current_url == f"{page}?sort=kind+desc"
    find(browser, ".datastore-chips button").click()
    wait_until(browser, lambda: browser.current_url == page)
    assert list_errors(browser) == []
    start = find(browser, ".datastore-facets [name='from.day']")
    browser.execute_script("arguments[0].type = 'text'; arguments[0].value = 'soon'", start)
    start.send_keys(Keys.ENTER)
    wait_until(browser, lambda: find(browser, "[aria-invalid]"))
    assert is_same_page(browser)


def test_a_column_is_dragged_to_another_place(browser: Chrome, page: str) -> None:
    browser.get(f"{page}?q=river")
    mark_window(browser)
    heads = browser.find_elements(By.CSS_SELECTOR, "thead th:has(details)")
    ActionChains(browser).drag_and_drop(heads[0], heads[2]).perform()
    moved = f"{page}?q=river&first=kind&first=place&first=no"
    wait_until(browser, lambda: browser.current_url == moved)
    wait_until(
        browser,
        lambda: (
            [each.text for each in browser.find_elements(By.CSS_SELECTOR, "thead bdi")]
            == ["kind", "place", "no", "day"]
        ),
    )
    assert is_same_page(browser)
    assert list_errors(browser) == []


def test_the_columns_of_about_need_the_page_itself(browser: Chrome, page: str) -> None:
    browser.get(f"{page}about/?hide=kind")
    find(browser, ".datastore-columns button").click()
    wait_until(browser, lambda: browser.current_url == f"{page}about/")


def test_the_page_says_that_it_waits(
    browser: Chrome, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    answer_scripts(monkeypatch, lambda: None if gate.wait(60) else HttpResponse())
    browser.get(page)
    check(browser, RIVER)
    assert read_status(browser) == "Searching…"
    assert find(browser, "[aria-busy=true] tbody td")
    check(browser, ".datastore-facets [value=lake]")  # before the first answer
    gate.set()
    wait_until(browser, lambda: read_status(browser) == "200 records")
    wait_until(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "[aria-busy]"))
    assert len(browser.find_elements(By.CSS_SELECTOR, ".datastore-facets :checked")) == 2


def test_a_failure_leads_to_the_page_itself(
    browser: Chrome, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_scripts(monkeypatch, lambda: HttpResponse(status=HTTPStatus.SERVICE_UNAVAILABLE))
    browser.get(page)
    mark_window(browser)
    check(browser, RIVER)
    wait_until(browser, lambda: browser.current_url.endswith("?field.kind=river"))
    wait_until(browser, lambda: find(browser, f"{RIVER}:checked"))
    assert not is_same_page(browser)


@pytest.mark.parametrize("path", ["chart/?by=kind", "map/?lat=no&lon=no"])
def test_a_drawing_follows_its_facets(browser: Chrome, page: str, path: str) -> None:
    browser.get(page + path)
    mark_window(browser)
    before = find(browser, ".datastore-chart").get_attribute("innerHTML")
    check(browser, RIVER)
    wait_until(browser, lambda: "field.kind=river" in browser.current_url)
    wait_until(
        browser, lambda: find(browser, ".datastore-chart").get_attribute("innerHTML") != before
    )
    assert path.partition("?")[2].split("&")[0] in browser.current_url
    assert is_same_page(browser)
    if path.startswith("map"):
        assert find(browser, "[data-draw]").is_displayed()


def test_boxes_apply_without_script(browser: Chrome, page: str) -> None:
    set_size(browser, 360, 800)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(page)
    find(browser, ".datastore-facets summary").click()
    find(browser, RIVER).click()
    find(browser, "#apply").click()
    wait_until(browser, lambda: browser.current_url.endswith("?field.kind=river"))
    assert find(browser, "#q").get_attribute("type") == "search"


# Values -------------------------------------------------------------------------------------------


def list_options(browser: Chrome) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, "[role=option]")]


def test_values_are_suggested_one_request_after_another(browser: Chrome, page: str) -> None:
    browser.get(page)
    search = find(browser, "#q")
    search.send_keys("pl")
    for letter in "ace":
        search.send_keys(letter)
    wait_until(browser, lambda: len(list_options(browser)) == 5)
    assert search.get_attribute("aria-expanded") == "true"
    search.send_keys(" b")
    wait_until(browser, lambda: list_options(browser) == ["Place B"])
    requests = browser.execute_script(LIST_REQUESTS)
    assert 0 < len(requests) <= 12
    assert all(before[1] <= after[0] for before, after in pairwise(requests))
    search.send_keys(Keys.ARROW_DOWN)
    option = find(browser, "[role=option][aria-selected=true]")
    assert search.get_attribute("aria-activedescendant") == option.get_attribute("id")
    search.send_keys(Keys.ENTER)
    wait_until(browser, lambda: read_status(browser) == "25 records")
    assert browser.current_url == f"{page}?q=Place+B"
    assert list_options(browser) == []


def test_keys_walk_through_the_values_and_leave_them(browser: Chrome, page: str) -> None:
    browser.get(page)
    search = find(browser, "#q")
    search.send_keys("plac")
    wait_until(browser, lambda: len(list_options(browser)) == 5)
    chosen = []
    for key in (Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ARROW_DOWN):
        search.send_keys(key)
        chosen.append(list_options(browser).index(find(browser, "[aria-selected=true]").text))
    assert chosen == [4, 0, 1]
    search.send_keys(Keys.ESCAPE)
    assert search.get_attribute("aria-expanded") == "false"
    assert search.get_attribute("value") == "plac"
    search.send_keys("e")
    wait_until(browser, lambda: len(list_options(browser)) == 5)
    find(browser, "[role=option]").click()
    wait_until(browser, lambda: read_status(browser) == "25 records")


@pytest.mark.parametrize("locale", ["en", "ar"])
def test_values_and_a_view_that_was_replaced_are_accessible(
    browser: Chrome, page: str, axe: str, locale: str
) -> None:
    set_size(browser, 360, 800)
    browser.get(page.replace("/en/", f"/{locale}/"))
    browser.execute_script(axe)
    search = find(browser, "#q")
    search.send_keys("pla")
    wait_until(browser, lambda: len(list_options(browser)) == 5)
    search.send_keys(Keys.ARROW_DOWN)
    assert list_violations(browser) == []
    search.send_keys(Keys.ENTER)
    wait_until(browser, lambda: "q=Place" in browser.current_url)
    wait_until(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "[aria-busy]"))
    assert list_violations(browser) == []
    assert measure_overflow(browser) <= 0


def test_values_of_categories_alone_are_suggested(client: Client, survey: Resource) -> None:
    assert open_page(client, survey).count("datastore_suggest") == 2  # kind and place


@pytest.mark.django_db
def test_no_values_of_a_private_resource_are_suggested(admin_client: Client) -> None:
    hidden = make_loaded_resource(f"{HEADER}\n{ROWS}", private=True)

    assert "datastore_suggest" not in open_page(admin_client, hidden)
    answer = admin_client.get(  # a session is no token
        "/api/3/action/datastore_suggest",
        {"resource_id": str(hidden.pk), "field": "place", "prefix": "pla"},
    )
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert b"Place" not in answer.content
