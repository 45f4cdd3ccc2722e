"""
The share of each client: who it is, its slots for slow work and for streams.

A client is the user of a token or a session, or else an address; of IPv6, the network of 64 bits
that a provider gives to one customer.  WSGI has no way to tell that a client has closed its
connection.  Some servers have one of their own; under the others a client counts as connected.

A process has a few slots for work that may be slow.  A client holds one of them, and more only
while no other client waits.  The last free slot is for the client that has used the least time.
Heavy clients, which have used much more time than most, share half of the slots.  Others do not
wait for their work: for these there are up to as many slots again.

A request that finds no slot waits.  The client that has used the least time is next, so that a
client with many slow requests waits for itself.  Few requests may wait: a client that asks for more
than its share is refused (429), and any other client only where many clients wait (503).

The time that statements take decides who is next, and never whether a request is refused.  So a
busy machine, on which everything takes longer, changes nothing (``docs/decisions/0051``).
"""

from __future__ import annotations

import operator
import os
import select
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from statistics import median
from threading import Condition, Event, Lock, local
from time import monotonic
from typing import Any, Final, Self
from weakref import finalize

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.settings import api_settings

from ..conf import conf
from ..messages.availability import (
    ClientDisconnected,
    ServerFull,
    ShareExceeded,
    TemporarilyUnavailable,
    TooManyOwnStreams,
    TooManyStreams,
)
from .cache import BoundedCache

# Clients ------------------------------------------------------------------------------------------

#: The key of an event that ``middleware.disconnect_middleware`` sets once the client is gone.
DISCONNECTED: Final = "datastore_search.disconnected"

#: Only Linux reports a closed connection without a read.
_HUNG_UP = getattr(select, "POLLRDHUP", 0)

#: What may name a user, and for how long a process knows the user of it.
_CREDENTIALS: Final = ("HTTP_AUTHORIZATION", "HTTP_X_CKAN_API_KEY", "HTTP_COOKIE")
_KNOWN_SECONDS: Final = 60.0

