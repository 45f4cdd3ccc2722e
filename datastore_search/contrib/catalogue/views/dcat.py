"""The catalogue for harvesters: the public datasets in DCAT-AP."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ....web.addresses import ResourceAddresses, find_search_path
from ..dataset import ListedDataset
from ..datasets import CatalogueState, Datasets
from ..dcat import CataloguePage, build_dcat_catalog
from ..query import SortTerm
from ..turtle import write_turtle
from .public_lists import ListPage, PublicListView
from .published import (
    add_addresses_to_dataset,
    build_catalogue_identifier,
    get_site_description,
    get_site_title,
)


class DcatView(PublicListView[ListedDataset]):
    """A page of the catalogue."""

    page_size = 50
    #: Writes JSON-LD in the notation of the view.
    write_document: Callable[[dict[str, Any]], str]

    def read_state(self, datasets: Datasets) -> CatalogueState:
        """Read the state of the datasets and their resources."""
        return datasets.read_state()

    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[ListedDataset]:
        """Read the datasets of a page; the order of the ids does not change with new versions."""
        return datasets.list_page([SortTerm("id")], bounds)

    def write(self, page: ListPage[ListedDataset]) -> str:
        """Write the catalogue, the page and its datasets."""
        addresses = ResourceAddresses(self.request)
        published = [add_addresses_to_dataset(self.request, each, addresses) for each in page.items]
        return self.write_document(build_dcat_catalog(self._describe_page(page), published))

    def _describe_page(self, page: ListPage[ListedDataset]) -> CataloguePage:
        address = self.request.build_absolute_uri(self.request.path)
        api = find_search_path(self.request)
        numbers = {
            "first": 1,
            "last": page.last,
            "previous": page.number - 1,
            "next": page.number + 1,
        }
        return CataloguePage(
            identifier=build_catalogue_identifier(self.request),
            title=get_site_title(),
            description=get_site_description(),
            address=f"{address}?page={page.number}",
            links={
                name: f"{address}?page={number}"
                for name, number in numbers.items()
                if 1 <= number <= page.last
            },
            size=self.page_size,
            total=page.total,
            api=self.request.build_absolute_uri(api) if api else "",
        )


class TurtleView(DcatView):
    """A page in Turtle."""

    media_type = "text/turtle; charset=utf-8"
    write_document = staticmethod(write_turtle)


class JsonLdView(DcatView):
    """A page in JSON-LD."""

    media_type = "application/ld+json"
    write_document = staticmethod(partial(json.dumps, ensure_ascii=False, indent=1))
