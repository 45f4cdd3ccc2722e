"""What stands around a page: other languages, signing in and out, a portal's own template."""

from __future__ import annotations

import html
import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles import finders
from django.test import Client, RequestFactory
from django.test.utils import override_script_prefix
from selenium.webdriver import Chrome

from datastore_search.contrib.pages.checks import check_base_template
from datastore_search.contrib.pages.page import render_error_page
from datastore_search.models import Resource
from datastore_search.web.errors import ErrorMessage

from ..builders import make_resource, make_user
from ..files.builders import make_loaded_resource
from .conftest import list_violations

#: Rules of the kind that style sheets of portals have, before those of the pages.
PORTAL_STYLES = {
    "bootstrap": """
        caption { caption-side: bottom; color: gray; padding: 8px 0; text-align: left }
        legend { float: left; font-size: 24px; line-height: inherit; width: 100% }
        label { display: inline-block }
        p { margin: 0 0 16px }
        :root { --bs-body-bg: #212529; --bs-body-color: #dee2e6; --bs-link-color: #6ea8fe }
    """,
    "bulma": """
        html, body, p, ul, dl, fieldset, legend, pre, h1, h2 { margin: 0; padding: 0 }
        h1, h2, h3 { font-size: 100%; font-weight: normal }
        a { text-decoration: none }
        svg { height: auto; width: auto }
        button { appearance: none; background: none; border: none; color: inherit; padding: 0 }
        table td:not([align]), table th:not([align]) { text-align: inherit }
        :root { --bulma-scheme-main: #14161a; --bulma-text: #aeb3bf; --bulma-link-text: #7585ff }
    """,
    "uswds": """
        body { line-height: 1.15; background-color: white; overflow-x: hidden }
        [type=search] { float: left; height: 32px; border-right: none; padding: 0; margin: 0 }
        button, input { line-height: 1.15; margin: 0 }
    """,
}

#: Puts rules before those of the page.
ADD_RULES = """
const sheet = new CSSStyleSheet();
sheet.replaceSync(arguments[0]);
for (const rule of [...sheet.cssRules].reverse())
    document.styleSheets[0].insertRule(rule.cssText, 0);
"""

#: What a style sheet of a portal could change.
MEASURE = """
const find = (selector) => document.querySelector(selector);
const style = (selector) => getComputedStyle(find(selector));
const top = (selector) => find(selector).getBoundingClientRect().top;
return {
    caption: top("caption") < top("thead"),
    total: top("[role=status]") < top("table"),
    line: style("td").lineHeight,
    title: style("h1").fontSize,
    number: style("td[data-n]").textAlign,
    word: style("td:not([data-n])").textAlign,
    legend: find(".datastore-facets legend").offsetWidth > 100,
    reset: style(".datastore-chips > li:last-child a").textDecorationLine,
    search: style("#q").borderRightStyle,
    wide: find("#q").offsetWidth > 300,
};
"""

LANGUAGE_LINK = re.compile(r'<a href="([^"]*)" hreflang="([^"]*)" lang="\2">([^<]*)</a>')
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "fit-the-pages.md"


def list_language_links(response: Any) -> dict[str, tuple[str, str]]:
    """Return the link and the name of each language of a page."""
    found = LANGUAGE_LINK.findall(response.content.decode())
    return {code: (html.unescape(link), normalize("NFC", name)) for link, code, name in found}


# Languages ----------------------------------------------------------------------------------------


def test_a_page_links_to_itself_in_the_languages_of_the_app(
    client: Client, resource: Resource
) -> None:
    response = client.get(f"/en_GB/datastore/{resource.pk}/")

    links = list_language_links(response)
    assert {*links} == {"ar", "de", "en", "es", "fr", "pt-br", "vi"}
    assert links["vi"] == (f"/vi/datastore/{resource.pk}/", "Tiếng Việt")
    assert "<summary>British English</summary>" in response.content.decode()


