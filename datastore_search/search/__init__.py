"""
The only read path: from a resource and a query to records.

``consistency`` lets all statements of an answer see one version of the resource.  ``sql`` binds the
query to the fields of the resource, and ``plan`` chooses the statement that reads a page of records
or, for ``streaming``, all of them.  PostgreSQL writes each record as text (``rendering``), which is
not parsed on its way to the client.
"""

from .consistency import (
    ConsistentRead,
    StaleVersion,
    open_snapshot,
    retry_if_stale,
    translate_database_errors,
    with_consistent_read,
)
from .plan import count_matches, read_page
from .query import ID, NextPage, Page, Query, RecordsFormat, Relation, SortKey, build_relation
from .sql import BoundQuery, compose, join_with_commas
from .streaming import RecordCopy, Stream

__all__ = [
    "ID",
    "BoundQuery",
    "ConsistentRead",
    "NextPage",
    "Page",
    "Query",
    "RecordCopy",
    "RecordsFormat",
    "Relation",
    "SortKey",
    "StaleVersion",
    "Stream",
    "build_relation",
    "compose",
    "count_matches",
    "join_with_commas",
    "open_snapshot",
    "read_page",
    "retry_if_stale",
    "translate_database_errors",
    "with_consistent_read",
]
