"""
Which servers a file may be fetched from: those of the public internet, and those the portal names.

Whoever may give an address must not reach, through the portal, what only the portal can reach.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.utils.encoding import iri_to_uri

from ...conf import conf
from ...exceptions.loads import LoadFailed

_PORTS = {"http": 80, "https": 443}

#: IPv4 as an IPv6-only network writes it; what matters is the address within.
_TRANSLATED = ip_network("64:ff9b::/96")

#: Ways into other networks that Python, or an older one, takes for public.
_DETOURS = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocols' own
            "192.88.99.0/24",  # 6to4 relays
            "64:ff9b:1::/48",  # translation within a network
            "2001::/23",  # protocols' own, Teredo among them
            "2002::/16",  # 6to4
            "3fff::/20",  # for examples
            "5f00::/16",  # segment routing
            "fec0::/10",  # private once
        ),
    )
)

#: A name or an IPv4 address, an IPv6 one in brackets, either with a port; or an IPv6 one alone.
_HOST = re.compile(r"([\w.-]+|\[[0-9a-f:.%]+\])(:[0-9]{1,5})?|[0-9a-f:.%]+", re.IGNORECASE)

IPAddress = IPv4Address | IPv6Address

#: A family of ``socket`` and what its ``connect`` takes.
Endpoint = tuple[socket.AddressFamily, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in its parts, as HTTP needs them; ``target`` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Give what the header ``Host`` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parsed(url: str) -> Address:
    """
    Take a URL apart.

    Raises: ``LoadFailed`` with ``url.invalid`` for what is no address of HTTP or HTTPS,
    ``url.has_credentials`` for one with a user name or password, which would be shown wherever the
    address is.
    """
    try:
        parts = urlsplit(iri_to_uri(url.strip()))
        # The name as it is looked up; ``iri_to_uri`` quotes it as if it were a path.
        host = (urlsplit(url.strip()).hostname or "").encode("idna").decode().lower()
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        raise LoadFailed("url.invalid", address=url) from error
    if parts.username is not None or parts.password is not None:
        raise LoadFailed("url.has_credentials")
    if not re.fullmatch(r"[\w.:%-]+", host, re.ASCII):
        raise LoadFailed("url.invalid", address=url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, host, port, target)


def endpoints_of(address: Address) -> list[Endpoint]:
    """
    Look a server up, once, and give where it is to be reached.

    A connection goes to one of these and asks no resolver again, which might say something else
    by then.

    Raises: ``LoadFailed`` with ``url.unknown_server``, the same whether there is no such server or
    it is not a public one: nobody learns which names a private network has.
    """
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LoadFailed("url.unknown_server", server=address.host) from error
    endpoints: list[Endpoint] = [(family, place) for family, _, _, _, place in found]
    if not _is_allowed(address) and not all(_is_public(place) for _, place in endpoints):
        raise LoadFailed("url.unknown_server", server=address.host)
    return endpoints


def is_host(name: object) -> bool:
    """Tell whether something names a server as ``FETCH_PRIVATE_HOSTS`` does."""
    return isinstance(name, str) and bool(_HOST.fullmatch(name))


def _is_allowed(address: Address) -> bool:
    allowed = {name.lower() for name in conf.FETCH_PRIVATE_HOSTS}
    host = f"[{address.host}]" if ":" in address.host else address.host
    return bool(allowed & {address.host, host, f"{host}:{address.port}"})


def _is_public(place: tuple[object, ...]) -> bool:
    found = _within(ip_address(str(place[0])))
    is_detour = any(found in network for network in _DETOURS if network.version == found.version)
    is_special = found.is_multicast or found.is_reserved or found.is_unspecified
    return found.is_global and not (is_detour or is_special)


def _within(found: IPAddress) -> IPAddress:
    """Give the IPv4 address that an IPv6 one stands for, or the address itself."""
    if isinstance(found, IPv4Address):
        return found
    if found in _TRANSLATED:
        return IPv4Address(found.packed[-4:])
    return found.ipv4_mapped or found
