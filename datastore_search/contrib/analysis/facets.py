"""
Facets: the most common values of fields among the matches of a query.

Facets with the same conditions are counted by one statement, from one set of matches.  A facet of
all records is what was counted last, if the resource has not changed since, or what the load has
counted, if that is exact; otherwise it is counted by itself, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial, reduce
from operator import itemgetter
from time import monotonic
from typing import Any, Final, LiteralString

from psycopg import sql

from ...field_types import dump_json
from ...filters import Clause, compose, join_with_commas
from ...guards.cache import BoundedCache
from ...messages.parameters import InvalidParameter, InvalidParameters
from ...messages.search import AnswerTooLarge
from ...models import Profiles, read_profiles
from ...search import (
    BoundQuery,
    ConsistentRead,
    Query,
    VersionKey,
    bind_query,
    count_matches,
    translate_database_errors,
)
from ...search.records import MAX_MEMORY_BYTES
from .groups import BIN, GroupBy, GroupKey, compile_group_keys
from .stored_facets import list_stored_counts
from .time_budget import TimeBudget

#: Facets of all records that are kept in the process as JSON texts: one of which a load has stored
#: too little takes a read of the whole table, and is the same until the resource changes.
_MAX_FACETS = 5_000
_MAX_BYTES = 8_000_000
_MAX_FACET_BYTES = 400_000


#: A version of a resource, and what is asked of a facet.
FacetKey = tuple[VersionKey, tuple[Any, ...]]

facet_cache: BoundedCache[FacetKey, bytes] = BoundedCache(
    "facets", _MAX_FACETS, max_size=_MAX_BYTES, max_value_size=_MAX_FACET_BYTES, measure=len
)

#: For how many times the time of a call a facet is not counted that took longer by itself.
_REFUSED_LIMITS: Final = 4

#: Facets that took longer than the time of a call, and until when they are not counted.
_slow_facets: BoundedCache[tuple[FacetKey, timedelta], float] = BoundedCache(
    "slow_facets", _MAX_FACETS
)


#: Facets of one call.
MAX_FACETS = 20

#: Values of one facet.
MAX_FACET_VALUES = 1_000


@dataclass(frozen=True, slots=True)
class Facet:
    """
    ``limit`` values that ``min_count`` records have, the most common first.

    ``query`` are the facet's own conditions.  ``is_by_value`` sorts by the values, ``is_reversed``
    the other way round.
    """

    group: GroupBy
    query: Query
    limit: int
    min_count: int = 1
    is_by_value: bool = False
    is_reversed: bool = False


@dataclass(frozen=True, slots=True)
class FacetsAnswer:
    """
    The answer.

    ``total`` is the number of matches; ``facets`` are JSON texts in UTF-8.  Some are not
    ``is_complete`` where they took too long.
    """

    total: int
    facets: list[bytes]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Counted:
    """A facet's ``values`` or ``bins`` as JSON, and figures; ``low`` and ``high`` only of bins."""

    items: str
    nulls: int | None
    others: int | None
    distinct: int | None
    total: int
    low: str | None = None
    high: str | None = None


_UNKNOWN = _Counted("", None, None, None, 0)


@dataclass(frozen=True, slots=True)
class _Task:
    """A facet, the key of its groups, and the key of its answer, None if it must not be cached."""

    facet: Facet
    key: GroupKey
    cache_key: FacetKey | None


def read_facets(
    read: ConsistentRead, query: Query, facets: Sequence[Facet], timeout: timedelta = timedelta.max
) -> FacetsAnswer:
    """
    Count the values of facets, and the matches of a query as ``total``.

    Facets that are not counted within ``conf.FACETS_TIMEOUT`` or a shorter ``timeout``, all
    together, are incomplete.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields.
    """
    with translate_database_errors(plain=query.plain):
        errors: list[InvalidParameter] = []
        keys = compile_group_keys([each.group for each in facets], read, "facets", errors)
        bound = bind_query(read, query, errors)
        tasks = []
        for facet, key in zip(facets, keys, strict=True):
            asked = facet.group, facet.limit, facet.min_count, facet.is_by_value, facet.is_reversed
            # The version is the one that is described and verified.
            version = read.version_key if _is_of_all_records(facet.query) else None
            tasks.append(_Task(facet, key, (version, asked) if version else None))
        version_id, using = read.resource.table_version_id, read.connection.alias
        # The version that statements see is compared after the profiles are read.
        get_profiles = cache(partial(read_profiles, version_id, using=using))
        # The cache comes first: it needs no stored profiles to be read.
        known = [
            (task.cache_key and facet_cache.get(task.cache_key))
            or _render_stored(read, task, get_profiles)
            for task in tasks
        ]
        answer = FacetsAnswer(bound.known_total or 0, [each for each in known if each], True)
        if bound.known_total is None or None in known:
            with read.session.hold_slot():
                budget = TimeBudget(timeout)
                answer = _count_missing(read, bound, budget, tasks, known)
    if sum(map(len, answer.facets)) > MAX_MEMORY_BYTES:
        raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
    return answer


