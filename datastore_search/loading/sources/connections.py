"""A connection to an address that has been checked, and a request over it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from threading import Timer
from time import monotonic

from ... import __version__
from ...conf import conf
from ...exceptions.loads import LoadFailed
from .addresses import Address, endpoints_of


def asked(
    address: Address, known: Mapping[str, str], deadline: float, stack: ExitStack
) -> HTTPResponse:
    """Send the request; the connection lasts as long as ``stack``."""
    connection = HTTPConnection(address.host, address.port)
    connection.sock = stack.enter_context(_connected(address, deadline))
    headers = {
        "Host": address.authority,
        "User-Agent": f"datastore_search/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    conditions = {"If-None-Match": known.get("etag"), "If-Modified-Since": known.get("modified")}
    headers |= {name: value for name, value in conditions.items() if value}
    connection.request("GET", address.target, headers=headers)
    return stack.enter_context(connection.getresponse())


@contextmanager
def _connected(address: Address, deadline: float) -> Iterator[socket.socket]:
    """Connect to a server, under TLS if the address says so, until the deadline at most."""
    with _opened(address, deadline) as opened, _ended_at(deadline, opened):
        if address.scheme == "http":
            yield opened
            return
        context = ssl.create_default_context()
        with context.wrap_socket(opened, server_hostname=address.host) as secured:
            yield secured


def _opened(address: Address, deadline: float) -> socket.socket:
    """Connect to the first of a server's addresses that answers."""
    silence = conf.FETCH_SILENCE.total_seconds()
    failure: OSError | None = None
    for family, place in endpoints_of(address):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.settimeout(min(silence, left))
        try:
            opened.connect(place)
        except OSError as error:
            opened.close()
            failure = error
        else:
            opened.settimeout(silence)
            return opened
    if isinstance(failure, TimeoutError):
        raise failure
    raise LoadFailed("url.unknown_server", server=address.host) from failure


@contextmanager
def _ended_at(deadline: float, opened: socket.socket) -> Iterator[None]:
    """
    Shut a connection down at the deadline, whatever is waiting for it then.

    A server that sends one byte now and then is never silent for long.
    """
    with opened.dup() as another:  # TLS takes the first one over

        def end() -> None:
            with suppress(OSError):
                another.shutdown(socket.SHUT_RDWR)

        timer = Timer(max(0.0, deadline - monotonic()), end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
