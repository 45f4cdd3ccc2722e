"""What every page has in common: its shell, its error page, its embedded form, its validators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus
from itertools import chain
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import django
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.urls import (
    NoReverseMatch,
    Resolver404,
    get_script_prefix,
    resolve,
    reverse,
    translate_url,
)
from django.utils import translation
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.encoding import escape_uri_path
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _, gettext_lazy, pgettext

from ...api.envelope import UNNAMED
from ...downloads.formats import formats
from ...search import ConsistentRead
from ...web.addresses import find_path, keep_locale, reverse_in_locale
from ...web.caching import Validators, set_cache_headers
from ...web.errors import ErrorMessage, describe_access_denied, forget_unreadable_user
from ...web.languages import choose_language_codes, get_own_name
from ...web.views import VARY, ResourceWebView, WebView
from .columns import build_columns, choose_columns
from .conf import conf
from .maps.areas import list_area_resources
from .question import (
    CHANGE,
    EMBED,
    PageQueryParser,
    Pair,
    apply_change,
    clean_parameters,
    list_shared_parameters,
)
from .sections import PageQuestion


def add_query_string(path: str, parameters: Iterable[Pair]) -> str:
    """Append parameters to a path as a query string; without parameters the path is unchanged."""
    query = urlencode(list(parameters))
    return f"{path}?{query}" if query else path


def reverse_first(*names: str, args: Sequence[object] = ()) -> str:
    """Return the path of the first of some URLs that the portal has; empty if it has none."""
    for name in names:
        with suppress(NoReverseMatch):
            return reverse(name, args=args)
    return ""


# Frames -------------------------------------------------------------------------------------------

#: Sources of ``frame-ancestors``.
_NOBODY, _PORTAL = "'none'", "'self'"


def list_frame_ancestors() -> list[str]:
    """List the sources that may frame an embedded page; an empty setting allows none."""
    return list(conf.FRAME_ANCESTORS) or [_NOBODY]


def allow_framing(request: HttpRequest, response: HttpResponseBase) -> None:
    """
    Send ``frame-ancestors`` with an embedded page, within the portal's own policy if it has one.

    Two policies would both apply, so the directive replaces the portal's.  The header
    ``X-Frame-Options`` is left as it is: browsers pass over it where a policy has
    ``frame-ancestors``, and it still holds where something else removes the policy.

    Source: HTML Living Standard, "The X-Frame-Options header"; CSP Level 3, section 6.4.2.
    """
    policy: dict[str, Any] = {"frame-ancestors": list_frame_ancestors()}
    get_nonce, decorator = "django.middleware.csp.get_nonce", ""
    if django.VERSION >= (6, 0) and import_string(get_nonce)(request) is not None:
        decorator = "django.views.decorators.csp.csp_override"
        policy = {**settings.SECURE_CSP, **policy}
    elif hasattr(request, "csp_nonce") and getattr(settings, "CONTENT_SECURITY_POLICY", None):
        decorator = "csp.decorators.csp_replace"
    if decorator:
        # As the decorator of a view marks a response, for the middleware that sends the policy.
        import_string(decorator)(policy)(lambda _request: response)(request)
    else:
        response["Content-Security-Policy"] = f"frame-ancestors {' '.join(list_frame_ancestors())}"


# The shell ----------------------------------------------------------------------------------------

#: Of the address to which signing in or out leads back.
MAX_RETURN_LENGTH = 2_000

#: The usual names of the page that signs a user out, of which no setting of Django knows.
_SIGN_OUT_NAMES = ("logout", "account_logout")


def build_shell(request: HttpRequest, language: str, parameters: Iterable[Pair]) -> dict[str, Any]:
    """
    Build the links around a page in a language; empty where there is no such page.

    ``parameters`` ask for the same in every language.  Of the languages in which the page has
    another address, the link keeps the question of the page, the absolute address does not; the
    link to the present language is empty.
    """
    parameters = tuple(parameters)
    # Resolvers know no prefix; what they reverse has it.
    path = request.path_info
    addresses = {code: translate_url(path, code) for code in choose_language_codes(language)}
    languages = [
        {
            "code": code,
            "name": get_own_name(code),
            "link": "" if code == language else add_query_string(path, parameters),
            "address": request.build_absolute_uri(path),
        }
        for code, path in addresses.items()
    ]
    if len(set(addresses.values())) <= 1:  # one language, or none in the path
        languages = []
    address = request.get_full_path()
    address = address if len(address) <= MAX_RETURN_LENGTH else request.path
    is_authenticated = request.user.is_authenticated
    # The admin lets only its own users sign out.
    of_admin = ["admin:logout"] if getattr(request.user, "is_staff", False) else []
    return {
        "language": get_own_name(language),
        "languages": languages,
        # As the documentation of drf-spectacular names them.
        "viewer_address": keep_locale(request, reverse_first("swagger-ui", "redoc")),
        "sign_in_address": "" if is_authenticated else find_sign_in_address(address),
        "sign_out_address": reverse_first(*_SIGN_OUT_NAMES, *of_admin) if is_authenticated else "",
        "return_address": address,
    }


def find_sign_in_address(return_address: str) -> str:
    """Find the portal's sign-in page, which leads back; empty if ``LOGIN_URL`` leads nowhere."""
    try:
        address = resolve_url(settings.LOGIN_URL)
        if not (parts := urlsplit(address)).netloc:  # that of another host is taken as it is
            resolve(parts.path.removeprefix(get_script_prefix()[:-1]))
    except (NoReverseMatch, Resolver404):
        return ""
    return add_query_string(address, [(REDIRECT_FIELD_NAME, return_address)])


