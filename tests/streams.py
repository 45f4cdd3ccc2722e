"""Requests with a generated body, and the number of bytes that were read of it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from django.test.client import ClientHandler

FILE = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
    b"Content-Type: text/csv\r\n\r\n"
)
MULTIPART = "multipart/form-data; boundary=b"


class Body:
    """A body that starts with the given bytes and continues with one letter."""

    def __init__(self, start: bytes, size: int) -> None:
        self._start = start
        self._left = size - len(start)
        self.bytes_read = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0
        found, self._start = self._start[:size], self._start[size:]
        more = min(size - len(found), self._left)
        self._left -= more
        self.bytes_read += len(found) + more
        return found + b"x" * more

    readline = read  # Django requires it, and never calls it


class Answer(NamedTuple):
    status: int
    content: str
    bytes_read: int


def send(path: str, start: bytes, size: int, kind: str, **environ: Any) -> Answer:
    """POST a body of this size, like a WSGI server, with CSRF checks."""
    body = Body(start, size)
    path, _, query = path.partition("?")
    response: Any = ClientHandler(enforce_csrf_checks=True)(
        {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "CONTENT_TYPE": kind,
            "CONTENT_LENGTH": str(size),
            "wsgi.url_scheme": "http",
            "wsgi.input": body,
            "wsgi.errors": sys.stderr,
            **environ,
        }
    )
    return Answer(response.status_code, response.content.decode(), body.bytes_read)
