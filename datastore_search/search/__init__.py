"""
The only read path: from a resource and a query to records.

Statements are composed with ``psycopg.sql`` over the resource's record table (``statements``); how
many match decides which of them read a page (``pages``), and all of them see one moment
(``looks``).  PostgreSQL writes each record as text, in the order of the fields, and nobody parses
it on the way to the client.
"""

from __future__ import annotations

from .consistency import Look, answer_from, at_one_moment, steadily
from .plan import read_page
from .query import ID, NextPage, Page, Query, RecordsFormat, SortKey
from .relations import Relation, relation_of
from .spooling import Spool

__all__ = [
    "ID",
    "Look",
    "NextPage",
    "Page",
    "Query",
    "RecordsFormat",
    "Relation",
    "SortKey",
    "Spool",
    "answer_from",
    "at_one_moment",
    "read_page",
    "relation_of",
    "search",
    "steadily",
]


def search(look: Look, query: Query) -> Page:
    """
    Find the records of a resource that match a query.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``; ``Outdated``
    when the resource must be read again, by ``answer_from``.
    """
    return read_page(look, look.relation, query)
