"""
The only read path: from a resource and a query to records.

``consistency`` answers from one version of a resource, by the statements of ``reads``.  ``binding``
makes a query fit the resource, ``plan`` chooses the statement that reads a page of records or, for
``streaming``, all of them, and ``pages`` runs it.  PostgreSQL writes each record as text
(``rendering``), which is not parsed on its way to the client, unless a ``PageMember`` needs it.
"""

from .binding import BoundQuery, bind_query
from .consistency import open_snapshot, retry_if_stale, with_consistent_read
from .pages import check_has_records, copy_records, count_matches, read_page
from .plan import compile_sort_key, count_and_read
from .query import (
    ID,
    MAX_LIMIT_IN_MEMORY,
    NextPage,
    Page,
    PageMember,
    Query,
    RecordsFormat,
    Relation,
    build_relation,
    describe_fields,
)
from .reads import ConsistentRead, StaleVersion, VersionKey, translate_database_errors
from .rendering import Column, Columns, FoundRecords, RawJson, RecordSizes, parse_raw_json
from .streaming import RecordCopy, Stream
