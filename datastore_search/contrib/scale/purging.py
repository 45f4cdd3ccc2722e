"""
Purge caches in front after a change.

Each cache has a thread, which sends ``PURGE`` with the surrogate keys of what has changed.  A write
only adds its keys to a list, so a cache that is slow or gone neither delays it nor lets it fail.

An answer that was read before a change may reach the cache after the purge.  So each purge is sent
again ``AGAIN_SECONDS`` later, and the cache keeps no answer that took longer than
``docs/how-to/varnish.vcl`` allows, which is less (``docs/decisions/0056``).
"""

from __future__ import annotations

import atexit
import http.client
import logging
import os
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Condition, Thread
from typing import Any, Final
from urllib.parse import urlsplit

from .conf import conf

logger = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 0.75

_TIMEOUT_SECONDS: Final = 1.0

#: The seconds before a failed purge is sent again; after the last one it is lost.
_RETRY_SECONDS: Final = (0.25, 1.0, 4.0)

#: Changes whose purges wait for one cache.
_MAX_WAITING: Final = 10_000

#: In one request: the header stays below 4 kB.
_MAX_KEYS: Final = 100

#: How long the end of a process waits for its purges.
_MAX_FLUSH_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Purge:
    """Keys to purge at a time; ``failures`` is how often this has failed."""

    at: float
    keys: Collection[str]
    failures: int = 0


class Purger:
    """What waits to be purged from one cache, and the thread that does it."""

    def __init__(self, address: str) -> None:
        """Take the address of the cache; the thread starts with the first change."""
        self._address = address
        self._host = urlsplit(address).netloc
        self._waiting: list[_Purge] = []
        self._changed = Condition()
        self._thread: Thread | None = None

    def add(self, keys: Collection[str]) -> None:
        """Purge keys now, and again."""
        now = time.monotonic()
        with self._changed:
            if len(self._waiting) >= _MAX_WAITING:
                self._log_lost(keys, "too many wait")
                return
            self._waiting += [_Purge(now, keys), _Purge(now + AGAIN_SECONDS, keys)]
            if self._thread is None:
                self._thread = Thread(target=self._run, name="purging", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, deadline: float) -> None:
        """Wait until nothing waits, at most until the deadline."""
        with self._changed:
            left = deadline - time.monotonic()
            if not self._changed.wait_for(lambda: not self._waiting, max(0.0, left)):
                self._log_lost([key for each in self._waiting for key in each.keys], "the end")

    def _run(self) -> None:
        while True:
            with self._changed:
                while (seconds := self._get_seconds_left()) != 0:
                    self._changed.wait(seconds)
                now = time.monotonic()
                due = [each for each in self._waiting if each.at <= now]
            failed = list(self._send(due))
            with self._changed:
                done = {*map(id, due)}
                self._waiting = [each for each in self._waiting if id(each) not in done] + failed
                self._changed.notify_all()

    def _get_seconds_left(self) -> float | None:
        """Return the seconds until the next purge; None without one."""
        times = [each.at for each in self._waiting]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _send(self, due: Collection[_Purge]) -> Iterator[_Purge]:
        """Send purges, and yield those to send again."""
        for failures in {each.failures for each in due}:
            keys = iter({key for each in due if each.failures == failures for key in each.keys})
            while some := list(islice(keys, _MAX_KEYS)):
                try:
                    self._request(some)
                except (OSError, http.client.HTTPException) as error:
                    if failures == len(_RETRY_SECONDS):
                        self._log_lost(some, repr(error))
                    else:
                        at = time.monotonic() + _RETRY_SECONDS[failures]
                        yield _Purge(at, some, failures + 1)

    def _request(self, keys: Collection[str]) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("PURGE", "/", headers={"Surrogate-Key": " ".join(keys)})
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != http.client.OK:
            raise http.client.HTTPException(status)

    def _log_lost(self, keys: Collection[str], reason: str) -> None:
        logger.error(
            "%s was not told of changes of %s keys (%s …): %s. It may serve old answers until"
            " DATASTORE_SEARCH_SURROGATE_MAX_AGE has passed.",
            self._address,
            len(keys),
            next(iter(keys), ""),
            reason,
        )


_purgers: dict[str, Purger] = {}

# A forked process has no threads, and what waited is purged by the process that it came from.
os.register_at_fork(after_in_child=_purgers.clear)


def purge(*, keys: Collection[str], **_signal: Any) -> None:
    """Purge the keys of ``answers_changed`` from each cache."""
    for address in conf.CACHE_ADDRESSES:
        _purgers.setdefault(address, Purger(address)).add(keys)


@atexit.register
def flush() -> None:
    """Wait for the purges of this process, such as a command that ends after its commit."""
    deadline = time.monotonic() + _MAX_FLUSH_SECONDS
    for purger in list(_purgers.values()):
        purger.flush(deadline)
