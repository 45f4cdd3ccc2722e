"""The lists of public resources for machines: the sitemap, and the feed of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.utils import translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.utils.xmlutils import SimplerXMLGenerator

from ....downloads.xml_rows import clean_xml
from ....models import Resource
from ....web.addresses import ResourceAddresses, reverse_in_locale
from ....web.languages import choose_language_codes
from ..datasets import CatalogueState, Datasets, read_state, select_listed
from ..models import get_metadata
from ..published import MAX_DESCRIPTION_LENGTH
from .public_lists import ListPage, PublicListView
from .published import (
    build_catalogue_identifier,
    find_catalogue_path,
    get_site_description,
    get_site_title,
)


class ResourceListView(PublicListView[Resource]):
    """A list of the public resources of all datasets."""

    #: The order of the ids does not change with new versions.
    order: ClassVar[tuple[str, ...]] = ("pk",)

    def read_state(self, datasets: Datasets) -> CatalogueState:
        """Read the state of the resources."""
        return read_state(datasets.resources)

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[Resource]:
        """Read the resources of a page."""
        return list(select_listed(datasets.resources).order_by(*self.order)[bounds])


# The sitemap --------------------------------------------------------------------------------------


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

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[Resource]:
        """Read the ids and times of a page."""
        return list(datasets.resources.only("modified_at").order_by(*self.order)[bounds])

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


# The feed -----------------------------------------------------------------------------------------


class _PagedFeed(Atom1Feed):
    """A page of a feed, after RFC 5005, section 3."""

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        """Link the page with older entries, if there is one."""
        super().add_root_elements(handler)
        if address := self.feed["next_page"]:
            handler.addQuickElement("link", attrs={"rel": "next", "href": address})


class FeedView(ResourceListView):
    """A page of the feed; an entry keeps its id with each change."""

    media_type = "application/atom+xml; charset=utf-8"
    page_size = 50
    order = ("-modified_at", "pk")

    def write(self, page: ListPage[Resource]) -> str:
        """Write the page."""
        request = self.request
        address = request.build_absolute_uri(request.path)
        feed = _PagedFeed(
            title=clean_xml(get_site_title()),
            link=request.build_absolute_uri(find_catalogue_path(request)),
            description="",
            subtitle=clean_xml(get_site_description()),
            author_name=clean_xml(get_site_title()),
            language=translation.get_language(),
            feed_url=address,
            feed_guid=build_catalogue_identifier(request),
            next_page=f"{address}?page={page.number + 1}" if page.number < page.last else "",
        )
        addresses = ResourceAddresses(request)
        for resource in page.items:
            feed.add_item(**_describe_entry(resource, addresses))
        return feed.writeString("utf-8")


def _describe_entry(resource: Resource, addresses: ResourceAddresses) -> dict[str, Any]:
    description = resource.local_description.text[:MAX_DESCRIPTION_LENGTH]
    metadata = get_metadata(resource)
    return {
        "title": clean_xml(resource.local_title.text),
        "link": addresses.build_page(resource.pk),
        "description": clean_xml(description),
        "unique_id": addresses.build_identifier(resource.pk),
        "pubdate": resource.created_at,
        "updateddate": resource.modified_at,
        "author_name": clean_xml(metadata.publisher) or None,
        "categories": [clean_xml(tag) for tag in metadata.tags],
    }
