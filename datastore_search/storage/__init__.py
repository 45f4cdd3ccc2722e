"""
What lies in PostgreSQL: tables, sessions, locks and the server itself.

This package knows tables and connections, no models.
"""

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
    another_session,
    cancel_statements,
    is_at_work,
    load_at_work,
    lock_aliases,
    resource_at_work,
)
from .merging import add_rows, change_records, drop_taken, stage_rows, taken_lines
from .server import cast_texts, is_supported, knows_letters, search_languages, stored_sql
from .sessions import Gather, Session, Texts, reading, snapshot
from .tables import (
    FIELDS_MOST,
    Sizes,
    drop_records,
    record_bytes,
    record_sizes,
    record_table,
    remove_fields,
    stored_loads,
)

__all__ = [
    "FIELDS_MOST",
    "Gather",
    "Indexes",
    "Session",
    "Sizes",
    "Texts",
    "add_orders",
    "add_rows",
    "another_session",
    "cancel_statements",
    "cast_texts",
    "change_records",
    "count_common",
    "create_records",
    "drop_orders",
    "drop_records",
    "drop_taken",
    "index_records",
    "is_at_work",
    "is_supported",
    "key_value",
    "knows_letters",
    "load_at_work",
    "lock_aliases",
    "reading",
    "record_bytes",
    "record_sizes",
    "record_table",
    "remove_fields",
    "resource_at_work",
    "search_languages",
    "set_key",
    "snapshot",
    "stage_rows",
    "stored_loads",
    "stored_sql",
    "take_statistics",
    "taken_lines",
]
