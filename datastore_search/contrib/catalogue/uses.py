"""
Count the uses of each table, for the list of the most used ones.

A use is a request of a page, a download or an action that reads, which names a resource and is
answered without an error; robots count, and what a cache in front answers does not.  A process
counts in memory, and a thread adds what it has counted to the table: no request waits for it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final
from uuid import UUID

from django.db import Error, connections, router
from psycopg import sql

from ...api.actions import actions
from ...database.statements import begin_write_transaction, write_rows
from ...messages import DatastoreError
from ...models import Resource
from .models import Use

logger = logging.getLogger(__name__)

#: How often a process writes what it has counted; it loses what it has not written at its end.
SECONDS_BETWEEN_WRITES = 10.0

#: Other resources are not counted until the next write.
MAX_COUNTED: Final = 10_000

_ADD: Final = """
INSERT INTO {uses} AS kept (resource_id, month, requests)
SELECT id, date_trunc('month', now() AT TIME ZONE 'UTC'), added
FROM unnest(%s::uuid[], %s::bigint[]) AS counted (id, added) ORDER BY id
ON CONFLICT (resource_id, month) DO UPDATE SET requests = kept.requests + excluded.requests
"""


class _Counts:
    """What a process has counted and not yet written."""

    def __init__(self) -> None:
        self._lock, self._by_resource = Lock(), Counter[UUID]()
        self._taken_at = monotonic()

    def add(self, resource_id: UUID) -> Mapping[UUID, int]:
        """Count a use; return all counts when they are to be written."""
        with self._lock:
            counts, now = self._by_resource, monotonic()
            if resource_id in counts or len(counts) < MAX_COUNTED:
                counts[resource_id] += 1
            if now - self._taken_at < SECONDS_BETWEEN_WRITES:
                return {}
            self._by_resource, self._taken_at = Counter(), now
        return counts


_counts = _Counts()


def count_use(
    sender: type[Resource], name: str, status: int, resource: Resource | None, **_more: Any
) -> None:
    """Count a request that was answered, and write the counts in a thread when it is time."""
    is_writing = name in actions and actions[name].is_writing
    if resource is None or is_writing or status >= HTTPStatus.BAD_REQUEST:
        return
    if counts := _counts.add(resource.pk):
        # Where the process may have no more threads, the error is logged as one of a receiver.
        Thread(target=_write, args=[counts], name="datastore_search_uses", daemon=True).start()


def _write(counts: Mapping[UUID, int]) -> None:
    try:
        add_uses(counts)
    except (DatastoreError, Error) as error:
        logger.warning("The uses of %s tables are not counted: %s", len(counts), error)
    finally:
        connections.close_all()


def add_uses(counts: Mapping[UUID, int]) -> None:
    """Add to the uses of this month, by the ids of resources."""
    connection = connections[router.db_for_write(Use)]
    statement = sql.SQL(_ADD).format(uses=sql.Identifier(Use._meta.db_table))
    with begin_write_transaction(connection):
        write_rows(connection, statement, [[*counts], [*counts.values()]])


def find_first_day() -> date:
    """Find the day since which uses are counted: the first one of the last month, in UTC."""
    last = datetime.now(UTC).replace(day=1) - timedelta(days=1)
    return last.replace(day=1).date()


def clean_up() -> Iterator[str]:
    """Delete the uses of earlier months."""
    uses = Use.objects.using(router.db_for_write(Use))
    if number := uses.filter(month__lt=find_first_day()).delete()[0]:
        yield f"Deleted the counts of uses of earlier months: {number}."
