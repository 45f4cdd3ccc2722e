"""
Middleware for all views of a portal: outages of the database, and how often one may log in.

A portal names them in ``MIDDLEWARE`` if it wants them; the app does not have to be installed.
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from rest_framework.exceptions import Throttled
from rest_framework.throttling import SimpleRateThrottle

from ...conf import conf
from ...database.statements import explain_refusal, is_connection_lost
from ...guards import shares
from ...guards.rates import ClientThrottle, check_throttles
from ...guards.shares import Client
from ...messages.availability import TemporarilyUnavailable
from ...web.errors import describe_error, forget_unreadable_user, render_plainly

#: The key of the slot that a login holds.
_LOGIN_SLOT: Final = "datastore_search.login_slot"


class DatabaseErrorMiddleware(MiddlewareMixin):
    """
    Answer with 503 and a page where any view of the portal finds the database away or read-only.

    The app's own pages and actions answer so by themselves; Django's admin and the other pages of a
    portal answer 500.  An error of a middleware is not caught, for Django does not pass it on.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if explain_refusal(error) is None and not is_connection_lost(error):
            return None
        forget_unreadable_user(request)
        match = request.resolver_match
        is_admin = match is not None and "admin" in match.app_names
        return _answer_error(request, error, "admin/" if is_admin else "")


def _answer_error(request: HttpRequest, error: Exception, folder: str = "") -> HttpResponse | None:
    message = describe_error(error, is_authenticated=False)
    return render_plainly(request, message, folder) if message else None


class LoginThrottle(ClientThrottle, SimpleRateThrottle):
    """The rate ``login``, by address, also of users who are signed in."""

    scope = "login"

    def get_cache_key(self, request: Any, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


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
        slot = shares.process_shares.hold(Client(request.META), conf.STATEMENT_TIMEOUT)
        try:
            check_throttles((LoginThrottle(),), request, None)
            slot.__enter__()
        except (Throttled, TemporarilyUnavailable) as error:
            return _answer_error(request, error)
        request.META[_LOGIN_SLOT] = slot
        return None

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        slot = request.META.pop(_LOGIN_SLOT, None)
        if slot is not None:
            slot.__exit__(None, None, None)
        return response
