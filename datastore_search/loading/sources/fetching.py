"""
Fetching a file over HTTP, from servers and to a size and a time that the portal allows.

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

from ...conf import conf
from ...exceptions.loads import LoadFailed, NotModified
from .addresses import Address, parsed
from .responses import GZIP, Pace, Watch, body_of, coding_of, write
from .connections import asked
from .filenames import header, name_of

__all__ = ["Fetched", "NotModified", "Watch", "check_url", "fetch"]

_REDIRECTS_MOST = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_VALIDATORS = {"etag": "ETag", "modified": "Last-Modified"}
_VALIDATOR_LETTERS = 1_000


@dataclass(frozen=True, slots=True)
class Fetched:
    """
    A file that has been fetched.

    ``name`` is what the server calls it, for people and as a hint at its format: a bare file name.
    ``received`` is what the next ``fetch`` is to know: ``etag`` and ``modified``, as far as the
    server has said them.
    """

    path: Path
    name: str
    received: Mapping[str, str]


def fetch(
    url: str,
    folder: Path,
    *,
    known: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Fetched:
    """
    Fetch a file into a folder.

    ``known`` is ``Fetched.received`` of the last time.

    Raises: ``NotModified`` when the file is still that of the last time; ``LoadFailed``, of the
    kind that says why it cannot be had.
    """
    deadline = monotonic() + conf.FETCH_TIMEOUT.total_seconds()
    with ExitStack() as stack:
        address, response = _followed(url, known or {}, deadline, stack)
        try:
            return _kept(address, response, folder, Pace(deadline, watch))
        except (OSError, HTTPException) as error:
            raise _failure(error, address, deadline) from error


def check_url(url: str) -> None:
    """
    Refuse what must not be kept as the address of a file; the server is looked up by ``fetch``.

    Raises: ``LoadFailed`` with ``url.invalid``, ``url.has_credentials``.
    """
    parsed(url)


def _followed(
    url: str, known: Mapping[str, str], deadline: float, stack: ExitStack
) -> tuple[Address, HTTPResponse]:
    """Follow redirects to the answer with the file; each address is checked like the first."""
    for _ in range(_REDIRECTS_MOST + 1):
        address = parsed(url)
        try:
            response = asked(address, known, deadline, stack)
        except (OSError, HTTPException) as error:
            raise _failure(error, address, deadline) from error
        location = header(response, "Location")
        if response.status not in _REDIRECTS or not location:
            _check(response, known)
            return address, response
        stack.close()
        url = urljoin(url, location)
    raise LoadFailed("url.too_many_redirects", most=_REDIRECTS_MOST)


def _check(response: HTTPResponse, known: Mapping[str, str]) -> None:
    if response.status == HTTPStatus.NOT_MODIFIED and known:
        raise NotModified
    if response.status != HTTPStatus.OK:
        raise LoadFailed("url.error_status", status=response.status)


def _failure(error: Exception, address: Address, deadline: float) -> LoadFailed:
    """Say what a failure of the connection means; what was answered is not repeated."""
    if monotonic() >= deadline:
        return LoadFailed("url.timeout", minutes=round(conf.FETCH_TIMEOUT.total_seconds() / 60, 1))
    if isinstance(error, TimeoutError):
        return LoadFailed("url.server_silent", seconds=round(conf.FETCH_SILENCE.total_seconds()))
    if isinstance(error, ssl.SSLCertVerificationError):
        return LoadFailed("url.untrusted_server", server=address.host)
    return LoadFailed("url.broken_response")


def _kept(address: Address, response: HTTPResponse, folder: Path, pace: Pace) -> Fetched:
    """Write the file into the folder, under a name that nobody else chose."""
    path = folder / "fetched"
    write(body_of(response, pace), path)
    name = name_of(address, response)
    if coding_of(response) == GZIP:  # some servers say so of a file that is a .gz itself
        name = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    return Fetched(path, name, _told(response))


def _told(response: HTTPResponse) -> dict[str, str]:
    """Give what identifies this state of the file, as far as it can be kept and sent again."""
    said = {key: response.getheader(name) or "" for key, name in _VALIDATORS.items()}
    return {
        key: value
        for key, value in said.items()
        if value and value.isprintable() and len(value) <= _VALIDATOR_LETTERS
    }
