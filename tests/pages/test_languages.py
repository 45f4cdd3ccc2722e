"""What is in another language than the page says so."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import translation
from lxml.html import document_fromstring

from datastore_search.contrib.pages.values import (
    capitalize_phrase,
    compose_phrase,
    join_phrases,
    mark_text,
    write_language,
)
from datastore_search.models import Resource
from datastore_search.web.languages import write_attributes

from ..builders import describe
from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction

#: Texts of the resource: no word of them is one of an English page.
LABELS = {"ten": "Tên nơi", "loai": "Loại nước", "sau": "Độ sâu", "vd": "Vĩ độ", "kd": "Kinh độ"}
NOTES = "Ghi chú của trường"
TITLE, DESCRIPTION = "Khảo sát sông biển", "Mô tả của khảo sát"
PUBLISHER, PLACE = "Cục Thủy lợi", "Việt Nam"
VALUES = {"sông", "biển", "Hồ Tây", "Sông Hồng", "Vịnh Bắc", "Hồ"}
FOREIGN = {*LABELS.values(), *VALUES, TITLE, DESCRIPTION, NOTES, PUBLISHER, PLACE}


@pytest.fixture(scope="module")
def _records(module_transaction: ModuleTransaction) -> Resource:
    """Records, labels, notes, title and description in Vietnamese."""
    names = ("Hồ Tây", "Sông Hồng", "Vịnh Bắc")
    rows = "".join(
        f"{names[n % 3]},{'sông' if n % 2 else 'biển'},{n}.5,{10 + n % 4},{106 + n % 3}\n"
        for n in range(30)
    )
    resource = make_loaded_resource(
        f"{','.join(LABELS)}\n{rows}", title=TITLE, description=DESCRIPTION, publisher=PUBLISHER
    )
    for field in resource.fields.all():
        field.label, field.notes = LABELS[field.name], NOTES
        field.save()
    resource.content_language = "vi"
    resource.save()
    describe(resource, spatial=PLACE)
    return resource


@pytest.fixture
def survey(_records: Resource, db: None) -> Resource:
    return _records


def open_page(client: Client, resource: Resource, path: str = "", locale: str = "en") -> str:
    address = path if path.startswith("/") else f"/{locale}/datastore/{resource.pk}/{path}"
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


#: Programs have no language, and the titles of a page and of a drawing are of the page.
TEXTS = """
//text()[normalize-space()][not(
    parent::script or parent::code or parent::a[@hreflang]
    or parent::title[parent::head or parent::svg]
)]
"""


def list_mistaken(page: str) -> list[tuple[str, str]]:
    """List the texts of a page whose language is not stated, or wrongly."""
    mistaken, texts = [], cast("list[Any]", document_fromstring(page).xpath(TEXTS))
    assert texts
    for each in texts:
        parent = each.getparent().getparent() if each.is_tail else each.getparent()
        language = parent.xpath("string(ancestor-or-self::*[@lang][1]/@lang)")
        text = str(each).strip()
        # In a drawing a figure is beside the name of its group.
        names = text.rstrip("… ↑↓").split(" · ")
        is_vietnamese = any(each in FOREIGN for each in names)
        if not is_vietnamese and any(each in text for each in FOREIGN):
            mistaken.append(("unmarked", text))
        elif is_vietnamese != (language == "vi"):
            mistaken.append((language, text))
    return mistaken


QUESTION = {"field.loai": "sông", "contains.ten": "Hồ", "sort": "sau desc"}
FILTERS = json.dumps({"$or": [{"loai": ["sông", "biển"]}, {"ten": {"ne": "Hồ Tây"}}]})
MAP = "lat=vd&lon=kd&title=ten"
PAGES = {
    "table, facets, fields": "",
    "chips, captions": f"?{urlencode(QUESTION | {'hide': 'kd', 'filters': FILTERS})}",
    "nothing found": "?q=song+khongco",
    "row": "r/2/",
    "about": "about/",
    "chart": "chart/?show=sum&of=sau&by=ten&split=loai",
    "columns": "chart/?show=count&by=loai",
    "lines": "chart/?show=avg&of=sau&by=vd&per=each&split=loai",
    "comparison": "compare/?show=sum&of=sau&by=ten&compare=loai",
    "map": f"map/?{MAP}",
    "API": f"api/?{urlencode(QUESTION)}",
    "embedded table": f"?embed=1&{urlencode(QUESTION)}",
    "embedded chart": "chart/?show=sum&of=sau&by=ten&embed=1",
    "embedded map": f"map/?embed=1&{MAP}&{urlencode(QUESTION)}",
}


def test_values_in_another_language_say_so(client: Client, survey: Resource) -> None:
    for address in PAGES.values():
        page = open_page(client, survey, address)

        assert list_mistaken(page) == []
        assert 'lang="vi"' in page
        # In the language of the texts nothing is marked but the names of other languages.
        own = open_page(client, survey, address, "vi")
        assert set(re.findall(r"<(\w+)[^>]* lang=", own)) <= {"html", "a", "svg"}


def test_each_kind_of_text_is_there(client: Client, survey: Resource) -> None:
    """What ``list_mistaken`` reads is on the pages."""
    assert all(
        each
        in open_page(client, survey, PAGES["table, facets, fields"])
        + open_page(client, survey, PAGES["about"])
        for each in FOREIGN
    )
    chips = open_page(client, survey, PAGES["chips, captions"])
    vi = '<bdi lang="vi">'
    assert f"<li><bdi>{vi}Loại nước</bdi>: {vi}sông</bdi></bdi>" in chips
    assert f"<li><bdi>{vi}Tên nơi</bdi> contains “{vi}Hồ</bdi>”</bdi>" in chips
    assert f"<bdi>Sorted by {vi}Độ sâu</bdi> ↓</bdi>" in chips
    assert f"<bdi>Hidden: {vi}Kinh độ</bdi></bdi>" in chips
    either = f"({vi}Loại nước</bdi>: {vi}sông</bdi> or {vi}biển</bdi>)"
    assert f"<bdi>{either} or {vi}Tên nơi</bdi> is not {vi}Hồ Tây</bdi></bdi>" in chips
    assert 'aria-label="Remove “Loại nước: sông”"' in chips
    assert '<datalist id="f1-contains-values" lang="vi"><option value="' in chips
    chart = open_page(client, survey, PAGES["chart"])
    title = f"Sum of {vi}Độ sâu</bdi> by {vi}Tên nơi</bdi>, split by {vi}Loại nước</bdi>"
    assert f"<h2><bdi>{title}</bdi></h2>" in chart
    assert f"<caption><bdi>{title}</bdi></caption>" in chart
    assert '<option value="loai" lang="vi" selected>Loại nước</option>' in chart
    highest = rf"The highest single value is [\d.]+ \({vi}Vịnh Bắc</bdi>, {vi}sông</bdi>\)"
    assert re.search(highest, chart)
    shown = open_page(client, survey, PAGES["map"])
    assert f"<h2><bdi>Map of {vi}{TITLE}</bdi></bdi></h2>" in shown
    assert '<g lang="vi"><a href="' in shown


def test_the_values_of_a_column_say_their_language(client: Client, db: None) -> None:
    words = make_loaded_resource("a,n\nsông,1.5\n")
    Resource.objects.update(content_language="vi")

    page = open_page(client, words)

    body = page[page.index("<tbody") : page.index("</tbody")]
    assert re.findall(r"<t[^>]*>", body) == [
        "<tbody>", "<tr>", "<th scope=row>", '<td class=h lang="vi">', '<td data-n="n">',
    ]  # fmt: skip


def test_the_catalogue_says_the_language_of_its_texts(client: Client, survey: Resource) -> None:
    page = open_page(client, survey, "/en/datastore/")

    assert list_mistaken(page) == []
    assert TITLE in page
    assert DESCRIPTION in page


def test_drawings_say_the_language_of_their_labels(client: Client, survey: Resource) -> None:
    """Also as files, where a group has no value, and where words of the page are around."""
    survey_with_gaps = make_loaded_resource("loai,n\nsông,1\nbiển,2\nsông,3\n,4\n,5\n")
    Resource.objects.filter(pk=survey_with_gaps.pk).update(content_language="vi")
    response = client.get(f"/en/datastore/{survey_with_gaps.pk}/chart/?by=loai&format=svg")

    root = ET.fromstring(response.content)
    assert root.get("lang") == "en"
    assert root.findtext("{*}title") == "Number of records by loai"
    assert {text.text for text in root.findall(".//{*}text[@lang='vi']")} == {"sông", "biển"}
    titles = {title.text for title in root.findall(".//{*}rect[@lang='vi']/{*}title")}
    assert titles == {"sông · 2", "biển · 1"}
    others = [rect for rect in root.findall(".//{*}rect") if rect.get("lang") is None]
    assert [rect.findtext("{*}title") for rect in others] == ["empty · 2"]
    places = client.get(f"/en/datastore/{survey.pk}/map/?{MAP}&format=places.json").json()
    assert places["language"] == "vi"


# The rule -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "language", "expected"),
    [
        ("en", "vi", True),
        ("en", "en", False),
        ("en", "", False),
        ("en-gb", "en", False),
        ("en", "en-gb", True),
        ("zh-hant", "zh-hans", True),
    ],
)
def test_a_page_may_be_in_a_variant(page: str, language: str, expected: bool) -> None:
    with translation.override(page):
        assert bool(write_attributes(language)) is expected


def test_a_direction_is_written_where_it_is_not_the_page_s() -> None:
    with translation.override("en"):
        assert write_attributes("ar") == ' lang="ar" dir="rtl"'
        assert write_attributes("vi") == ' lang="vi"'
        assert write_attributes("tlh") == ' lang="tlh"'  # Django does not know it
    with translation.override("ar"):
        assert write_attributes("vi") == ' lang="vi" dir="ltr"'
        assert write_attributes("fa") == ' lang="fa"'
        assert write_language("vi") == ' lang="vi"'
    with translation.override("en"):
        assert write_language("vi") == ' lang="vi"'
        assert write_language("en") == write_language("") == ""


def test_a_phrase_isolates_what_may_run_in_another_direction() -> None:
    def compose(language: str, text: str) -> str:
        with translation.override(language):
            return compose_phrase("%(a)s, %(b)s", a=mark_text(text), b="31").html

    assert compose("en", "Start") == "Start, 31"
    assert compose("en", "بداية") == "<bdi>بداية</bdi>, 31"
    assert compose("ar", "Start") == "<bdi>Start</bdi>, 31"


def test_a_phrase_escapes_its_parts() -> None:
    with translation.override("en"):
        value = mark_text("<b>%s", "vi")
        phrase = compose_phrase("<%(a)s> & 5 %% of %(b)s", a=value, b="&")
        joined = join_phrases(" <or> ", [value, mark_text("x")])

    marked = '<bdi lang="vi">&lt;b&gt;%s</bdi>'
    assert str(phrase) == "<<b>%s> & 5 % of &"
    assert phrase.html == f"&lt;{marked}&gt; &amp; 5 % of &amp;"
    assert (joined.text, joined.html) == ("<b>%s <or> x", f"{marked} &lt;or&gt; x")
    assert capitalize_phrase(mark_text("sum")).html == "Sum"
    assert capitalize_phrase(value) == value
