"""The catalogue page: its filter form, and the datasets that the user may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import CharField, Count, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, FilterSet

from datastore_search.conf import conf
from datastore_search.contrib.catalogue.datasets import find_page
from datastore_search.contrib.catalogue.portal import open_portal_datasets
from datastore_search.contrib.catalogue.query import SortTerm
from datastore_search.contrib.catalogue.resource_conditions import match_word
from datastore_search.contrib.catalogue.views.published import (
    build_catalogue_links,
    describe_catalogue,
)
from datastore_search.guards.clients import Client
from datastore_search.messages.numbers import format_count
from datastore_search.messages.requests import UnknownPage
from datastore_search.messages.search import TooManyWords
from datastore_search.models import Field, Resource
from datastore_search.models.object_permissions import Permitted
from datastore_search.search import open_snapshot
from datastore_search.web.addresses import reverse_in_locale
from datastore_search.web.views import parse_page_number

from ..page import PageView
from ..table.pagination import Pagination

ENTRIES_PER_PAGE = 20

MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10


def validate_catalogue_word_count(text: str) -> None:
    """Refuse too many words."""
    if len(text.split()) > MAX_CATALOGUE_WORDS:
        raise ValidationError(str(TooManyWords(most=MAX_CATALOGUE_WORDS)))


class CatalogueFilterSet(FilterSet):
    """The filter of the catalogue."""

    q = CharFilter(
        label=gettext_lazy("Find resources"),
        method="filter_by_words",
        max_length=MAX_CATALOGUE_Q_LENGTH,
        validators=[validate_catalogue_word_count],
        widget=forms.TextInput({"id": "q", "type": "search"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def __init__(
        self, data: Any, resources: QuerySet[Resource], match: Callable[[str], Q] = match_word
    ) -> None:
        """Filter resources; ``match`` decides which contain a word."""
        super().__init__(data, resources)
        self._match = match

    def filter_by_words(
        self, resources: QuerySet[Resource], name: str, text: str
    ) -> QuerySet[Resource]:
        """Keep the resources that hold every word."""
        for word in text.split():
            resources = resources.filter(self._match(word))
        return resources


@dataclass(frozen=True, slots=True)
class Table:
    """A resource in the catalogue, with its numbers of records and fields as text."""

    resource: Resource
    address: str
    records: str
    fields: str


class CatalogueView(PageView):
    """
    The resources that the user may read, or the portal's own datasets.

    One statement finds those that hold the words of a query; the time limit of a search applies.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of them."""
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            return self._answer(session.connection.alias)

    def _answer(self, using: str) -> HttpResponse:
        request = self.request
        readable = find_readable(request.user)
        filters = CatalogueFilterSet(request.GET, list_tables(using).filter(readable.condition))
        if not filters.is_valid():
            return self.render_page(
                "catalogue.html", {"filters": filters}, private=True, status=HTTPStatus.BAD_REQUEST
            )
        number, q = parse_page_number(request), filters.form.cleaned_data["q"]
        offset = (number - 1) * ENTRIES_PER_PAGE
        bounds = slice(offset, offset + ENTRIES_PER_PAGE)
        if conf.DATASETS:
            shown, total = self._read_datasets(using, q.split(), bounds)
        else:
            shown, total = self._read_resources(using, filters.qs, bounds)
        if offset >= max(total, 1):
            raise UnknownPage(page=number)
        self.shared_parameters = [("q", q)] if q else []
        context = shown | {
            "filters": filters,
            "q": q,
            "pagination": Pagination(
                request,
                self.shared_parameters,
                number,
                ENTRIES_PER_PAGE,
                total,
                is_exact=readable.is_complete,
            ),
        }
        # Of all addresses of the catalogue, and of a table, one is for search engines.
        if not request.GET:
            context["structured_data"] = describe_catalogue(request)
        # The total depends on the user, on every page.
        response = self.render_page(
            "catalogue.html", context, private=request.user.is_authenticated
        )
        if link := build_catalogue_links(request):
            response["Link"] = link
        return response

    def _read_resources(
        self, using: str, found: QuerySet[Resource], bounds: slice
    ) -> tuple[dict[str, Any], int]:
        """Read a page of resources, and count those that are found."""
        ids, total = find_page(found, bounds)
        tables = list_tables(using).filter(pk__in=ids) if ids else []
        return {"entries": [self._build_table(each) for each in tables]}, total

    def _read_datasets(
        self, using: str, words: Sequence[str], bounds: slice
    ) -> tuple[dict[str, Any], int]:
        """Read a page of the portal's own datasets, and count those that are found."""
        datasets = open_portal_datasets(using, self.request.user).holding(words)
        listed = datasets.list_page([SortTerm("title"), SortTerm("id")], bounds)
        ids = {resource.pk for each in listed for resource in each.resources}
        tables = {each.pk: each for each in list_tables(using).filter(pk__in=ids)}
        entries = [
            (each, [self._build_table(tables[resource.pk]) for resource in each.resources])
            for each in listed
        ]
        return {"datasets": entries}, datasets.count()

    def _build_table(self, resource: Resource) -> Table:
        version = resource.table_version
        return Table(
            resource,
            reverse_in_locale(self.request, "resource", resource.pk),
            format_count(version.record_count if version else 0),
            format_count(cast("Any", resource).field_count),
        )


def find_readable(user: Any) -> Permitted:
    """Find the loaded resources that a user may read."""
    return Resource.objects.filter(table_version__isnull=False).readable_by(user)


def list_tables(using: str) -> QuerySet[Resource]:
    """List the loaded resources with their numbers of fields, ordered by title."""
    title = Coalesce(NullIf(F("title"), Value("")), F("name"), output_field=CharField())
    # A join would count the fields of all resources, not of those on the page alone.
    fields = Field.objects.filter(resource=OuterRef("pk")).order_by().values("resource")
    count = fields.annotate(number=Count("pk"))
    return (
        Resource.objects.using(using)
        .filter(table_version__isnull=False)
        .select_related("table_version")
        .annotate(field_count=Coalesce(Subquery(count.values("number")), 0))
        .order_by(Lower(title), "pk")
    )
