"""
Statements that have exceeded their time limit, which are not sent again for a while.

Such a statement holds a slot until its limit, and a client that repeats it would hold the slot for
good.  A statement is remembered for one version of a resource and one time limit, so an
authenticated client with a longer limit is not refused (``docs/decisions/0045``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from hashlib import blake2b
from time import monotonic
from typing import Final, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import errors

from ..bounded_cache import BoundedCache
from ..exceptions.availability import QuestionKnownTooSlow
from ..filters import Clause

#: For how many times its limit a statement is refused: it runs for a fifth of the time at most.
_REFUSED_LIMITS: Final = 4

#: A statement that was cancelled before this share of its limit was cancelled by something else.
_MIN_SHARE: Final = 0.9

_MAX_STATEMENTS: Final = 1_000

Answer = TypeVar("Answer")

_Key = tuple[Hashable, int, bytes]


class SlowStatements:
    """The statements of this process that have exceeded their limits, and until when."""

    def __init__(self) -> None:
        """Begin without any."""
        self._refused_until: BoundedCache[_Key, float] = BoundedCache(
            "slow_statements", _MAX_STATEMENTS
        )
        # While no statement is refused, none is looked up.
        self._last_refused_until = 0.0

    def run(
        self,
        send: Callable[[], Answer],
        connection: BaseDatabaseWrapper,
        version: Hashable | None,
        statement: Clause,
        timeout_ms: int,
    ) -> Answer:
        """
        Send a statement unless it is remembered, and remember it if it exceeds its limit.

        Raises: ``QuestionKnownTooSlow``; whatever ``send`` raises.
        """
        if version is None or not timeout_ms:
            return send()
        started_at = monotonic()
        if started_at < self._last_refused_until:
            self._raise_if_refused(_build_key(connection, version, statement, timeout_ms))
        try:
            return send()
        except DatabaseError as error:
            share = (monotonic() - started_at) * 1000 / timeout_ms
            if isinstance(error.__cause__, errors.QueryCanceled) and share >= _MIN_SHARE:
                key = _build_key(connection, version, statement, timeout_ms)
                self._remember(key, timeout_ms / 1000 * _REFUSED_LIMITS)
            raise

    def forget(self) -> None:
        """Forget all statements."""
        self._refused_until.clear()
        self._last_refused_until = 0.0

    def _raise_if_refused(self, key: _Key) -> None:
        seconds = (self._refused_until.get(key) or 0) - monotonic()
        if seconds > 0:
            raise QuestionKnownTooSlow(seconds=math.ceil(seconds))

    def _remember(self, key: _Key, seconds: float) -> None:
        until = monotonic() + seconds
        self._refused_until.add(key, until)
        self._last_refused_until = max(self._last_refused_until, until)


def _build_key(
    connection: BaseDatabaseWrapper, version: Hashable, statement: Clause, timeout_ms: int
) -> _Key:
    """Build the key of a statement, whose values are only kept as a digest."""
    digest = blake2b(statement.text.as_bytes(connection.connection), digest_size=16)
    digest.update(repr(statement.parameters).encode(errors="surrogatepass"))
    return version, timeout_ms, digest.digest()


slow_statements = SlowStatements()
