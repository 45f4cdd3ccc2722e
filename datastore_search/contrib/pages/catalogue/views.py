"""The catalogue page: its filter form, and the datasets that the user may see."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django.http import HttpRequest, HttpResponse

from ....guards.clients import Client
from ....messages.numbers import format_count
from ....messages.requests import UnknownPage
from ....models import Resource
from ....search import open_snapshot
from ....signals import CATALOGUE_KEY
from ....web.addresses import reverse_in_locale
from ....web.views import parse_page_number
from ...catalogue.datasets import open_readable_datasets
from ...catalogue.listing import CatalogueFilterSet
from ...catalogue.query import SortTerm
from ...catalogue.views.published import build_catalogue_links, describe_catalogue
from ..page import PageView
from ..table.pagination import Pagination

ENTRIES_PER_PAGE = 20


class CatalogueView(PageView):
    """
    The datasets that the user may see.

    One statement finds those that hold the words of a query; the time limit of a search applies.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of them."""
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            return self._answer(session.connection.alias)

    def _answer(self, using: str) -> HttpResponse:
        request = self.request
        datasets = open_readable_datasets(using, request.user)
        filters = CatalogueFilterSet(request.GET, datasets.rows, datasets.match_word)
        if not filters.is_valid():
            return self.render_page(
                "catalogue.html", {"filters": filters}, private=True, status=HTTPStatus.BAD_REQUEST
            )
        number, q = parse_page_number(request), filters.form.cleaned_data["q"]
        offset = (number - 1) * ENTRIES_PER_PAGE
        bounds = slice(offset, offset + ENTRIES_PER_PAGE)
        order = [SortTerm("title"), SortTerm("id")]
        listed, total = datasets.read_page(order, bounds, filters.qs)
        if offset >= max(total, 1):
            raise UnknownPage(page=number)
        self.shared_parameters = [("q", q)] if q else []
        context: dict[str, Any] = {
            "entries": [(each, list(map(self._describe_table, each.resources))) for each in listed],
            "filters": filters,
            "q": q,
            "pagination": Pagination(
                request,
                self.shared_parameters,
                number,
                ENTRIES_PER_PAGE,
                total,
                is_exact=datasets.is_complete,
            ),
        }
        # Of all addresses of the catalogue, and of a table, one is for search engines.
        if not request.GET:
            context["structured_data"] = describe_catalogue(request)
        # The total depends on the user, on every page.
        response = self.render_page(
            "catalogue.html", context, private=request.user.is_authenticated, key=CATALOGUE_KEY
        )
        if link := build_catalogue_links(request):
            response["Link"] = link
        return response

    def _describe_table(self, resource: Resource) -> dict[str, Any]:
        """Describe a resource with its numbers of records and fields as text."""
        version = resource.table_version
        return {
            "resource": resource,
            "address": reverse_in_locale(self.request, "resource", resource.pk),
            "records": format_count(version.record_count if version else 0),
            "fields": format_count(cast("Any", resource).field_count),
        }
