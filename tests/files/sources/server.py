"""A web server with exact answers, which records its requests."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import trustme

#: Issues the certificates of the servers of this process, which are all 127.0.0.1.
AUTHORITY = trustme.CA()

Answer = bytes | Callable[[socket.socket], None]


class Server:
    """Answers by path; ``requests`` are the heads of the requests."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        self.listener = listener
        self.tls = tls
        self.port: int = listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []

    def url(self, path: str) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{path}"

    def run(self) -> None:
        """Answer one request after another until the listener is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.settimeout(60)
                with connection, suppress(OSError):
                    if self.tls is None:
                        self._serve(connection)
                        continue
                    with self.tls.wrap_socket(connection, server_side=True) as secured:
                        self._serve(secured)

    def _serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            block = connection.recv(65536)
            if not block:
                return
            head += block
        self.requests.append(head.decode())
        answer = self.answers[head.split()[1].decode().partition("?")[0]]
        if isinstance(answer, bytes):
            connection.sendall(answer)
        else:
            answer(connection)


@contextmanager
def run_server(*, secure: bool = False) -> Iterator[Server]:
    """Serve on a port of 127.0.0.1, with TLS if ``secure``."""
    tls = None
    if secure:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert("127.0.0.1").configure_cert(tls)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener, tls)
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)
            assert not thread.is_alive(), "the server still answers"


def build_answer(
    body: bytes = b"", *headers: str, status: int = 200, length: int | None = -1
) -> bytes:
    """Build an answer; ``length`` replaces that of the body, None leaves it out."""
    lines = [f"HTTP/1.1 {status} Reason", *headers]
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length < 0 else length}")
    return "\r\n".join([*lines, "", ""]).encode() + body
