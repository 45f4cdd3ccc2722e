"""Maps of areas: which values name them, their figures, the ground of points, who sees them."""

from __future__ import annotations

import gzip
import json
import re
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.core.checks import run_checks
from django.test import Client
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from datastore_search.contrib.pages.maps import areas
from datastore_search.models import Resource

from ..builders import make_resource
from ..files.builders import load_csv, make_loaded_resource
from .conftest import list_violations
from .parsing import SVG, extract_text, list_drawn_links, parse_drawing, parse_table


def make_square(west: float, south: float, size: float = 1) -> str:
    ring = [[west, south], [west + size, south], [west + size, south + size], [west, south + size]]
    geometry = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    return '"' + json.dumps(geometry).replace('"', '""') + '"'


DISTRICTS = "".join(
    [
        "name,code,geometry\n",
        f"Bình Thạnh,D1,{make_square(106.0, 10.0)}\n",
        f"Phú Nhuận,D2,{make_square(107.0, 10.0)}\n",
        f"Tân Bình,D3,{make_square(106.0, 11.0)}\n",
        f"An Phú,D4,{make_square(107.0, 11.0)}\n",
        f"AN PHÚ,D5,{make_square(108.0, 11.0)}\n",
    ]
)

SALES = """\
country,amount
Vietnam,10
Vietnam,30
France,5
Pháp,7
JPN,1
Atlantis,2
,3
"""


def open_areas(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> Any:
    asked = {"as": "map", **(query or {})}
    return client.get(f"/{locale}/datastore/{resource.pk}/chart/", asked)


@pytest.fixture
def districts(db: None, settings: Any) -> Resource:
    resource = make_loaded_resource(DISTRICTS, name="districts", title="Districts")
    settings.DATASTORE_SEARCH_MAP_TILES = {"areas": "districts"}
    return resource


def list_areas(response: Any) -> dict[str, str]:
    """Return the classes of areas by what they say."""
    group = parse_drawing(response).find(f"{SVG}g[@class='areas']")
    marks = [] if group is None else [*group.iter(f"{SVG}path"), *group.iter(f"{SVG}circle")]
    return {str(each.findtext(f"{SVG}title")): str(each.get("class")) for each in marks}


# Countries ----------------------------------------------------------------------------------------


def test_values_that_name_countries_have_a_map(client: Client, db: None) -> None:
    response = open_areas(client, make_loaded_resource(SALES), {"by": "country"})

    assert parse_table(response) == [
        ["country", "number of records"],
        ["Vietnam", "2"],
        ["France", "2"],
        ["Japan", "1"],
    ]
    areas, links = list_areas(response), list_drawn_links(response)
    assert areas["France: 2"] == areas["Vietnam: 2"] == "c5"
    assert areas["Japan: 1"] == "c4"
    assert areas["Germany: no data"] == "c6"
    assert links["Vietnam: 2"] == "../?field.country=Vietnam"
    assert links["France: 2"] == "../?field.country=France&field.country=Ph%C3%A1p"
    text = extract_text(response)
    assert "Records that name no known area: 2 ( Atlantis , empty )" in text
    page = response.content.decode()
    assert re.findall(r'<svg class="c(\d)"[^>]*>.*?</svg> ([^<]+)</li>', page) == [
        ("4", "1"),
        ("5", "2"),
        ("6", "no data"),
    ]


def test_records_with_an_empty_text_and_without_one_are_counted(client: Client, db: None) -> None:
    resource = make_resource('n,country\n1,France\n2,""\n3,""\n4,\n5,\n6,\n')

    text = extract_text(open_areas(client, resource, {"by": "country"}))

    assert "Records that name no known area: 5 (" in text


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        ("sum", [["Vietnam", "40", "2"], ["France", "12", "2"], ["Japan", "1", "1"]]),
        ("avg", [["Vietnam", "20", "2"], ["Japan", "1", "1"], ["France", "–", "2"]]),
        ("median", [["Vietnam", "20", "2"], ["Japan", "1", "1"], ["France", "–", "2"]]),
    ],
)
def test_figures_are_those_of_charts(
    client: Client, db: None, figure: str, expected: list[list[str]]
) -> None:
    resource = make_loaded_resource(SALES)

    response = open_areas(client, resource, {"by": "country", "show": figure, "of": "amount"})

    assert parse_table(response)[1:] == expected  # of several spellings, only a sum is known


#: Countries that are often called otherwise.
UNOFFICIAL = {"United Kingdom", "Myanmar", "Turkey", "Democratic Republic of the Congo"}


