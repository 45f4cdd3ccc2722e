"""Parsers of HTML pages."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

from django.test import Client

from datastore_search.models import Resource


class _Table(HTMLParser):
    """Collects the cells of the first table, but for the menus of its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False
        self._done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._done:
            return
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True
        elif tag in {"details", "caption"}:
            self._in_cell = False

    def handle_endtag(self, tag: str) -> None:
        self._done = self._done or tag == "table"
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell and not self._done:
            self.rows[-1][-1] += data


def open_page(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> str:
    """Return a data page, which must be a success."""
    response = client.get(f"/{locale}/datastore/{resource.pk}/", query or {}, follow=True)
    assert response.status_code == 200, extract_text(response)
    page: str = response.content.decode()
    return page


def parse_table(response: Any) -> list[list[str]]:
    """Return the texts of the first table row by row, header first."""
    assert response.status_code == 200, response.content.decode()
    table = _Table()
    table.feed(response.content.decode())
    return [[cell.rstrip() for cell in row] for row in table.rows]


def extract_text(response: Any) -> str:
    """Return the text of a page without tags, with single blanks."""
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return re.sub(r"\s+", " ", html.unescape(text))


def parse_drawing(response: Any) -> ET.Element:
    """Return the one drawing of a page."""
    (drawing,) = re.findall("<svg xmlns.*?</svg>", response.content.decode(), re.DOTALL)
    return ET.fromstring(drawing)
