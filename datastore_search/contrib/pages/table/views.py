"""The data page of a resource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect

from ....messages.numbers import format_count
from ....messages.requests import UnknownPage
from ....models import read_profiles
from ....search import ConsistentRead
from ....web.addresses import ResourceAddresses, find_search_path
from ....web.views import parse_page_number
from ..embedding.framing import EMBED
from ..head import describe_head
from ..links import add_query_string
from ..maps.query import has_map
from ..page import ResourcePageView
from ..sections import PageQuestion, Place, are_complete, build_sections
from .chips import build_chips
from .columns import Column, ColumnChoice, choose_columns
from .downloads import list_downloads
from .headings import build_headings
from .page_query import PAGE_SIZES, PageQuery, clean_parameters
from .pagination import Pagination
from .profiles import describe_fields
from .records import RecordTable, read_record_table


class ResourceView(ResourcePageView):
    """The records of a resource."""

    can_be_embedded = True

    template = "resource.html"

    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any] | HttpResponse:
        """Show a page of them, or redirect to the address without empty parameters."""
        resource = read.resource
        parameters = clean_parameters(self.request.GET)
        sent = [(name, value) for name, values in self.request.GET.lists() for value in values]
        if sent != parameters:
            return redirect(add_query_string(self.request.path, parameters))
        if not query.is_valid:
            self.status = HTTPStatus.BAD_REQUEST
        if self.is_embedded:
            return self._describe_embedded_table(read, query, columns)
        profiles = read_profiles(resource.table_version_id, using=read.connection.alias)
        choice = choose_columns(columns, query, profiles)
        question = PageQuestion(self.request, read, query, columns, choice, profiles)
        context = describe_head(question, "table")
        if not query.is_valid:
            return context
        context["has_api"] = bool(find_search_path(self.request))
        context["api_link"] = add_query_string("api/", parameters)
        pagination, context["table"] = self._read_table(read, query, choice)
        context["pagination"] = pagination
        question = replace(question, total=pagination.total)
        context["sections"] = build_sections(
            question, Place.HEAD, Place.BESIDE, Place.RESULT, Place.BELOW
        )
        notes = describe_fields(choice.columns, profiles)
        is_asked = query.q or query.all_conditions
        # The histograms are of all records.
        shown = [replace(each, histogram=None) if is_asked else each for each in notes]
        context["headings"] = build_headings(choice.columns, query, shown)
        context["total"] = format_count(pagination.total)
        context["sizes"] = PAGE_SIZES
        if pagination.total:
            has_places = has_map(columns, profiles.fields if profiles else {})
            context["download_groups"] = list_downloads(
                self.request, resource, query, context["table"], has_places=has_places
            )
        self.is_complete = are_complete(context["sections"])
        self.link = ResourceAddresses(self.request).build_link_header(resource.pk)
        return context | self.describe_embedding(query.query_string.pairs, str(resource))

    def _read_table(
        self, read: ConsistentRead, query: PageQuery, choice: ColumnChoice
    ) -> tuple[Pagination, RecordTable]:
        """Read the records of a page."""
        number = parse_page_number(self.request)
        offset = (number - 1) * query.size
        table = read_record_table(read, query, choice.columns, offset=offset)
        self.record_count = len(table.rows)
        if offset and offset >= table.total:
            raise UnknownPage(page=number)
        parameters = query.query_string.pairs
        return Pagination(self.request, parameters, number, query.size, table.total), table

    def _describe_embedded_table(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any]:
        """Show the table alone, for a frame of another page."""
        choice = choose_columns(columns, query)
        context: dict[str, Any] = {
            "table_version": read.resource.table_version,
            "column_choice": choice,
            "query": query,
            "chips": build_chips(query, columns),
            "whole_address": query.query_string.remove(EMBED).link,
        }
        if query.is_valid:
            context["pagination"], context["table"] = self._read_table(read, query, choice)
            context["headings"] = build_headings(choice.columns, query)
        return context
