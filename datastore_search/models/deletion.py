"""What is deleted with resources and table versions: record tables."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ..database.tables import (
    drop_record_table,
    list_record_tables,
    mark_unserved,
    read_unserved_since,
)

#: A table that is not served since then is dropped by the next clean-up.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def drop_tables_on_commit(table_ids: Iterable[int], *, using: str) -> None:
    """Drop some record tables once the transaction is committed."""

    def drop() -> None:
        for table_id in table_ids:
            if not drop_record_table(connections[using], table_id):
                mark_unserved(connections[using], table_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)


def drop_deleted_tables(connection: BaseDatabaseWrapper, *, served: set[int]) -> int:
    """Drop the tables that were being read when they were to be dropped; return how many."""
    since = read_unserved_since(connection, list_record_tables(connection) - served)
    deleted = (table_id for table_id, moment in since.items() if moment == _LONG_AGO)
    return sum(drop_record_table(connection, table_id) for table_id in deleted)
