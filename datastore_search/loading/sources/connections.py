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
from ...exceptions.loads import LoadFailed
from .addresses import Address, resolve_endpoints

#: The time for the next byte, and for the server to accept a connection.
IDLE_TIMEOUT_SECONDS = 30


def send_request(
    address: Address, known_validators: Mapping[str, str], deadline: float, stack: ExitStack
) -> HTTPResponse:
    """
    Send a request for a file; the connection is closed with ``stack``.

    ``known_validators`` are ``etag`` and ``modified`` of the file that is already there.
    """
    connection = HTTPConnection(address.host, address.port)
    connection.sock = stack.enter_context(_connect(address, deadline))
    headers = {
        "Host": address.authority,
        "User-Agent": f"datastore_search/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    conditions = {
        "If-None-Match": known_validators.get("etag"),
        "If-Modified-Since": known_validators.get("modified"),
    }
    headers |= {name: value for name, value in conditions.items() if value}
    connection.request("GET", address.target, headers=headers)
    return stack.enter_context(connection.getresponse())


@contextmanager
def _connect(address: Address, deadline: float) -> Iterator[socket.socket]:
    """Connect to a server, with TLS for an ``https`` address, until the deadline at most."""
    with _open_socket(address, deadline) as opened, _shut_down_at(deadline, opened):
        if address.scheme == "http":
            yield opened
            return
        context = ssl.create_default_context()
        with context.wrap_socket(opened, server_hostname=address.host) as secured:
            yield secured


def _open_socket(address: Address, deadline: float) -> socket.socket:
    """Connect to the first of a server's endpoints that answers."""
    silence = IDLE_TIMEOUT_SECONDS
    failure: OSError | None = None
    for family, endpoint in resolve_endpoints(address):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.settimeout(min(silence, left))
        try:
            opened.connect(endpoint)
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
def _shut_down_at(deadline: float, opened: socket.socket) -> Iterator[None]:
    """
    Shut a connection down at the deadline, if the block has not ended by then.

    A server that sends a byte now and then never exceeds the time of silence.
    """
    with opened.dup() as another:  # TLS takes the first one over

        def shut_down() -> None:
            with suppress(OSError):
                another.shutdown(socket.SHUT_RDWR)

        timer = Timer(max(0.0, deadline - monotonic()), shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
