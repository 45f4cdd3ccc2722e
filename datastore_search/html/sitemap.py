"""The sitemap: the pages of the public resources in one language, with those in the others."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import translation
from django.utils.html import escape

from ..addresses import ResourceAddresses, reverse_in_locale
from ..models import Resource
from .public_lists import ListPage, ResourceListView
from .shell import choose_language_codes

_START = '<?xml version="1.0" encoding="utf-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'


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
        if not self.shows_items(page.last):
            own = escape(self.request.build_absolute_uri(self.request.path))
            numbers = range(1, page.last + 1)
            pages = (f"<sitemap><loc>{own}?page={number}</loc></sitemap>" for number in numbers)
            return f"{_START}<sitemapindex {_NAMESPACE}>{''.join(pages)}</sitemapindex>"
        addresses = ResourceAddresses(self.request)
        codes = choose_language_codes(translation.get_language() or "")
        entries = []
        if page.number == 1:
            catalogue = reverse_in_locale(self.request, "catalogue")
            entries.append(_write_page(self.request.build_absolute_uri(catalogue), {}, ""))
        for resource in page.items:
            others = {code: addresses.build("resource", resource.pk, code) for code in codes}
            modified = resource.modified_at.isoformat(timespec="seconds")
            entries.append(_write_page(addresses.build("resource", resource.pk), others, modified))
        return f"{_START}<urlset {_NAMESPACE} {_XHTML}>{''.join(entries)}</urlset>"


def _write_page(address: str, others: Mapping[str, str], modified: str) -> str:
    changed = f"<lastmod>{modified}</lastmod>" if modified else ""
    # Without a locale in the path there is one address for all languages.
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{code}" href="{escape(other)}"/>'
        for code, other in (others.items() if len({*others.values()}) > 1 else ())
    )
    return f"<url><loc>{escape(address)}</loc>{changed}{links}</url>"
