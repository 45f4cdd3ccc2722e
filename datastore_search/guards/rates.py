"""
How often one client may ask: REST framework's throttles, for the API, dumps and pages alike.

A portal names them in ``DEFAULT_THROTTLE_CLASSES``, with ``DEFAULT_THROTTLE_RATES``; they count in
Django's cache.  The classes here count a client as the rest of ``guards`` does, and a request with
a large body as several.  While the cache is away, requests are answered uncounted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from django.core.cache import cache
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import AnonRateThrottle, BaseThrottle, UserRateThrottle

from .cache import CacheUnavailable, shared_cache
from .shares import find_address

#: A body counts once for each block of this size, or part of it.
_COUNTED_BYTES: Final = 2**16


class ClientThrottle:
    """The client and the cost of a request, for throttle classes of REST framework."""

    _weight: int
    scope: str | None

    def get_rate(self) -> str | None:
        """Read the rate at each request, so that it can change; None without one."""
        rates: Any = api_settings.DEFAULT_THROTTLE_RATES
        return (rates or {}).get(self.scope)

    def get_ident(self, request: Request) -> str:
        return find_address(request.META)

    def allow_request(self, request: Request, view: Any) -> bool:
        size = str(request.META.get("CONTENT_LENGTH") or "")
        self._weight = 1 + int(size) // _COUNTED_BYTES if size.isascii() and size.isdecimal() else 1
        return bool(super().allow_request(request, view))  # type: ignore[misc]

    def throttle_success(self) -> bool:
        """Count the blocks of the body, too."""
        self.history: list[float]
        self.now: float
        self.history[:0] = [self.now] * min(self._weight - 1, self.num_requests)  # type: ignore[attr-defined]
        return bool(super().throttle_success())  # type: ignore[misc]


class AddressThrottle(ClientThrottle, AnonRateThrottle):
    """The rate ``anon``, for clients without a valid token or session."""


class UserThrottle(ClientThrottle, UserRateThrottle):
    """The rate ``user``, by user, and by address for clients without one."""


def check_throttles(throttles: Iterable[BaseThrottle], request: Any, view: Any) -> None:
    """
    Count a request, and refuse it if its client has made too many.

    A view ``is_counted`` that answers a request again, from another database.

    Throttles read the address and the user, which Django's requests have, too.

    Raises: ``Throttled`` with the seconds to wait.
    """
    waits = []
    for throttle in () if getattr(view, "is_counted", False) else throttles:
        if getattr(throttle, "cache", None) is cache:  # not one that the portal has chosen for it
            throttle.cache = shared_cache  # type: ignore[attr-defined] # only SimpleRateThrottle has one
        with suppress(CacheUnavailable):
            if not throttle.allow_request(request, view):
                waits.append(throttle.wait() or 0)
    if waits:
        raise Throttled(wait=max(waits))
