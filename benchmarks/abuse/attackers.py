"""The attackers: a process for each attack, a thread for each of its clients."""

from __future__ import annotations

import http.client
import multiprocessing
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from ..failures import BenchmarkError
from .attacks import ATTACKS, Attack, Target

#: Outcomes of requests without an answer.
HUNG_UP, CUT_OFF, HELD = "hung up", "cut off", "held to the end"

_TIMEOUT_SECONDS = _START_SECONDS = 60
#: Attackers end by themselves after this time.
_MAX_ATTACK_SECONDS = 3_600
_HANG_UP_SECONDS = 0.2
_BYTES_PER_SECOND = 1024
#: The minimum that systems allow; unread bytes stay at the server.
_SMALL_BUFFER_BYTES = 4096


@contextmanager
def run_attackers(
    target: Target, names: Sequence[str], addresses: int
) -> Iterator[dict[str, Counter[str]]]:
    """
    Attack during the block; afterwards the mapping has the outcomes of the requests.

    Raises: ``BenchmarkError`` when the attackers do not start.
    """
    context = multiprocessing.get_context("spawn")
    begun, ended = context.Event(), context.Event()
    outcomes: dict[str, Counter[str]] = {}
    attackers = {}
    for position, name in enumerate(names):
        receiver, sender = context.Pipe()
        sources = [f"127.1.0.{1 + (position + each) % addresses}" for each in range(addresses)]
        process = context.Process(
            target=_run_attack, args=(name, sources, target, (begun, ended), sender), daemon=True
        )
        process.start()
        attackers[name] = (process, receiver)
    try:
        for name, (_process, pipe) in attackers.items():
            if not pipe.poll(_START_SECONDS) or pipe.recv() is None:
                raise BenchmarkError(f"The attack {name} did not start.")
        begun.set()
        yield outcomes
    finally:
        ended.set()
        for name, (process, pipe) in attackers.items():
            if pipe.poll(_START_SECONDS):
                outcomes[name] = pipe.recv()
            process.kill()
            process.join(_TIMEOUT_SECONDS)


def _run_attack(
    name: str, sources: Sequence[str], target: Target, events: tuple[Event, Event], pipe: Connection
) -> None:
    """Send the requests of one attack, and return their outcomes."""
    begun, ended = events
    attack = ATTACKS[name]
    attack.build(target, 0)  # large bodies are built before
    counted: Counter[str] = Counter()
    pipe.send(name)
    begun.wait(_START_SECONDS)
    started_at = time.monotonic()

    def send_requests(number: int) -> None:
        """Send every request of one client at its time, late ones at once."""
        source = sources[number % len(sources)]
        while not ended.wait(max(0, started_at + number / attack.per_second - time.monotonic())):
            outcome = attack_once(attack, number, source, target, ended)
            counted[outcome] += 1
            number += attack.clients

    for number in range(attack.clients):
        threading.Thread(target=send_requests, args=(number,), daemon=True).start()
    ended.wait(_MAX_ATTACK_SECONDS)
    time.sleep(1.5)  # slow readers notice the end
    pipe.send(Counter(dict(counted)))
    os._exit(0)  # without waiting for its threads


def attack_once(attack: Attack, number: int, source: str, target: Target, ended: Event) -> str:
    """Send a request and read the answer in the attack's way; return its status or outcome."""
    request = attack.build(target, number)
    try:
        with _connect(target.server, source, is_slow=attack.way == "read slowly") as connection:
            with suppress(ConnectionError):  # there may be an answer before the end of the body
                connection.sendall(request.write())
            if attack.way == "hang up":
                ended.wait(_HANG_UP_SECONDS)
                return HUNG_UP
            if attack.way == "read slowly":
                return _read_slowly(connection, ended)
            return _read(connection)
    except (OSError, http.client.HTTPException):
        return CUT_OFF


def _connect(server: str, source: str, *, is_slow: bool) -> socket.socket:
    connection = socket.socket()
    if is_slow:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
    connection.settimeout(_TIMEOUT_SECONDS)
    host, port = server.split(":")
    try:
        connection.bind((source, 0))
        connection.connect((host, int(port)))
    except OSError:
        connection.close()
        raise
    return connection


def _read(connection: socket.socket) -> str:
    response = http.client.HTTPResponse(connection)
    response.begin()
    response.read()
    return str(response.status)


def _read_slowly(connection: socket.socket, ended: Event) -> str:
    status = connection.recv(_BYTES_PER_SECOND)[9:12].decode()
    while status == "200":
        if ended.wait(1):
            return HELD
        if not connection.recv(_BYTES_PER_SECOND):
            return CUT_OFF
    return status or CUT_OFF
