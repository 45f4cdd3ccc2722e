"""Pages of large tables that PostgreSQL would scan: the engine finds their ids."""

from __future__ import annotations

from contextlib import suppress

from ...filters.names import ID
from ...messages.availability import QueryTooSlow
from ...search import BoundQuery, ConsistentRead
from ...search.plan import FoundPage
from .engine.process import EngineUnavailable, NumbersOutOfRange
from .engine.source import NotReady, Source
from .errors import SnapshotBeingPrepared


class _ReadySource(Source):
    """What the engine has already; PostgreSQL answers where it does not within this time."""

    max_seconds = 2.0


_FAILURES = (NotReady, SnapshotBeingPrepared, EngineUnavailable, NumbersOutOfRange, QueryTooSlow)


def find_page(read: ConsistentRead, bound: BoundQuery) -> FoundPage | None:
    """Find the ids of a page by the engine, in PostgreSQL's order; None where it is not ready."""
    with read.trace("engine"), suppress(*_FAILURES), read.session.contain_failure():
        return _find_page(read, bound)
    return None


def _find_page(read: ConsistentRead, bound: BoundQuery) -> FoundPage:
    query, named = bound.query, [key.field for key in bound.sort if key.field != ID]
    source = _ReadySource(read, query, named, ordered=named)
    if any(source.get_type(n).is_number and not source.columns[n].is_typed for n in named):
        raise NotReady
    keys, order, is_descending = list[str](), list[str](), False
    for n, key in enumerate(bound.sort):
        value, is_descending = source.orders.get(key.field, "_id"), key.descending
        nulls = is_descending if key.nulls_first is None else key.nulls_first
        keys.append(f", {value} AS k{n}")
        order.append(
            f"k{n} {'DESC' if is_descending else 'ASC'} NULLS {'FIRST' if nulls else 'LAST'}"
        )
    by = ", ".join([*order, "_id DESC" if is_descending else "_id"])
    is_counted = query.include_total and bound.known_total is None
    page = f"SELECT * FROM found ORDER BY {by} LIMIT {query.limit} OFFSET {query.offset}"
    ((total, ids),) = source.fetch(
        f", found AS {'MATERIALIZED ' if is_counted else ''}"
        f"(SELECT _id{''.join(keys)} FROM matches)"
        f" SELECT {'(SELECT count(*) FROM found)' if is_counted else 'NULL'},"
        f" (SELECT list(_id ORDER BY {by}) FROM ({page}))"
    )
    return FoundPage(ids or [], total if is_counted else bound.known_total)
