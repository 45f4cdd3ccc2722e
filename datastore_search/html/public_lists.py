"""Lists of the public resources for machines, page by page, the same for every user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest, HttpResponse

from ..catalogue import list_public_resources, read_public_state, select_columns
from ..clients import Client
from ..exceptions.requests import UnknownPage
from ..http_caching import Validators
from ..models import Resource
from ..search import open_snapshot
from .pagination import parse_page_number
from .published import get_site_description, get_site_title
from .views import PageView


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the public resources, its number, that of the last page, and the total."""

    number: int
    last: int
    total: int
    resources: Sequence[Resource]


class PublicListView(PageView):
    """
    A page of the public resources, with an ``ETag`` for all of them.

    An answer is written before it is sent: it is bounded by its page, and no slow reader holds the
    statement.
    """

    media_type: ClassVar[str]
    page_size: ClassVar[int]
    #: The order of the ids does not change with new versions.
    order: ClassVar[tuple[str, ...]] = ("pk",)

    def get(self, request: HttpRequest) -> HttpResponse:
        """
        Send a page.

        Raises: ``UnknownPage``.
        """
        number = parse_page_number(request)
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            using = session.connection.alias
            state = read_public_state(using)
            last = max(1, -(-state.count // self.page_size))
            if number > last:
                raise UnknownPage(page=number)
            site = (get_site_title(), get_site_description())
            validators = Validators.from_state(state, request, *site)
            validators.raise_if_not_modified(request)
            resources = select_columns(list_public_resources(using)).order_by(*self.order)
            offset = (number - 1) * self.page_size
            found = resources[offset : offset + self.page_size]
            shown = list(found) if self.shows_resources(last) else []
        text = self.write(ListPage(number, last, state.count, shown))
        response = HttpResponse(text, content_type=self.media_type)
        validators.set_headers(response, request)
        return response

    def shows_resources(self, last: int) -> bool:
        """Return whether the page that is asked for has resources; ``last`` is the last page."""
        return True

    def write(self, page: ListPage) -> str:
        """Write a page."""
        raise NotImplementedError
