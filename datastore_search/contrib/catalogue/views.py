"""The catalogue for machines: DCAT, feed, sitemap, and the descriptions of a resource."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from functools import partial
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.utils.xmlutils import SimplerXMLGenerator

from ...downloads.table_schema import build_table_schema
from ...downloads.xml_rows import clean_xml
from ...filters.names import SortKey
from ...guards.shares import Client
from ...messages.requests import UnknownPage
from ...models import Resource
from ...search import ConsistentRead, open_snapshot
from ...web.addresses import ResourceAddresses, reverse_in_locale
from ...web.caching import Validators
from ...web.languages import choose_language_codes
from ...web.views import VARY, ResourceWebView, WebView, parse_page_number
from .datasets import CatalogueState, Datasets, open_public_datasets, read_state, select_listed
from .dcat import build_dcat_catalog, write_turtle
from .models import ListedDataset, get_metadata
from .published import (
    MAX_DESCRIPTION_LENGTH,
    ListPage,
    PublishedResource,
    add_addresses,
    build_catalogue_identifier,
    build_data_package,
    find_catalogue_path,
    get_site_description,
    get_site_title,
)


class DescriptionView(ResourceWebView):
    #: Describes a resource, whose fields have been read.
    describe: Callable[[PublishedResource], dict[str, Any]]

    def answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        self.check_may_read(resource)
        validators = Validators.from_resource(resource, self.request, vary=VARY)
        published = add_addresses(resource, ResourceAddresses(self.request))
        response = JsonResponse(
            self.describe(published), json_dumps_params={"ensure_ascii": False, "indent": 2}
        )
        validators.set_headers(response, self.request)
        return response


class SchemaView(DescriptionView):
    """The fields of a resource as a Frictionless Table Schema, which describes its dump in CSV."""

    describe = staticmethod(lambda published: build_table_schema(published.resource))


class DataPackageView(DescriptionView):
    """A resource as a Frictionless Data Package, with its dump in CSV as the only file."""

    describe = staticmethod(build_data_package)


class PublicListView(WebView, ABC):
    """
    A page of a list, by default of resources, with an ``ETag`` for the whole list.

    An answer is written before it is sent: it is bounded by its page, and no slow reader holds the
    statement.
    """

    media_type: ClassVar[str]
    page_size: ClassVar[int]
    #: The order of the ids does not change with new versions.
    order: ClassVar[tuple[str, ...]] = ("pk",)

    def get(self, request: HttpRequest) -> HttpResponse:
        number = parse_page_number(request)
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            datasets = open_public_datasets(session.connection.alias)
            state = self.read_state(datasets)
            count, *_versions = state
            last = max(1, -(-count // self.page_size))
            if number > last:
                raise UnknownPage(page=number)
            site = (get_site_title(), get_site_description())
            validators = Validators.from_state(state, request, *site)
            offset = (number - 1) * self.page_size
            bounds = slice(offset, offset + self.page_size)
            shown = self.read_items(datasets, bounds) if self.shows_items(last) else []
        text = self.write(ListPage(number, last, self.page_size, count, shown))
        response = HttpResponse(text, content_type=self.media_type)
        validators.set_headers(response, request)
        return response

    def read_state(self, datasets: Datasets) -> CatalogueState:
        """Read the state of the list, which changes with each of its items."""
        return read_state(datasets.resources)

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[Any]:
        return list(select_listed(datasets.resources).order_by(*self.order)[bounds])

    def shows_items(self, last: int) -> bool:
        """Return whether the requested page has items; ``last`` is the last page."""
        return True

    @abstractmethod
    def write(self, page: ListPage) -> str: ...


class JsonLdView(PublicListView):
    media_type = "application/ld+json"
    page_size = 50
    #: Writes JSON-LD, perhaps in another notation.
    write_document: Callable[[dict[str, Any]], str] = staticmethod(
        partial(json.dumps, ensure_ascii=False, indent=1)
    )

    def read_state(self, datasets: Datasets) -> CatalogueState:
        return datasets.read_state()

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[ListedDataset]:
        return datasets.list_page([SortKey("id")], bounds)

    def write(self, page: ListPage) -> str:
        return self.write_document(build_dcat_catalog(self.request, page))


class TurtleView(JsonLdView):
    media_type = "text/turtle; charset=utf-8"
    write_document = staticmethod(write_turtle)


_START = '<?xml version="1.0" encoding="utf-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'


class SitemapView(PublicListView):
    """
    A sitemap of the pages below its own address, as crawlers allow without further permission.

    Of several pages, the address without a number is their index.

    Source: sitemaps.org, protocol 0.9; Google's documentation of localized pages.
    """

    media_type = "application/xml; charset=utf-8"
    page_size = 200

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[Resource]:
        return list(datasets.resources.only("modified_at").order_by(*self.order)[bounds])

    def shows_items(self, last: int) -> bool:
        return last == 1 or "page" in self.request.GET

    def write(self, page: ListPage) -> str:
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
            modified = resource.modified_at.astimezone(UTC).isoformat(timespec="seconds")
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


class _PagedFeed(Atom1Feed):
    """A page of a feed, after RFC 5005, section 3."""

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if address := self.feed["next_page"]:
            handler.addQuickElement("link", attrs={"rel": "next", "href": address})


class FeedView(PublicListView):
    media_type = "application/atom+xml; charset=utf-8"
    page_size = 50
    order = ("-modified_at", "pk")

    def write(self, page: ListPage) -> str:
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
            metadata = get_metadata(resource)
            text = clean_xml(resource.local_description.text[:MAX_DESCRIPTION_LENGTH])
            feed.add_item(
                title=clean_xml(resource.local_title.text),
                link=addresses.build_page(resource.pk),
                description=escape(text),  # Django declares it as HTML
                unique_id=addresses.build_identifier(resource.pk),
                pubdate=resource.created_at.astimezone(UTC),
                updateddate=resource.modified_at.astimezone(UTC),
                author_name=clean_xml(metadata.publisher) or None,
                categories=[clean_xml(tag) for tag in metadata.tags],
            )
        return feed.writeString("utf-8")
