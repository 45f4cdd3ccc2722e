"""
Make a file readable on this machine, wherever it comes from.

A URL is fetched by a socket to an address that has been checked (decision 0019).  The servers of
the public internet are allowed, and those of a setting: a person who gives an address must not
reach, through the portal, what only the portal can reach.
"""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path, PurePath
from threading import Timer
from time import monotonic
from typing import cast
from urllib.parse import unquote, urljoin, urlsplit

from django.core.files import File
from django.utils.encoding import iri_to_uri

from .... import __version__
from ..conf import conf
from ..messages import LoadFailed

#: The time for the next byte, and for the server to accept a connection.
IDLE_TIMEOUT_SECONDS = 30

#: The time for a file, redirects included.
TIMEOUT_SECONDS = 30 * 60

_MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}

_BLOCK_BYTES = 2**16

#: Content encodings: none, or gzip, which is unpacked as a file of its own is.
_ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip"))

_MAX_NAME_LENGTH = 200
_MAX_SUFFIX_LENGTH = 20

_PORTS = {"http": 80, "https": 443}

#: NAT64: how an IPv6-only network writes IPv4 addresses.
_NAT64 = ip_network("64:ff9b::/96")

#: Networks that lead elsewhere, which Python, or an older one, takes for public.
_NON_PUBLIC_NETWORKS = (
    ip_network("192.0.0.0/24"),  # protocols' own
    ip_network("192.88.99.0/24"),  # 6to4 relays
    ip_network("64:ff9b:1::/48"),  # translation within a network
    ip_network("2001::/23"),  # protocols' own, Teredo among them
    ip_network("2002::/16"),  # 6to4
    ip_network("3fff::/20"),  # for examples
    ip_network("5f00::/16"),  # segment routing
    ip_network("fec0::/10"),  # private once
)

#: A family of ``socket``, and what its ``connect`` takes: an IP address, a port, and more for IPv6.
Endpoint = tuple[socket.AddressFamily, tuple[object, ...]]

#: Called with the bytes so far and all of them, None while that is not known; may raise.
ReportProgress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """
    A file that can be read.

    ``name`` is its own name, a hint at its format; ``checksum`` is its SHA-256 in hexadecimal.
    """

    path: Path
    name: str
    checksum: str


def copy_source(
    source: Path | File | str, folder: Path, *, report_progress: ReportProgress | None = None
) -> SourceFile:
    """
    Copy a source into a folder: a file of Django's (an upload, a ``FieldFile``), or a URL.

    A file of this machine is read where it is.

    Raises: ``LoadFailed`` when the file cannot be read.
    """
    if isinstance(source, str):
        return fetch_file(source, folder, report_progress=report_progress)
    found: Path | str | None = None
    # A storage elsewhere has no paths, and says so by this error: its file is copied.
    with suppress(NotImplementedError):
        found = source if isinstance(source, Path) else getattr(source, "path", None)
    path = Path(found) if found else None
    copy = None if path else folder / "copied"
    try:
        with (path or source).open("rb") as opened:
            size = path.stat().st_size if path else cast(File, source).size
            blocks = iter(partial(opened.read, 2**20), b"")
            checksum = write_blocks(blocks, copy, size, report_progress)
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error
    return SourceFile(path or folder / "copied", Path(source.name or "upload").name, checksum)


def fetch_file(
    url: str, folder: Path, *, report_progress: ReportProgress | None = None
) -> SourceFile:
    deadline = monotonic() + TIMEOUT_SECONDS
    for _ in range(_MAX_REDIRECTS + 1):
        address = parse_address(url)  # that of a redirect is checked like the first
        with _open_response(address, deadline) as response:
            location = response.getheader("Location") or ""
            with suppress(UnicodeError):  # ``http.client`` decodes all headers as Latin-1
                location = location.encode("latin-1").decode()
            if response.status in _REDIRECTS and location:
                try:
                    url = urljoin(url, location)
                except ValueError as error:
                    raise LoadFailed("url.invalid", address=location) from error
                continue
            if response.status != HTTPStatus.OK:
                raise LoadFailed("url.error_status", status=response.status)
            path = folder / "fetched"  # a name that the server does not choose
            blocks = _read_body(response, deadline)
            checksum = write_blocks(blocks, path, response.length, report_progress)
        given_name = re.split(r"[/\\]", unquote(address.target.partition("?")[0]).rstrip("/"))[-1]
        name = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", given_name).strip(" .")
        if len(name) > _MAX_NAME_LENGTH:
            suffix = PurePath(name).suffix[:_MAX_SUFFIX_LENGTH]
            name = name[: _MAX_NAME_LENGTH - len(suffix)] + suffix
        return SourceFile(path, name or address.host, checksum)
    raise LoadFailed("url.too_many_redirects", most=_MAX_REDIRECTS)


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in its parts, as HTTP needs them; ``target`` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
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
    if allowed & {address.host, host, f"{host}:{address.port}"}:
        return endpoints
    for _family, endpoint in endpoints:
        ip = ip_address(str(endpoint[0]))
        if isinstance(ip, IPv6Address):  # the IPv4 address within it, if any
            ip = IPv4Address(ip.packed[-4:]) if ip in _NAT64 else ip.ipv4_mapped or ip
        is_special = ip.is_multicast or ip.is_reserved or ip.is_unspecified
        is_elsewhere = any(ip in network for network in _NON_PUBLIC_NETWORKS)
        if not ip.is_global or is_special or is_elsewhere:
            raise LoadFailed("url.unknown_server", server=address.host)
    return endpoints