#: The keys of clients with credentials, of which only a digest is kept, and until when they hold.
_keys: BoundedCache[bytes, tuple[str, float]] = BoundedCache("clients", 10_000)


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a request; ``environ`` is the WSGI environment, or ``META`` under ASGI."""

    environ: Mapping[str, Any]
    read_user: Callable[[], Any] = lambda: None

    @classmethod
    def from_request(cls, request: HttpRequest | Request) -> Client:
        """Make the client of a request; its token or session is read where it matters."""
        return cls(request.META, lambda: request.user)

    def without_request(self) -> Self:
        """Copy the client without its request, for an answer that outlives the request."""
        return replace(self, read_user=lambda: None)

    def is_authenticated(self) -> bool:
        user = self.read_user()
        return bool(user and user.is_authenticated)

    @property
    def key(self) -> str:
        """What all requests of the client have in common."""
        credentials = [self.environ.get(name) for name in _CREDENTIALS]
        address = find_address(self.environ)
        if not any(credentials):
            return address
        digest = blake2b(repr((address, credentials)).encode(), digest_size=16).digest()
        key, until = _keys.get(digest) or ("", 0.0)
        if until < monotonic():
            key = f"user:{self.read_user().pk}" if self.is_authenticated() else address
            _keys.add(digest, (key, monotonic() + _KNOWN_SECONDS))
        return key

    def is_gone(self) -> bool:
        """Return whether the client has closed the connection, as far as the server reports it."""
        for name, is_gone in _SERVERS.items():
            if name in self.environ:
                return is_gone(self.environ[name])
        return False


def _is_hung_up(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, _HUNG_UP)  # poll always reports errors and POLLHUP
    return bool(poll.poll(0))


#: The key in ``environ`` of each server, and the test of its value for a client that is gone.
_SERVERS: Mapping[str, Callable[[Any], bool]] = {
    "gunicorn.socket": _is_hung_up,
    "waitress.client_disconnected": operator.call,
    DISCONNECTED: Event.is_set,
}


def find_address(environ: Mapping[str, Any]) -> str:
    """
    Find the address of a client; of IPv6, its network.

    ``X-Forwarded-For`` is read only where ``NUM_PROXIES`` of REST framework says how many proxies
    append to it: without them, a client would choose its address.
    """
    address = environ.get("REMOTE_ADDR", "")
    proxies, forwarded = api_settings.NUM_PROXIES, environ.get("HTTP_X_FORWARDED_FOR")
    if proxies and forwarded:
        addresses = forwarded.split(",")
        address = addresses[-min(proxies, len(addresses))].strip()
    return _normalize_address(address)


@lru_cache(maxsize=1_000)
def _normalize_address(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:  # of a socket, or with a port
        return blake2b(address.encode(errors="replace"), digest_size=16).hexdigest()
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is None:
            return str(ip_network((parsed, 64), strict=False).network_address)
        return str(parsed.ipv4_mapped)
    return str(parsed)


# Slots --------------------------------------------------------------------------------------------

#: Seconds after which used time counts half.
_HALF_LIFE_SECONDS: Final = 30.0

#: A client is heavy if it has used more, and more than twice as much as the median client.
_HEAVY_SECONDS: Final = 1.0

#: What a request that finds no slot counts as, so that clients with many are known before the first
#: ones have ended.
_WAITING_SECONDS: Final = 0.2

#: Clients that have used less do not count for the median.
_LIGHT_SECONDS: Final = 0.1

#: How often a request that waits looks whether its client is gone.
_CHECK_SECONDS: Final = 0.05

#: Clients whose used time is known; of more, those with the least are forgotten.
_MAX_CLIENTS: Final = 200


@dataclass(eq=False, slots=True)
class _Request:
    """A request that works or waits; it has a ``refusal`` when another one has taken its place."""

    key: str
    began_at: float
    refusal: type[TemporarilyUnavailable] | None = None


class _Held(local):
    """The client for which a thread holds a slot, empty without one, and its request."""

    key = ""
    request: _Request | None = None


class Shares:
    """
    The slots of a process, the requests that hold them, and those that wait for one.

    There are ``MAX_SLOTS``, or fewer for work of one kind, which takes one of both.
    """

    def __init__(self, max_slots: int | None = None) -> None:
        self._max_slots = max_slots
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Forget all requests, as in a process that was forked from one that held slots."""
        self._condition = Condition()
        self._working: set[_Request] = set()
        self._waiting: list[_Request] = []
        self._used: dict[str, tuple[float, float]] = {}
        self._heavy_seconds = _HEAVY_SECONDS
        self._held = _Held()

    @property
    def held_key(self) -> str:
        return self._held.key

    @property
    def is_needed_by_others(self) -> bool:
        """Whether this thread holds a slot while other clients have work, or for a heavy client."""
        key = self._held.key
        if not key:
            return False
        with self._condition:
            has_others = bool({each.key for each in (*self._working, *self._waiting)} - {key})
            return has_others or self._get_used(key, monotonic()) > self._heavy_seconds

    @contextmanager
    def hold(self, client: Client | None, timeout: timedelta) -> Iterator[None]:
        """
        Hold a slot during the block; within a block of the same thread, the slot that it has.

        None, the program itself, needs no slot.

        Raises: ``ShareExceeded``; ``ServerFull``, also when no slot is free within the ``timeout``;
        ``ClientDisconnected``.
        """
        if client is None or self._held.key:
            yield
            return
        request = _Request(client.key, monotonic())
        with self._condition:
            if self._working or self._waiting:
                self._make_room(request)
                self._waiting.append(request)
                self._give_slots()
                self._wait(request, client, timeout)
            else:  # all slots are free
                self._working.add(request)
        self._held.key, self._held.request = request.key, request
        try:
            yield
        finally:
            self.release(request)
            self._held.key = ""

    def release(self, request: _Request | None = None) -> None:
        """Give back the slot of this thread, if it holds one: what follows only waits."""
        request = request or self._held.request
        with self._condition:
            if request in self._working:
                self._working.remove(request)
                self._note_used(request.key, monotonic() - request.began_at)
                if self._waiting:
                    self._give_slots()

    def _wait(self, request: _Request, client: Client, timeout: timedelta) -> None:
        while request not in self._working:
            try:
                if request.refusal:
                    raise request.refusal
                if client.is_gone():
                    raise ClientDisconnected
                if timeout and monotonic() - request.began_at > timeout.total_seconds():
                    raise ServerFull
            except TemporarilyUnavailable:
                self._waiting.remove(request)
                self._give_slots()
                raise
            self._condition.wait(_CHECK_SECONDS)
            self._give_slots()  # the order changes with the time that others use

    def _give_slots(self) -> None:
        while self._waiting:
            now = monotonic()
            by_use = sorted(self._waiting, key=lambda each: self._get_used(each.key, now))
            free = (each for each in by_use if not each.refusal and self._may_work(each))
            request = next(free, None)
            if request is None:
                return
            self._waiting.remove(request)
            request.began_at = monotonic()
            self._working.add(request)
            self._condition.notify_all()

    def _make_room(self, request: _Request) -> None:
        """
        Refuse a request of the client with the most waiting requests, when too many wait.

        Of several such clients it is the one that has used the most time.  Where each has one, a
        heavy client makes room.
        """
        if self._may_work(request):
            return
        self._note_used(request.key, _WAITING_SECONDS)
        most, now = conf.MAX_WAITING, monotonic()
        waiting = [request, *(each for each in reversed(self._waiting) if not each.refusal)]
        counts = Counter(each.key for each in waiting)
        if counts[request.key] > max(1, most // 2):
            raise ShareExceeded
        if len(waiting) <= most:
            return
        key = max(counts, key=lambda each: (counts[each], self._get_used(each, now)))
        if counts[key] == 1 and self._get_used(key, now) <= self._heavy_seconds:
            raise ServerFull
        refused = next(each for each in waiting if each.key == key)
        refused.refusal = ShareExceeded
        if refused is request:
            raise ShareExceeded
        self._condition.notify_all()

    def _may_work(self, request: _Request) -> bool:
        slots = max(1, self._max_slots or conf.MAX_SLOTS)
        if len(self._working) >= 2 * slots:
            return False
        now = monotonic()
        used = self._get_used(request.key, now)
        used_by_working = [self._get_used(each.key, now) for each in self._working]
        heavy = sum(each > self._heavy_seconds for each in used_by_working)
        is_heavy = used > self._heavy_seconds
        others = (each for each in (*self._working, *self._waiting) if each is not request)
        has_others = any(each.key == request.key for each in others)
        free = slots - len(self._working) + (0 if is_heavy or has_others else heavy)
        if free <= 0 or (is_heavy and heavy >= max(1, slots // 2)):
            return False
        held = sum(each.key == request.key for each in self._working)
        others_wait = any(each.key != request.key for each in self._waiting)
        if held >= conf.MAX_SLOTS_PER_CLIENT and (others_wait or free == 1):
            return False
        return free > 1 or slots == 1 or all(used <= each for each in used_by_working)

    def _get_used(self, key: str, now: float, *, with_running: bool = True) -> float:
        """Return the seconds that a client has used lately, running requests included."""
        running = sum([now - each.began_at for each in self._working if each.key == key])
        seconds, until = self._used.get(key, (0.0, now))
        noted = float(seconds * 0.5 ** ((now - until) / _HALF_LIFE_SECONDS))
        return noted + running if with_running else noted

    def _note_used(self, key: str, seconds: float) -> None:
        now = monotonic()
        if len(self._used) >= _MAX_CLIENTS and key not in self._used:
            by_use = sorted(self._used, key=lambda key: self._get_used(key, now))
            for forgotten in by_use[: _MAX_CLIENTS // 2]:
                del self._used[forgotten]
        self._used[key] = self._get_used(key, now, with_running=False) + seconds, now
        known = [self._get_used(key, now) for key in self._used]
        counted = [each for each in known if each > _LIGHT_SECONDS]
        self._heavy_seconds = max(_HEAVY_SECONDS, 2 * median(counted or [0]))


#: The shares of this process.
process_shares = Shares()


class _WorkingFor(local):
    client: Client | None = None


working_for = _WorkingFor()


# Streams ------------------------------------------------------------------------------------------

_streams: Counter[str] = Counter()
_lock = Lock()


class StreamSlot:
    """
    One slot of the streams, each of which holds a file or a snapshot, and under WSGI a thread.

    It is released once: by ``release``, or with the last reference to it.
    """

    def __init__(self) -> None:
        """
        Acquire a slot for the client for which this thread works; it may have half of them.

        Raises: ``TooManyStreams`` when none is free; ``TooManyOwnStreams``.
        """
        working = working_for.client
        client = process_shares.held_key or (working.key if working else "")
        with _lock:
            if client and _streams[client] >= max(1, conf.MAX_STREAMS // 2):
                raise TooManyOwnStreams
            if _streams.total() >= conf.MAX_STREAMS:
                raise TooManyStreams
            _streams[client] += 1
        self._release = finalize(self, _release, client)

    def release(self) -> None:
        """Release it now; a reference to this method keeps the slot until then."""
        self._release()


def _release(client: str) -> None:
    with _lock:
        _streams[client] -= 1
        if not _streams[client]:
            del _streams[client]
