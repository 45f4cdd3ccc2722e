"""What is in PostgreSQL: tables, sessions, locks and the server itself, without models."""

from ..guards.watchdog import Watched
from ..field_types.limits import MAX_FIELDS
from .batches import BatchReader, TextBatch
from datastore_search.contrib.operations.tables import FoundIndex, TableDiagnosis, diagnose_record_table, find_value_types, list_damaged_functions, list_damaged_triggers, rebuild_index, restore_functions, restore_triggers, restore_vectors
from datastore_search.contrib.files.tables.filling import Batch, create_records
from .indexes import (
    Indexes,
    add_indexes,
    analyze_records,
    build_key_expression,
    count_common_values,
    create_indexes,
    create_order_indexes,
    name_key_index,
    name_order_index,
    set_key,
)
from datastore_search.contrib.files.tables.locks import JobLock, begin_load_transaction, cancel_statements, hold_job_lock, is_running, lock_aliases
from datastore_search.contrib.files.tables.merging import add_rows, delete_taken_rows, read_taken_lines, stage_rows, update_records
from .refusals import explain_refusal, is_connection_lost
from .server import (
    MIN_LOAD_CONNECTIONS,
    can_fold_case,
    cast_texts,
    count_load_connections,
    get_pool_size,
    has_time_zone,
    is_supported,
    list_search_languages,
    measure_locks,
    read_sql_file,
)
from .sessions import Session, open_session, open_snapshot
from .substrings import (
    SUBSTRINGS_TEXT,
    create_substring_index,
    estimate_substring_share,
    has_trigrams,
    name_substring_index,
)
from .tables import (
    NewTable,
    TableSizes,
    count_records,
    create_table,
    drop_indexes,
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
from datastore_search.contrib.operations.unserved import mark_unserved, read_unserved_since
from .writes import RowToLock, begin_write_transaction, refuse_if_blocked