def test_the_links_of_a_portal_below_a_prefix_lead_to_it(
    client: Client, resource: Resource
) -> None:
    path = f"/en/datastore/{resource.pk}/"
    with override_script_prefix("/data/"):  # which the test client does not set
        response = client.get(path, {"q": "river"}, SCRIPT_NAME="/data")

    assert list_language_links(response)["vi"][0] == f"/data/vi/datastore/{resource.pk}/?q=river"
    assert f'href="/data/en/admin/login/?next=/data{path}%3Fq%3Driver"' in (
        response.content.decode().replace("%2F", "/")
    )


@pytest.mark.parametrize(
    ("address", "is_linked"), [("https://login.example.org/", True), ("/nowhere/", False)]
)
def test_a_page_links_to_a_sign_in_page_that_there_is(
    client: Client, resource: Resource, settings: Any, address: str, is_linked: bool
) -> None:
    settings.LOGIN_URL = address

    page = client.get("/en/datastore/").content.decode()

    assert ("Sign in" in page) is is_linked
    assert (f'href="{address}' in page) is is_linked


@pytest.mark.parametrize(
    ("languages", "listed"),
    [(["en", "nl"], ["nl"]), (["en"], []), (["en", "tlh", "vi"], ["tlh", "vi"])],
)
def test_a_portal_with_few_languages_lists_them_all(
    client: Client, resource: Resource, settings: Any, languages: list[str], listed: list[str]
) -> None:
    settings.LANGUAGES = [(code, f"Name of {code}") for code in languages]

    links = list_language_links(client.get("/en/datastore/"))

    assert [*links] == listed
    assert links.get("tlh") in {None, ("/tlh/datastore/", "Name of tlh")}


def test_a_page_names_itself_in_every_language_for_search_engines(
    client: Client, resource: Resource, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "English"), ("pt-br", "Portuguese")]

    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()

    assert re.findall(r'<link rel="alternate" hreflang="([^"]*)" href="([^"]*)">', page) == [
        (code, f"http://testserver/{code}/datastore/{resource.pk}/") for code in ("en", "pt-br")
    ]
    missing = "/en/datastore/5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11/"
    for path in (missing, f"/en/datastore/{resource.pk}/?q=a"):
        assert '<link rel="alternate"' not in client.get(path).content.decode()


def test_a_condition_keeps_its_meaning_in_another_language(
    client: Client, resource: Resource
) -> None:
    query = {"from.amount": "1.000,5", "q": "river", "limit": "50"}
    links = list_language_links(client.get(f"/de/datastore/{resource.pk}/", query))

    asked = parse_qs(urlsplit(links["en"][0]).query)
    assert json.loads(asked.pop("filters")[0]) == {"amount": {"gte": "1000.5"}}
    assert asked == {"q": ["river"], "limit": ["50"]}
    shown = client.get(links["en"][0]).content.decode()
    assert "amount ≥ 1,000.5" in shown


# Signing in and out -------------------------------------------------------------------------------


def test_signing_in_leads_back(client: Client, resource: Resource) -> None:
    page = client.get(f"/en/datastore/{resource.pk}/", {"q": "river"})

    (address,) = re.findall(r'<a href="([^"]*)" rel="nofollow">Sign in</a>', page.content.decode())
    parts = urlsplit(html.unescape(address))
    assert parts.path == "/en/admin/login/"
    assert parse_qs(parts.query) == {"next": [f"/en/datastore/{resource.pk}/?q=river"]}
    assert not page.cookies
    assert "Sign out" not in page.content.decode()


def test_signing_out_leads_back(resource: Resource) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(is_staff=True))
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    form = re.search(r'<form method="post" action="([^"]*)">.*?Sign out', page, re.DOTALL)
    assert form
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))

    response = client.post(form[1], sent)

    assert response.headers["Location"] == f"/en/datastore/{resource.pk}/"
    assert "Sign in" in client.get(f"/en/datastore/{resource.pk}/").content.decode()


