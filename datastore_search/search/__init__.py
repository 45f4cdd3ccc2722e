"""
The only read path: from a resource and a query to records.

``reads`` answers from one version of a resource.  ``query`` binds a query to it, ``plan`` chooses
the statement that reads a page of records or all of them, and ``run`` runs it.  PostgreSQL writes
each record as text, which is not parsed on its way to the client (``records``), unless an
``AnswerMember`` needs it.
"""

from ..filters.names import ID
from .plan import compile_sort_key, count_and_read
from .query import (
    MAX_LIMIT_IN_MEMORY,
    AnswerMember,
    BoundQuery,
    Column,
    Columns,
    Query,
    RecordsFormat,
    bind_query,
    describe_fields,
)
from .reads import (
    ConsistentRead,
    Profiles,
    Relation,
    StaleVersion,
    VersionKey,
    build_relation,
    find_profiles,
    open_snapshot,
    retry_if_stale,
    translate_database_errors,
    with_consistent_read,
)
from .records import FoundRecords, RawJson, RecordSizes, parse_raw_json
from .run import (
    RecordCopy,
    SearchAnswer,
    Stream,
    check_has_records,
    copy_records,
    read_answer,
)
