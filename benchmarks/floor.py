"""
The floor: exactly the statements that the portal sent, by psycopg alone.

They are sent over a separate connection with the portal's settings, in the same transactions as the
portal's.  Their results are fetched and discarded.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, groupby
from typing import Any

from django.db import connections, router
from psycopg import ClientCursor, Connection

from datastore_search.models import Load

from .statements import Statement, is_reading, is_setting
from .timing import LEAST, Timing, find_typical

#: Maximum answers of a round.
_MOST = 1_000
_EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY) "
_TIMES = re.compile(r"(?:Planning|Execution) Time: ([\d.]+) ms")


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
        self._explained: list[float] = []

    def replay(self, seconds: float) -> None:
        """Send them for some seconds, or until there are enough answers."""
        if not self._transactions:
            return
        taken: list[float] = []
        begin = now = time.perf_counter()
        while len(taken) < LEAST or (now - begin < seconds and len(taken) < _MOST):
            self._send()
            then, now = now, time.perf_counter()
            taken.append(now - then)
        self._timings.append(Timing.of(taken, now - begin))

    def explain(self) -> None:
        """Measure PostgreSQL's planning and execution of their queries."""
        if self._transactions:
            for _ in range(LEAST):
                self._explained.append(sum(map(self._time_statements, self._transactions)))

    @property
    def timing(self) -> Timing | None:
        """Their times, from all rounds; None without statements."""
        return find_typical(self._timings) if self._timings else None

    @property
    def postgresql_ms(self) -> float | None:
        """PostgreSQL's times, from all rounds; None without statements."""
        return statistics.median(self._explained) if self._explained else None

    def _send(self) -> None:
        for statements in self._transactions:
            is_open = statements[0].transacted
            with self._connection.transaction() if is_open else nullcontext():
                for statement in statements:
                    with ClientCursor(self._connection) as cursor:
                        (_copy if statement.copies else _fetch)(cursor, statement.text)

    def _time_statements(self, statements: Sequence[Statement]) -> float:
        """Explain the queries of a transaction, under its settings up to then."""
        taken = 0.0
        with self._connection.transaction(), ClientCursor(self._connection) as cursor:
            for command in chain.from_iterable(statement.commands for statement in statements):
                if is_setting(command):
                    cursor.execute(command.encode())
                elif is_reading(command):
                    taken += _explain_ms(cursor, command)
        return taken


def _group_transactions(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Split the statements into transactions; one outside of any is a transaction by itself."""
    parted: list[list[Statement]] = []
    for transacted, found in groupby(statements, key=lambda statement: statement.transacted):
        group = list(found)
        parted += [group] if transacted else [[statement] for statement in group]
    return parted


def _explain_ms(cursor: ClientCursor[Any], query: str) -> float:
    cursor.execute((_EXPLAIN + query).encode())
    plan = "\n".join(line for (line,) in cursor.fetchall())
    return sum(map(float, _TIMES.findall(plan)))


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
