"""The data page in a real browser: by keyboard, in three languages, on two widths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from datastore_search.contrib.pages.maps import places as map_data
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource

WIDTHS = [(360, 740), (1440, 900)]

#: From the beginning of a page to what is below its table, without the links in its header.
MAX_TABS_PAST_TABLE = 12

#: A question with each kind of condition.
QUESTIONS = [
    "q=water",
    "field.subject=air&field.subject=watershed",
    "not.subject=air",
    "contains.summary=long&starts.site=https",
    "from.budget=1000&to.budget=250.000,5",
    "from.day=05-12-2020&empty.summary=no",
    'filters={"no":{"gt":7}}&sort=budget desc',
    "field.subject=air&hide=summary&first=day&limit=50&facet=site",
]


#: Summaries that opening hides, and buttons whose words stand on several lines.
LIST_BROKEN_CONTROLS = """
const shown = [...document.querySelectorAll("summary")].filter((each) => each.checkVisibility());
for (const each of document.querySelectorAll("details")) each.open = true;
const hidden = shown.filter((each) => !each.checkVisibility());
const broken = [...document.querySelectorAll("button:not(thead *)")].filter((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
});
return [...hidden, ...broken].map((each) => each.outerHTML.slice(0, 200));
"""

#: More would mean that the keyboard cannot reach something.
MAX_TABS = 200


@pytest.fixture
def survey(transactional_db: None) -> Iterator[Resource]:
    """Three hundred records, with long texts, names of any script and links."""
    rows = "".join(
        f"{n},{'Watershed' if n % 3 else 'air'},{n * 1000.5},2020-12-{n % 28 + 1:02},"
        f"https://example.org/{n},{'long words of a summary ' * (n % 20)}\n"
        for n in range(300)
    )
    yield make_loaded_resource(
        f"no,subject,budget,day,site,summary\n{rows}", title="Khảo sát", description="Of rivers"
    )
    Resource.objects.all().delete()


@pytest.fixture
def base(live_server: Any) -> str:
    """The example portal, whose policy allows only files of its own."""
    return str(live_server.url)


def set_size(browser: Chrome, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def tab_to(browser: Chrome, selector: str) -> int:
    """Press Tab until the element has the focus; return how often."""
    for count in range(1, MAX_TABS + 1):
        press(browser, Keys.TAB)
        if browser.execute_script("return document.activeElement.matches(arguments[0])", selector):
            return count
    raise AssertionError(selector)


def measure_overflow(browser: Chrome) -> int:
    """Measure how much wider the page is than its window."""
    page = "document.documentElement"
    return int(browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth"))


def is_in_sight(browser: Chrome, selector: str) -> bool:
    """Return whether the top of an element is within the window."""
    script = (
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return box.top >= 0 && box.top < innerHeight - 20"
    )
    return bool(browser.execute_script(script, selector))


def wait_until(browser: Chrome, is_true: Callable[[], object]) -> None:
    """Wait for the page that a key leads to."""
    ignored = [WebDriverException]
    WebDriverWait(browser, 30, ignored_exceptions=ignored).until(lambda _browser: is_true())


def list_errors(browser: Chrome) -> list[str]:
    """List what the browser's console reports, but for the icon that no test server has."""
    lines: list[dict[str, str]] = browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium's
    return [line["message"] for line in lines if "favicon" not in line["message"]]


@pytest.mark.slow
def test_results_are_in_sight_after_every_filter(
    browser: Chrome, base: str, survey: Resource
) -> None:
    hidden = []
    for width, height in WIDTHS:
        set_size(browser, width, height)
        for question in QUESTIONS:
            browser.get(f"{base}/vi/datastore/{survey.pk}/?{question}")
            if not is_in_sight(browser, "tbody td"):
                hidden.append((width, question))
    assert hidden == []


def test_the_keyboard_skips_to_the_table_and_past_it(
    browser: Chrome, base: str, survey: Resource
) -> None:
    for locale, size in zip(("en", "ar"), WIDTHS, strict=True):
        set_size(browser, *size)
        browser.get(f"{base}/{locale}/datastore/{survey.pk}/")
        tabs = tab_to(browser, "[href='#records']")
        press(browser, Keys.ENTER)
        wait_until(browser, partial(is_in_sight, browser, "[href='#pages']:focus"))
        assert is_in_sight(browser, ".datastore-table")
        press(browser, Keys.ENTER)
        tabs += tab_to(browser, ".datastore-paging a")
        assert tabs <= MAX_TABS_PAST_TABLE
        assert measure_overflow(browser) <= 0
    assert list_errors(browser) == []


