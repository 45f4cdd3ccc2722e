"""
Limits of how often one client may ask: bursts and a day's quota, for the API, dumps and pages.

A client is a user, or without one an address.  Each rate counts the requests of a client in windows
of fixed length, in Django's cache.  Without ``DATASTORE_SEARCH_THROTTLE_RATES`` nothing is counted.

Source: RateLimit header fields for HTTP (draft-ietf-httpapi-ratelimit-headers-10).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final, cast

from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from ..conf import conf

#: The keys of the setting.
ANONYMOUS: Final = "anonymous"
AUTHENTICATED: Final = "authenticated"

#: The windows of a rate, by what is written after its number.
WINDOW_SECONDS: Final[Mapping[str, int]] = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
}

#: The network that a provider gives to one customer.
_IPV6_PREFIX_LENGTH = 64

_USAGES_ATTRIBUTE = "_datastore_rate_usages"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a client has left of one rate, and the seconds until the next window."""

    rate: str
    limit: int
    window_seconds: int
    remaining: int
    reset_seconds: int


class WindowThrottle(BaseThrottle):
    """
    Count the requests of a client in windows of fixed length.

    ``SimpleRateThrottle`` keeps the time of each request: too many for a day, and two requests at
    once may count as one.
    """

    timer = staticmethod(time.time)

    def __init__(self, rate: str) -> None:
        """Read a rate, such as ``"60/minute"``."""
        self.rate = rate
        count, _, unit = rate.partition("/")
        self.limit, self.window_seconds = int(count), WINDOW_SECONDS[unit]

    def count_request(self, client: str) -> Usage:
        """Count a request; ``remaining`` is negative for one too many."""
        window, elapsed = divmod(int(self.timer()), self.window_seconds)
        key = f"datastore_search:rate:{self.window_seconds}:{window}:{client}"
        cache.add(key, 0, self.window_seconds)
        try:
            count = cache.incr(key)
        except ValueError:  # the cache has dropped the key in between
            count = 1
        left = self.window_seconds - elapsed
        return Usage(self.rate, self.limit, self.window_seconds, self.limit - count, left)

    def get_ident(self, request: Request | HttpRequest) -> str:
        """
        Return the address of the client; of IPv6, its network of 64 bits.

        ``X-Forwarded-For`` is read only where ``NUM_PROXIES`` says how many proxies append to it:
        without them, a client would choose its address.
        """
        address = request.META.get("REMOTE_ADDR", "")
        if api_settings.NUM_PROXIES:
            address = super().get_ident(cast(Request, request))
        try:
            parsed = ip_address(address)
        except ValueError:  # of a socket, or with a port
            return blake2b(address.encode(errors="replace"), digest_size=16).hexdigest()
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
            return str(ip_network((parsed, _IPV6_PREFIX_LENGTH), strict=False).network_address)
        return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)


def check_rates(request: Request | HttpRequest) -> None:
    """
    Count a request, and refuse it if its client has made too many.

    Raises: ``Throttled`` with the seconds to wait.
    """
    rates = conf.THROTTLE_RATES
    if not rates:
        return
    user: Any = getattr(request, "user", None)
    is_authenticated = bool(user and user.is_authenticated)
    throttles = [
        WindowThrottle(rate)
        for rate in rates.get(AUTHENTICATED if is_authenticated else ANONYMOUS, ())
    ]
    if not throttles:
        return
    client = f"user:{user.pk}" if is_authenticated else throttles[0].get_ident(request)
    usages = [throttle.count_request(client) for throttle in throttles]
    setattr(getattr(request, "_request", request), _USAGES_ATTRIBUTE, usages)
    waits = [usage.reset_seconds for usage in usages if usage.remaining < 0]
    if waits:
        raise Throttled(wait=max(waits))


def set_rate_headers(request: HttpRequest, response: HttpResponseBase) -> None:
    """Tell the client what is left, if its request was counted."""
    usages: Sequence[Usage] = getattr(request, _USAGES_ATTRIBUTE, ())
    if not usages:
        return
    response["RateLimit-Policy"] = ", ".join(
        f'"{each.rate}";q={each.limit};w={each.window_seconds}' for each in usages
    )
    response["RateLimit"] = ", ".join(
        f'"{each.rate}";r={max(0, each.remaining)};t={each.reset_seconds}' for each in usages
    )
