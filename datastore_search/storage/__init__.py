"""
What is in PostgreSQL: tables, sessions, locks and the server itself.

This package works on tables and connections, without models.
"""

from ..table_limits import MAX_FIELDS
from .admission import admitted
from .batches import Gather, Texts
from .filling import create_records
from .indexes import (
    Indexes,
    analyze_records,
    count_common_values,
    create_indexes,
    create_order_indexes,
    drop_order_indexes,
    key_expression,
    set_key,
)
from .locks import (
    JobLock,
    cancel_statements,
    hold_job_lock,
    is_running,
    load_transaction,
    lock_aliases,
)
from .merging import add_rows, delete_taken_rows, read_taken_lines, stage_rows, update_records
from .refusals import explain_refusal
from .server import can_fold_case, cast_texts, is_supported, list_search_languages, read_sql_file
from .sessions import Session, reading, snapshot
from .tables import (
    NewTable,
    TableSizes,
    count_records,
    create_table,
    drop_record_table,
    drop_staging_table,
    has_table,
    list_record_tables,
    list_staging_tables,
    measure_record_table,
    measure_record_tables,
    next_table_id,
    record_table,
    remove_fields,
)
from .unserved import mark_unserved, read_unserved_since
from .watchdog import Watched
from .writes import Row, refuse_if_blocked, write_transaction

__all__ = [
    "MAX_FIELDS",
    "Gather",
    "Indexes",
    "JobLock",
    "NewTable",
    "Row",
    "Session",
    "TableSizes",
    "Texts",
    "Watched",
    "add_rows",
    "admitted",
    "analyze_records",
    "can_fold_case",
    "cancel_statements",
    "cast_texts",
    "count_common_values",
    "count_records",
    "create_indexes",
    "create_order_indexes",
    "create_records",
    "create_table",
    "delete_taken_rows",
    "drop_order_indexes",
    "drop_record_table",
    "drop_staging_table",
    "explain_refusal",
    "has_table",
    "hold_job_lock",
    "is_running",
    "is_supported",
    "key_expression",
    "list_record_tables",
    "list_search_languages",
    "list_staging_tables",
    "load_transaction",
    "lock_aliases",
    "mark_unserved",
    "measure_record_table",
    "measure_record_tables",
    "next_table_id",
    "read_sql_file",
    "read_taken_lines",
    "read_unserved_since",
    "reading",
    "record_table",
    "refuse_if_blocked",
    "remove_fields",
    "set_key",
    "snapshot",
    "stage_rows",
    "update_records",
    "write_transaction",
]
