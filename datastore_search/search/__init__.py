"""
The only read path: from a resource and a query to records.

``consistency`` lets all statements of an answer see one version of the resource.  ``sql`` binds the
query to the fields of the resource, and ``plan`` chooses the statement that reads a page of records
or, for ``streaming``, all of them.  PostgreSQL writes each record as text (``rendering``), which is
not parsed on its way to the client, unless ``highlighting`` finds where records match.
"""

from .consistency import (
    ConsistentRead,
    StaleVersion,
    VersionKey,
    open_snapshot,
    retry_if_stale,
    translate_database_errors,
    with_consistent_read,
)
from .highlighting import FieldText, Span, find_matches
from .plan import copy_records, count_and_read, count_matches, read_page
from .query import (
    ID,
    MAX_LIMIT_IN_MEMORY,
    NextPage,
    Page,
    Query,
    RecordsFormat,
    Relation,
    build_relation,
    describe_fields,
)
from .rendering import Column, Columns, FoundRecords, RecordSizes, collect_records
from .sql import BoundQuery, compile_sort_key, compose, join_with_commas
from .streaming import RecordCopy, Stream