def _is_of_all_records(query: Query) -> bool:
    return not (query.q or query.q_fields or query.filters)


# What is stored -----------------------------------------------------------------------------------


def _render_stored(
    read: ConsistentRead, task: _Task, get_profiles: Callable[[], Profiles | None]
) -> bytes | None:
    """Render a facet of all records, where what a load has counted gives it exactly."""
    facet, group = task.facet, task.facet.group
    is_other = facet.is_by_value or facet.is_reversed or group.interval or group.bins is not None
    if is_other or not _is_of_all_records(facet.query):
        return None
    for counts in list_stored_counts(read.relation, get_profiles(), group.field):
        values = counts.select(facet.limit, facet.min_count)
        if values is not None:
            total = read.relation.record_count or 0
            others = total - counts.nulls - sum(count for _value, count in values)
            items = ", ".join(f'{{"value": {value}, "count": {count}}}' for value, count in values)
            return _render(task, _Counted(items, counts.nulls, others, counts.distinct, total))
    return None


# What is counted ----------------------------------------------------------------------------------


def _count_missing(
    read: ConsistentRead,
    bound: BoundQuery,
    budget: TimeBudget,
    tasks: Sequence[_Task],
    known: Sequence[bytes | None],
) -> FacetsAnswer:
    """Count the matches, and the facets that are None among the known, within one time limit."""
    facets = list(known)
    total, is_complete = bound.known_total, True
    # Facets with the same conditions are counted together; one to cache is by itself.
    queries = [task.facet.query for task in tasks]
    together: dict[int, list[int]] = {}
    for position, task in enumerate(tasks):
        if known[position] is None:
            first = position if task.cache_key else queries.index(task.facet.query)
            together.setdefault(first, []).append(position)
    for positions in together.values():
        group = [tasks[position] for position in positions]
        is_total = group[0].facet.query == bound.query
        counted = _count(read, budget, group, bound if is_total else None)
        if counted is None:
            is_complete = False
        elif is_total:
            total = counted[0].total
        figures = counted or [_UNKNOWN] * len(group)
        for position, task, each in zip(positions, group, figures, strict=True):
            facets[position] = facet = _render(task, each)
            if task.cache_key and counted:
                facet_cache.add(task.cache_key, facet)
    if total is None:
        total = count_matches(read, bound)
    return FacetsAnswer(total, [each for each in facets if each], is_complete)


def _count(
    read: ConsistentRead, budget: TimeBudget, tasks: Sequence[_Task], bound: BoundQuery | None
) -> list[_Counted] | None:
    """
    Count facets with the same conditions by one statement; None if that takes too long.

    One that took the whole time of a call by itself is not counted again for a while.
    """
    key = tasks[0].cache_key
    slow_key = key and (key, budget.timeout)
    if slow_key and (_slow_facets.get(slow_key) or 0.0) > monotonic():
        return None
    has_whole_time = budget.is_untouched
    bound = bound or bind_query(read, tasks[0].facet.query)
    keys = join_with_commas(
        compose(f"{{}} AS v{position}", task.key.value) for position, task in enumerate(tasks)
    )
    # A row for each facet: its position, and the members of ``_Counted``.
    selects = (
        compose(
            "(SELECT {} AS position, facet.* FROM ({}) AS facet)",
            Clause(sql.Literal(position)),
            (_select_values if task.facet.group.bins is None else _select_bins)(task, position),
        )
        for position, task in enumerate(tasks)
    )
    # A single facet is grouped while the table is read, by several processes.
    hint: LiteralString = "MATERIALIZED " if len(tasks) > 1 else ""
    united = reduce(partial(compose, "{} UNION ALL {}"), selects)
    statement = compose(f"WITH matches AS {hint}({{}}) {{}}", bound.select(keys), united)
    rows = budget.fetch_rows(read, statement)
    if rows is None:
        if slow_key and has_whole_time:
            until = monotonic() + budget.timeout.total_seconds() * _REFUSED_LIMITS
            _slow_facets.add(slow_key, until)
        return None
    if any(items is None for _position, items, *_others in rows):
        raise InvalidParameters([AnswerTooLarge(most=MAX_MEMORY_BYTES)])
    return [_Counted(*figures) for _position, *figures in sorted(rows, key=itemgetter(0))]


def _select_values(task: _Task, position: int) -> Clause:
    facet, key = task.facet, sql.SQL("key")
    column = sql.SQL(f"v{position}")
    parts = {"column": column, "elements": sql.SQL(_ELEMENTS).format(column=column)}
    is_list = task.key.is_list
    counted, stats = _COUNTED_VALUES, _VALUE_STATS
    if is_list:
        counted, stats = _COUNTED_ELEMENTS, _ELEMENT_STATS
    by_key, orders = task.key.order_strictly, ("number DESC, {}", "number, {}")
    if facet.is_by_value:
        by_key, orders = task.key.order, ("{}", "{} DESC")
    page = sql.SQL(
        "SELECT key, number FROM counted WHERE key IS NOT NULL AND number >= %s"
        " ORDER BY {} LIMIT %s"
    ).format(sql.SQL(orders[facet.is_reversed]).format(key if is_list else by_key(key)))
    return Clause(
        sql.SQL(_VALUES).format(
            counted=sql.SQL(counted).format(**parts),
            page=page,
            stats=sql.SQL(stats).format(**parts),
            value=key if is_list else task.key.render(key),
        ),
        [facet.min_count, facet.limit, MAX_MEMORY_BYTES],
    )


