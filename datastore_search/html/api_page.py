"""The page that shows how programs ask the API what a data page asks."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from ..guards.clients import Client
from ..search import ConsistentRead, Query, read_page, with_consistent_read
from .api_examples import build_api_examples
from .chips import build_chips
from .columns import build_columns
from .links import add_query_string, find_search_path, reverse_in_locale
from .page_query import clean_parameters, list_shared_parameters, parse_page_query
from .pagination import parse_page_number
from .views import PageView


class ApiView(PageView):
    """The question of a data page as programs, with the beginning of the answer."""

    def get(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """
        Show the programs, or redirect to the data page if it would refuse the question.

        Raises: ``UnknownResource``, ``AccessDenied``, ``UnknownPage`` and what ``search`` raises;
        ``Http404`` if the portal has no API.
        """
        return with_consistent_read(resource_id, self._answer, client=Client.from_request(request))

    def _answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        validators = self.authorize_read(resource)
        path = find_search_path(self.request)
        if not path:
            raise Http404
        parameters = clean_parameters(self.request.GET)
        query = parse_page_query(parameters, resource)
        page_address = add_query_string(
            reverse_in_locale(self.request, "resource", resource.pk), parameters
        )
        if not query.is_valid:
            return redirect(page_address)
        self.shared_parameters = list_shared_parameters(query)
        search = Query(
            limit=query.size,
            offset=(parse_page_number(self.request) - 1) * query.size,
            q=query.q,
            filters=query.all_conditions,
            sort=query.sort,
        )
        columns = build_columns(resource)
        with closing(read_page(read, replace(search, limit=1))) as page:
            context = {
                "resource": resource,
                "title": str(resource),
                "chips": build_chips(query, columns),
                "page_address": page_address,
                "api": build_api_examples(self.request, path, resource, search, page),
            }
        response = self.render_page("api.html", context, private=resource.private)
        if validators:
            validators.set_headers(response, self.request)
        return response
