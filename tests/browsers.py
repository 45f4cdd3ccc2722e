"""A headless browser for tests of pages, and its fixtures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from datastore_search.models import Resource


@contextmanager
def start_browser() -> Iterator[Chrome]:
    """Start a browser, which ends with the block; its start takes two seconds of processor time."""
    options = ChromeOptions()
    for argument in ("headless", "no-sandbox", "disable-dev-shm-usage", "window-size=1280,1000"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    driver.implicitly_wait(30)  # a click returns before the next page is there
    try:
        yield driver
    finally:
        driver.quit()


def reset_browser(browser: Chrome) -> None:
    """Let a browser forget what it has stored and emulated, and show an empty page."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd(
        "Storage.clearDataForOrigin",
        {"origin": browser.execute_script("return origin"), "storageTypes": "all"},
    )
    browser.delete_all_cookies()
    browser.get("about:blank")
    browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium's
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.set_window_size(1280, 1000)


@pytest.fixture(scope="session")
def _browser() -> Iterator[Chrome]:
    with start_browser() as browser:
        yield browser


@pytest.fixture
def browser(_browser: Chrome) -> Iterator[Chrome]:
    yield _browser
    reset_browser(_browser)


@pytest.fixture
def base(live_server: Any) -> Iterator[str]:
    """The address of a server, on which a test may make resources."""
    yield live_server.url
    Resource.objects.all().delete()
