"""A client that attacks: from an address of its own, by sockets, until a signal ends it."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.synchronize import Event

from ..failures import BenchmarkError

#: Outcomes of requests without an answer.
HUNG_UP, CUT_OFF, REFUSED, HELD = "hung up", "cut off", "refused", "held to the end"

_TIMEOUT_SECONDS = 600
_BLOCK_BYTES = 2**20
#: As small as a system allows: the rest waits at the server.
_SMALL_BUFFER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Target:
    """A server (host and port), and its resources."""

    server: str
    rows: int
    table: str
    fat_table: str

    def __post_init__(self) -> None:
        """
        Attack no other machine.

        Raises: ``BenchmarkError``.
        """
        if not self.server.startswith("127.0.0.1:"):
            raise BenchmarkError(f"{self.server} is not this machine.")


@dataclass(frozen=True, slots=True)
class Client:
    """The ``number``-th client of an attack; ``over`` is set at the end of the time."""

    target: Target
    address: str
    number: int
    over: Event

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> str:
        """Send a request and read the whole answer; return its status."""
        called = http.client.HTTPConnection(
            self.target.server, timeout=_TIMEOUT_SECONDS, source_address=(self.address, 0)
        )
        try:
            called.request(method, path, body or None, headers)
            return _get_status(called.getresponse())
        except ConnectionRefusedError:
            return REFUSED
        except (OSError, http.client.HTTPException):
            return CUT_OFF
        finally:
            called.close()

    def ask_and_hang_up(self, path: str, body: bytes, seconds: float) -> str:
        """Send a request, and close the connection after a short time."""
        try:
            with self._connect() as made:
                made.sendall(_build_head("POST", path, self.target.server, len(body)) + body)
                self.over.wait(seconds)
        except ConnectionRefusedError:
            return REFUSED
        except OSError:
            return CUT_OFF
        return HUNG_UP

    def read_slowly(self, path: str, bytes_a_second: int) -> str:
        """Request much data, and read it slowly until the time is over."""
        try:
            with self._connect(small_buffer=True) as made:
                made.sendall(_build_head("GET", path, self.target.server, 0))
                status = made.recv(bytes_a_second)[9:12].decode()
                while status == "200" and not self.over.wait(1):
                    if not made.recv(bytes_a_second):
                        return CUT_OFF
        except ConnectionRefusedError:
            return REFUSED
        except OSError:
            return CUT_OFF
        return HELD if status == "200" else status

    def send_slowly(self, path: str, body_bytes: int) -> str:
        """Announce a body, and send a byte of it each second until the time is over."""
        try:
            with self._connect() as made:
                made.sendall(_build_head("POST", path, self.target.server, body_bytes))
                made.settimeout(1)
                while not self.over.is_set():
                    made.sendall(b" ")
                    try:
                        return made.recv(_BLOCK_BYTES)[9:12].decode() or CUT_OFF
                    except TimeoutError:
                        continue
        except ConnectionRefusedError:
            return REFUSED
        except OSError:
            return CUT_OFF
        return HELD

    def send_blocks(
        self, path: str, blocks: Iterable[bytes], body_bytes: int, headers: Mapping[str, str]
    ) -> str:
        """Send a body block by block, as far as the server accepts it; return how far that was."""
        sent = 0
        with self._connect() as made:
            try:
                made.sendall(_build_head("POST", path, self.target.server, body_bytes, headers))
                for block in blocks:
                    if self.over.is_set():
                        return f"{HELD}, {sent // 2**20} MB sent"
                    made.sendall(block)
                    sent += len(block)
            except OSError:
                pass  # there may still be an answer
            try:
                status = made.recv(_BLOCK_BYTES)[9:12].decode() or CUT_OFF
            except OSError:
                status = CUT_OFF
        return f"{status}, {sent // 2**20} MB sent"

    def _connect(self, *, small_buffer: bool = False) -> socket.socket:
        made = socket.socket()
        if small_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
        made.settimeout(_TIMEOUT_SECONDS)
        host, port = self.target.server.split(":")
        try:
            made.bind((self.address, 0))
            made.connect((host, int(port)))
        except OSError:
            made.close()
            raise
        return made


def _get_status(response: http.client.HTTPResponse) -> str:
    block = bytearray(_BLOCK_BYTES)
    while response.readinto(block):
        pass
    return str(response.status)


def _build_head(
    method: str, path: str, server: str, body_bytes: int, headers: Mapping[str, str] | None = None
) -> bytes:
    given = {"Host": server, "Content-Type": "application/json", **(headers or {})}
    if body_bytes:
        given["Content-Length"] = str(body_bytes)
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode()
