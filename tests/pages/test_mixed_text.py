"""Texts of both directions on one page: each begins where the lines of the page begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome

from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .test_browser import measure_overflow, set_size

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


def measure(browser: Chrome, selector: str, text_selector: str = "") -> list[list[int]]:
    found: list[list[int]] = browser.execute_script(MEASURE, selector, text_selector)
    assert found, selector
    return found


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
