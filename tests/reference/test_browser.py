"""The pages of the reference in a real browser, under a policy that forbids every inline script."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from ..html.test_browser import list_errors, measure_overflow, set_size

#: Whether the direction of code is its own, so that ``_id`` does not become ``id_``.
IS_CODE_ISOLATED = """
return [...document.querySelectorAll("main code")].every((code) => {
    const style = getComputedStyle(code.closest("[dir]"));
    return style.direction === "ltr" && (code.closest("pre") || style.unicodeBidi === "isolate");
});
"""


@pytest.mark.parametrize("locale", ["en", "vi", "ar"])
def test_the_pages_fit_and_break_no_strict_policy(
    browser: Chrome, live_server: Any, transactional_db: None, locale: str
) -> None:
    for width in (360, 1440):
        set_size(browser, width, 800)
        for page in ("", "datastore_search/", "datastore_aggregate/", "dump/"):
            browser.get(f"{live_server.url}/{locale}/datastore/api/{page}")

            assert measure_overflow(browser) == 0, page
            assert browser.execute_script(IS_CODE_ISOLATED), page
            files = browser.execute_script("return performance.getEntriesByType('resource')")
            assert [each["initiatorType"] for each in files if "favicon" not in each["name"]] == [
                "link"
            ]
    set_size(browser, 1280, 1000)
    assert list_errors(browser) == []


def test_links_lead_from_a_condition_to_its_operators(
    browser: Chrome, live_server: Any, transactional_db: None
) -> None:
    browser.get(f"{live_server.url}/en/datastore/")
    browser.find_element(By.LINK_TEXT, "API").click()
    browser.find_element(By.LINK_TEXT, "datastore_search").click()
    browser.find_element(By.CSS_SELECTOR, "#filters a").click()

    assert browser.current_url == f"{live_server.url}/en/datastore/api/#filters"
    assert browser.find_element(By.ID, "operator-startswith").text.startswith("startswith")
