"""
Fetch a file over HTTP, from the servers, up to the size and in the time that settings allow.

``http.client`` speaks HTTP over a socket that is opened here, to an address that has been checked
(decision 0019).
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from time import monotonic
from urllib.parse import urljoin

from ...exceptions.loads import LoadFailed, NotModified
from . import connections
from .addresses import Address, parse_address
from .connections import send_request
from .responses import (
    GZIP,
    ReportProgress,
    Transfer,
    find_file_name,
    get_content_encoding,
    get_header,
    read_body,
    write_blocks,
)

__all__ = ["FetchedFile", "NotModified", "check_url", "fetch_file"]

#: The time for a file, redirects included.
TIMEOUT_SECONDS = 30 * 60

_MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_VALIDATORS = {"etag": "ETag", "modified": "Last-Modified"}
_MAX_VALIDATOR_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """
    A file that has been fetched.

    ``name`` is its name on the server, without folders.  ``http_validators`` are ``etag`` and
    ``modified``, as far as the server has sent them.
    """

    path: Path
    name: str
    http_validators: Mapping[str, str]


def fetch_file(
    url: str,
    folder: Path,
    *,
    known_validators: Mapping[str, str] | None = None,
    report_progress: ReportProgress | None = None,
) -> FetchedFile:
    """
    Fetch a file into a folder.

    ``known_validators`` are ``FetchedFile.http_validators`` of the last time.

    Raises: ``NotModified`` when the file has not changed since then; ``LoadFailed``, with why
    the file cannot be fetched.
    """
    deadline = monotonic() + TIMEOUT_SECONDS
    with ExitStack() as stack:
        address, response = _follow_redirects(url, known_validators or {}, deadline, stack)
        try:
            return _save_file(address, response, folder, Transfer(deadline, report_progress))
        except (OSError, HTTPException) as error:
            raise _translate_error(error, address, deadline) from error


def check_url(url: str) -> None:
    """
    Check a URL before it is stored; its server is looked up when the file is fetched.

    Raises: ``LoadFailed`` with ``url.invalid``, ``url.has_credentials``.
    """
    parse_address(url)


def _follow_redirects(
    url: str, known_validators: Mapping[str, str], deadline: float, stack: ExitStack
) -> tuple[Address, HTTPResponse]:
    """Follow redirects to the response with the file; each address is checked like the first."""
    for _ in range(_MAX_REDIRECTS + 1):
        address = parse_address(url)
        try:
            response = send_request(address, known_validators, deadline, stack)
        except (OSError, HTTPException) as error:
            raise _translate_error(error, address, deadline) from error
        location = get_header(response, "Location")
        if response.status not in _REDIRECTS or not location:
            if response.status == HTTPStatus.NOT_MODIFIED and known_validators:
                raise NotModified
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
        return LoadFailed("url.server_silent", seconds=connections.IDLE_TIMEOUT_SECONDS)
    if isinstance(error, ssl.SSLCertVerificationError):
        return LoadFailed("url.untrusted_server", server=address.host)
    return LoadFailed("url.broken_response")


def _save_file(
    address: Address, response: HTTPResponse, folder: Path, transfer: Transfer
) -> FetchedFile:
    """Write the file into the folder, under a name that the server does not choose."""
    path = folder / "fetched"
    write_blocks(read_body(response, transfer), path)
    name = find_file_name(address, response)
    if get_content_encoding(response) == GZIP:  # some servers say so of a file that is a .gz itself
        name = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    return FetchedFile(path, name, _get_validators(response))


def _get_validators(response: HTTPResponse) -> dict[str, str]:
    """Return the validators that can be stored and sent again."""
    validators = {key: response.getheader(name) or "" for key, name in _VALIDATORS.items()}
    return {
        key: value
        for key, value in validators.items()
        if value and value.isprintable() and len(value) <= _MAX_VALIDATOR_LENGTH
    }
