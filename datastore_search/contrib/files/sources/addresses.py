"""
The addresses of files: parse them, and allow the servers of the public internet and a setting's.

A person who gives an address must not reach, through the portal, what only the portal can reach.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.utils.encoding import iri_to_uri

from ..conf import conf
from ..messages.failures import LoadFailed

_PORTS = {"http": 80, "https": 443}

#: NAT64: how an IPv6-only network writes IPv4 addresses.
_NAT64 = ip_network("64:ff9b::/96")

#: Networks that lead elsewhere, which Python, or an older one, takes for public.
_NON_PUBLIC_NETWORKS = tuple(
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

#: What ``connect`` of a socket takes: an IP address, a port, and more for IPv6.
SocketAddress = tuple[object, ...]

#: A family of ``socket`` and an address of it.
Endpoint = tuple[socket.AddressFamily, SocketAddress]


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in its parts, as HTTP needs them; ``target`` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The value of the header ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_address(url: str) -> Address:
    """
    Parse a URL of HTTP or HTTPS.

    Raises: ``LoadFailed`` with ``url.invalid`` for any other URL; ``url.has_credentials`` for one
    with a user name or password, which would be shown wherever the address is.
    """
    try:
        parts = urlsplit(iri_to_uri(url.strip()))
        # The name as it is looked up; ``iri_to_uri`` quotes it as if it were a path.
        host = (urlsplit(url.strip()).hostname or "").encode("idna").decode().lower()
        usual_port = _PORTS[parts.scheme]
        port = parts.port or usual_port
    except (ValueError, KeyError) as error:
        raise LoadFailed("url.invalid", address=url) from error
    if parts.username is not None or parts.password is not None:
        raise LoadFailed("url.has_credentials")
    if not re.fullmatch(r"[\w.:%-]+", host, re.ASCII):
        raise LoadFailed("url.invalid", address=url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, host, port, target)


def resolve_endpoints(address: Address) -> list[Endpoint]:
    """
    Look a server up, once, and return its endpoints.

    A connection goes to one of these: a second look-up could give another answer.

    Raises: ``LoadFailed`` with ``url.unknown_server``, the same whether the server does not exist
    or is not public: an error must not reveal which names a private network has.
    """
    try:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LoadFailed("url.unknown_server", server=address.host) from error
    endpoints: list[Endpoint] = [(family, endpoint) for family, _, _, _, endpoint in infos]
    allowed = {name.lower() for name in conf.FETCH_PRIVATE_HOSTS}
    host = f"[{address.host}]" if ":" in address.host else address.host
    is_allowed = bool(allowed & {address.host, host, f"{host}:{address.port}"})
    if not is_allowed and not all(_is_public(endpoint) for _, endpoint in endpoints):
        raise LoadFailed("url.unknown_server", server=address.host)
    return endpoints


def _is_public(endpoint: SocketAddress) -> bool:
    ip = ip_address(str(endpoint[0]))
    if isinstance(ip, IPv6Address):  # the IPv4 address within it, if any
        ip = IPv4Address(ip.packed[-4:]) if ip in _NAT64 else ip.ipv4_mapped or ip
    is_special = ip.is_multicast or ip.is_reserved or ip.is_unspecified
    return (
        ip.is_global
        and not is_special
        and not any(ip in network for network in _NON_PUBLIC_NETWORKS)
    )
