"""The admin in a real browser: upload, preview, watch, describe, issue a token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from datastore_search.contrib.files.jobs import queue
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.tables.locks import hold_job_lock
from datastore_search.models import Resource

from .builders import SURVEY, make_resource, make_user


def log_in(browser: Chrome, base: str, locale: str) -> None:
    make_user("boss", is_staff=True, is_superuser=True)
    browser.get(f"{base}/{locale}/admin/")
    browser.find_element(By.NAME, "username").send_keys("boss")
    browser.find_element(By.NAME, "password").send_keys("secret")
    browser.find_element(By.CSS_SELECTOR, "[type=submit]").click()
    browser.find_element(By.ID, "user-tools")


def list_console_errors(browser: Chrome) -> list[str]:
    """List the errors of the browser's console, except the missing icon."""
    lines: list[dict[str, str]] = browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium's
    return [
        line["message"]
        for line in lines
        if line["level"] == "SEVERE" and "favicon" not in line["message"]
    ]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The jobs of a worker, which the test runs itself."""
    calls: list[Callable[[], None]] = []
    monkeypatch.setattr(queue, "run_on_commit", calls.append)
    return calls


def click(browser: Chrome, name: str) -> None:
    browser.find_element(By.CSS_SELECTOR, f"[name={name}]:not([hidden])").click()


def get_text(browser: Chrome, selector: str) -> str:
    return browser.find_element(By.CSS_SELECTOR, selector).text


def wait_for(browser: Chrome, selector: str, text: str) -> None:
    WebDriverWait(browser, 30, ignored_exceptions=[WebDriverException]).until(
        lambda browser: text in get_text(browser, selector)
    )


def upload_file(browser: Chrome, base: str, resource: Resource, path: Path) -> None:
    browser.get(f"{base}/en/admin/datastore_search/resource/{resource.pk}/load/")
    browser.find_element(By.NAME, "file").send_keys(str(path))
    browser.find_element(By.CSS_SELECTOR, "#content-main [type=submit]").click()
    browser.find_element(By.NAME, "cancel")


@pytest.mark.slow
def test_the_breadcrumbs_look_like_those_of_the_other_pages_of_the_admin(
    browser: Chrome, base: str
) -> None:
    resource = make_resource()
    log_in(browser, base, "en")
    names = ("background-color", "color", "padding-left", "margin-top", "list-style-position")
    looks = []
    for page in ("change", "load"):
        browser.get(f"{base}/en/admin/datastore_search/resource/{resource.pk}/{page}/")
        crumbs = browser.find_element(By.CSS_SELECTOR, ".breadcrumbs")
        looks.append({name: crumbs.value_of_css_property(name) for name in names})

    assert looks[0] == looks[1]


@pytest.mark.slow
def test_staff_make_preview_load_and_describe_a_table(
    browser: Chrome, base: str, tmp_path: Path
) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    log_in(browser, base, "en")

    browser.get(f"{base}/en/admin/datastore_search/resource/add/")
    browser.find_element(By.NAME, "title").send_keys("River survey")
    click(browser, "_load")
    browser.find_element(By.NAME, "file").send_keys(str(path))
    browser.find_element(By.CSS_SELECTOR, "#content-main [type=submit]").click()
    assert "Mực nước sông Hồng" in get_text(browser, ".datastore-rows")
    Select(browser.find_element(By.NAME, "type_4")).select_by_value("text")
    click(browser, "again")
    wait_for(browser, ".datastore-fields tr:nth-child(5)", "text")
    click(browser, "load")
    assert "6 records were loaded." in get_text(browser, "#outcome")

    resource = Resource.objects.get()
    assert resource.name == "river-survey"
    assert resource.fields.get(name="amount").type == "text"
    browser.get(f"{base}/en/admin/datastore_search/resource/{resource.pk}/change/")
    chosen = Select(browser.find_element(By.NAME, "fields-4-chosen_type"))
    assert chosen.first_selected_option.get_attribute("value") == "text"
    browser.find_element(By.NAME, "fields-3-label").send_keys("Title of the visit")
    click(browser, "_save")
    row = get_text(browser, "#result_list tbody tr")
    assert "River survey" in row
    assert "ready" in row
    assert resource.fields.get(name="title").label == "Title of the visit"
    assert list_console_errors(browser) == []


@pytest.mark.slow
def test_the_name_that_a_title_proposes_keeps_its_letters(browser: Chrome, base: str) -> None:
    log_in(browser, base, "en")
    browser.get(f"{base}/en/admin/datastore_search/resource/add/")

    browser.find_element(By.NAME, "title").send_keys("Số liệu đất Đắk Lắk: Größe, Łódź")

    name = browser.find_element(By.NAME, "name").get_attribute("value")
    assert name == "so-lieu-dat-dak-lak-grosse-lodz"
    assert list_console_errors(browser) == []


@pytest.mark.slow
def test_a_load_is_watched_until_it_is_ready(
    browser: Chrome, base: str, tmp_path: Path, waiting: list[Callable[[], None]]
) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    log_in(browser, base, "en")
    resource = Resource.objects.create(name="rivers")
    upload_file(browser, base, resource, path)
    click(browser, "load")
    assert get_text(browser, "[aria-current=step]") == "queued"

    load = resource.loads.get()
    far = {"state": LoadState.COPYING, "rows_written": 3, "rows_total": 6, "progress": 0.4}
    with hold_job_lock(connection, load.pk):
        Load.objects.filter(pk=load.pk).update(**far)
        wait_for(browser, "[data-datastore-text]", "3 of 6 records · 40%")
        assert get_text(browser, "[aria-current=step]") == "copying"
        assert browser.find_element(By.TAG_NAME, "progress").get_attribute("value") == "40"
        assert "copying" in get_text(browser, "[role=status]")
        before = {"state": LoadState.QUEUED, "rows_written": 0, "rows_total": None, "progress": 0}
        Load.objects.filter(pk=load.pk).update(**before)
    for call in waiting:
        call()
    wait_for(browser, "#outcome", "6 records were loaded.")
    assert list_console_errors(browser) == []


@pytest.mark.slow
def test_the_lists_follow_a_load(
    browser: Chrome, base: str, tmp_path: Path, waiting: list[Callable[[], None]]
) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    log_in(browser, base, "en")
    upload_file(browser, base, Resource.objects.create(name="rivers"), path)
    click(browser, "load")
    browser.find_element(By.CSS_SELECTOR, "[aria-current=step]")

    browser.get(f"{base}/en/admin/datastore_search/resource/")
    assert get_text(browser, "[data-datastore-state]") == "queued"
    for call in waiting:
        call()

    wait_for(browser, "[data-datastore-state]", "ready")


@pytest.mark.slow
def test_the_viewer_of_the_api_keeps_the_policy_of_the_portal(browser: Chrome, base: str) -> None:
    browser.get(f"{base}/en/api/docs/")
    assert "/action/datastore_" in get_text(browser, ".opblock-summary-path")
    assert list_console_errors(browser) == []
