"""Records near a place on pages: the form of the map, the chip, links, downloads, saved views."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from datastore_search.contrib.pages.models import SavedView
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction
from .parsing import extract_text, parse_table
from .test_browser import list_errors, wait_until

SITES = """\
code,name,lat,lon,kind
a,Hà Nội,21.0278,105.8342,city
b,Hà Đông,20.9713,105.7788,town
c,Huế,16.4637,107.5909,city
d,nowhere,,,town
"""
GEO = {"latitude": "21.03", "longitude": "105.83", "kilometers": "20", "fields": ["lat", "lon"]}
ASKED = {"geo": json.dumps(GEO)}
CHIP = "Within 20 km of 21.03, 105.83"


@pytest.fixture(scope="module")
def _records(module_transaction: ModuleTransaction) -> Resource:
    return make_loaded_resource(SITES, title="Sites")


@pytest.fixture
def sites(_records: Resource, db: None) -> Resource:
    return _records


def get(client: Client, resource: Resource, page: str = "", query: Any = None) -> Any:
    return client.get(f"/en/datastore/{resource.pk}/{page}", ASKED if query is None else query)


def test_the_form_of_the_map_asks_for_records_near_a_place(client: Client, sites: Resource) -> None:
    content = get(client, sites, "map/", {"field.kind": "town"}).content.decode()
    (form,) = re.findall(r'<form[^>]*aria-label="Near here">.*?</form>', content, re.DOTALL)
    sent = [
        (name, html.unescape(value))
        for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form)
    ]
    assert sent == [("field.kind", "town"), ("place", "lat"), ("place", "lon")]
    assert 'name="kilometers" min="0.001" max="20037" step="any" value="10"' in form

    values = {"field.kind": "town", "place": ["lat", "lon"], "set": "page="}
    values |= {"latitude": "21.03", "longitude": "105.83", "kilometers": "20"}
    answer = get(client, sites, "map/", values)

    assert answer.status_code == 302
    kept = parse_qs(urlsplit(answer["Location"]).query)
    assert kept.keys() == {"field.kind", "geo"}
    assert json.loads(kept["geo"][0]) == GEO
    page = client.get(answer["Location"])
    assert parse_table(page)[1:] == [["Hà Đông", "20.9713; 105.7788"]]
    assert CHIP in extract_text(page)
    assert 'name="latitude" min="-90" max="90" step="any" value="21.03"' in page.content.decode()


def test_numbers_of_the_form_are_those_of_html_in_each_language(
    client: Client, sites: Resource
) -> None:
    content = client.get(f"/de/datastore/{sites.pk}/map/", ASKED).content.decode()

    assert 'name="latitude" min="-90" max="90" step="any" value="21.03"' in content
    assert "21,03" in content


@pytest.mark.parametrize("page", ["", "map/", "chart/", "api/"])
def test_each_view_has_the_condition(client: Client, sites: Resource, page: str) -> None:
    response = get(client, sites, page)

    assert response.status_code == 200
    assert CHIP in extract_text(response)
    content = html.unescape(response.content.decode())
    assert "105.83" in content
    if page != "api/":
        assert 'name=set value="geo="' in content
        assert re.search(r'href="[^"]*/map/\?geo=%7B', content) or page == "map/"


def test_the_table_has_the_records_and_the_chip_removes_the_condition(
    client: Client, sites: Resource
) -> None:
    content = get(client, sites).content.decode()
    assert re.findall("Hà Nội|Hà Đông|Huế|nowhere", content)
    assert "Huế" not in extract_text(get(client, sites))
    assert "2 records" in extract_text(get(client, sites))

    answer = get(client, sites, "", {**ASKED, "sort": "name", "set": "geo="})

    assert urlsplit(answer["Location"]).query == "sort=name"


def test_other_filters_stay_beside_it(client: Client, sites: Resource) -> None:
    query = {**ASKED, "filters": json.dumps({"kind": "city"})}
    content = get(client, sites, "", query).content.decode()

    assert "1 record" in extract_text(get(client, sites, "", query))
    changes = [html.unescape(each) for each in re.findall(r'name=set value="([^"]*)"', content)]
    assert "geo=" in changes
    assert "filters=" in changes


def test_downloads_and_programs_have_it(client: Client, sites: Resource) -> None:
    content = get(client, sites).content.decode()
    (value,) = {
        html.unescape(each)
        for each in re.findall(r'type="hidden" name="geo" value="([^"]*)"', content)
    } - {ASKED["geo"]}
    dump = client.get(f"/en/datastore/dump/{sites.pk}", {"geo": value, "fields": "code"})

    assert b"".join(dump).decode().split() == ["code", "a", "b"]
    assert "kilometers" in extract_text(get(client, sites, "api/"))


def test_wrong_places_are_errors(client: Client, sites: Resource, db: None) -> None:
    plain = make_loaded_resource("a,b\n1,2\n")
    for resource, geo, message in (
        (sites, '{"latitude": 95, "longitude": 0, "kilometers": 1}', "latitude: Must be a number"),
        (sites, '{"latitude": 1}', "longitude: Missing value"),
        (sites, "{", "Cannot parse JSON"),
        (sites, "[1]", "Must be an object."),
        (sites, json.dumps({**GEO, "fields": ["no"]}), "Unknown field: “no”"),
        (plain, json.dumps({**GEO, "fields": []}), "No fields have names of places."),
    ):
        for page in ("", "map/"):
            response = get(client, resource, page, {"geo": geo})
            assert response.status_code == 400
            assert message in extract_text(response)
    assert get(client, sites, "", {"geo": "null"}).status_code == 200
    assert get(client, sites, "", {"geo": ["{}", "[]"]}).status_code == 400


def test_a_record_leads_to_those_around_it(client: Client, sites: Resource) -> None:
    content = get(client, sites, "r/1/", {}).content.decode()
    (link,) = re.findall(r'<a href="([^"]*)"[^>]*>Records within 10 km', content)

    page = client.get(f"/en/datastore/{sites.pk}/{html.unescape(link)[6:]}", follow=True)

    assert "Within 10 km of 21.0278, 105.8342" in extract_text(page)
    assert "2 records" in extract_text(page)
    assert "Records within" not in extract_text(get(client, sites, "r/4/", {}))


def test_points_of_geojson_have_the_form_too(client: Client, db: None) -> None:
    cells = [
        '{""type"":""Point"",""coordinates"":[105.8342,21.0278]}',
        '{""type"":""LineString"",""coordinates"":[[105.8,21],[106,21]]}',
    ]
    lines = "".join(f'{number},"{cell}"\n' for number, cell in enumerate(cells))
    resource = make_loaded_resource(f"n,geometry\n{lines}")

    content = get(client, resource, "map/", {}).content.decode()
    found = get(client, resource, "", {"geo": json.dumps({**GEO, "fields": ["geometry"]})})

    assert '<input type="hidden" name="place" value="geometry">' in content
    assert "1 record" in extract_text(found)
    assert "Records within 10 km" in extract_text(get(client, resource, "r/1/", {}))
    assert "Records within 10 km" not in extract_text(get(client, resource, "r/2/", {}))


def test_a_saved_view_keeps_it(client: Client, sites: Resource) -> None:
    query = f"geo={json.dumps(GEO)}"
    SavedView.objects.create(
        resource=sites, title="Around", view_type="datatables_view", query=query
    )

    tabs = re.findall(
        r'<a href="([^"]*geo=[^"]*)"[^>]*><bdi>Around', get(client, sites, "", {}).content.decode()
    )

    assert "2 records" in extract_text(client.get(html.unescape(tabs[0])))


def test_nothing_is_said_of_a_private_resource(client: Client, db: None) -> None:
    resource = make_loaded_resource(SITES, title="Secret", private=True)

    for page in ("", "map/", "r/1/"):
        for query in (ASKED, {"geo": json.dumps({**GEO, "fields": ["no"]})}):
            response = get(client, resource, page, query)
            assert response.status_code in (302, 403, 404)
            assert b"21.0" not in response.content.replace(b"21.03", b"")
            assert "Unknown field" not in response.content.decode()


def test_the_browser_fills_in_its_position(
    browser: Chrome, live_server: Any, transactional_db: None
) -> None:
    resource = make_loaded_resource(SITES)
    page = f"{live_server.url}/en/datastore/{resource.pk}/map/?field.kind=city"
    origin = {"origin": live_server.url}
    browser.execute_cdp_cmd("Browser.grantPermissions", {**origin, "permissions": ["geolocation"]})
    position = {"latitude": 21.02781234, "longitude": 105.83421234, "accuracy": 5}
    browser.execute_cdp_cmd("Emulation.setGeolocationOverride", position)
    browser.get(page)
    browser.find_element(By.CSS_SELECTOR, "[data-position]").click()
    wait_until(browser, lambda: "geo=" in browser.current_url)

    assert "set=" not in browser.current_url
    chips = browser.find_elements(By.CSS_SELECTOR, ".datastore-chips li > bdi")
    assert [each.text for each in chips] == ["kind: city", "Within 10 km of 21.0278, 105.8342"]
    rows = browser.find_elements(By.CSS_SELECTOR, ".datastore-figures tbody tr")
    assert len(rows) == 1

    browser.execute_cdp_cmd("Browser.resetPermissions", {})
    browser.execute_script(
        "navigator.geolocation.getCurrentPosition = (_found, failed) => failed(new Error())"
    )
    browser.find_element(By.CSS_SELECTOR, "[data-position]").click()
    form = browser.find_element(By.CSS_SELECTOR, "[aria-label='Near here']")
    assert form.find_element(By.CSS_SELECTOR, "[role=status]").text == (
        "The browser does not say where you are."
    )
    assert list_errors(browser) == []
    Resource.objects.all().delete()
