"""What is deleted with resources and table versions: record tables."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import connections, transaction

from ..database.tables import drop_record_table
from ..database.unserved import mark_unserved

#: A table that is not served since then is dropped by the next clean-up.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def drop_tables_on_commit(table_ids: Iterable[int], *, using: str) -> None:
    """Drop some record tables once the transaction is committed."""

    def drop() -> None:
        for table_id in table_ids:
            if not drop_record_table(connections[using], table_id):
                mark_unserved(connections[using], table_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)
