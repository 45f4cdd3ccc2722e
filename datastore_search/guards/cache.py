"""
Caches for all threads of a process: of what was used last, and of one value for a second.

``SharedCache`` is Django's cache, for what the processes of a portal count and mark together.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Final, Generic, TypeVar
from weakref import WeakSet

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, CacheHandler
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """
    At most ``max_entries`` values, of ``max_size`` together; those used longest ago are removed.

    ``measure`` returns the size of a value; without it, none has a size.  A value larger than
    ``max_value_size`` is not added.  ``name`` is the cache's name in metrics.
    """

    #: All caches of the process.
    caches: ClassVar[WeakSet[BoundedCache[Any, Any]]] = WeakSet()

    def __init__(
        self,
        name: str,
        max_entries: int,
        *,
        max_size: int = 0,
        max_value_size: int = 0,
        measure: Callable[[Value], int] = lambda _value: 0,
    ) -> None:
        self.name = name
        self._max_entries = max_entries
        self._max_size, self._max_value_size = max_size, max_value_size
        self._measure = measure
        self._size = 0
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()
        #: How often there was no value, and a value.
        self._lookups = [0, 0]
        self.caches.add(self)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            self._lookups[value is not None] += 1
        return value

    def add(self, key: Key, value: Value) -> None:
        size = self._measure(value)
        if size > self._max_value_size:
            return
        with self._lock:
            self._discard(key)
            self._entries[key] = value
            self._size += size
            while len(self._entries) > self._max_entries or self._size > self._max_size:
                self._discard(next(iter(self._entries)))

    def take_lookups(self) -> list[int]:
        """Return the misses and the hits since the last call."""
        with self._lock:
            taken, self._lookups = self._lookups, [0, 0]
        return taken

    def remove(self, key: Key) -> None:
        with self._lock:
            self._discard(key)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._size = 0

    def _discard(self, key: Key) -> None:
        value = self._entries.pop(key, None)
        if value is not None:
            self._size -= self._measure(value)


class BriefCache(Generic[Value]):
    """One value, which is replaced at most once a second."""

    max_age_seconds: ClassVar[float] = 1.0

    #: There is none until ``set`` is called.
    value: Value

    def __init__(self) -> None:
        self._set_at = -math.inf
        self._lock = Lock()

    @contextmanager
    def refresh(self) -> Iterator[bool]:
        """
        Yield whether the block must set the value, because it is old or missing.

        Where the value is old, one thread at a time sets it; the others use the old one meanwhile.
        """
        set_at = self._set_at
        if time.monotonic() - set_at < self.max_age_seconds:
            yield False
            return
        is_first = self._lock.acquire(blocking=False)
        try:
            yield is_first or set_at == -math.inf
        finally:
            if is_first:
                self._lock.release()

    def set(self, value: Value) -> None:
        self.value, self._set_at = value, time.monotonic()

    def clear(self) -> None:
        self._set_at = -math.inf


#: The options of Django's and other known caches that limit the wait for their server.
_TIMEOUTS: Final[Mapping[str, tuple[str, str]]] = {
    "django.core.cache.backends.redis.RedisCache": ("socket_connect_timeout", "socket_timeout"),
    "django.core.cache.backends.memcached.PyMemcacheCache": ("connect_timeout", "timeout"),
    "django_redis.cache.RedisCache": ("SOCKET_CONNECT_TIMEOUT", "SOCKET_TIMEOUT"),
}


class CacheUnavailable(Exception):
    """Django's cache does not answer at the moment."""


class SharedCache:
    """
    Django's cache, with its methods, for counts and marks: no answer waits for them.

    Where its server fails or does not answer in time, every method raises ``CacheUnavailable``, and
    for the next second without a wait.
    """

    max_wait_seconds: ClassVar[float] = 0.05
    retry_seconds: ClassVar[float] = 1.0
    log_seconds: ClassVar[float] = 60.0

    def __init__(self) -> None:
        self._failed_at = self._logged_at = -math.inf
        self._configured: object = None

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        if self._configured is not settings.CACHES:
            configured = settings.CACHES[DEFAULT_CACHE_ALIAS]
            backend: Any = import_string(configured["BACKEND"])
            bases = [f"{base.__module__}.{base.__qualname__}" for base in backend.__mro__]
            names = next((_TIMEOUTS[base] for base in bases if base in _TIMEOUTS), ())
            given = configured.get("OPTIONS", {})
            limits = {
                name: min(given.get(name) or math.inf, self.max_wait_seconds) for name in names
            }
            limited = {**configured, "OPTIONS": {**given, **limits}}
            self._caches = CacheHandler({DEFAULT_CACHE_ALIAS: limited})
            self._configured, self._failed_at = settings.CACHES, -math.inf
        now = time.monotonic()
        if now - self._failed_at < self.retry_seconds:
            raise CacheUnavailable
        if self._failed_at > -math.inf:
            self._failed_at = now  # the other threads do not wait for this attempt
        try:
            result = getattr(self._caches[DEFAULT_CACHE_ALIAS], method)(*args, **options)
        except Exception as error:
            self._failed_at = time.monotonic()
            if now - self._logged_at >= self.log_seconds:
                self._logged_at = now
                logger.warning("Nothing is counted: Django’s cache does not answer. %r", error)
            raise CacheUnavailable from error
        self._failed_at = -math.inf
        return result


#: Django's cache of this process.
shared_cache: Final = SharedCache()
