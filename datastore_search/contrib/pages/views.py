"""The views of the HTML pages: what all have in common, and the data page of a resource."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from datastore_search.web.addresses import ResourceAddresses
from datastore_search.contrib.catalogue import find_dataset_of
from datastore_search.conf import conf
from datastore_search.web.outages import forget_unreadable_user
from datastore_search.messages.access import AccessDenied
from datastore_search.messages.requests import UnknownPage
from datastore_search.guards.clients import Client
from datastore_search.guards.rates import check_rates
from datastore_search.guards.sizes import check_query_string
from datastore_search.web.caching import NotModified, Validators, set_cache_headers
from datastore_search.messages.bidi import show_bidi_controls
from datastore_search.middleware import find_path_language
from datastore_search.models import Resource, read_profiles
from datastore_search.web.reports import Question, note_resource, report_answer, start_clock
from datastore_search.models.managers import exclude_from_atomic_requests
from datastore_search.search import ConsistentRead, with_consistent_read
from .embedding import framing
from .about import list_facts
from .table.chips import build_chips
from .table.columns import ColumnChoice, build_columns, choose_columns, list_facet_columns
from .facets.did_you_mean import DidYouMean, suggest_links
from .table.downloads import list_downloads
from .errors import REPORTED_ERRORS, ErrorMessage, describe_error
from .facets.panel import build_facet_panel
from .table.filter_form import FilterForm
from .embedding.framing import allow_framing, list_frame_ancestors
from .table.headings import build_headings, build_plain_headings
from .links import Parameters, add_query_string, find_search_path, reverse_in_locale
from .maps.query import has_map
from .table.page_query import EMBED, OF_TABLE, PAGE_SIZES, PageQuery, clean_parameters, list_shared_parameters, parse_page_query
from .table.pagination import Pagination, parse_page_number
from .table.profiles import describe_fields
from datastore_search.contrib.catalogue.views.published import describe_resource
from .table.query_string import Link
from .shell import build_shell, find_sign_in_address
from .table.table import RecordTable, read_record_table

#: The parameters that reports name; others name fields.
_REPORTED = ("q", "sort", "limit", "page", "show", "by", "format", "embed")

#: The header that pages depend on: it has the session.
_VARY = ("Cookie",)


@method_decorator(csrf_exempt, name="dispatch")  # pages change nothing: a POST is 405, not 403
class PageView(View):
    """A page in the language of the path, or an error page."""

    http_method_names = ("get", "head", "options")

    #: Whether the page has an embedded form, and whether that is requested.
    can_be_embedded = False
    is_embedded = False

    #: What the page was asked for, as parameters that every language reads alike.
    shared_parameters: Parameters = ()

    @exclude_from_atomic_requests
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never of ``Accept-Language``."""
        started_at = start_clock()
        language = find_path_language(request.path_info) or settings.LANGUAGE_CODE
        with translation.override(language):
            try:
                check_query_string(request)
                check_rates(request, self)
                self.is_embedded = self.can_be_embedded and request.GET.get(EMBED) == "1"
                response = super().dispatch(request, *args, **kwargs)
            except NotModified as not_modified:
                response = not_modified.response
            except REPORTED_ERRORS as error:
                forget_unreadable_user(request)
                message = describe_error(error, is_authenticated=request.user.is_authenticated)
                if message is None:
                    raise
                response = self.render_error(message)
        response["Content-Language"] = language
        if self.is_embedded:
            allow_framing(request, response)
        if started_at:
            report_answer(
                request,
                self.describe_question(),
                status=response.status_code,
                record_count=0,
                started_at=started_at,
            )
        return response

    def describe_question(self) -> Question:
        """Name the page and its parameters, for reports."""
        match = self.request.resolver_match
        return Question(f"page {match.url_name if match else ''}", self.request.GET, _REPORTED)

    def render_page(
        self,
        template: str,
        context: dict[str, Any],
        *,
        private: bool,
        status: HTTPStatus = HTTPStatus.OK,
        validators: Validators | None = None,
    ) -> HttpResponse:
        """
        Render a page; ``private`` means that caches must not share it between users.

        A page without errors has the ``validators``, if any.
        """
        response = self._render(template, context, status)
        set_cache_headers(response, private=private, vary=_VARY)
        if validators and status == HTTPStatus.OK:
            validators.set_headers(response, self.request)
        return response

    def check_may_read(self, resource: Resource) -> None:
        """Refuse a user who may not read the records of a resource."""
        note_resource(self.request, resource)
        if not resource.is_readable_by(self.request.user):
            raise AccessDenied(user=self.request.user, resource=resource.pk)

    def authorize_read(self, resource: Resource, *parts: object) -> Validators | None:
        """
        Let the user read a resource, and build the page's validators.

        ``parts`` are what the page depends on beside the resource and the address.

        None where the page may show more than its records decide: for an authenticated user, and
        without the setting ``PAGES_VERSION``.

        Raises: ``AccessDenied``; ``NotModified`` when the client has the page already.
        """
        self.check_may_read(resource)
        if not conf.PAGES_VERSION or self.request.user.is_authenticated:
            return None
        # A browser that has the page keeps its policy.
        policy = list_frame_ancestors() if self.is_embedded else ()
        validators = Validators.from_resource(
            resource, self.request, conf.PAGES_VERSION, *policy, *parts, vary=_VARY
        )
        validators.raise_if_not_modified(self.request)
        return validators

    def describe_embedding(self, parameters: Parameters, title: str) -> dict[str, Any]:
        """Write the HTML that shows the page in a frame; nothing if no page may frame it."""
        ancestors = list_frame_ancestors()
        if ancestors == framing.NONE:
            return {}
        address = add_query_string(self.request.path, [*parameters, (EMBED, "1")])
        code = format_html(
            '<iframe src="{}" title="{}" width="100%" height="600" loading="lazy"></iframe>',
            self.request.build_absolute_uri(address),
            title,
        )
        return {"embed_code": code, "is_framed_by_portal_only": ancestors == framing.SELF}

    def render_error(self, error: ErrorMessage) -> HttpResponse:
        """Render an error page, which no cache keeps."""
        template = "embedded_error.html" if self.is_embedded else "error.html"
        context: dict[str, Any] = {"error": error, "whole_address": self.request.path}
        is_authenticated = self.request.user.is_authenticated
        if self.is_embedded and error.status == HTTPStatus.FORBIDDEN and not is_authenticated:
            # No frame may show the page that signs in, and another site's frame has no session.
            context["sign_in_address"] = find_sign_in_address(self.request.path)
        response = self._render(template, context, error.status)
        add_never_cache_headers(response)
        if error.retry_after_seconds:
            response["Retry-After"] = str(error.retry_after_seconds)
        return response

    def _render(self, template: str, context: dict[str, Any], status: HTTPStatus) -> HttpResponse:
        language = translation.get_language() or settings.LANGUAGE_CODE
        own: dict[str, Any] = {"is_embedded": self.is_embedded}
        if not self.is_embedded:
            own |= {
                "catalogue_address": reverse_in_locale(self.request, "catalogue"),
                "shell": build_shell(self.request, language, self.shared_parameters),
            }
        return render(self.request, f"datastore_search/{template}", own | context, status=status)


