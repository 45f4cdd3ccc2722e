"""Middleware: locales in any spelling, outages of the database, logins, clients that are gone."""

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
from django.utils.deprecation import MiddlewareMixin
from rest_framework.exceptions import Throttled

from .conf import conf
from .database.refusals import explain_refusal, is_connection_lost
from .guards import clients
from .guards.clients import DISCONNECTED, Client
from .guards.rates import check_login_rate
from .messages.availability import TemporarilyUnavailable
from .web.addresses import TAG, find_path_language
from .web.errors import describe_error, forget_unreadable_user, render_plainly

_SAFE = ("GET", "HEAD")

#: The key of the slot that a login holds.
_LOGIN_SLOT = "datastore_search.login_slot"


class LocaleMiddleware(django_locale.LocaleMiddleware):
    """
    Django's LocaleMiddleware, which also understands ``/en_GB/``, ``/en-GB/`` and ``/zh_Hans_CN/``.

    The path is resolved in Django's spelling, without a redirect; ``request.path`` keeps the
    request's spelling.  Only pages are redirected to a language: no request that changes something,
    and none to the API.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Resolve the path in Django's spelling of its language."""
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
        Redirect a page without a language, as Django does; nothing else.

        An address of the API that no view answers is 404 in the envelope.
        """
        if response.status_code != HTTPStatus.NOT_FOUND:
            return super().process_response(request, response)
        is_html = response.get("Content-Type", "").startswith("text/html")
        is_page = request.method in _SAFE and is_html  # not an answer of the API
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
    response: HttpResponseBase = match.func(sent, *match.args, **match.kwargs)
    if isinstance(response, HttpResponse) and "Content-Length" not in response:
        response["Content-Length"] = str(len(response.content))
    return response


class DatabaseErrorMiddleware(MiddlewareMixin):
    """
    Answer with 503 and a page where any view of the portal finds the database away or read-only.

    The app's own pages and actions answer so by themselves; Django's admin and the other pages of a
    portal answer 500.  An error of a middleware is not caught, for Django does not pass it on.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer a refusal of the database, and log the error; Django handles every other one."""
        if explain_refusal(error) is None and not is_connection_lost(error):
            return None
        forget_unreadable_user(request)
        match = request.resolver_match
        is_admin = match is not None and "admin" in match.app_names
        return _answer_error(request, error, "admin/" if is_admin else "")


def _answer_error(request: HttpRequest, error: Exception, folder: str = "") -> HttpResponse | None:
    message = describe_error(error, is_authenticated=False)
    return render_plainly(request, message, folder) if message else None


class LoginRateMiddleware(MiddlewareMixin):
    """
    Refuse a login with 429 before a password is hashed, if its address has sent too many.

    A login is a POST to a view named ``login``, such as the login views of Django's admin and of
    ``django.contrib.auth``.  The rate is ``login`` of ``DEFAULT_THROTTLE_RATES``; without it
    nothing is counted.  Hashing is slow work, so a login takes a slot like a slow search.
    """

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Count a login, and take a slot; a middleware before this one may refuse it uncounted."""
        match = request.resolver_match
        if request.method != "POST" or match is None or match.url_name != "login":
            return None
        slot = clients.process_shares.hold(Client(request.META), conf.STATEMENT_TIMEOUT)
        try:
            check_login_rate(request)
            slot.__enter__()
        except (Throttled, TemporarilyUnavailable) as error:
            return _answer_error(request, error)
        request.META[_LOGIN_SLOT] = slot
        return None

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Give the slot back."""
        slot = request.META.pop(_LOGIN_SLOT, None)
        if slot is not None:
            slot.__exit__(None, None, None)
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