@pytest.mark.parametrize(
    ("values", "language", "found"),
    [
        ("VN FR", "en", {"Vietnam", "France"}),
        ("vnm fra", "en", {"Vietnam", "France"}),
        ("NGA VNM", "en", {"Nigeria", "Vietnam"}),  # Russia is Nga in Vietnamese
        ("Nga Pháp", "vi", {"Nga", "Pháp"}),
        ("Mỹ VN", "vi", {"Hoa Kỳ", "Việt Nam"}),  # the code of Malaysia is MY
        ("UK Burma Turkiye DRC", "en", UNOFFICIAL),
        ("فرنسا اليابان", "ar", {"فرنسا", "اليابان"}),
        ("MEXIQUE Espana", "de", {"Mexiko", "Spanien"}),
    ],
)
def test_countries_have_codes_and_names(
    client: Client, db: None, values: str, language: str, found: set[str]
) -> None:
    resource = make_loaded_resource("land\n" + "".join(f"{each}\n" for each in values.split()))

    response = open_areas(client, resource, {"by": "land"}, language)

    assert {row[0] for row in parse_table(response)[1:]} == found


def test_a_portal_without_borders_has_no_countries(client: Client, db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAP_TILES = {"outlines": "land names"}
    resource = make_loaded_resource(SALES)

    assert "There is nothing to draw." in extract_text(
        open_areas(client, resource, {"by": "country"})
    )
    assert find_tab(client, resource) == ""


# Areas of the portal ------------------------------------------------------------------------------


def find_tab(client: Client, resource: Resource) -> str:
    """Return the address of the tab of the map, without that of the resource."""
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    found = re.search(rf'href="/en/datastore/{resource.pk}/([^"]*)"[^>]*>Map</a>', page)
    return found[1].replace("&amp;", "&") if found else ""


def test_values_that_name_areas_of_the_portal_have_a_map(
    client: Client, districts: Resource
) -> None:
    resource = make_loaded_resource("where\nbinh  thanh\nBÌNH THẠNH\nd2\nan phu\nNowhere\n")

    response = open_areas(client, resource, {"by": "where"})

    assert parse_table(response)[1:] == [["Bình Thạnh", "2"], ["Phú Nhuận", "1"]]
    assert list_areas(response) == {
        "Bình Thạnh: 2": "c5",
        "Phú Nhuận: 1": "c4",
        "Tân Bình: no data": "c6",
        "An Phú: no data": "c6",
        "AN PHÚ: no data": "c6",
    }
    text = extract_text(response)
    assert "Records that name no known area: 1 ( Nowhere )" in text
    assert "Records that name several areas: 1 ( an phu )" in text


@pytest.mark.parametrize(
    ("values", "has_tab"),
    [
        ("Tân_Bình Phú_Nhuận D3 x y", True),  # three of five
        ("D1 D2 x y z", False),
        ("Tân_Bình Tân_Bình Tân_Bình D2 D2 x x y", True),  # of the common values
        ("D1 D1 x x x x", False),
        ("DE FR AK FL", False),  # codes of two letters may be those of languages or states
        ("DE FR VN JP", True),
    ],
)
def test_a_map_is_proposed_where_most_values_name_areas(
    client: Client, districts: Resource, values: str, has_tab: bool
) -> None:
    rows = "".join(f"{n},{each.replace('_', ' ')}\n" for n, each in enumerate(values.split()))
    resource = make_loaded_resource(f"n,where\n{rows}")

    assert find_tab(client, resource) == ("chart/?as=map&by=where" if has_tab else "")


def test_only_readers_of_areas_see_them(
    client: Client, admin_client: Client, districts: Resource, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"
    resource = make_loaded_resource("where\nD1\nD2\nD3\n")
    public = open_areas(client, resource, {"by": "where"})
    assert parse_table(public)[1:] == [["Bình Thạnh", "1"], ["Phú Nhuận", "1"], ["Tân Bình", "1"]]

    districts.private = True
    districts.save()

    hidden = open_areas(client, resource, {"by": "where"})
    assert "There is nothing to draw." in extract_text(hidden)
    assert "Bình Thạnh" not in hidden.content.decode()
    assert find_tab(client, resource) == ""
    assert hidden["ETag"] != public["ETag"]
    shown = open_areas(admin_client, resource, {"by": "where"})
    assert len(parse_table(shown)) == 4
    assert "private" in shown["Cache-Control"]
    assert find_tab(admin_client, resource) == "chart/?as=map&by=where"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", ["chart/?as=map&by=where", "map/?lat=lat&lon=lon"])
def test_an_answer_depends_on_the_version_of_the_areas(
    client: Client, settings: Any, page: str
) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"
    settings.DATASTORE_SEARCH_MAP_TILES = {"areas": "districts nowhere"}
    districts = make_loaded_resource(DISTRICTS, name="districts")
    resource = make_loaded_resource("where,lat,lon\nD1,10.5,106.5\nD2,10.5,107.5\n")
    address = f"/en/datastore/{resource.pk}/{page}"

    def ask(**headers: str) -> Any:
        return client.get(address, headers=headers), client.get(f"{address}&format=svg")

    before, file = ask()
    assert ask(if_none_match=before["ETag"])[0].status_code == 304
    assert "Last-Modified" not in before
    assert "Bình Thạnh" in before.content.decode()
    assert "Bình Thạnh" in file.content.decode()

    load_csv(districts, DISTRICTS.replace("Bình Thạnh", "Quận Bình"))

    after, file = ask(if_none_match=before["ETag"])
    assert after.status_code == 200
    assert "Quận Bình" in after.content.decode()
    assert "Quận Bình" in file.content.decode()


# The ground of points -----------------------------------------------------------------------------


def test_points_near_each_other_are_above_the_areas_of_the_portal(
    client: Client, districts: Resource
) -> None:
    resource = make_loaded_resource("lat,lon\n10.4,106.2\n10.6,107.6\n")
    address = f"/en/datastore/{resource.pk}/map/"

    drawing = parse_drawing(client.get(address))

    areas = drawing.findall(f"{SVG}g[@class='areas']/{SVG}path[@class='ground']")
    assert {str(each.findtext(f"{SVG}title")) for each in areas} == {"Bình Thạnh", "Phú Nhuận"}
    names = {each.text for each in drawing.findall(f"{SVG}g[@class='names']/{SVG}text")}
    assert {"Bình Thạnh", "Phú Nhuận"} <= names
    file = ET.fromstring(client.get(address, {"format": "svg"}).content)
    assert len(file.findall(f".//{SVG}path[@class='ground']")) == 2


def test_points_of_a_continent_have_no_ground(client: Client, districts: Resource) -> None:
    resource = make_loaded_resource("lat,lon\n10.5,106.5\n48.8,2.3\n")

    drawing = parse_drawing(client.get(f"/en/datastore/{resource.pk}/map/"))

    assert drawing.find(f"{SVG}g[@class='areas']") is None


# Limits, files ------------------------------------------------------------------------------------


def test_only_so_many_areas_are_read(
    client: Client, districts: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(areas, "MAX_AREAS", 2)
    resource = make_loaded_resource("where\nD1\nD2\nD3\n")

    assert len(parse_table(open_areas(client, resource, {"by": "where"}))) == 3


def test_a_file_has_the_legend_and_its_own_colours(client: Client, db: None) -> None:
    resource = make_loaded_resource(SALES)

    response = open_areas(client, resource, {"by": "country", "format": "svg"})

    text = response.content.decode()
    assert ">no data</text>" in text
    assert "<style>.c1{" in text
    png = open_areas(client, resource, {"by": "country", "format": "png"})
    assert png.content.startswith(b"\x89PNG")
    csv = open_areas(client, resource, {"by": "country", "format": "csv"}).content.decode()
    assert csv.split() == ["country,count", "Vietnam,2", "France,2", "Japan,1"]


def test_a_map_of_the_world_is_not_too_large(client: Client, db: None) -> None:
    names = [each.name for each in areas._read_countries("en")]
    rows = "".join(f'"{name}",{n}\n' for n, name in enumerate(names))
    response = open_areas(client, make_loaded_resource(f"c,n\n{rows}"), {"by": "c"})

    assert len(parse_table(response)) > 230
    assert len(response.content) < 200_000
    assert len(gzip.compress(response.content)) < 60_000


# The check, the browser ---------------------------------------------------------------------------


def test_areas_that_no_resource_has_are_w027(districts: Resource, settings: Any) -> None:
    def list_warnings() -> list[str]:
        found = run_checks(databases=["default"])
        return [each.msg for each in found if each.id == "datastore_search.W027"]

    make_loaded_resource("geometry,n\n1,2\n", name="numbers")
    assert list_warnings() == []

    settings.DATASTORE_SEARCH_MAP_TILES = {"areas": "districts numbers nowhere"}

    assert list_warnings() == [
        f"Maps have no areas of “{name}”, which is not a resource with GeoJSON."
        for name in ("numbers", "nowhere")
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("locale", ["en", "ar"])
def test_the_map_of_areas_is_a_tab_that_leads_to_records(
    browser: Chrome, live_server: Any, settings: Any, axe: str, locale: str
) -> None:
    settings.DATASTORE_SEARCH_MAP_TILES = {"areas": "districts"}
    make_loaded_resource(DISTRICTS, name="districts")
    resource = make_loaded_resource("where,n\nD1,3\nD1,4\nTân Bình,5\nFoo,1\n")
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    find = partial(browser.find_element, By.CSS_SELECTOR)
    browser.get(f"{live_server.url}/{locale}/datastore/{resource.pk}/")
    browser.get(str(find(".datastore-tabs a[href*='as=map']").get_attribute("href")))

    tab = find(".datastore-tabs a[aria-current]")
    assert "by=where" in str(tab.get_attribute("href"))
    page = "document.documentElement"
    script = f"return {page}.scrollWidth - {page}.clientWidth"
    assert browser.execute_script(script) <= 0
    browser.execute_script(axe)
    assert list_violations(browser) == []
    browser.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))",
        find(".datastore-map .areas a path.c5"),
    )
    WebDriverWait(browser, 10).until(lambda _browser: "field.where=D1" in browser.current_url)
    Resource.objects.all().delete()
