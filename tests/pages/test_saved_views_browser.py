"""Saved views in a real browser: staff save what a page shows, and readers see it first."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from datastore_search.contrib.pages.models import SavedView
from datastore_search.models import Resource

from ..builders import make_user
from .conftest import list_violations
from .test_browser import list_errors, measure_overflow, set_size, wait_until


def click(browser: Chrome, label: str) -> None:
    browser.find_element(By.PARTIAL_LINK_TEXT, label).click()


def take_picture(browser: Chrome, name: str) -> None:
    """Save a picture of the whole page, where a folder for pictures is named."""
    if folder := os.environ.get("DATASTORE_PICTURES"):
        height = browser.execute_script("return document.documentElement.scrollHeight")
        set_size(browser, int(browser.execute_script("return innerWidth")), int(height))
        browser.save_screenshot(f"{folder}/{name}.png")


@pytest.mark.slow
def test_staff_save_a_chart_which_readers_see_above_all_records(
    browser: Chrome, live_server: Any, sample: Resource, page: str, axe: str
) -> None:
    client = Client()
    client.force_login(make_user("staff", is_staff=True, is_superuser=True))
    browser.get(f"{live_server.url}/en/datastore/")
    name = settings.SESSION_COOKIE_NAME
    browser.add_cookie({"name": name, "value": client.cookies[name].value})
    for query, title in (
        ("chart/?show=sum&of=budget&by=subject&field.stage=active", "Budget of each subject"),
        ("?sort=budget+desc&fields=title&fields=budget", "The largest projects, by their budget"),
    ):
        set_size(browser, 1440, 900)
        browser.get(page + query)
        take_picture(browser, f"save-{len(title)}")
        click(browser, "Save this view")
        assert measure_overflow(browser) == 0
        (box,) = [
            each
            for each in browser.find_elements(By.CSS_SELECTOR, "[name^=saved_views][name$=-title]")
            if each.is_displayed() and not each.get_attribute("value")
        ]
        box.send_keys(title)
        take_picture(browser, f"admin-{len(title)}")
        browser.find_element(By.NAME, "_save").click()
        wait_until(browser, SavedView.objects.filter(title=title).exists)

    browser.delete_all_cookies()
    for width, height in ((1440, 900), (360, 740)):
        set_size(browser, width, height)
        browser.get(page)
        take_picture(browser, f"first-{width}")
        assert browser.find_element(By.CSS_SELECTOR, "#first-view").text == "Budget of each subject"
        assert browser.find_element(By.CSS_SELECTOR, ".datastore-first-view svg").is_displayed()
        assert measure_overflow(browser) == 0
        browser.execute_script(axe)
        assert list_violations(browser) == []
        click(browser, "The largest projects")
        take_picture(browser, f"tab-{width}")
        present = browser.find_element(By.CSS_SELECTOR, ".datastore-tabs [aria-current]")
        assert present.text == "The largest projects, by their budget"
        assert measure_overflow(browser) == 0
        browser.execute_script(axe)
        assert list_violations(browser) == []
    assert list_errors(browser) == []