# Pages --------------------------------------------------------------------------------------------


class PageView(WebView):
    #: Whether the page has an embedded form, and whether that is requested.
    can_be_embedded = False
    is_embedded = False

    #: What the page was asked for, as parameters that every language reads alike.
    shared_parameters: Iterable[Pair] = ()

    def prepare(self) -> None:
        self.is_embedded = self.can_be_embedded and self.request.GET.get(EMBED) == "1"

    def answer_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
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
        set_cache_headers(self.request, response, private=private, vary=VARY, key=key)
        return response

    def describe_embedding(self, parameters: Iterable[Pair], title: str) -> dict[str, Any]:
        """Write the HTML that shows the page in a frame, and say which pages may have it."""
        ancestors = list_frame_ancestors()
        address = add_query_string(self.request.path, [*parameters, (EMBED, "1")])
        code = format_html(
            '<iframe src="{}" title="{}" width="100%" height="600" loading="lazy"></iframe>',
            self.request.build_absolute_uri(address),
            title,
        )
        return {
            "embed_code": code,
            "embed_address": address,
            "frame_sites": [each for each in ancestors if each not in {_PORTAL, _NOBODY}],
            "is_framed_here": _PORTAL in ancestors,
            "portal_origin": self.request.build_absolute_uri("/").rstrip("/"),
        }

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

    #: Whether an address with other than its clean parameters is redirected.
    has_clean_address = False

    #: The parameters of its address, cleaned.
    parameters: Sequence[Pair]

    #: What is held until the page is rendered, such as a slot.
    held: ExitStack

    def answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        self.check_may_read(resource)
        areas = list_area_resources(read.session.client) if conf.MAP_TILES.get("areas") else []
        self.area_versions = [(str(each.pk), each.version) for each in areas]
        self.is_private = any(each.private for each in (resource, *areas))
        validators = None
        # For a user who is signed in, a page may show more than its records decide.
        if conf.PAGES_VERSION and not self.request.user.is_authenticated:
            # A browser that has the page keeps its policy.
            policy = list_frame_ancestors() if self.is_embedded else ()
            shown = (conf.PAGES_VERSION, *policy)
            if not conf.MAP_TILES.get("areas"):
                validators = Validators.from_resource(resource, self.request, *shown, vary=VARY)
            elif not self.is_private:
                state = [resource.version, *self.area_versions]
                validators = Validators.from_state(state, self.request, *shown, vary=VARY)
        self.status, self.link = HTTPStatus.OK, ""
        if CHANGE in self.request.GET:
            changed = apply_change(self.request.GET, list(resource.types))
            return redirect(add_query_string(self.request.path, changed))
        self.parameters = clean_parameters(self.request.GET)
        sent = [(name, value) for name, values in self.request.GET.lists() for value in values]
        if self.has_clean_address and sent != self.parameters:
            return redirect(add_query_string(self.request.path, self.parameters))
        query = PageQueryParser(self.parameters, read).parse()
        self.shared_parameters = list_shared_parameters(query)
        with ExitStack() as self.held:
            columns = build_columns(resource)
            choice = choose_columns(columns, query)
            question = PageQuestion(self.request, read, query, columns, choice)
            context = self.build_context(question)
            if isinstance(context, HttpResponse):
                if validators and context.status_code == HTTPStatus.OK:
                    validators.set_headers(context, self.request)
                return context
            own = {"resource": resource, "title": str(resource)}
            template = f"embedded_{self.template}" if self.is_embedded else self.template
            response = self.render_page(
                template, own | context, private=self.is_private, status=self.status
            )
        sections = chain.from_iterable(context.get("sections", {}).values())
        parts = [context, *(section for _template, section in sections)]
        is_complete = all(part.get("is_complete", True) for part in parts)
        if validators and self.status == HTTPStatus.OK and is_complete:
            validators.set_headers(response, self.request)
        if self.link:
            response["Link"] = self.link
        return response

    @abstractmethod
    def build_context(self, question: PageQuestion) -> dict[str, Any] | HttpResponse:
        """
        Build what the template shows; a redirect or a file is answered as it is.

        A page of a question with errors sets ``status``; one that is not ``is_complete``, or with
        ``sections`` that are not, is not repeated by a cache.  ``link`` is its header of that name.
        """