def test_pages_link_to_the_viewer_of_the_api(client: Client, resource: Resource) -> None:
    page = f"/en_GB/datastore/{resource.pk}/"

    assert '<li><a href="/en_GB/api/docs/">API</a></li>' in client.get(page).content.decode()
    assert (
        '<a href="/en_GB/api/docs/">All parameters</a>'
        in client.get(f"{page}api/").content.decode()
    )


@pytest.mark.urls("tests.pages.test_downloads")
def test_a_portal_without_a_viewer_has_no_link_to_it(client: Client, resource: Resource) -> None:
    assert ">API</a>" not in client.get(f"/datastore/{resource.pk}/").content.decode()


# A portal's own template --------------------------------------------------------------------------


@pytest.fixture
def portal(settings: Any, tmp_path: Path) -> str:
    """The pages are in the template of a portal, as the guide says; the style sheet there."""
    (portal, own, css) = (
        block.partition("\n")[2] for block in HOW_TO.read_text(encoding="utf-8").split("```")[1::2]
    )
    assert len(own.strip().splitlines()) <= 10
    for name, text in (("portal/base.html", portal), ("datastore_search/base.html", own)):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(text)
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    return css


@pytest.mark.parametrize("is_own_block_named_content", [False, True])
def test_a_template_of_ten_lines_puts_the_pages_into_a_portal(
    client: Client, db: None, portal: str, settings: Any, is_own_block_named_content: bool
) -> None:
    if is_own_block_named_content:
        (inner,) = re.findall(
            r"^`(\{% block main %\}\{% block content[^`]*)`", HOW_TO.read_text(), re.MULTILINE
        )
        base = Path(settings.TEMPLATES[0]["DIRS"][0], "portal", "base.html")
        base.write_text(base.read_text().replace("{% block main %}{% endblock %}", inner))
    resource = make_resource("a\n1\n", title="Rivers")

    for address in ("/en/datastore/", f"/en/datastore/{resource.pk}/"):
        page = client.get(address).content.decode()
        assert "<header>My portal</header>" in page
        assert "datastore_search/datastore.css" in page
        assert page.count('<div class="datastore">') == page.count("<main") == 1
        assert "Rivers" in page
        assert 'type="application/ld+json"' in page
        assert page.count('<link rel="alternate" hreflang=') == 7
    assert "--datastore-accent" in portal
    assert list(check_base_template(None)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("portal", "transactional_db")
@pytest.mark.parametrize("framework", PORTAL_STYLES)
def test_style_sheets_of_a_portal_leave_the_pages_as_they_are(
    browser: Chrome, live_server: Any, axe: str, framework: str
) -> None:
    rows = "".join(f"{n},{'air' if n % 3 else 'water'}\n" for n in range(60))
    resource = make_loaded_resource(f"no,subject\n{rows}", title="Rivers")
    browser.get(f"{live_server.url}/en/datastore/{resource.pk}/?q=air&field.subject=air")
    expected = browser.execute_script(MEASURE)
    assert not [name for name, found in expected.items() if not found]

    browser.execute_script(ADD_RULES, PORTAL_STYLES[framework])

    assert browser.execute_script(MEASURE) == expected
    browser.execute_script(axe)
    assert list_violations(browser) == []
    resource.delete()


#: A portal's template with the blocks of Wagtail's, and one for the pages that extends it.
OWN_BASE = (
    "{% block title %}{% endblock %}{% block extra_css %}{% endblock %}"
    "{% block main %}{% block content %}{% endblock %}{% endblock %}"
)
WRAPPER = (
    '{{% extends "own.html" %}}'
    "{{% block {styles} %}}{{% block head %}}{{% endblock %}}{{% endblock %}}"
    "{{% block main %}}{content}{{% endblock %}}"
)


@pytest.mark.parametrize(
    ("template", "lost"),
    [
        ("{% block title %}{% endblock %}{% block content %}{% endblock %}", ["head"]),
        ("<p>mine</p>", ["title", "head", "content"]),
        ("{% extends name %}", []),  # a request decides
        (WRAPPER.format(styles="extra_css", content="{% block content %}{% endblock %}"), []),
        # A block that the parent lacks is not shown; what replaces a block replaces those in it.
        (WRAPPER.format(styles="x", content="{% block content %}{% endblock %}"), ["head"]),
        (WRAPPER.format(styles="extra_css", content=""), ["content"]),
        (WRAPPER.format(styles="extra_css", content="{{ block.super }}"), []),
    ],
)
def test_a_check_names_the_blocks_that_a_portals_template_lacks(
    settings: Any, tmp_path: Path, template: str, lost: list[str]
) -> None:
    file = tmp_path / "datastore_search" / "base.html"
    file.parent.mkdir()
    file.write_text(template)
    (tmp_path / "own.html").write_text(OWN_BASE)
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]

    found = list(check_base_template(None))

    assert {each.id for each in found} <= {"datastore_search.W016"}
    assert [each.msg.partition("“")[2].partition("”")[0] for each in found] == lost


