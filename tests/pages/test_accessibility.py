"""
Every page and state by axe-core: WCAG 2.2 AA, in three languages, two widths, light and dark.

One browser opens them all.  axe-core comes with a Python package, of which only that file is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from datastore_search.contrib.files.jobs import LoadOptions, drafts
from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource

from ..builders import make_user
from ..files.admin.forms import make_file
from ..files.admin.test_loading import CSV_WITH_BAD_ROW
from ..files.builders import make_loaded_resource
from .conftest import list_violations
from .test_browser import list_errors, measure_overflow, set_size

#: A question of many chips.
LONG_QUESTION = "&".join(f"not.subject=a+long+value+{number}" for number in range(20))

#: The language of the page, the width and height of its window, and its colours.
View = tuple[str, int, int, str]
VIEWS: list[View] = [
    ("en", 1440, 900, "light"),
    ("vi", 360, 740, "dark"),
    ("ar", 1440, 900, "dark"),
    ("ar", 360, 740, "light"),
]

#: Django's pages may be wider than the window.
ADMIN = "admin/datastore_search"

STATUS = "return performance.getEntriesByType('navigation')[0].responseStatus"

#: Open all ``<details>``, but menus one at a time: they lie over what is below them.
UNFOLD = """
for (const each of document.querySelectorAll("details")) each.open = !each.matches(arguments[0]);
document.querySelector(arguments[1])?.setAttribute("open", "");
"""
MENUS = ".datastore-tools details, .datastore-menu, thead details"
OPENED_MENUS = [".datastore-tools details", ".datastore-menu", "thead th:nth-child(3) details"]


@pytest.fixture
def table(transactional_db: None) -> Iterator[Resource]:
    """Sixty records of every kind of field, with hostile names and long texts."""
    rows = "".join(
        f"{n},{'Watershed' if n % 3 else 'air'},{n * 1000.5},2020-12-{n % 28 + 1:02},{n % 2 == 0},"
        f"https://example.org/{n},{'long words of a summary ' * (n % 20)},\n"
        for n in range(60)
    )
    header = "no,subject,budget,day,open,site,summary,<b>\u202eempty"
    yield make_loaded_resource(
        f"{header}\n{rows}", title="Khảo sát", description="Of rivers. " * 60
    )
    Resource.objects.all().delete()


def set_view(browser: Chrome, width: int, height: int, scheme: str) -> None:
    set_size(browser, width, height)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


EACH_VIEW = pytest.mark.parametrize(
    "view", [VIEWS[0], *[pytest.param(each, marks=pytest.mark.slow) for each in VIEWS[1:]]]
)


def check_pages(browser: Chrome, axe: str, base: str, view: View, addresses: list[str]) -> None:
    """
    Check pages in a view, all of each unfolded but menus.

    They break no rule of accessibility and no Content-Security-Policy.  Those that are not of
    Django's admin are not wider than the window either.
    """
    browser.set_script_timeout(60)
    failures = {}
    locale, width, height, scheme = view
    set_view(browser, width, height, scheme)
    for address in addresses:
        list_errors(browser)  # axe-core's own styles broke the policy of the page before
        browser.get(f"{base}/{locale}/{address}")
        overflow = measure_overflow(browser)
        browser.execute_script(UNFOLD, MENUS, "none")
        refused = [each for each in list_errors(browser) if "Content Security" in each]
        browser.execute_script(axe)
        status = browser.execute_script(STATUS)
        failures[address] = [
            *([f"status {status}"] if status != 200 and address.startswith(ADMIN) else []),
            *refused,
            *list_violations(browser),
            *(["wider than the window"] if overflow > 0 and not address.startswith(ADMIN) else []),
        ]
    set_view(browser, 1280, 1000, "light")
    assert {address: found for address, found in failures.items() if found} == {}


@pytest.mark.slow
@EACH_VIEW
def test_every_page_is_accessible(
    browser: Chrome, live_server: Any, axe: str, table: Resource, view: View
) -> None:
    page = f"datastore/{table.pk}/"
    hidden = make_loaded_resource("salary\n1\n", private=True)
    sites = make_loaded_resource(
        "name,lat,lon\n" + "".join(f"place {n},{10 + n % 7},{100 + n % 11}\n" for n in range(501))
    )

    check_pages(
        browser,
        axe,
        live_server.url,
        view,
        [
            "",
            "datastore/",
            "datastore/?q=nothing",
            page,
            f"{page}?q=watershed&from.budget=1000&sort=budget+desc&limit=50",
            f"{page}?q=watershed+words&hide=subject",
            f"{page}?{LONG_QUESTION}",
            f"{page}?q=nothing",
            f"{page}?q=watershedd",
            f"{page}?contains.summary=w%C3%B6rds",
            f"{page}?facet=summary&find=long",
            f"{page}?q={'a' * 2001}",
            f"{page}?from.budget=many",
            f"{page}?from.budget=many&embed=1",
            f"{page}r/3/?q=watershed&at=2",
            f"{page}r/999/",
            f"{page}api/?q=watershed",
            f"{page}about/?q=watershed",
            "datastore/?sort=modified&topic=water",
            f"{page}chart/",
            f"{page}chart/?by=day&per=month&split=subject&as=shares",
            f"{page}chart/?show=sum&of=budget&by=subject&split=open",
            f"{page}?q=watershed&embed=1",
            f"{page}chart/?by=subject&embed=1",
            f"{page}chart/?by=nope",
            f"{page}compare/?show=sum&of=budget&by=subject&compare=day",
            f"{page}compare/?by=subject&compare=open&as=slope&embed=1",
            f"datastore/{sites.pk}/map/",
            f"datastore/{sites.pk}/map/?to.lat=11",
            f"datastore/{sites.pk}/r/3/",
            f"datastore/{sites.pk}/map/?to.lat=11&embed=1",
            f"datastore/{sites.pk}/map/?lat=nope",
            f"datastore/{hidden.pk}/",
            f"datastore/{hidden.pk}/?embed=1",
            "admin/login/",
            "datastore/5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11/",
        ],
    )


@pytest.mark.slow
def test_the_menus_of_a_page_are_accessible(
    browser: Chrome, live_server: Any, axe: str, table: Resource
) -> None:
    browser.set_script_timeout(60)
    for locale, width in (("en", 1440), ("ar", 360)):
        set_view(browser, width, 900, "light")
        browser.get(f"{live_server.url}/{locale}/datastore/{table.pk}/")
        browser.execute_script(axe)
        for menu in OPENED_MENUS:
            browser.execute_script(UNFOLD, MENUS, menu)
            assert (menu, list_violations(browser)) == (menu, [])


@pytest.mark.slow
@pytest.mark.usefixtures("read_here")
@EACH_VIEW
def test_every_page_of_the_admin_is_accessible(
    browser: Chrome, live_server: Any, axe: str, table: Resource, view: View
) -> None:
    user = make_user("boss", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    browser.get(live_server.url)
    name = django_settings.SESSION_COOKIE_NAME
    browser.add_cookie({"name": name, "value": client.cookies[name].value})
    draft = drafts.create_draft(table, LoadOptions(), file=make_file(CSV_WITH_BAD_ROW))
    loaded = Load.objects.filter(resource=table).exclude(pk=draft.pk).get()
    offers = [
        drafts.create_draft(table, LoadOptions(), file=make_file(text))
        for text in ("a,b,c\n1,2,3\n\nSource: us\n", '{"a": [{"n": 1}], "b": {"c": [{"n": 2}]}}')
    ]

    check_pages(
        browser,
        axe,
        live_server.url,
        view,
        [
            f"{ADMIN}/resource/",
            f"{ADMIN}/resource/add/",
            f"{ADMIN}/resource/{table.pk}/change/",
            f"{ADMIN}/resource/{table.pk}/delete/",
            f"{ADMIN}/resource/{table.pk}/history/",
            f"{ADMIN}/resource/{table.pk}/load/",
            f"{ADMIN}/resource/{table.pk}/texts/ar/",
            f"{ADMIN}/datastore/",
            f"{ADMIN}_files/load/",
            f"{ADMIN}_files/load/{loaded.pk}/change/",
            *(f"{ADMIN}_files/load/{each.pk}/preview/" for each in (draft, *offers)),
        ],
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_viewer_of_the_api_can_be_read(
    browser: Chrome, live_server: Any, axe: str, scheme: str
) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(f"{live_server.url}/ar/api/docs/")
    browser.implicitly_wait(30)
    for group in ("get", "post"):
        path = f".opblock-{group} .opblock-summary-control"
        browser.execute_script("arguments[0].click()", browser.find_element(By.CSS_SELECTOR, path))
        browser.find_element(By.CSS_SELECTOR, f".opblock-{group} .opblock-body .microlight span")
    browser.execute_script(axe)

    rules = dict(list_violations(browser))
    assert rules.keys().isdisjoint({"color-contrast", "html-has-lang", "html-lang-valid"}), rules
    is_dark = browser.execute_script("return document.documentElement.className") == "dark-mode"
    assert is_dark == (scheme == "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
