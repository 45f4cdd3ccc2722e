"""
What is in PostgreSQL: tables, sessions, locks and the server itself.

This package works on tables and connections, without models.
"""

from ..guards.admission import admit_search
from ..guards.watchdog import Watched
from ..table_limits import MAX_FIELDS
from .batches import BatchReader, TextBatch
from .diagnosis import (
    FoundIndex,
    TableDiagnosis,
    diagnose_record_table,
    drop_index,
    list_damaged_functions,
    list_damaged_triggers,
    rebuild_index,
    restore_functions,
    restore_triggers,
    restore_vectors,
)
from .filling import Batch, create_records
from .indexes import (
    Indexes,
    add_indexes,
    analyze_records,
    build_key_expression,
    count_common_values,
    create_indexes,
    create_order_indexes,
    drop_order_indexes,
    name_key_index,
    name_order_index,
    set_key,
)
from .locks import (
    JobLock,
    begin_load_transaction,
    cancel_statements,
    hold_job_lock,
    is_running,
    lock_aliases,
)
from .merging import add_rows, delete_taken_rows, read_taken_lines, stage_rows, update_records
from .refusals import explain_refusal, is_connection_lost
from .server import (
    can_fold_case,
    cast_texts,
    has_time_zone,
    is_supported,
    list_search_languages,
    read_sql_file,
)
from .sessions import Session, open_session, open_snapshot
from .substrings import (
    SUBSTRINGS_TEXT,
    create_substring_index,
    drop_substring_index,
    estimate_substring_share,
    has_trigrams,
    name_substring_index,
)
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
    quote_record_table,
    remove_fields,
    reserve_table_id,
)
from .unserved import mark_unserved, read_unserved_since
from .writes import RowToLock, begin_write_transaction, refuse_if_blocked

__all__ = [
    "MAX_FIELDS",
    "SUBSTRINGS_TEXT",
    "Batch",
    "BatchReader",
    "FoundIndex",
    "Indexes",
    "JobLock",
    "NewTable",
    "RowToLock",
    "Session",
    "TableDiagnosis",
    "TableSizes",
    "TextBatch",
    "Watched",
    "add_indexes",
    "add_rows",
    "admit_search",
    "analyze_records",
    "begin_load_transaction",
    "begin_write_transaction",
    "build_key_expression",
    "can_fold_case",
    "cancel_statements",
    "cast_texts",
    "count_common_values",
    "count_records",
    "create_indexes",
    "create_order_indexes",
    "create_records",
    "create_substring_index",
    "create_table",
    "delete_taken_rows",
    "diagnose_record_table",
    "drop_index",
    "drop_order_indexes",
    "drop_record_table",
    "drop_staging_table",
    "drop_substring_index",
    "estimate_substring_share",
    "explain_refusal",
    "has_table",
    "has_time_zone",
    "has_trigrams",
    "hold_job_lock",
    "is_connection_lost",
    "is_running",
    "is_supported",
    "list_damaged_functions",
    "list_damaged_triggers",
    "list_record_tables",
    "list_search_languages",
    "list_staging_tables",
    "lock_aliases",
    "mark_unserved",
    "measure_record_table",
    "measure_record_tables",
    "name_key_index",
    "name_order_index",
    "name_substring_index",
    "open_session",
    "open_snapshot",
    "quote_record_table",
    "read_sql_file",
    "read_taken_lines",
    "read_unserved_since",
    "rebuild_index",
    "refuse_if_blocked",
    "remove_fields",
    "reserve_table_id",
    "restore_functions",
    "restore_triggers",
    "restore_vectors",
    "set_key",
    "stage_rows",
    "update_records",
]
