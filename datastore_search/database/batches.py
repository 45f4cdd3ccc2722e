"""Read the rows of a statement in batches, while PostgreSQL sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from psycopg import capabilities, errors, generators, pq

#: How long PostgreSQL has to accept the cancellation of a statement that is no longer read.
_CANCEL_TIMEOUT_SECONDS = 5.0

_IDLE = pq.TransactionStatus.IDLE

Result = TypeVar("Result")


class TextBatch(NamedTuple):
    """
    Some rows of a statement, as the texts that PostgreSQL sends, in UTF-8; None for SQL's null.

    ``last`` holds the last column of these rows.  ``head`` holds the other columns of the
    statement's first row, if there is one; the values of other rows are not read.
    """

    head: tuple[bytes | None, ...]
    last: list[bytes | None]


class _Sent(NamedTuple):
    """A message, where Django's log of statements looks for it: in ``_query`` of a cursor."""

    query: bytes


#: Takes the rows of a statement in batches, while PostgreSQL sends them.
BatchReader = Callable[[Iterator[TextBatch]], Result]


class BatchCursor(psycopg.ClientCursor[Any]):
    """
    A cursor that passes rows on in batches while PostgreSQL sends them, and stores none.

    Each batch costs some microseconds, and more while other threads wait for Python's lock.

    ``psycopg`` has this as ``stream``, by a protocol that takes only one statement in a message.

    Source: libpq, "Retrieving Query Results in Chunks".
    """

    _query: Any

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        before: int,
        read_result: BatchReader[Any],
        batch_rows: int | None,
    ) -> None:
        """
        Prepare to read the last statement of a message, which has ``before`` others before it.

        ``batch_rows`` are in memory at once; None for all rows.
        """
        super().__init__(connection)
        self._statements_before = before
        self._read_result = read_result
        self._batch_rows = batch_rows
        self.result: Any = None

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Run a message, and read the rows of its last statement."""
        connection = self.connection
        if not connection.autocommit and connection.pgconn.transaction_status == _IDLE:
            super().execute(b"")  # begins the transaction
        message = self.mogrify(query, params).encode()  # Django sets UTF-8
        self._query = _Sent(message)
        driver = connection.pgconn
        with connection.lock:
            try:
                driver.send_query(message)
                if self._batch_rows is not None:
                    if capabilities.has_stream_chunked():
                        driver.set_chunked_rows_mode(self._batch_rows)
                    else:  # a libpq before 17: row by row
                        driver.set_single_row_mode()
                    connection.wait(generators.send(driver))
                self.result = self._read_result(self._read_batches())
            finally:
                if driver.transaction_status == pq.TransactionStatus.ACTIVE:
                    _cancel_statement(connection)
        return self

    def _read_batches(self) -> Iterator[TextBatch]:
        before, head = self._statements_before, None
        results = _fetch_all_results if self._batch_rows is None else _fetch_results
        for result in results(self.connection):
            if before:
                before -= result.status == pq.ExecStatus.TUPLES_OK  # the end of its rows
                continue
            rows, last = result.ntuples, result.nfields - 1
            if head is None:
                head = tuple(map(result.get_value, repeat(0), range(last if rows else 0)))
            elif not rows:
                continue
            yield TextBatch(head, list(map(result.get_value, range(rows), repeat(last))))


def _fetch_all_results(connection: psycopg.Connection[Any]) -> Iterable[pq.abc.PGresult]:
    """Read the results of a message, all at once."""
    results: list[pq.abc.PGresult] = connection.wait(generators.execute(connection.pgconn))
    for result in results:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result)
    return results


def _fetch_results(connection: psycopg.Connection[Any]) -> Iterator[pq.abc.PGresult]:
    """Read the results of a message to its end; those that have arrived need no waiting."""
    driver = connection.pgconn
    failure: psycopg.Error | None = None
    while True:
        is_there = not driver.is_busy()
        result = driver.get_result() if is_there else connection.wait(generators.fetch(driver))
        if result is None:
            break
        if result.status == pq.ExecStatus.FATAL_ERROR:
            failure = errors.error_from_result(result)
        elif failure is None:
            yield result
    if failure:
        raise failure


def _cancel_statement(connection: psycopg.Connection[Any]) -> None:
    """Cancel a statement that still runs, so that the connection is ready for another one."""
    try:
        connection.cancel_safe(timeout=_CANCEL_TIMEOUT_SECONDS)
        while connection.wait(generators.fetch(connection.pgconn)) is not None:
            pass
    except psycopg.Error:
        connection.close()
