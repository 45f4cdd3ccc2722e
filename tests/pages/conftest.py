"""The browser of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome


@pytest.fixture
def browser(browser: Chrome) -> Iterator[Chrome]:
    """A browser that does not wait for what a page may not have, such as chips."""
    browser.implicitly_wait(0)
    yield browser
    browser.implicitly_wait(30)