@pytest.mark.parametrize(("status", "is_repeated"), [(404, False), (429, True), (503, True)])
def test_an_error_page_has_words_and_ways_on(
    rf: RequestFactory, status: int, is_repeated: bool
) -> None:
    request = rf.get("/en/datastore/x/?q=water")
    request.user = AnonymousUser()
    error = ErrorMessage(HTTPStatus(status), "Title", "Why, and what to do.")

    page = render_error_page(request, error).content.decode()

    assert "<h1>Title</h1>" in page
    assert "Why, and what to do." in page
    assert ('href="/en/datastore/x/?q=water">Try again' in page) == is_repeated
    assert '<a class="datastore-button" href="/en/datastore/">All resources</a>' in page


@pytest.mark.parametrize("path", ["{}/nope/", "{}/chart/x", "nope/", "nope/a/b/", "%00/", "dump/"])
def test_an_unknown_address_is_a_page_of_the_portal_in_the_language(
    client: Client, loaded: Resource, path: str
) -> None:
    address = f"/de/datastore/{path.format(loaded.pk)}"
    response = client.get(address, headers={"accept": "text/html"}, follow=True)

    page = response.content.decode()
    assert response.status_code == HTTPStatus.NOT_FOUND
    assert '<html lang="de"' in page
    assert "<h1>Nicht gefunden</h1>" in page
    assert '<a class="datastore-button" href="/de/datastore/">' in page


def test_a_program_gets_an_unknown_file_as_json(client: Client, db: None) -> None:
    response = client.get("/en/datastore/dump/")

    assert response.status_code == HTTPStatus.NOT_FOUND
    assert response.json()["success"] is False


def test_a_page_has_an_icon(client: Client, loaded: Resource) -> None:
    page = client.get(f"/en/datastore/{loaded.pk}/").content.decode()

    (address,) = re.findall('<link rel="icon" href="([^"]*)">', page)
    assert finders.find(address.removeprefix("/static/"))


@pytest.mark.parametrize("page", ["", "chart/", "about/"])
def test_a_shared_link_has_a_title_a_description_and_a_picture(
    client: Client, loaded: Resource, page: str
) -> None:
    Resource.objects.update(title="Rivers & lakes", description="Levels, *daily*.")
    shared = client.get(f"/en/datastore/{loaded.pk}/{page}", {"field.stage": "active"})

    head = shared.content.decode().partition("</head>")[0]
    assert '<meta property="og:title" content="Rivers &amp; lakes">' in head
    assert 'property="og:description" content="Levels, *daily*.">' in head
    (picture,) = re.findall('<meta property="og:image" content="([^"]*)">', head)
    assert picture == (
        f"http://testserver/en/datastore/{loaded.pk}/chart/?field.stage=active&amp;format=png"
    )
    image = client.get(html.unescape(picture))
    assert image["Content-Type"] == "image/png"