class ResourcePageView(PageView, ABC):
    """A page of one version of a resource."""

    def get(
        self, request: HttpRequest, resource_id: uuid.UUID, **_arguments: object
    ) -> HttpResponse:
        """Send the page."""
        return with_consistent_read(resource_id, self.answer, client=Client.from_request(request))

    @abstractmethod
    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Answer from a consistent read, which may be repeated, to those who may read it."""


# The data page ------------------------------------------------------------------------------------


class ResourceView(ResourcePageView):
    """The records of a resource."""

    can_be_embedded = True

    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Show a page of them, or redirect to the address without empty parameters."""
        resource = read.resource
        parameters = clean_parameters(self.request.GET)
        is_described = not resource.private and not parameters and not self.is_embedded
        dataset = find_dataset_of(AnonymousUser(), resource.pk) if is_described else None
        validators = self.authorize_read(resource, *([repr(dataset)] if dataset else []))
        sent = [(name, value) for name, values in self.request.GET.lists() for value in values]
        address = add_query_string(self.request.path, parameters)
        if address != add_query_string(self.request.path, sent):
            return redirect(address)
        query = parse_page_query(parameters, resource)
        if not self.is_embedded:
            query = replace(query, query_string=query.query_string.as_whole())
        self.shared_parameters = list_shared_parameters(query)
        columns = build_columns(resource)
        choice = choose_columns(columns, query)
        context: dict[str, Any] = {
            "resource": resource,
            "title": str(resource),
            "table_version": resource.table_version,
            "column_choice": choice,
            "query": query,
            "chips": build_chips(query, columns),
        }
        if self.is_embedded:
            return self._answer_embedded(read, query, choice, validators, context)
        profiles = read_profiles(resource.table_version_id, using=read.connection.alias)
        notes = describe_fields(choice.columns, profiles)
        context |= {
            "description": show_bidi_controls(resource.local_description.text),
            "facts": list_facts(resource),
            "field_notes": notes,
            "filter_form": FilterForm(resource, columns, choice.columns, query, profiles),
            "address": self.request.path,
            "has_api": bool(find_search_path(self.request)),
            "api_link": add_query_string("api/", parameters),
        }
        if not query.is_valid:
            return self.render_page(
                "resource.html", context, private=resource.private, status=HTTPStatus.BAD_REQUEST
            )
        pagination, context["table"] = self._read_table(read, query, choice)
        context["pagination"] = pagination
        panel = build_facet_panel(read, list_facet_columns(columns, choice, query), query, profiles)
        context["facet_panel"] = panel
        did_you_mean = DidYouMean() if pagination.total else suggest_links(read, query)
        context["did_you_mean"] = did_you_mean.links
        context["headings"] = build_headings(notes.fields, query)
        question = query.query_string.remove(*OF_TABLE)
        context["chart_address"] = f"chart/{question.query}"
        if has_map(columns, profiles.fields if profiles else {}):
            context["map_address"] = f"map/{question.query}"
        context["sizes"] = list_sizes(query)
        if pagination.total:
            has_places = "map_address" in context
            context["download_groups"] = list_downloads(
                self.request, resource, query, has_places=has_places
            )
        context |= self.describe_embedding(query.query_string.pairs, context["title"])
        if is_described:
            context["structured_data"] = describe_resource(self.request, resource, dataset)
        # Figures that took too long must not be repeated from a cache.
        is_complete = panel.is_complete and did_you_mean.is_complete
        response = self.render_page(
            "resource.html",
            context,
            private=resource.private,
            validators=validators if is_complete else None,
        )
        if link := ResourceAddresses(self.request).build_link_header(resource.pk):
            response["Link"] = link
        return response

    def _read_table(
        self, read: ConsistentRead, query: PageQuery, choice: ColumnChoice
    ) -> tuple[Pagination, RecordTable]:
        """Read the records of a page."""
        number = parse_page_number(self.request)
        offset = (number - 1) * query.size
        table = read_record_table(read, query, choice.columns, offset=offset)
        if offset and offset >= table.total:
            raise UnknownPage(page=number)
        parameters = query.query_string.pairs
        return Pagination(self.request, parameters, number, query.size, table.total), table

    def _answer_embedded(
        self,
        read: ConsistentRead,
        query: PageQuery,
        choice: ColumnChoice,
        validators: Validators | None,
        context: dict[str, Any],
    ) -> HttpResponse:
        """Show the table alone, for a frame of another page."""
        status = HTTPStatus.OK if query.is_valid else HTTPStatus.BAD_REQUEST
        if query.is_valid:
            context["pagination"], context["table"] = self._read_table(read, query, choice)
            context["headings"] = build_plain_headings(choice.columns, query)
        context["whole_address"] = query.query_string.remove(EMBED).link
        return self.render_page(
            "embedded_table.html",
            context,
            private=read.resource.private,
            status=status,
            validators=validators,
        )


def list_sizes(query: PageQuery) -> list[tuple[int, Link | str]]:
    """List the sizes of pages, each with its link; empty for the present one."""
    default, *others = PAGE_SIZES
    values = {default: [], **{size: [str(size)] for size in others}}
    return [
        (size, "" if size == query.size else query.query_string.replace("limit", *value).link)
        for size, value in values.items()
    ]
