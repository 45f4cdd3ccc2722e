"""The sitemap: the pages of the public resources in one language, with those in the others."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from xml.sax.xmlreader import AttributesImpl

from django.utils import translation
from django.utils.xmlutils import SimplerXMLGenerator

from ..addresses import ResourceAddresses, reverse_in_locale
from ..models import Resource
from .public_lists import ListPage, ResourceListView
from .shell import choose_language_codes

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XHTML = "http://www.w3.org/1999/xhtml"


class SitemapView(ResourceListView):
    """
    A sitemap of the pages below its own address, as crawlers allow without further permission.

    Of several pages, the address without a number is their index.

    Source: sitemaps.org, protocol 0.9; Google's documentation of localized pages.
    """

    media_type = "application/xml; charset=utf-8"
    page_size = 200

    def shows_items(self, last: int) -> bool:
        """Return whether this is a page and not the index."""
        return last == 1 or "page" in self.request.GET

    def write(self, page: ListPage[Resource]) -> str:
        """Write the page, or the index of all pages."""
        stream = StringIO()
        xml = SimplerXMLGenerator(stream, "utf-8")
        xml.startDocument()
        if self.shows_items(page.last):
            self._write_addresses(xml, page)
        else:
            self._write_index(xml, page)
        xml.endDocument()
        return stream.getvalue()

    def _write_index(self, xml: SimplerXMLGenerator, page: ListPage[Resource]) -> None:
        address = self.request.build_absolute_uri(self.request.path)
        xml.startElement("sitemapindex", AttributesImpl({"xmlns": _NAMESPACE}))
        for number in range(1, page.last + 1):
            xml.startElement("sitemap", AttributesImpl({}))
            xml.addQuickElement("loc", f"{address}?page={number}")
            xml.endElement("sitemap")
        xml.endElement("sitemapindex")

    def _write_addresses(self, xml: SimplerXMLGenerator, page: ListPage[Resource]) -> None:
        addresses = ResourceAddresses(self.request)
        codes = choose_language_codes(translation.get_language() or "")
        namespaces = {"xmlns": _NAMESPACE, "xmlns:xhtml": _XHTML}
        xml.startElement("urlset", AttributesImpl(namespaces))
        if page.number == 1:
            _write_page(xml, self._build_catalogue_address(), {}, "")
        for resource in page.items:
            others = {code: addresses.build("resource", resource.pk, code) for code in codes}
            modified = resource.modified_at.isoformat(timespec="seconds")
            _write_page(xml, addresses.build("resource", resource.pk), others, modified)
        xml.endElement("urlset")

    def _build_catalogue_address(self) -> str:
        return self.request.build_absolute_uri(reverse_in_locale(self.request, "catalogue"))


def _write_page(
    xml: SimplerXMLGenerator, address: str, others: Mapping[str, str], modified: str
) -> None:
    xml.startElement("url", AttributesImpl({}))
    xml.addQuickElement("loc", address)
    if modified:
        xml.addQuickElement("lastmod", modified)
    # Without a locale in the path there is one address for all languages.
    if len(set(others.values())) > 1:
        for code, other in others.items():
            attributes = {"rel": "alternate", "hreflang": code, "href": other}
            xml.addQuickElement("xhtml:link", attrs=attributes)
    xml.endElement("url")
