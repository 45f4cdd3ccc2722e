"""What is deleted with a load: its table and its file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

from django.db import connections, transaction

from .. import storage
from .loads import Load, upload_storage

#: Since then a table is not served that the next clean-up may drop.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def delete_loads_on_commit(loads: Iterable[Load], *, using: str) -> None:
    """Drop the tables of deleted loads, and their files, as soon as nothing can take it back."""
    known = list(loads)
    drop_tables_on_commit([load.pk for load in known], using=using)
    for name in (load.file.name for load in known):
        if name:
            # A file that a storage does not delete now is deleted by a later clean-up.
            transaction.on_commit(partial(upload_storage().delete, name), using=using, robust=True)


def drop_tables_on_commit(load_ids: Iterable[int], *, using: str) -> None:
    """Drop the tables of some loads as soon as nothing can take it back."""

    def drop() -> None:
        for load_id in load_ids:
            if not storage.drop_records(connections[using], load_id):
                storage.note_unserved(connections[using], load_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)
