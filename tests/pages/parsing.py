"""Parsers of HTML pages."""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree as ET

from django.test import Client

from datastore_search.models import Resource

SVG = "{http://www.w3.org/2000/svg}"


def open_page(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> str:
    """Return a data page, which must be a success."""
    response = client.get(f"/{locale}/datastore/{resource.pk}/", query or {}, follow=True)
    assert response.status_code == 200, extract_text(response)
    page: str = response.content.decode()
    return page


def parse_table(response: Any) -> list[list[str]]:
    """Return the texts of the first table row by row, header first, without menus of headings."""
    page = response.content.decode()
    assert response.status_code == 200, page
    table = page.partition("<table")[2].partition("</table>")[0]
    table = re.sub(r"<(details|caption).*?</\1>", "", table, flags=re.DOTALL)
    return [
        [
            html.unescape(re.sub(r"<[^>]*>", "", cell)).rstrip()
            for cell in re.split(r"<t[dh]\b[^>]*>", row)[1:]
        ]
        for row in re.split(r"<tr\b[^>]*>", table)[1:]
    ]


def extract_text(response: Any) -> str:
    """Return the text of a page without tags, with single blanks."""
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return re.sub(r"\s+", " ", html.unescape(text))


def parse_drawing(response: Any) -> ET.Element:
    """Return the one drawing of a page."""
    (drawing,) = re.findall("<svg xmlns.*?</svg>", response.content.decode(), re.DOTALL)
    return ET.fromstring(drawing)


def list_drawn_links(response: Any) -> dict[str, str]:
    """Return the links of a drawing by what they say."""
    return {
        str(each.findtext(f".//{SVG}title")): str(each.get("href"))
        for each in parse_drawing(response).iter(f"{SVG}a")
    }
