"""
The floor: exactly the statements that the portal sent, by psycopg alone.

They are sent over a separate connection with the portal's settings, in the same transactions as the
portal's.  Their results are fetched and discarded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from typing import Any

from django.db import connections, router
from psycopg import ClientCursor, Connection

from datastore_search.contrib.files.models import Load

from .statements import Statement
from .timing import MIN_ANSWERS, Timing, find_typical

#: Maximum answers of a round.
_MAX_ANSWERS = 1_000


@contextmanager
def connect_for_floor() -> Iterator[Connection[Any]]:
    """Connect to the portal's database with the portal's settings."""
    wrapper = connections.create_connection(router.db_for_read(Load))
    wrapper.ensure_connection()
    try:
        yield wrapper.connection
    finally:
        wrapper.close()


class Floor:
    """The statements of one request, timed repeatedly."""

    def __init__(self, connection: Connection[Any], statements: Sequence[Statement]) -> None:
        """Send nothing yet."""
        self._connection = connection
        self._transactions = _group_transactions(statements)
        self._timings: list[Timing] = []

    def replay(self, seconds: float) -> None:
        """Send the statements for some seconds, or until there are enough answers."""
        if not self._transactions:
            return
        durations: list[float] = []
        started_at = now = time.perf_counter()
        while len(durations) < MIN_ANSWERS or (
            now - started_at < seconds and len(durations) < _MAX_ANSWERS
        ):
            self._send()
            then, now = now, time.perf_counter()
            durations.append(now - then)
        self._timings.append(Timing.of(durations, now - started_at))

    @property
    def timing(self) -> Timing | None:
        """The times of the statements, from all rounds; None without statements."""
        return find_typical(self._timings) if self._timings else None

    def _send(self) -> None:
        for statements in self._transactions:
            is_open = statements[0].transacted
            with self._connection.transaction() if is_open else nullcontext():
                for statement in statements:
                    with ClientCursor(self._connection) as cursor:
                        (_copy if statement.copies else _fetch)(cursor, statement.text)


def _group_transactions(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Split the statements into transactions; one outside of any is a transaction by itself."""
    transactions: list[list[Statement]] = []
    for transacted, run in groupby(statements, key=lambda statement: statement.transacted):
        group = list(run)
        transactions += [group] if transacted else [[statement] for statement in group]
    return transactions


def _copy(cursor: ClientCursor[Any], text: str) -> None:
    with cursor.copy(text.encode()) as blocks:
        for _block in blocks:
            pass


def _fetch(cursor: ClientCursor[Any], text: str) -> None:
    cursor.execute(text.encode())
    has_more: bool | None = True
    while has_more:
        if cursor.description is not None:
            cursor.fetchall()
        has_more = cursor.nextset()
