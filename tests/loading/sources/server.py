"""A web server that answers what a test says, to the byte, and remembers what it was asked."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import trustme

#: Vouches for this process's servers, which are 127.0.0.1 and nobody else.
AUTHORITY = trustme.CA()

Answer = bytes | Callable[[socket.socket], None]


class Server:
    """Answers by path; ``asked`` are the heads of the requests."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        self.listener = listener
        self.tls = tls
        self.port: int = listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{path}"

    def run(self) -> None:
        """Answer one request after another until the listener is closed."""
        with suppress(OSError):
            while True:
                taken, _ = self.listener.accept()
                with taken, suppress(OSError):
                    if self.tls is None:
                        self._serve(taken)
                        continue
                    with self.tls.wrap_socket(taken, server_side=True) as secured:
                        self._serve(secured)

    def _serve(self, taken: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            received = taken.recv(65536)
            if not received:
                return
            head += received
        self.asked.append(head.decode())
        answer = self.answers[head.split()[1].decode().partition("?")[0]]
        if isinstance(answer, bytes):
            taken.sendall(answer)
        else:
            answer(taken)


@contextmanager
def serving(*, secure: bool = False) -> Iterator[Server]:
    """Serve on a port of 127.0.0.1, under TLS if it is to be secure."""
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
            thread.join()


def answer(body: bytes = b"", *headers: str, status: int = 200, length: int | None = -1) -> bytes:
    """Write an answer; ``length`` is another than the body has, or None to leave it out."""
    lines = [f"HTTP/1.1 {status} Whatever", *headers]
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length < 0 else length}")
    return "\r\n".join([*lines, "", ""]).encode() + body
