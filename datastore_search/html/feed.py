"""The feed of changes: the public resources, the last modified first, as Atom."""

from __future__ import annotations

import re
from typing import Any

from django.utils import translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.xmlutils import SimplerXMLGenerator

from ..addresses import ResourceAddresses, reverse_in_locale
from ..catalogue.published import MAX_DESCRIPTION_LENGTH
from ..models import Resource
from .public_lists import ListPage, ResourceListView
from .published import build_catalogue_identifier, get_site_description, get_site_title

#: The characters that XML 1.0 cannot have.
_NOT_IN_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


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
            title=_clean(get_site_title()),
            link=request.build_absolute_uri(reverse_in_locale(request, "catalogue")),
            description="",
            subtitle=_clean(get_site_description()),
            author_name=_clean(get_site_title()),
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
        "title": _clean(resource.local_title.text),
        "link": addresses.build("resource", resource.pk),
        "description": _clean(description),
        "unique_id": addresses.build_identifier(resource.pk),
        "pubdate": resource.created_at,
        "updateddate": resource.modified_at,
        "author_name": _clean(resource.publisher) or None,
        "categories": [_clean(tag) for tag in resource.tags],
    }


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("", text)
