"""
Index the order of a field when searches ask for it again (decision 0013).

A load makes no such index: most fields are never sorted by.  The second search of a process that
sorts or compares by a field has it indexed in a thread, and later loads keep an index that
PostgreSQL has used.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection
from threading import Lock, Thread
from typing import Any

from django.db import Error, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from ....database.indexes import analyze_records, name_order_index
from ....database.statements import fetch_column, keep_modified_at
from ....database.tables import name_record_table
from ....guards.cache import BoundedCache
from ....messages import DatastoreError
from ....models import MAX_ORDER_INDEXES, Origin, Resource
from ....writing import open_writer

logger = logging.getLogger(__name__)

#: A table, and a field whose order a search has wanted; the value says whether it is queued.
_wanted: BoundedCache[tuple[int, str], bool] = BoundedCache("wanted_orders", 10_000)

_queue: deque[tuple[int, str]] = deque(maxlen=100)
_is_running = Lock()


def note_orders(
    sender: type[Resource], resource: Resource, names: Collection[str], **_more: Any
) -> None:
    """Note that a search wanted orders that have no index, and index those wanted before."""
    version = resource.table_version
    if version is None or version.origin != Origin.FILE:
        return
    for name in names:
        key = (version.pk, name)
        if (is_queued := _wanted.get(key)) is False:
            _queue.append(key)
        if not is_queued:
            _wanted.add(key, is_queued is False)
    if _queue and _is_running.acquire(blocking=False):
        try:
            Thread(target=_index_queued, name="datastore_search_orders", daemon=True).start()
        except RuntimeError:  # this process may have no more threads
            _is_running.release()


def _index_queued() -> None:
    try:
        while _queue:
            index_order(*_queue.popleft())
    finally:
        connections.close_all()
        _is_running.release()


def index_order(table_id: int, name: str) -> None:
    """Index the order of a field of a table that is served, if it may have such an index."""
    using = router.db_for_write(Resource)
    found = Resource.objects.using(using).filter(table_version=table_id).first()
    if found is None:
        return
    try:
        with open_writer(found) as writer:
            resource = writer.resource
            types = {each: kind for each, kind in resource.types.items() if each == name}
            has_room = len(resource.ordered_fields) < MAX_ORDER_INDEXES
            if resource.table_version_id != table_id or not has_room:
                return
            keep_modified_at(connections[using])  # nothing that a reader sees changes
            writer.index_orders([*resource.choose_indexes(types).orders])
        analyze_records(connections[using], table_id)  # without, PostgreSQL does not trust it
    except (DatastoreError, Error) as error:
        logger.warning("The order of a field of table %s is not indexed: %s", table_id, error)


def list_used_orders(connection: BaseDatabaseWrapper, resource: Resource) -> list[str]:
    """List the fields with an index of their order that PostgreSQL has used, or may have used."""
    table_id = resource.table_version_id
    if table_id is None:
        return []
    ordered = resource.fields.using(connection.alias).filter(has_order_index=True)
    indexes = {
        name_order_index(table_id, name): name for name in ordered.values_list("name", flat=True)
    }
    unused = fetch_column(
        connection,
        "SELECT indexrelname FROM pg_stat_user_indexes"
        " WHERE relid = to_regclass(%s) AND idx_scan = 0",
        [name_record_table(table_id)],
    )
    return [name for index, name in indexes.items() if index not in unused]
