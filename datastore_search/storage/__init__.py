"""
What lies in PostgreSQL: tables, sessions, locks and the server itself.

This package knows tables and connections, no models.
"""

from ..table_limits import MAX_FIELDS
from .admission import admitted
from .batches import Gather, Texts
from .filling import create_records
from .indexes import (
    Indexes,
    add_orders,
    count_common,
    drop_orders,
    index_records,
    key_value,
    set_key,
    take_statistics,
)
from .locks import (
    LoadLock,
    cancel_statements,
    is_at_work,
    load_at_work,
    lock_aliases,
    working,
)
from .merging import add_rows, change_records, drop_taken, stage_rows, taken_lines
from .refusals import refusal_of
from .server import cast_texts, is_supported, knows_letters, search_languages, stored_sql
from .sessions import Session, reading, snapshot
from .tables import (
    Sizes,
    count_records,
    drop_records,
    has_table,
    next_load_id,
    record_bytes,
    record_sizes,
    record_table,
    remove_fields,
    stored_loads,
)
from .unserved import note_unserved, unserved_since
from .watchdog import Watched
from .writes import Row, refuse_if_blocked, write_transaction

__all__ = [
    "MAX_FIELDS",
    "Gather",
    "Indexes",
    "LoadLock",
    "Row",
    "Session",
    "Sizes",
    "Texts",
    "Watched",
    "add_orders",
    "add_rows",
    "admitted",
    "cancel_statements",
    "cast_texts",
    "change_records",
    "count_common",
    "count_records",
    "create_records",
    "drop_orders",
    "drop_records",
    "drop_taken",
    "has_table",
    "index_records",
    "is_at_work",
    "is_supported",
    "key_value",
    "knows_letters",
    "load_at_work",
    "lock_aliases",
    "next_load_id",
    "note_unserved",
    "reading",
    "record_bytes",
    "record_sizes",
    "record_table",
    "refusal_of",
    "refuse_if_blocked",
    "remove_fields",
    "search_languages",
    "set_key",
    "snapshot",
    "stage_rows",
    "stored_loads",
    "stored_sql",
    "take_statistics",
    "taken_lines",
    "unserved_since",
    "working",
    "write_transaction",
]
