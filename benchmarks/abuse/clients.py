"""A client of an attack: it has its own address, and runs until an event is set."""

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
#: The minimum that systems allow; unread bytes stay at the server.
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
        Check that the server is on this machine.

        Raises: ``BenchmarkError`` for another machine.
        """
        if not self.server.startswith("127.0.0.1:"):
            raise BenchmarkError(f"{self.server} is not this machine.")


@dataclass(frozen=True, slots=True)
class Client:
    """The ``number``-th client of an attack; ``ended`` is set when the time is over."""

    target: Target
    address: str
    number: int
    ended: Event

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> str:
        """Send a request and read the whole answer; return its status."""
        connection = http.client.HTTPConnection(
            self.target.server, timeout=_TIMEOUT_SECONDS, source_address=(self.address, 0)
        )
        try:
            connection.request(method, path, body or None, headers)
            return _read_status(connection.getresponse())
        except ConnectionRefusedError:
            return REFUSED
        except (OSError, http.client.HTTPException):
            return CUT_OFF
        finally:
            connection.close()

    def send_and_hang_up(self, path: str, body: bytes, seconds: float) -> str:
        """Send a request, and close the connection after a short time."""
        try:
            with self._connect() as connection:
                connection.sendall(_build_head("POST", path, self.target.server, len(body)) + body)
                self.ended.wait(seconds)
        except ConnectionRefusedError:
            return REFUSED
        except OSError:
            return CUT_OFF
        return HUNG_UP

    def read_slowly(self, path: str, bytes_per_second: int) -> str:
        """Request much data, and read it slowly until the time is over."""
        try:
            with self._connect(small_buffer=True) as connection:
                connection.sendall(_build_head("GET", path, self.target.server, 0))
                status = connection.recv(bytes_per_second)[9:12].decode()
                while status == "200" and not self.ended.wait(1):
                    if not connection.recv(bytes_per_second):
                        return CUT_OFF
        except ConnectionRefusedError:
            return REFUSED
        except OSError:
            return CUT_OFF
        return HELD if status == "200" else status

    def send_slowly(self, path: str, body_bytes: int) -> str:
        """Announce a body, and send a byte of it each second until the time is over."""
        try:
            with self._connect() as connection:
                connection.sendall(_build_head("POST", path, self.target.server, body_bytes))
                connection.settimeout(1)
                while not self.ended.is_set():
                    connection.sendall(b" ")
                    try:
                        return connection.recv(_BLOCK_BYTES)[9:12].decode() or CUT_OFF
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
        """Send a body block by block until the server refuses; return status and sent size."""
        sent_bytes = 0
        with self._connect() as connection:
            try:
                connection.sendall(
                    _build_head("POST", path, self.target.server, body_bytes, headers)
                )
                for block in blocks:
                    if self.ended.is_set():
                        return f"{HELD}, {sent_bytes // 2**20} MB sent"
                    connection.sendall(block)
                    sent_bytes += len(block)
            except OSError:
                pass  # there may still be an answer
            try:
                status = connection.recv(_BLOCK_BYTES)[9:12].decode() or CUT_OFF
            except OSError:
                status = CUT_OFF
        return f"{status}, {sent_bytes // 2**20} MB sent"

    def _connect(self, *, small_buffer: bool = False) -> socket.socket:
        connection = socket.socket()
        if small_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
        connection.settimeout(_TIMEOUT_SECONDS)
        host, port = self.target.server.split(":")
        try:
            connection.bind((self.address, 0))
            connection.connect((host, int(port)))
        except OSError:
            connection.close()
            raise
        return connection


def _read_status(response: http.client.HTTPResponse) -> str:
    block = bytearray(_BLOCK_BYTES)
    while response.readinto(block):
        pass
    return str(response.status)


def _build_head(
    method: str, path: str, server: str, body_bytes: int, headers: Mapping[str, str] | None = None
) -> bytes:
    fields = {"Host": server, "Content-Type": "application/json", **(headers or {})}
    if body_bytes:
        fields["Content-Length"] = str(body_bytes)
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()
