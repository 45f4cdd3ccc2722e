"""The attackers: a process for each attack, a thread for each of its clients."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from ..failures import BenchmarkError
from .attacks import ATTACKS, Attack
from .clients import CUT_OFF, REFUSED, Client, Target

#: The number of each outcome, for each attack; None before it has ended.
Outcomes = Mapping[str, Mapping[str, int]]

#: Outcome of a request whose client still waited at the end.
UNANSWERED = "unanswered"

_START_SECONDS = 60
_STOP_SECONDS = 3
#: Seconds before a client whose connection failed retries.
_RETRY_SECONDS = 0.2


@contextmanager
def run_attackers(target: Target, names: Sequence[str]) -> Iterator[dict[str, Mapping[str, int]]]:
    """
    Attack during the block; afterwards the mapping has the outcomes of the requests.

    Raises: ``BenchmarkError`` when the attackers do not start.
    """
    context = multiprocessing.get_context("spawn")
    begun, ended = context.Event(), context.Event()
    outcomes: dict[str, Mapping[str, int]] = {}
    attackers = {}
    for position, name in enumerate(names):
        receiver, sender = context.Pipe()
        arguments = (name, f"127.1.{position}.", target, (begun, ended), sender)
        process = context.Process(target=_run_attack, args=arguments, daemon=True)
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
            if pipe.poll(_STOP_SECONDS * 5):
                outcomes[name] = pipe.recv()
            process.kill()
            process.join()


def _run_attack(
    name: str, network: str, target: Target, events: tuple[Event, Event], pipe: Connection
) -> None:
    """Start the clients of one attack, and return the outcomes of their requests."""
    begun, ended = events
    attack = ATTACKS[name]
    tallies = [Counter[str]() for _ in range(attack.clients)]
    threads = [
        threading.Thread(
            target=_send_requests,
            args=(attack, _build_client(target, network, number, ended), tally),
            daemon=True,
        )
        for number, tally in enumerate(tallies)
    ]
    pipe.send(name)
    begun.wait(_START_SECONDS)
    for thread in threads:
        thread.start()
    ended.wait()
    deadline = time.monotonic() + _STOP_SECONDS
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    counted = sum(tallies, Counter[str]())
    counted[UNANSWERED] = sum(thread.is_alive() for thread in threads)
    pipe.send({outcome: count for outcome, count in counted.items() if count})
    pipe.close()
    os._exit(0)  # without waiting for its threads


def _build_client(target: Target, network: str, number: int, ended: Event) -> Client:
    return Client(target, f"{network}{number + 1}", number, ended)


def _send_requests(attack: Attack, client: Client, tally: Counter[str]) -> None:
    for _ in range(attack.requests):
        if client.ended.is_set():
            return
        outcome = attack.act(client)
        tally[outcome] += 1
        if outcome in {CUT_OFF, REFUSED}:
            client.ended.wait(_RETRY_SECONDS)
