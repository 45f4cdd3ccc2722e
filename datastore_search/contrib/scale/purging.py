"""
Purge caches in front after a change: ``PURGE`` with the surrogate keys, in a thread.

A write only adds its keys to a list, so a cache that is gone neither delays it nor lets it fail.
The purge is sent again for answers that were read before the change (``docs/decisions/0056``).
"""

from __future__ import annotations

import atexit
import http.client
import logging
import os
from collections.abc import Collection
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, Final

from ...models.base import report_change
from .conf import conf
from .routers import get_max_age

logger = logging.getLogger(__name__)

#: More than the time of an answer that ``docs/how-to/varnish.vcl`` keeps.
AGAIN_SECONDS: Final = 0.75

#: The seconds before a failed purge is sent again; after the last one it is lost.
_RETRY_SECONDS: Final = (0.25, 1.0, 4.0)

#: Limits of waiting purges and of the keys of one; a pattern replaces longer lists of keys.
_MAX_WAITING, _MAX_KEYS, _EVERY_KEY = 10_000, 100, (".*",)
_TIMEOUT_SECONDS, _MAX_FLUSH_SECONDS, _STEP_SECONDS = 1.0, 15.0, 0.01


class Purger:
    """The purges that wait for one cache, and the thread that sends them."""

    def __init__(self, address: str) -> None:
        self._host = address.removeprefix("http://")
        #: When each purge is due, how often it has failed, and its keys.
        self._waiting: list[tuple[float, int, Collection[str]]] = []
        self._lock, self._is_running = Lock(), False
        self._thread: Thread | None = None

    def add(self, keys: Collection[str], delay: float, failures: int = 0) -> None:
        """Purge keys after a delay in seconds; without room, or after too many failures, log it."""
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING or failures > len(_RETRY_SECONDS):
                logger.error("The purge of %s keys at %s is lost.", len(keys), self._host)
                return
            self._waiting.append((monotonic() + delay, failures, keys))
            if self._is_running and self._thread and self._thread.is_alive():
                return
            thread = Thread(target=self._run, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the process has too many; the next purge tries again
                logger.exception("The purges at %s wait until a thread can start.", self._host)
            else:
                self._thread, self._is_running = thread, True

    def flush(self) -> None:
        """Wait at most ``_MAX_FLUSH_SECONDS`` until all purges are sent."""
        if self._thread:
            self._thread.join(_MAX_FLUSH_SECONDS)
        if self._waiting or self._is_running:
            logger.error("The last purges at %s are lost.", self._host)

    def _run(self) -> None:
        while True:
            now = monotonic()
            with self._lock:
                due = [each for each in self._waiting if each[0] <= now]
                self._waiting = [each for each in self._waiting if each[0] > now]
                if not (due or self._waiting):
                    self._is_running = False
                    return
            if not due:
                sleep(_STEP_SECONDS)
                continue
            keys, failures = {key for each in due for key in each[2]}, max(each[1] for each in due)
            named = " ".join(keys if len(keys) <= _MAX_KEYS else _EVERY_KEY)
            connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_SECONDS)
            try:
                connection.request("PURGE", "/", headers={"Surrogate-Key": named})
                is_purged = connection.getresponse().status == http.client.OK
            except (OSError, http.client.HTTPException):
                is_purged = False
            finally:
                connection.close()
            if not is_purged:
                self.add(keys, (*_RETRY_SECONDS, 0)[failures], failures + 1)


_purgers: dict[str, Purger] = {}

# A forked process has no threads; what waited is purged by the process that it came from.
os.register_at_fork(after_in_child=_purgers.clear)


def report_row(sender: Any, instance: Any, using: str, **_signal: object) -> None:
    """Report that a row is saved or deleted; before it is saved, it may belong elsewhere."""
    report_change(sender.objects.using(using).filter(pk=instance.pk))


def purge(*, keys: Collection[str], **_signal: Any) -> None:
    """Purge the keys of ``answers_changed`` from each cache: now, again, and if replicas lag."""
    lags = [get_max_age() + 1] if conf.REPLICAS else []
    for address in conf.CACHE_ADDRESSES:
        purger = _purgers.setdefault(address, Purger(address))
        for delay in (0.0, AGAIN_SECONDS, *lags):
            purger.add(keys, delay)


@atexit.register
def flush() -> None:
    """Wait for the purges of this process, such as a command that ends after its commit."""
    for purger in list(_purgers.values()):
        purger.flush()