class NamedPageView(ResourceWebView, PageView):
    def answer(self, read: ConsistentRead) -> HttpResponse:
        self.check_may_read(read.resource, self.kwargs["resource_id"])
        path = reverse_in_locale(self.request, "resource", read.resource.pk)
        query = self.request.META.get("QUERY_STRING", "")
        address = f"{path}{escape_uri_path(self.kwargs['rest'])}{query and f'?{query}'}"
        response = HttpResponseRedirect(address)
        add_never_cache_headers(response)  # the name may become that of another one
        return response


class UnknownPageView(PageView):
    def get(self, _request: HttpRequest) -> HttpResponse:
        error = _("There is no page at this address.")
        return self.render_error(ErrorMessage(HTTPStatus.NOT_FOUND, _("Not found"), error))


# Errors -------------------------------------------------------------------------------------------


def render_error_page(request: HttpRequest, error: ErrorMessage) -> HttpResponse:
    """Render the page of an error of a view that is none of the pages."""
    view = PageView()
    view.setup(request)
    return view.render_error(error)


_TITLES: Mapping[int, str | Promise] = {
    HTTPStatus.FORBIDDEN: gettext_lazy("Access denied"),
    HTTPStatus.NOT_FOUND: gettext_lazy("Not found"),
    HTTPStatus.TOO_MANY_REQUESTS: gettext_lazy("Not available at the moment"),
    HTTPStatus.SERVICE_UNAVAILABLE: gettext_lazy("Not available at the moment"),
}


def explain_failure(request: HttpRequest, response: Any, error: Mapping[str, Any]) -> None:
    """
    Show the failure of a file as a page to clients that prefer HTML.

    Programs, which accept anything or JSON, get the envelope, as everyone does in a portal without
    the pages.
    """
    patch_vary_headers(response, ("Accept",))
    kind = request.get_preferred_type(["application/json", "text/html"])
    has_page = kind == "text/html" and find_path(request, "resource", UUID(int=0))  # of any id
    if request.method != "GET" or not has_page:
        return
    with translation.override(response["Content-Language"]):
        forget_unreadable_user(request)
        status = HTTPStatus(response.status_code)
        if "format" in error and request.GET.get("format") not in formats:
            text = _("There is no such format. The formats are: %(formats)s.")
            names = pgettext("list", ", ").join(formats)
            error = {**error, "format": text % {"formats": names}}
        message = "\n".join(
            str(message) if name in (*UNNAMED, "format") else f"{name}: {message}"
            for name, messages in error.items()
            if name != "__type"
            for message in (messages if isinstance(messages, list) else [messages])
        )
        if status == HTTPStatus.FORBIDDEN:
            message = describe_access_denied(is_authenticated=request.user.is_authenticated)
        view = PageView()
        view.setup(request)
        view.shared_parameters = [
            (name, value) for name, values in request.GET.lists() for value in values
        ]
        title = str(_TITLES.get(status, _("This file cannot be downloaded")))
        page = view.render_error(ErrorMessage(status, title, message))
        response.content = page.content
        for name in ("Content-Type", "Cache-Control"):
            response[name] = page[name]