@pytest.mark.slow
def test_every_control_stays_whole(browser: Chrome, base: str, survey: Resource) -> None:
    broken = {}
    for locale in ("en", "ar"):
        for width, height in WIDTHS:
            set_size(browser, width, height)
            for path in ("", f"{survey.pk}/?q=water", f"{survey.pk}/chart/?by=subject"):
                browser.get(f"{base}/{locale}/datastore/{path}")
                if found := browser.execute_script(LIST_BROKEN_CONTROLS):
                    broken[locale, width, path] = found
    assert broken == {}


@pytest.mark.parametrize("locale", ["en", pytest.param("ar", marks=pytest.mark.slow)])
def test_a_map_leads_to_its_records(
    browser: Chrome, base: str, transactional_db: None, locale: str
) -> None:
    sites = make_loaded_resource("name,lat,lon\nHuế,16.4637,107.5909\nHà Nội,21.0278,105.8342\n")
    find = browser.find_elements
    set_size(browser, *WIDTHS[0])
    browser.get(f"{base}/{locale}/datastore/{sites.pk}/")
    tab_to(browser, ".datastore-tabs a[href*='/map/']")
    press(browser, Keys.ENTER)
    wait_until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".datastore-map circle"))
    assert measure_overflow(browser) <= 0
    tab_to(browser, ".datastore-figures th a")
    press(browser, Keys.ENTER)
    wait_until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".datastore-record dd"))
    browser.back()
    circle = partial(find, By.CSS_SELECTOR, ".datastore-map a[href^='../r/2/'] circle")
    wait_until(browser, circle)
    browser.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", circle()[0]
    )
    wait_until(browser, lambda: "/r/2/" in browser.current_url)
    assert list_errors(browser) == []
    Resource.objects.all().delete()


