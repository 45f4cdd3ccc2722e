"""The pages."""

from __future__ import annotations

import re
import uuid
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.core.paginator import EmptyPage, Paginator
from django.db import router
from django.db.models import CharField, Count, F, QuerySet, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import method_decorator
from django.utils.formats import number_format
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from ..clients import Client
from ..conf import conf
from ..exceptions import AccessDenied, UnknownPage
from ..middleware import path_language
from ..models import Resource
from ..object_permissions import Permitted
from ..request_limits import check_query_string
from ..search import ConsistentRead, Page, Query, search, with_consistent_read
from ..validators import Unchanged, Validators, keep
from .api_example import curl
from .errors import ANTICIPATED, REFUSED, Failure, failure_of, refused
from .filters import PREFIX, CatalogueFilterSet, RecordFilterSet, plain
from .links import Parameters, link, with_query
from .profiles import field_notes
from .records import columns_of, rows_of

RESOURCES_A_PAGE = 20
RECORDS_A_PAGE = 25

#: What pages depend on, beside their address.
_VARY = ("Cookie",)

_PAGE = re.compile(r"[1-9][0-9]{0,15}")


@method_decorator(csrf_exempt, name="dispatch")  # nothing is changed: a POST is 405, not 403
class PageView(View):
    """A page in the language of the path, or the page that says why there is none."""

    http_method_names = ("get", "head", "options")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer in the language of the path, never in that of ``Accept-Language``."""
        language = path_language(request.path_info) or settings.LANGUAGE_CODE
        with translation.override(language):
            try:
                check_query_string(request)
                response = super().dispatch(request, *args, **kwargs)
            except Unchanged as unchanged:
                response = unchanged.response
            except ANTICIPATED as error:
                response = self._failure(failure_of(error, request))
            except REFUSED as error:
                failure = refused(error, request)
                if failure is None:
                    raise
                response = self._failure(failure)
        response["Content-Language"] = language
        return response

    def page(
        self,
        template: str,
        context: dict[str, Any],
        *,
        private: bool,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> HttpResponse:
        """Render a page; ``private`` when not everybody may see it."""
        response = self._rendered(template, context, status)
        keep(response, private=private, vary=_VARY)
        return response

    def _failure(self, failure: Failure) -> HttpResponse:
        response = self._rendered("error.html", {"failure": failure}, failure.status)
        add_never_cache_headers(response)
        if failure.wait:
            response["Retry-After"] = str(failure.wait)
        return response

    def _rendered(self, template: str, context: dict[str, Any], status: HTTPStatus) -> HttpResponse:
        return render(
            self.request,
            f"datastore_search/{template}",
            {"catalogue_address": link(self.request, "catalogue"), **context},
            status=status,
        )


@dataclass(frozen=True, slots=True)
class Paging:
    """
    Where a page lies among the others.

    ``number`` counts pages from 1, ``total`` what is on all of them; where that is not all there
    is, it is not ``is_exact`` and not shown.
    """

    request: HttpRequest
    parameters: Parameters
    number: int
    size: int
    total: int
    is_exact: bool = True

    @property
    def first(self) -> str:
        """The number of the first on this page."""
        return grouped((self.number - 1) * self.size + 1)

    @property
    def last(self) -> str:
        """The number of the last on this page."""
        return grouped(min(self.number * self.size, self.total))

    @property
    def shown_total(self) -> str:
        """The total as people write it."""
        return grouped(self.total)

    @property
    def previous_address(self) -> str | None:
        """The address of the page before, if there is one."""
        return self._address(self.number - 1) if self.number > 1 else None

    @property
    def next_address(self) -> str | None:
        """The address of the page after, if there is one."""
        return self._address(self.number + 1) if self.number * self.size < self.total else None

    def _address(self, number: int) -> str:
        others = [(name, value) for name, value in self.parameters if name != "page"]
        page = [("page", str(number))] if number > 1 else []
        return with_query(self.request.path, [*others, *page])


def grouped(number: int) -> str:
    """Write a number as people of the language do."""
    return number_format(number, force_grouping=True)


def asked_page(request: HttpRequest) -> int:
    """
    Read the number of the page asked for.

    Raises: ``UnknownPage``.
    """
    number = request.GET.get("page") or "1"
    if not _PAGE.fullmatch(number):
        raise UnknownPage(page=number[:100])
    return int(number)


# The catalogue ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A resource in the catalogue."""

    resource: Resource
    address: str
    records: str
    fields: str


