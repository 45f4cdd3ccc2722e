"""The feed of changes: the public resources, the last modified first, as Atom."""

from __future__ import annotations

from typing import Any

from django.utils import translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.xmlutils import SimplerXMLGenerator

from ..addresses import ResourceAddresses, reverse_in_locale
from ..catalogue.published import MAX_DESCRIPTION_LENGTH
from ..models import Resource
from ..xml_text import clean_xml
from .public_lists import ListPage, ResourceListView
from .published import build_catalogue_identifier, get_site_description, get_site_title


class _PagedFeed(Atom1Feed):
    """
    A page of a feed.

    Source: RFC 5005, section 3.
    """

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
            link=request.build_absolute_uri(reverse_in_locale(request, "catalogue")),
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
    return {
        "title": clean_xml(resource.local_title.text),
        "link": addresses.build("resource", resource.pk),
        "description": clean_xml(description),
        "unique_id": addresses.build_identifier(resource.pk),
        "pubdate": resource.created_at,
        "updateddate": resource.modified_at,
        "author_name": clean_xml(resource.publisher) or None,
        "categories": [clean_xml(tag) for tag in resource.tags],
    }