def test_leaflet_draws_a_map_under_a_strict_policy(
    browser: Chrome, base: str, transactional_db: None, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAP_TILES = {
        "url": f"{base}/static/datastore_search/leaflet/images/layers.png?{{z}}-{{x}}-{{y}}",
        "attribution": "© <b>layers</b>",
    }
    sites = make_loaded_resource(
        "name,lat,lon\nHuế,16.4,107.5\n<img src=x onerror=hostile=1>,21,105.8\n"
    )
    find = browser.find_elements
    set_size(browser, *WIDTHS[1])
    browser.get(f"{base}/vi/datastore/{sites.pk}/map/")
    assert not browser.execute_script("return window.L")
    tab_to(browser, "[data-draw]")
    press(browser, Keys.ENTER)
    wait_until(browser, lambda: find(By.CSS_SELECTOR, ".datastore-leaflet .leaflet-tile"))
    wait_until(browser, lambda: len(find(By.CSS_SELECTOR, ".leaflet-overlay-pane path")) == 2)
    places = "document.querySelectorAll('.leaflet-overlay-pane path')"
    browser.execute_script(
        f"for (const each of {places}) each.dispatchEvent(new MouseEvent('mouseover'))"
    )
    assert not browser.execute_script("return 'hostile' in window")
    leaflet = partial(browser.find_element, By.CSS_SELECTOR, ".datastore-leaflet")
    wait_until(browser, lambda: "© layers" in leaflet().text)
    assert measure_overflow(browser) <= 0
    tab_to(browser, "[data-question]")
    press(browser, Keys.ENTER)
    wait_until(browser, lambda: len(find(By.CSS_SELECTOR, ".datastore-chips li > bdi")) == 4)
    wait_until(browser, lambda: len(find(By.CSS_SELECTOR, ".datastore-map circle.s1")) == 2)
    assert list_errors(browser) == []
    Resource.objects.all().delete()


def test_leaflet_shows_outlines_and_clusters_that_come_apart(
    browser: Chrome, base: str, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_data, "MAX_PLACES", 10)
    rows = [f"{x / 2 - 40 + n / 100},{x + n / 100},{n}" for x in (100, 105, 110) for n in range(12)]
    sites = make_loaded_resource("lat,lon,n\n" + "\n".join(rows) + "\n")

    def list_texts(selector: str) -> list[str]:
        """Read the texts in one step: the map draws them again while it moves."""
        script = "return [...document.querySelectorAll(arguments[0])].map(each => each.innerText)"
        texts: list[str] = browser.execute_script(script, selector)
        return texts

    def come_apart() -> bool:
        """Zoom in once more if the map stands still: it ignores a click while it moves."""
        is_apart = "12" not in list_texts(".datastore-count")
        if not is_apart and not browser.find_elements(By.CSS_SELECTOR, ".leaflet-zoom-anim"):
            browser.find_element(By.CSS_SELECTOR, ".leaflet-control-zoom-in").click()
        return is_apart

    set_size(browser, *WIDTHS[1])
    browser.get(f"{base}/vi/datastore/{sites.pk}/map/")
    outlines = "return document.querySelector('use.land').getBBox().width > 1000"
    wait_until(browser, lambda: browser.execute_script(outlines))
    browser.find_element(By.CSS_SELECTOR, "[data-draw]").click()
    wait_until(browser, lambda: "Campuchia" in list_texts(".datastore-name"))
    wait_until(browser, lambda: "12" in list_texts(".datastore-count"))
    wait_until(browser, lambda: "12° B" in list_texts(".datastore-latitude"))
    wait_until(browser, lambda: len(list_texts("path.land, path.borders")) == 2)
    latitudes = list_texts(".datastore-latitude")
    wait_until(browser, come_apart)
    wait_until(browser, lambda: list_texts(".datastore-latitude") != latitudes)
    assert list_errors(browser) == []
    Resource.objects.all().delete()


def test_leaflet_stays_at_the_world(browser: Chrome, base: str, transactional_db: None) -> None:
    sites = make_loaded_resource("lat,lon\n60,-170\n-60,170\n")
    browser.get(f"{base}/en/datastore/{sites.pk}/map/")
    browser.find_element(By.CSS_SELECTOR, "[data-draw]").click()
    link = browser.find_element(By.CSS_SELECTOR, "[data-question]")
    wait_until(browser, link.is_displayed)
    leaflet = browser.find_element(By.CSS_SELECTOR, ".datastore-leaflet")
    drag = ActionChains(browser).click_and_hold(leaflet).move_by_offset(-400, 0).release()

    drag.pause(1).click_and_hold(leaflet).move_by_offset(-400, 0).release().perform()

    wait_until(browser, lambda: "from.lon=-" in str(link.get_attribute("href")))
    Resource.objects.all().delete()


def test_the_first_column_stays_in_sight(browser: Chrome, base: str, survey: Resource) -> None:
    set_size(browser, 800, 900)
    for locale in ("en", "ar"):
        browser.get(f"{base}/{locale}/datastore/{survey.pk}/")
        lefts = browser.execute_script(
            "const table = document.querySelector('.datastore-table');"
            "const left = () => Math.round("
            "document.querySelector('tbody th').getBoundingClientRect().left);"
            "const before = left(); table.scrollLeft = document.dir === 'rtl' ? -200 : 200;"
            "return [before, left(), Math.abs(table.scrollLeft)]"
        )
        assert lefts[0] == lefts[1]
        assert lefts[2] > 0


# Frames -------------------------------------------------------------------------------------------


ADD_FRAME = """
const [address, done] = arguments, frame = document.createElement("iframe");
frame.onload = done;
frame.src = address;
document.body.replaceChildren(frame);
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", "chart/"])
def test_only_named_sites_frame_an_embedded_page(
    browser: Chrome, base: str, survey: Resource, settings: Any, path: str
) -> None:
    other = base.replace("localhost", "127.0.0.1")  # another origin, of the same server
    page = f"{base}/en/datastore/{survey.pk}/{path}"

    def is_framed(site: str, address: str) -> bool:
        browser.get(f"{site}/static/datastore_search/datastore.css")  # it has no policy
        browser.execute_async_script(ADD_FRAME, address)
        browser.switch_to.frame(0)
        return bool(browser.find_elements(By.CSS_SELECTOR, "body.datastore table"))

    assert is_framed(base, f"{page}?embed=1")
    assert not is_framed(other, f"{page}?embed=1")
    settings.DATASTORE_SEARCH_FRAME_ANCESTORS = [other]
    assert is_framed(other, f"{page}?embed=1")
    assert not is_framed(base, f"{page}?embed=1")
    assert not is_framed(other, page)
    list_errors(browser)  # of the frames that were refused