class CatalogueView(PageView):
    """The resources that the reader may read."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """List them."""
        readable = Resource.objects.filter(current_load__isnull=False).readable_by(request.user)
        filters = CatalogueFilterSet(request.GET, catalogue_of(readable))
        if not filters.is_valid():
            return self.page(
                "catalogue.html", {"filters": filters}, private=True, status=HTTPStatus.BAD_REQUEST
            )
        number = asked_page(request)
        try:
            found = Paginator(filters.qs, RESOURCES_A_PAGE).page(number)
        except EmptyPage:
            raise UnknownPage(page=number) from None
        resources = list(found)
        context = {
            "filters": filters,
            "q": filters.form.cleaned_data["q"],
            "entries": [self._entry(resource) for resource in resources],
            "paging": Paging(
                request,
                plain(request.GET),
                number,
                RESOURCES_A_PAGE,
                found.paginator.count,
                is_exact=readable.is_complete,
            ),
        }
        # Whoever is signed in may see another total than everybody, on any page.
        return self.page("catalogue.html", context, private=request.user.is_authenticated)

    def _entry(self, resource: Resource) -> Entry:
        load = resource.current_load
        return Entry(
            resource,
            link(self.request, "resource", resource.pk),
            grouped(load.rows if load else 0),
            grouped(cast("Any", resource).field_count),
        )


def catalogue_of(readable: Permitted) -> QuerySet[Resource]:
    """Read the loaded resources among those that a user may read, in the order of their titles."""
    title = Coalesce(NullIf(F("title"), Value("")), F("name"), output_field=CharField())
    return (
        Resource.objects.using(router.db_for_read(Resource))
        .filter(readable.condition, current_load__isnull=False)
        .select_related("current_load")
        .annotate(field_count=Count("fields"))
        .order_by(Lower(title), "pk")
    )


# A resource ---------------------------------------------------------------------------------------


class ResourceView(PageView):
    """The records of a resource."""

    def get(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """
        Show a page of them, under an address without empty parameters.

        Raises: ``UnknownResource``, ``AccessDenied``, ``UnknownPage`` and what ``search`` raises.
        """
        return with_consistent_read(resource_id, self._answer, client=Client.of(request))

    def _answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        if not resource.readable_by(self.request.user):
            raise AccessDenied(user=self.request.user, resource=resource.pk)
        validators = self._validators(resource)
        parameters = plain(self.request.GET)
        address = with_query(self.request.path, parameters)
        if address != with_query(self.request.path, _pairs(self.request)):
            return redirect(address)
        filters = RecordFilterSet(self.request.GET, resource)
        context = {
            "resource": resource,
            "load": resource.current_load,
            "columns": columns_of(resource),
            "field_notes": field_notes(resource, using=read.connection.alias),
            "filters": filters,
            "filtered": any(name.startswith(PREFIX) for name, _value in parameters),
            "asked": bool(parameters),
            "address": self.request.path,
        }
        if not filters.is_valid():
            return self.page(
                "resource.html", context, private=resource.private, status=HTTPStatus.BAD_REQUEST
            )
        number = asked_page(self.request)
        query = Query(
            limit=RECORDS_A_PAGE,
            offset=(number - 1) * RECORDS_A_PAGE,
            q=filters.q,
            filters=filters.conditions,
        )
        with closing(search(read, query)) as found:
            context |= self._found(resource, query, found, parameters, number)
        response = self.page("resource.html", context, private=resource.private)
        if validators:
            validators.mark(response, self.request)
        return response

    def _validators(self, resource: Resource) -> Validators | None:
        """
        Make the validators of the page, if the portal says by which version of itself it is made.

        What else the portal's templates show may depend on who is signed in.

        Raises: ``Unchanged``.
        """
        if not conf.PAGES_VERSION or self.request.user.is_authenticated:
            return None
        validators = Validators.of(resource, self.request, conf.PAGES_VERSION, vary=_VARY)
        validators.check(self.request)
        return validators

    def _found(
        self, resource: Resource, query: Query, found: Page, parameters: Parameters, number: int
    ) -> dict[str, Any]:
        total = found.total or 0
        if query.offset and query.offset >= total:
            raise UnknownPage(page=number)
        return {
            "rows": rows_of(found, columns_of(resource)),
            "paging": Paging(self.request, parameters, number, RECORDS_A_PAGE, total),
            "curl": curl(self.request, resource, query),
        }


def _pairs(request: HttpRequest) -> Parameters:
    return [(name, value) for name, values in request.GET.lists() for value in values]
