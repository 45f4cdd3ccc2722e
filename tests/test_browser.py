"""The admin in a real browser: upload, watch, describe, issue a token."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

from datastore_search.models import Resource

from .builders import SURVEY, make_user


@pytest.fixture
def browser() -> Iterator[Chrome]:
    options = ChromeOptions()
    for argument in ("headless", "no-sandbox", "disable-dev-shm-usage", "window-size=1280,1000"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    driver.implicitly_wait(30)  # a click returns before the next page is there
    yield driver
    driver.quit()


@pytest.fixture
def base(live_server: Any) -> Iterator[str]:
    yield live_server.url
    Resource.objects.all().delete()


def log_in(browser: Chrome, base: str, locale: str) -> None:
    make_user("boss", is_staff=True, is_superuser=True)
    browser.get(f"{base}/{locale}/admin/")
    browser.find_element(By.NAME, "username").send_keys("boss")
    browser.find_element(By.NAME, "password").send_keys("secret")
    browser.find_element(By.CSS_SELECTOR, "[type=submit]").click()
    browser.find_element(By.ID, "user-tools")


def faults_of(browser: Chrome) -> list[str]:
    """List what the browser's console complains about, but for the icon that no test server has."""
    lines: list[dict[str, str]] = browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium's
    return [
        line["message"]
        for line in lines
        if line["level"] == "SEVERE" and "favicon" not in line["message"]
    ]


def test_staff_load_describe_and_replace_a_table(
    browser: Chrome, base: str, tmp_path: Path
) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    log_in(browser, base, "en")

    browser.get(f"{base}/en/admin/datastore_search/resource/add/")
    browser.find_element(By.NAME, "title").send_keys("River survey")
    browser.find_element(By.NAME, "file").send_keys(str(path))
    browser.find_element(By.NAME, "_continue").click()
    assert "6 records" in browser.find_element(By.CLASS_NAME, "messagelist").text
    label = browser.find_element(By.NAME, "fields-3-label")
    label.send_keys("Title of the visit")
    browser.find_element(By.NAME, "_save").click()

    row = browser.find_element(By.CSS_SELECTOR, "#result_list tbody tr").text
    assert "River survey" in row
    assert "ready" in row
    resource = Resource.objects.get()
    assert resource.name == "river-survey"
    assert resource.fields.get(name="title").label == "Title of the visit"
    assert faults_of(browser) == []


def test_a_token_is_shown_once(browser: Chrome, base: str) -> None:
    log_in(browser, base, "vi")
    user = make_user("reader")

    browser.get(f"{base}/vi/admin/knox/authtoken/add/?user={user.pk}")
    browser.find_element(By.NAME, "_save").click()

    token = browser.find_element(By.CLASS_NAME, "datastore-token").text
    assert len(token) == 64
    browser.refresh()
    assert token not in browser.page_source
