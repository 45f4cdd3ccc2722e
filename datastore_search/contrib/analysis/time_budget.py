"""The time that the statements of one call may take together."""

from __future__ import annotations

from datetime import timedelta
from time import monotonic
from typing import Any

from ...filters import Clause
from ...messages.availability import QueryTooSlow
from ...search import ConsistentRead, translate_database_errors
from .conf import conf

#: The time limits that PostgreSQL takes; zero would be none.
_MIN_TIMEOUT_SECONDS, _MAX_TIMEOUT_SECONDS = 0.001, 86_400


class TimeBudget:
    """``conf.FACETS_TIMEOUT`` or a shorter time; ``is_untouched`` until a statement runs."""

    def __init__(self, timeout: timedelta = timedelta.max) -> None:
        self.timeout = min(conf.FACETS_TIMEOUT, timeout)
        self.is_untouched = True
        self._deadline = monotonic() + self.timeout.total_seconds()

    def fetch_rows(
        self, read: ConsistentRead, statement: Clause, *, share: float = 1
    ) -> list[tuple[Any, ...]] | None:
        """
        Run a statement within a ``share`` of the time that is left; None if that is too short.

        Raises: ``StaleVersion``, as ``ConsistentRead.fetch_rows``.
        """
        self.is_untouched = False
        remaining = (self._deadline - monotonic()) * share
        if remaining < _MIN_TIMEOUT_SECONDS:
            return None
        limit = timedelta(seconds=min(remaining, _MAX_TIMEOUT_SECONDS))
        try:
            with translate_database_errors():
                return read.fetch_rows(statement, limit=limit)
        except QueryTooSlow:
            return None
