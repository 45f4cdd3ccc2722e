"""Lists of what is public for machines, page by page, the same for every user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from django.http import HttpRequest, HttpResponse

from ....guards.clients import Client
from ....messages.requests import UnknownPage
from ....search import open_snapshot
from ....web.caching import Validators
from ....web.views import WebView, parse_page_number
from ..datasets import CatalogueState, Datasets, open_public_datasets
from .published import get_site_description, get_site_title

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """A page of a list, its number, the number of the last page, and the total."""

    number: int
    last: int
    total: int
    items: Sequence[Item]


class PublicListView(WebView, ABC, Generic[Item]):
    """
    A page of a list, with an ``ETag`` for the whole list.

    An answer is written before it is sent: it is bounded by its page, and no slow reader holds the
    statement.
    """

    media_type: ClassVar[str]
    page_size: ClassVar[int]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Send a page."""
        number = parse_page_number(request)
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            datasets = open_public_datasets(session.connection.alias)
            state = self.read_state(datasets)
            last = max(1, -(-state.count // self.page_size))
            if number > last:
                raise UnknownPage(page=number)
            site = (get_site_title(), get_site_description())
            validators = Validators.from_state(state, request, *site)
            offset = (number - 1) * self.page_size
            bounds = slice(offset, offset + self.page_size)
            shown = self.read_items(datasets, bounds) if self.shows_items(last) else []
        text = self.write(ListPage(number, last, state.count, shown))
        response = HttpResponse(text, content_type=self.media_type)
        validators.set_headers(response, request)
        return response

    @abstractmethod
    def read_state(self, datasets: Datasets) -> CatalogueState:
        """Read the state of the list, which changes with each of its items."""

    @abstractmethod
    def read_items(self, datasets: Datasets, bounds: slice) -> Sequence[Item]:
        """Read the items of a page."""

    def shows_items(self, last: int) -> bool:
        """Return whether the requested page has items; ``last`` is the last page."""
        return True

    @abstractmethod
    def write(self, page: ListPage[Item]) -> str:
        """Write a page."""