_VALUES: LiteralString = (
    "WITH counted AS ({counted}), listed AS ({page})"
    " SELECT items, nulls, others, distinct_count, total, NULL::text, NULL::text"
    " FROM ({stats}) AS stats, ("
    "SELECT CASE WHEN coalesce(sum(octet_length(value)), 0) <= %s THEN coalesce(string_agg("
    "concat('{{\"value\": ', value, ', \"count\": ', number, '}}'), ', ' ORDER BY rank), '')"
    " END AS items FROM (SELECT {value}::text AS value, number, row_number() OVER () AS rank"
    " FROM listed) AS rendered) AS rendered"
)
_COUNTED_VALUES: LiteralString = (
    "SELECT {column} AS key, count(*) AS number FROM matches GROUP BY {column}"
)
_VALUE_STATS: LiteralString = (
    "SELECT coalesce(sum(number) FILTER (WHERE key IS NULL), 0)::bigint AS nulls,"
    " (coalesce(sum(number) FILTER (WHERE key IS NOT NULL), 0)"
    " - (SELECT coalesce(sum(number), 0) FROM listed))::bigint AS others,"
    " count(key) AS distinct_count, coalesce(sum(number), 0)::bigint AS total FROM counted"
)

_ELEMENTS: LiteralString = (
    "jsonb_array_elements(CASE jsonb_typeof({column}) WHEN 'array' THEN {column} END)"
)
#: A record counts once for each different element.
_COUNTED_ELEMENTS: LiteralString = (
    "SELECT key, count(*) AS number FROM matches CROSS JOIN LATERAL (SELECT DISTINCT key"
    " FROM {elements} AS key WHERE key <> 'null') AS elements GROUP BY key"
)
_ELEMENT_STATS: LiteralString = (
    "SELECT count(*) FILTER (WHERE {column} IS NULL) AS nulls,"
    " count(*) FILTER (WHERE EXISTS (SELECT FROM {elements} AS key WHERE key <> 'null'"
    " AND key NOT IN (SELECT key FROM listed))) AS others,"
    " (SELECT count(*) FROM counted) AS distinct_count, count(*) AS total FROM matches"
)


def _select_bins(task: _Task, position: int) -> Clause:
    column: LiteralString = f"v{position}"
    key = task.key
    bounds = key.select_bounds(column, "matches")
    return Clause(
        sql.SQL(_BINS).format(
            bounds=bounds.text,
            bin=sql.SQL(BIN).format(key=sql.SQL(column), bounds=sql.SQL("bounds")),
            is_finite=key.is_finite(column),
            column=sql.SQL(column),
            low=key.render(sql.SQL("bounds[1]")),
            high=key.render(sql.SQL("bounds[cardinality(bounds)]")),
            start=key.render(sql.SQL("bounds[step]")),
            end=key.render(sql.SQL("bounds[least(step + 1, cardinality(bounds))]")),
        ),
        bounds.parameters,
    )


_BINS: LiteralString = (
    "WITH ranges AS ({bounds}), counted AS (SELECT {bin} AS bin, count(*) AS number"
    " FROM matches, ranges WHERE {is_finite} GROUP BY 1)"
    " SELECT items, nulls, others, 0::bigint, total, {low}::text, {high}::text"
    " FROM ranges, (SELECT count(*) FILTER (WHERE {column} IS NULL) AS nulls,"
    " count(*) FILTER (WHERE NOT {is_finite}) AS others, count(*) AS total FROM matches)"
    " AS stats, (SELECT coalesce(string_agg(concat('{{\"from\": ', {start}, ', \"to\": ',"
    " {end}, ', \"count\": ', coalesce(number, 0), '}}'), ', ' ORDER BY step), '') AS items"
    " FROM ranges,"
    " generate_series(1, greatest(cardinality(bounds) - 1, 1)) AS step"
    " LEFT JOIN counted ON bin = step WHERE bounds IS NOT NULL) AS rendered"
)


# Writing ------------------------------------------------------------------------------------------


def _render(task: _Task, counted: _Counted) -> bytes:
    """Render a facet; the figures are null where nothing is counted."""
    items, own = "values", {"distinct": dump_json(counted.distinct)}
    if task.facet.group.bins is not None:
        items, own = "bins", {"min": counted.low or "null", "max": counted.high or "null"}
    members = {
        "field": dump_json(task.facet.group.field),
        "type": dump_json(task.key.kind.name),
        items: f"[{counted.items}]",
        "nulls": dump_json(counted.nulls),
        "others": dump_json(counted.others),
        **own,
        "complete": dump_json(counted is not _UNKNOWN),
    }
    text = ", ".join(f'"{name}": {text}' for name, text in members.items())
    return f"{{{text}}}".encode()
