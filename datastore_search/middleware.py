"""Middleware: locales in any spelling, clients that have disconnected."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from copy import copy
from http import HTTPStatus
from inspect import iscoroutinefunction
from threading import Event
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware import locale as django_locale
from django.urls import Resolver404, get_script_prefix, resolve
from django.utils import translation
from django.utils.decorators import sync_and_async_middleware

from .guards.shares import DISCONNECTED
from .web.addresses import TAG, find_path_language
from .web.errors import explain_failures

#: An address that may be one of this app.
_OWN_ADDRESS = re.compile(r".*?/(?:api|datastore)(?:/.*)?", re.DOTALL)


class LocaleMiddleware(django_locale.LocaleMiddleware):
    """
    Django's LocaleMiddleware, which also understands ``/en_GB/``, ``/en-GB/`` and ``/zh_Hans_CN/``.

    The path is resolved in Django's spelling, without a redirect; ``request.path`` keeps the
    request's spelling.  Of the addresses of this app, only pages are redirected to a language: no
    request that changes something, and none to the API.
    """

    def process_request(self, request: HttpRequest) -> None:
        urlconf = getattr(request, "urlconf", settings.ROOT_URLCONF)
        used, _default = is_language_prefix_patterns_used(urlconf)
        code = find_path_language(request.path_info) if used else None
        if code:
            rest = request.path_info.lstrip("/").partition("/")[1:]
            request.path_info = f"/{code}{''.join(rest)}"
        super().process_request(request)
        if code and code != request.LANGUAGE_CODE:  # enabled, but Django has no catalogue
            translation.activate(code)
            request.LANGUAGE_CODE = code

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """
        Redirect a page without a language, as Django does; of this app, nothing else.

        An address of the API that no view answers is 404 in the envelope.
        """
        is_own = _OWN_ADDRESS.fullmatch(request.path_info)
        if response.status_code != HTTPStatus.NOT_FOUND or not is_own:
            return super().process_response(request, response)
        is_html = response.get("Content-Type", "").startswith("text/html")
        is_page = request.method in {"GET", "HEAD"} and is_html  # not an answer of the API
        if is_page or find_path_language(request.path_info):
            response = super().process_response(request, response)
        is_unknown = response.status_code == HTTPStatus.NOT_FOUND and not request.resolver_match
        return (is_unknown and answer_unknown_address(request)) or response


#: An address of the API or of a dump, after what stands before it.
_API_ADDRESS = re.compile(r"(.*?)(/api|/datastore/dump)(|/.*)", re.DOTALL)


def answer_unknown_address(request: HttpRequest) -> HttpResponseBase | None:
    """
    Let the API answer an address that the portal does not have; None where it has no API nearby.

    Below a language that is not enabled, the API of the default language answers.
    """
    address = _API_ADDRESS.fullmatch(request.path_info)
    if address is None:
        return None
    base, route, rest = address.groups()
    tag = TAG.fullmatch(base)
    below = base.removeprefix(f"/{tag[1]}") if tag else base
    language = find_path_language(request.path_info) or settings.LANGUAGE_CODE
    with translation.override(language):
        for candidate in (base, below, f"/{translation.get_language()}{below}"):
            try:
                match = resolve(f"{candidate}/api/action//{rest.removeprefix('/')}")
            except Resolver404:
                continue
            if match.app_names[-1:] == ["datastore_search"]:
                break
        else:
            return None
    sent = copy(request)
    sent.method = "HEAD" if request.method == "HEAD" else "GET"  # every method is 404
    sent.resolver_match = match
    if candidate != base:
        sent.path_info = f"{candidate}{route}{rest}"
        sent.path = f"{get_script_prefix()}{sent.path_info.lstrip('/')}"
    view = match.func if route == "/api" else explain_failures(match.func)
    response: HttpResponseBase = view(sent, *match.args, **match.kwargs)
    if isinstance(response, HttpResponse) and "Content-Length" not in response:
        response["Content-Length"] = str(len(response.content))
    return response


@sync_and_async_middleware
def disconnect_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """
    Stop a search under ASGI when its client is gone; this must be the last middleware.

    Django cancels the task of such a request, but not the thread that runs the view.  A middleware
    without ASGI support hides the task from those before it.  Under WSGI this does nothing.
    """
    if not iscoroutinefunction(get_response):
        return get_response

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if not _OWN_ADDRESS.fullmatch(request.path_info):
            response: HttpResponseBase = await get_response(request)
            return response
        request.META[DISCONNECTED] = disconnected = Event()
        answer: asyncio.Future[HttpResponseBase] = asyncio.ensure_future(get_response(request))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            disconnected.set()
            response = await answer  # soon: the search stops when it sees the event
            await sync_to_async(response.close)()
            raise

    return middleware