@contextmanager
def _open_response(address: Address, deadline: float) -> Iterator[HTTPResponse]:
    """
    Send a request to the first of a server's endpoints that answers, and close it at the end.

    Errors of the connection are translated; what the server has sent is not repeated.
    """
    try:
        with ExitStack() as stack:
            failure: OSError | None = None
            for family, endpoint in resolve_endpoints(address):
                if (left := deadline - monotonic()) <= 0:
                    raise TimeoutError
                opened = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
                opened.settimeout(min(IDLE_TIMEOUT_SECONDS, left))
                try:
                    opened.connect(endpoint)
                    break
                except OSError as error:
                    opened.close()
                    failure = error
            else:
                if isinstance(failure, TimeoutError):
                    raise failure
                raise LoadFailed("url.unknown_server", server=address.host) from failure
            opened.settimeout(IDLE_TIMEOUT_SECONDS)
            stack.enter_context(_shut_down_at(deadline, opened))
            if address.scheme == "https":
                context = ssl.create_default_context()
                opened = context.wrap_socket(opened, server_hostname=address.host)
                stack.enter_context(opened)
            connection = HTTPConnection(address.host, address.port)
            connection.sock = opened
            headers = {
                "Host": address.authority,
                "User-Agent": f"datastore_search/{__version__}",
                "Accept": "*/*",
                "Connection": "close",
            }
            connection.request("GET", address.target, headers=headers)
            yield stack.enter_context(connection.getresponse())
    except (OSError, HTTPException) as error:
        if monotonic() >= deadline:
            minutes = round(TIMEOUT_SECONDS / 60, 1)
            raise LoadFailed("url.timeout", minutes=minutes) from error
        if isinstance(error, TimeoutError):
            raise LoadFailed("url.server_silent", seconds=IDLE_TIMEOUT_SECONDS) from error
        if isinstance(error, ssl.SSLCertVerificationError):
            raise LoadFailed("url.untrusted_server", server=address.host) from error
        raise LoadFailed("url.broken_response") from error


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


def _read_body(response: HTTPResponse, deadline: float) -> Iterator[bytes]:
    """
    Read a file, block by block; one that the server has packed by gzip stays packed.

    Raises: ``LoadFailed`` with ``url.file_too_large``; ``url.broken_response`` when it is not
    complete or the encoding is not known; ``url.web_page`` for a page for people: a form to sign
    in, or an error.
    """
    encoding = (response.getheader("Content-Encoding") or "").strip().lower()
    # Of several lengths the first would cut the file.
    if encoding not in _ENCODINGS or len({*response.headers.get_all("Content-Length", ())}) > 1:
        raise LoadFailed("url.broken_response")
    may_be_page = "html" in (response.getheader("Content-Type") or "").lower()
    total, done = response.length, 0
    while total is None or done < total:
        block = response.read1(_BLOCK_BYTES)
        done += len(block)
        if max(done, total or 0) > conf.MAX_UPLOAD_BYTES:
            raise LoadFailed("url.file_too_large", most=conf.MAX_UPLOAD_BYTES)
        # The end of a connection that was shut down looks like the end of a file.
        if monotonic() >= deadline:
            raise TimeoutError
        if not block:
            break
        if may_be_page and block.strip():
            if block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                raise LoadFailed("url.web_page")
            may_be_page = False
        yield block
    if total is not None and done < total:
        raise LoadFailed("url.broken_response")


def write_blocks(
    blocks: Iterable[bytes],
    path: Path | None,
    total: int | None,
    report_progress: ReportProgress | None,
) -> str:
    """
    Write blocks into a file, if there is one, and return their SHA-256 in hexadecimal.

    ``total`` is the number of bytes, if it is known.
    """
    digest, done = hashlib.sha256(), 0
    with path.open("wb", buffering=0) if path else nullcontext() as file:
        for block in blocks:
            digest.update(block)
            view = memoryview(block)
            try:
                while file and view:
                    view = view[file.write(view) or 0 :]
            except OSError as error:
                raise LoadFailed("load.disk_full") from error
            done += len(block)
            if report_progress:
                report_progress(done, total)
    return digest.hexdigest()
