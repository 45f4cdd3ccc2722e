"""Fetch a file over HTTP, by a socket to an address that has been checked (decision 0019)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from threading import Timer
from time import monotonic
from urllib.parse import urljoin

from .... import __version__
from ..messages.failures import LoadFailed
from .addresses import Address, parse_address, resolve_endpoints
from .responses import (
    ReportProgress,
    SourceFile,
    find_file_name,
    get_header,
    read_body,
    write_blocks,
)

#: The time for the next byte, and for the server to accept a connection.
IDLE_TIMEOUT_SECONDS = 30

#: The time for a file, redirects included.
TIMEOUT_SECONDS = 30 * 60

_MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}


def fetch_file(
    url: str, folder: Path, *, report_progress: ReportProgress | None = None
) -> SourceFile:
    """
    Fetch a file into a folder.

    Raises: ``LoadFailed``, with why the file cannot be fetched.
    """
    deadline = monotonic() + TIMEOUT_SECONDS
    with ExitStack() as stack:
        address, response = _follow_redirects(url, deadline, stack)
        try:
            path = folder / "fetched"  # a name that the server does not choose
            checksum = write_blocks(read_body(response, deadline, report_progress), path)
            name = find_file_name(address)
            return SourceFile(path, name, checksum)
        except (OSError, HTTPException) as error:
            raise _translate_error(error, address, deadline) from error


def _follow_redirects(url: str, deadline: float, stack: ExitStack) -> tuple[Address, HTTPResponse]:
    """Follow redirects to the response with the file; each address is checked like the first."""
    for _ in range(_MAX_REDIRECTS + 1):
        address = parse_address(url)
        try:
            response = _send_request(address, deadline, stack)
        except (OSError, HTTPException) as error:
            raise _translate_error(error, address, deadline) from error
        location = get_header(response, "Location")
        if response.status not in _REDIRECTS or not location:
            if response.status != HTTPStatus.OK:
                raise LoadFailed("url.error_status", status=response.status)
            return address, response
        stack.close()
        url = urljoin(url, location)
    raise LoadFailed("url.too_many_redirects", most=_MAX_REDIRECTS)


def _translate_error(error: Exception, address: Address, deadline: float) -> LoadFailed:
    """Translate an error of the connection; what the server has sent is not repeated."""
    if monotonic() >= deadline:
        return LoadFailed("url.timeout", minutes=round(TIMEOUT_SECONDS / 60, 1))
    if isinstance(error, TimeoutError):
        return LoadFailed("url.server_silent", seconds=IDLE_TIMEOUT_SECONDS)
    if isinstance(error, ssl.SSLCertVerificationError):
        return LoadFailed("url.untrusted_server", server=address.host)
    return LoadFailed("url.broken_response")


# The connection -----------------------------------------------------------------------------------


def _send_request(address: Address, deadline: float, stack: ExitStack) -> HTTPResponse:
    """Send a request for a file."""
    connection = HTTPConnection(address.host, address.port)
    connection.sock = stack.enter_context(_connect(address, deadline))
    headers = {
        "Host": address.authority,
        "User-Agent": f"datastore_search/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
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
    """Shut a connection down at the deadline: a slow server is never silent for too long."""
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
