"""What every page has in common: its shell, its error page, its embedded form, its validators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.cache import add_never_cache_headers
from django.utils.encoding import escape_uri_path
from django.utils.html import format_html

from ...models import Resource
from ...search import ConsistentRead
from ...web.addresses import find_path, reverse_in_locale
from ...web.caching import Validators, set_cache_headers
from ...web.errors import ErrorMessage
from ...web.views import ResourceWebView, WebView
from .conf import conf
from .embedding import framing
from .embedding.framing import EMBED, allow_framing, list_frame_ancestors
from .links import Parameters, add_query_string
from .shell import build_shell, find_sign_in_address
from .table.columns import Column, build_columns
from .table.page_query import PageQuery, clean_parameters, list_shared_parameters, parse_page_query
from .table.query_string import CHANGE, apply_change

#: The header that pages depend on: it has the session.
_VARY = ("Cookie",)


class PageView(WebView):
    """A page in the language of the path, or an error page."""

    #: Whether the page has an embedded form, and whether that is requested.
    can_be_embedded = False
    is_embedded = False

    #: What the page was asked for, as parameters that every language reads alike.
    shared_parameters: Parameters = ()

    def prepare(self) -> None:
        """Read whether the embedded form is requested."""
        self.is_embedded = self.can_be_embedded and self.request.GET.get(EMBED) == "1"

    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Allow frames to show the embedded form."""
        response = super().answer_request(request, *args, **kwargs)
        if self.is_embedded:
            allow_framing(request, response)
        return response

    def render_page(
        self,
        template: str,
        context: dict[str, Any],
        *,
        private: bool,
        status: HTTPStatus = HTTPStatus.OK,
        key: str = "",
    ) -> HttpResponse:
        """Render a page; ``private`` means that caches must not share it between users."""
        response = self._render(template, context, status)
        key = key if conf.PAGES_VERSION else ""
        set_cache_headers(self.request, response, private=private, vary=_VARY, key=key)
        return response

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
                "catalogue_address": find_path(self.request, "catalogue"),
                "shell": build_shell(self.request, language, self.shared_parameters),
            }
        return render(self.request, f"datastore_search/{template}", own | context, status=status)


class ResourcePageView(ResourceWebView, PageView):
    """
    A page of one version of a resource, about the question that its parameters ask.

    Each page is answered in the same steps: may the user read it, does the client have it already,
    what is asked, what does the page show, and its headers.  A page says only what it shows.
    """

    #: The template; that of the embedded form is named alike, after "embedded_".
    template: ClassVar[str]

    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Answer the question of the parameters, for a user who may read the resource."""
        resource = read.resource
        self.check_may_read(resource)
        validators = self._build_validators(resource)
        self.status, self.is_complete, self.link = HTTPStatus.OK, True, ""
        query = parse_page_query(clean_parameters(self.request.GET), resource)
        if CHANGE in self.request.GET:
            changed = apply_change(self.request.GET, list(resource.types))
            return redirect(add_query_string(self.request.path, changed))
        self.shared_parameters = list_shared_parameters(query)
        context = self.build_context(read, query, build_columns(resource))
        if isinstance(context, HttpResponse):
            if validators and context.status_code == HTTPStatus.OK:
                validators.set_headers(context, self.request)
            return context
        own = {"resource": resource, "title": str(resource)}
        template = f"embedded_{self.template}" if self.is_embedded else self.template
        response = self.render_page(
            template, own | context, private=resource.private, status=self.status
        )
        if validators and self.status == HTTPStatus.OK and self.is_complete:
            validators.set_headers(response, self.request)
        if self.link:
            response["Link"] = self.link
        return response

    @abstractmethod
    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any] | HttpResponse:
        """
        Build what the template shows; a redirect or a file is answered as it is.

        A page of a question with errors sets ``status``; one with figures that took too long
        is not ``is_complete``, and no cache repeats it.  ``link`` is its header of that name.
        """

    def _build_validators(self, resource: Resource) -> Validators | None:
        """
        Build the page's validators.

        None where the page may show more than its records decide: for an authenticated user, and
        without the setting ``PAGES_VERSION``.

        Raises: ``NotModified`` when the client has the page already.
        """
        if not conf.PAGES_VERSION or self.request.user.is_authenticated:
            return None
        # A browser that has the page keeps its policy.
        policy = list_frame_ancestors() if self.is_embedded else ()
        return Validators.from_resource(
            resource, self.request, conf.PAGES_VERSION, *policy, vary=_VARY
        )


class NamedPageView(ResourceWebView, PageView):
    """Redirect from an address with the name or an alias of a resource to the one with its id."""

    def answer(self, read: ConsistentRead) -> HttpResponse:
        """Redirect those who may read the resource."""
        self.check_may_read(read.resource, self.kwargs["resource_id"])
        path = reverse_in_locale(self.request, "resource", read.resource.pk)
        query = self.request.META.get("QUERY_STRING", "")
        address = f"{path}{escape_uri_path(self.kwargs['rest'])}{query and f'?{query}'}"
        response = HttpResponseRedirect(address)
        add_never_cache_headers(response)  # the name may become that of another one
        return response


def render_error_page(request: HttpRequest, error: ErrorMessage) -> HttpResponse:
    """Render the page of an error of a view that is none of the pages."""
    view = PageView()
    view.setup(request)
    return view.render_error(error)
