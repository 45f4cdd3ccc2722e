"""A hostile table on every view: nothing in it runs, breaks a page, or is hidden from readers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext, Template
from django.test import Client
from django.urls import path
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver import Chrome

from datastore_search.models import Field, Resource
from example_project.urls import urlpatterns as urls_of_portal

from ..files.builders import make_loaded_resource
from .parsing import extract_text
from .test_browser import WIDTHS, list_errors, measure_overflow, set_size

SCRIPT = "<script>window.hostile=1;alert(1)</script>"
BREAK_OUT = "</script></title></textarea>\"'><img src=x onerror=window.hostile=1>"
TEMPLATE = "{{ 7|add:42 }}{% debug %}{{ settings.SECRET_KEY }}"
OVERRIDE = "safe\u202egnp.exe\u2066"
UNBROKEN = "W" * 10_000

NAMES = [
    "<b onclick=alert(1)>",
    '"; DROP TABLE datastore_search_resource; --',
    "' OR 1=1 --",
    "{{ 7|add:42 }}",
    "\u202ereversed",
    "select",
    "__proto__",
    "x" * 63,
]
RECORDS = [
    [SCRIPT, BREAK_OUT, TEMPLATE, OVERRIDE, UNBROKEN, "javascript:alert(1)", "7", "8"],
    [
        'https://example.org/"onmouseover=window.hostile=1',
        "https://example.org/?q=<script>",
        "data:text/html,<script>alert(1)</script>",
        "a@example.org?body=<script>",
        '=HYPERLINK("javascript:alert(1)")',
        "\u2067مرحبا\u2069",
        "7",
        "8",
    ],
]
COLUMNS = 300

PORTAL_PAGE = (
    "{% load datastore %}<!doctype html><html lang=en><meta name=viewport"
    " content='width=device-width'><title>Portal</title>{% datastore_styles %}<body>"
    "{% datastore_table id %}{% datastore_chart id %}{% datastore_map id %}"
)


def show_portal_page(request: HttpRequest, resource_id: str) -> HttpResponse:
    return HttpResponse(Template(PORTAL_PAGE).render(RequestContext(request, {"id": resource_id})))


urlpatterns = [*urls_of_portal, path("portal/<resource_id>/", show_portal_page)]


def make_hostile(names: list[str], values: Callable[[int], list[int]]) -> Resource:
    """Make a resource whose title, names, labels, notes and values are written to do harm."""
    text = io.StringIO()
    rows = [[*RECORDS[n % len(RECORDS)], *values(n)] for n in range(30)]
    csv.writer(text).writerows([[*NAMES, *names], *rows])
    return make_loaded_resource(
        text.getvalue(), title=BREAK_OUT + OVERRIDE, description=SCRIPT * 40
    )


@pytest.fixture
def hostile(transactional_db: None) -> Iterator[Resource]:
    names = [f"column_{n}" for n in range(COLUMNS - len(NAMES))]
    resource = make_hostile(names, lambda n: [n * 7 % 5] * len(names))
    Field.objects.filter(resource=resource, name=NAMES[0]).update(
        label=SCRIPT, notes=BREAK_OUT + UNBROKEN
    )
    yield resource
    Resource.objects.all().delete()


@pytest.fixture
def hostile_places(transactional_db: None) -> Iterator[Resource]:
    """The same names and values with places, and numbers to draw."""
    names = ["column_1", "column_2", "lat", "lon"]
    resource = make_hostile(names, lambda n: [n, n * 7 % 5, n, 100 + n])
    Field.objects.filter(resource=resource).update(label=SCRIPT + BREAK_OUT)
    yield resource
    Resource.objects.all().delete()


def list_addresses(resource: Resource, places: Resource) -> list[str]:
    page = f"en/datastore/{resource.pk}/"
    of_places = f"datastore/{places.pk}"
    return [
        "en/datastore/",
        page,
        f"{page}?q=script&columns=31",
        f"{page}?field.select=javascript%3Aalert(1)&sort=select+desc",
        f"{page}?from.column_1=%3Cscript%3E",
        f"{page}r/1/",
        f"{page}r/2/",
        f"{page}chart/?by=select&split=__proto__",
        f"{page}compare/?by=select&compare=__proto__",
        f"{page}map/",
        f"{page}about/",
        f"{page}api/?field.select=javascript%3Aalert(1)",
        f"{page}?embed=1",
        f"{page}chart/?by=select&embed=1",
        f"{page}map/?embed=1",
        f"portal/{resource.pk}/",
        f"portal/{places.pk}/",
        f"en/{of_places}/map/?title=select",
        f"ar/{of_places}/map/?title=select&embed=1",
        f"ar/datastore/{resource.pk}/",
    ]


def is_dialog_open(browser: Chrome) -> bool:
    try:
        browser.switch_to.alert.dismiss()
    except NoAlertPresentException:
        return False
    return True


#: Open what is folded, and return what has run and where links lead.
INSPECT = """
for (const each of document.querySelectorAll("main > details, form details")) each.open = true;
for (const each of document.querySelectorAll("td *")) each.dispatchEvent(new Event("mouseover"));
return [
    "hostile" in window,
    [...new Set([...document.links].map((each) => each.protocol))].sort(),
    document.querySelectorAll(arguments[0]).length,
];
"""


#: What no page has but from a value; scripts are files of the app, or data that no browser runs.
HARMFUL = (
    "script:not([src^='/static/datastore_search/'], [type='application/ld+json']), "
    "img, iframe:not(details > iframe[src$='embed=1']), [onerror], [onclick]"
)


@pytest.mark.slow
def test_a_hostile_table_does_no_harm_in_a_browser(
    browser: Chrome, live_server: Any, hostile: Resource, hostile_places: Resource, settings: Any
) -> None:
    settings.ROOT_URLCONF = __name__
    failures = {}
    for address in list_addresses(hostile, hostile_places):
        browser.get(f"{live_server.url}/{address}")
        is_hurt = is_dialog_open(browser)
        has_run, protocols, element_count = browser.execute_script(INSPECT, HARMFUL)
        overflows = []
        for size in WIDTHS:
            set_size(browser, *size)
            overflows.append(max(measure_overflow(browser), 0))
        found = [
            is_hurt or has_run,
            sorted({*protocols} - {"http:", "https:", "mailto:"}),
            element_count,
            overflows,
            [each for each in list_errors(browser) if "400 (Bad Request)" not in each],
        ]
        if found != [False, [], 0, [0, 0], []]:
            failures[address] = found
    assert failures == {}


@pytest.mark.slow
def test_a_hostile_table_is_shown_as_it_is(
    client: Client, hostile: Resource, hostile_places: Resource, settings: Any
) -> None:
    settings.ROOT_URLCONF = __name__
    for address in list_addresses(hostile, hostile_places):
        response = client.get(f"/{address}", follow=True)
        page = response.content.decode()
        assert response.status_code == (400 if "from.column_1" in address else 200), address
        for harmful in (SCRIPT, "<img", ">49<", settings.SECRET_KEY):
            assert harmful not in page, (address, harmful)
        text = extract_text(response)
        for control in ("\u202e", "\u2066"):
            assert control not in text, (address, text[max(0, text.find(control) - 80) :][:160])
    for address in (f"en/datastore/{hostile.pk}/", f"portal/{hostile.pk}/"):
        page = client.get(f"/{address}").content.decode()
        assert "&lt;script&gt;window.hostile=1;alert(1)&lt;/script&gt;" in page
        assert "{{ 7|add:42 }}{% debug %}" in page
        assert "safe‹U+202E›gnp.exe‹U+2066›" in page
        assert re.search(r'<td data-l="select">(<i>)?javascript:alert\(1\)', page)
        cells = page.partition("<tbody>")[2].partition("</tbody>")[0]
        assert UNBROKEN[:60] in cells
        assert UNBROKEN[:61] not in cells

    response = client.get(f"/en/datastore/{hostile.pk}/schema.json")

    assert response["Content-Type"].startswith("application/json")
    assert response["X-Content-Type-Options"] == "nosniff"
    names = [field["name"] for field in json.loads(response.content)["fields"]]
    assert names[: len(NAMES) + 1] == ["_id", *NAMES]
    assert len(names) == COLUMNS + 1
