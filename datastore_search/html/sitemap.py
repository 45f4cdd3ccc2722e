"""The sitemap: the pages of the public resources in one language, with those in the others."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils import translation

from ..addresses import ResourceAddresses, reverse_in_locale
from ..models import Resource
from .public_lists import ListPage, ResourceListView
from .shell import choose_language_codes


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
            own = self.request.build_absolute_uri(self.request.path)
            pages = [f"{own}?page={number}" for number in range(1, page.last + 1)]
            return render_to_string("datastore_search/sitemap.xml", {"pages": pages})
        addresses = ResourceAddresses(self.request)
        codes = choose_language_codes(translation.get_language() or "")
        entries: list[tuple[str, str, dict[str, str]]] = []
        for resource in page.items:
            others = {code: addresses.build("resource", resource.pk, code) for code in codes}
            # Without a locale in the path there is one address for all languages.
            others = others if len({*others.values()}) > 1 else {}
            modified = resource.modified_at.isoformat(timespec="seconds")
            entries.append((addresses.build("resource", resource.pk), modified, others))
        if page.number == 1:
            catalogue = reverse_in_locale(self.request, "catalogue")
            entries.insert(0, (self.request.build_absolute_uri(catalogue), "", {}))
        return render_to_string("datastore_search/sitemap.xml", {"entries": entries})
