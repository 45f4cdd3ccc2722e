"""
The only read path: from a resource and a query to records.

Statements are composed with ``psycopg.sql`` over the resource's record table (``statements``); how
many match decides which of them read a page (``pages``), and all of them see one moment
(``looks``).  PostgreSQL writes each record as text, in the order of the fields, and nobody parses
it on the way to the client.
"""

from __future__ import annotations

from .consistency import ConsistentRead, open_snapshot, retry_if_stale, with_consistent_read
from .plan import read_page
from .query import ID, NextPage, Page, Query, RecordsFormat, SortKey
from .relations import Relation, build_relation

__all__ = [
    "ID",
    "ConsistentRead",
    "NextPage",
    "Page",
    "Query",
    "RecordsFormat",
    "Relation",
    "SortKey",
    "build_relation",
    "open_snapshot",
    "read_page",
    "retry_if_stale",
    "search",
    "with_consistent_read",
]


def search(look: ConsistentRead, query: Query) -> Page:
    """
    Find the records of a resource that match a query.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``StaleVersion``
    when the resource must be read again, by ``with_consistent_read``.
    """
    return read_page(look, look.relation, query)
