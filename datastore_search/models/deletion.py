"""What is deleted with resources and table versions: record tables and uploads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

from django.db import connections, transaction

from .. import database as storage
from .loads import get_upload_storage

#: A table that is not served since then is dropped by the next clean-up.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def drop_tables_on_commit(table_ids: Iterable[int], *, using: str) -> None:
    """Drop some record tables once the transaction is committed."""

    def drop() -> None:
        for table_id in table_ids:
            if not storage.drop_record_table(connections[using], table_id):
                storage.mark_unserved(connections[using], table_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)


def delete_uploads_on_commit(names: Iterable[str], *, using: str) -> None:
    """Delete some uploads once the transaction is committed; a clean-up deletes what is left."""
    for name in names:
        transaction.on_commit(partial(get_upload_storage().delete, name), using=using, robust=True)
