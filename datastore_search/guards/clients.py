"""
The client of a request: who it is, and whether it is still connected.

A client is the user of a token or a session, or else an address; of IPv6, the network of 64 bits
that a provider gives to one customer.

WSGI has no way to tell that a client has closed its connection.  Some servers have one of their
own; under the others a client counts as connected.
"""

from __future__ import annotations

import operator
import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Event
from time import monotonic
from typing import Any, Final, Protocol, Self

from rest_framework.settings import api_settings

from .cache import BoundedCache

#: The key of an event that ``middleware.disconnect_middleware`` sets once the client is gone.
DISCONNECTED: Final = "datastore_search.disconnected"

#: Only Linux reports a closed connection without a read.
_HUNG_UP = getattr(select, "POLLRDHUP", 0)


#: What may name a user, and for how long a process knows the user of it.
_CREDENTIALS: Final = ("HTTP_AUTHORIZATION", "HTTP_X_CKAN_API_KEY", "HTTP_COOKIE")
_KNOWN_SECONDS: Final = 60.0

_IPV6_PREFIX_LENGTH: Final = 64

#: The keys of clients with credentials, of which only a digest is kept, and until when they hold.
_keys: BoundedCache[bytes, tuple[str, float]] = BoundedCache("clients", 10_000)


class _Sent(Protocol):
    """A request of Django or of REST framework."""

    @property
    def META(self) -> Mapping[str, Any]: ...  # noqa: N802 - Django's name

    @property
    def user(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a request; ``environ`` is the WSGI environment, or ``META`` under ASGI."""

    environ: Mapping[str, Any]
    read_user: Callable[[], Any] = lambda: None

    @classmethod
    def from_request(cls, request: _Sent) -> Client:
        """Make the client of a request; its token or session is read where it matters."""
        return cls(request.META, lambda: request.user)

    def without_request(self) -> Self:
        """Copy the client without its request, for an answer that outlives the request."""
        return replace(self, read_user=lambda: None)

    def is_authenticated(self) -> bool:
        """Return whether the client has a valid token or session."""
        user = self.read_user()
        return bool(user and user.is_authenticated)

    @property
    def key(self) -> str:
        """What all requests of the client have in common."""
        credentials = [self.environ.get(name) for name in _CREDENTIALS]
        address = find_address(self.environ)
        if not any(credentials):
            return address
        digest = blake2b(repr((address, credentials)).encode(), digest_size=16).digest()
        key, until = _keys.get(digest) or ("", 0.0)
        if until < monotonic():
            key = f"user:{self.read_user().pk}" if self.is_authenticated() else address
            _keys.add(digest, (key, monotonic() + _KNOWN_SECONDS))
        return key

    def is_gone(self) -> bool:
        """Return whether the client has closed the connection, as far as the server reports it."""
        for name, is_gone in _SERVERS.items():
            if name in self.environ:
                return is_gone(self.environ[name])
        return False


def _is_hung_up(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, _HUNG_UP)  # poll always reports errors and POLLHUP
    return bool(poll.poll(0))


#: The key in ``environ`` of each server, and the test of its value for a client that is gone.
_SERVERS: Mapping[str, Callable[[Any], bool]] = {
    "gunicorn.socket": _is_hung_up,
    "waitress.client_disconnected": operator.call,
    DISCONNECTED: Event.is_set,
}


def find_address(environ: Mapping[str, Any]) -> str:
    """
    Find the address of a client; of IPv6, its network.

    ``X-Forwarded-For`` is read only where ``NUM_PROXIES`` of REST framework says how many proxies
    append to it: without them, a client would choose its address.
    """
    address = environ.get("REMOTE_ADDR", "")
    proxies, forwarded = api_settings.NUM_PROXIES, environ.get("HTTP_X_FORWARDED_FOR")
    if proxies and forwarded:
        addresses = forwarded.split(",")
        address = addresses[-min(proxies, len(addresses))].strip()
    return _normalize_address(address)


@lru_cache(maxsize=1_000)
def _normalize_address(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:  # of a socket, or with a port
        return blake2b(address.encode(errors="replace"), digest_size=16).hexdigest()
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is None:
            network = ip_network((parsed, _IPV6_PREFIX_LENGTH), strict=False)
            return str(network.network_address)
        return str(parsed.ipv4_mapped)
    return str(parsed)
