"""The client of all programs: an HTTP request, ready to be sent, and its answer."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from .failures import BenchmarkError

_TIMEOUT_SECONDS = 600
_BLOCK_BYTES = 2**20
_MAX_BEGINNING_BYTES = 2**16
_MAX_SHOWN_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Call:
    """A request to ``server`` (host and port), and the expected status of the answer."""

    server: str
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    expects: HTTPStatus = HTTPStatus.OK

    def check(self, status: int, body: bytes) -> None:
        """
        Check the status of an answer.

        Raises: ``BenchmarkError``, with the server's answer, when it is not the expected one.
        """
        if status != self.expects:
            raise BenchmarkError(
                f"{self.method} {self.path} was answered with {status}, not with {self.expects}:"
                f" {body.decode(errors='replace')[:_MAX_SHOWN_LENGTH]}"
            )

    def write(self) -> bytes:
        """Write the message of the request, as the only one of its connection."""
        headers = {"Host": self.server, "Connection": "close", **self.headers}
        headers |= {"Content-Length": str(len(self.body))} if self.body else {}
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def build_action_call(
    server: str, action: str, parameters: Mapping[str, Any], token: str = ""
) -> Call:
    """Make the call of an action of the portal."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
    body = json.dumps(parameters, separators=(",", ":")).encode()
    return Call(server, "POST", f"/en/api/3/action/{action}", headers, body)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; of the body only its beginning."""

    etag: str | None
    beginning: bytes
    body_bytes: int
    seconds: float


class Caller:
    """A connection that stays open between calls."""

    def __init__(self, server: str, *, timeout: int = _TIMEOUT_SECONDS, source: str = "") -> None:
        """Connect with the first call, from the address ``source`` if it is given."""
        self._connection = http.client.HTTPConnection(
            server, timeout=timeout, source_address=(source, 0) if source else None
        )

    def open(self, call: Call) -> http.client.HTTPResponse:
        """Send a call, and return the answer, whose body is not yet read."""
        self._connection.request(call.method, call.path, call.body or None, dict(call.headers))
        return self._connection.getresponse()

    def send(self, call: Call) -> Answer:
        """
        Send a call, read the answer and keep only its beginning.

        Raises: ``BenchmarkError``, with the server's answer, when it is not the expected one.
        """
        started_at = time.perf_counter()
        try:
            response = self.open(call)
            beginning = response.read(_MAX_BEGINNING_BYTES)
            size = len(beginning)
            while block := response.read(_BLOCK_BYTES) if size else b"":
                size += len(block)
        except (OSError, http.client.HTTPException) as error:
            raise BenchmarkError(f"No answer to {call.method} {call.path}: {error!r}") from error
        seconds = time.perf_counter() - started_at
        call.check(response.status, beginning)
        return Answer(response.getheader("ETag"), beginning, size, seconds)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def send_call(call: Call) -> Answer:
    """
    Send a call over a new connection.

    Raises: as ``Caller.send``.
    """
    with closing(Caller(call.server)) as caller:
        return caller.send(call)


def build_conditional_call(call: Call) -> Call | None:
    """
    Send a call, and make the conditional call that repeats it; None without ETag.

    Raises: as ``Caller.send``.
    """
    tag = send_call(call).etag
    if tag is None:
        return None
    headers = {**call.headers, "If-None-Match": tag}
    return replace(call, headers=headers, expects=HTTPStatus.NOT_MODIFIED)
