"""
Plans: how a page is read.

The number of matches decides (``docs/decisions/0014``).  Few matches are taken from an index and
sorted.  Of many, the order is scanned within a window that should hold a full page, so that no
search scans a million records without a match.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache

from psycopg import sql

from ..exceptions.access import RecordsIncomplete
from ..filters import Clause
from ..spooling import Spool
from .consistency import JSON_LINES, ConsistentRead, compose_csv_options, translate_database_errors
from .highlighting import highlight_records
from .query import NextPage, Page, Query, RecordsFormat, Relation
from .rendering import Columns, FoundRecords, close_records, collect_records
from .sql import MAX_NARROW_ENTRIES, MAX_WIDE_ENTRIES, BoundQuery, compose
from .top_matches import (
    MAX_TOP_IDS,
    TopMatchesKey,
    build_top_matches_key,
    keep_top_matches,
    use_top_matches,
)

#: Up to this many matches are sorted; of more, the order is scanned if an index has it.
_MAX_SORTED_MATCHES = 20_000

#: A window has this many times the records that fill the page, if the matches are spread evenly.
_WINDOW_FACTOR = 4

#: The records for each match in a window, where the number of matches is unknown.
_RECORDS_PER_MATCH = 20

#: A window has this many records more.
_WINDOW_MARGIN = 1_000

#: Values that an index is skipped through for: each costs as much as reading twenty rows.
_MAX_SKIPPED_VALUES = 1_000

#: Reading a record in the order of a field costs this many times reading it in table order and
#: sorting it.
_INDEX_SCAN_COST = 5


@dataclass(frozen=True, slots=True)
class _Plan:
    """
    What plans share.

    A plan renders its own statements: ``select`` gives the records of the page, and the others
    render them.  A plan that ``counts_matches`` gives their number before the text of each record,
    in at least one row.
    """

    query: BoundQuery
    counts_matches: bool = False

    def select(self) -> Clause:
        """Select the records of the page, with the columns that plans read."""
        raise NotImplementedError

    def select_texts(self, begin: str = "") -> Clause:
        """Read the text of each record, with ``begin`` before it."""
        return self._compose_select(self.query.render_texts(begin), self.select())

    def select_cells(self) -> Clause:
        """Read the cells of each record."""
        return self._compose_select(self.query.columns.cells, self.select())

    def select_last_id(self) -> Clause:
        """Read the ``_id`` of the page's last record, in the order of ``_id``."""
        return compose(
            "SELECT min(_id) FROM ({}) AS page"
            if self.query.is_descending
            else "SELECT max(_id) FROM ({}) AS page",
            self.select(),
        )

    def is_complete(self, found: FoundRecords) -> bool:
        """Return whether the plan has found all records of the page."""
        return True

    def _compose_select(self, texts: sql.SQL, page: Clause) -> Clause:
        return Clause(self.query.columns.compose_select(texts, page.text), page.parameters)


@dataclass(frozen=True, slots=True)
class KeyScan(_Plan):
    """Scan the keys of the whole table, perhaps from an offset on."""

    def select(self) -> Clause:
        """Select records by their keys."""
        query = self.query
        text = _compile_key_scan(query.relation.source.text, *self._shape)
        return Clause(text, self._parameters)

    def select_texts(self, begin: str = "") -> Clause:
        """Render the most frequent statement of all once for each table and its fields."""
        query = self.query
        if query.relation.source.parameters:
            return self._compose_select(query.render_texts(begin), self.select())
        render = _render_narrow_key_scan if query.is_narrow else _render_wide_key_scan
        text = render(query.relation, query.columns, query.is_of_lists, begin, *self._shape)
        return Clause(text, self._parameters)

    @property
    def _shape(self) -> tuple[bool, bool, bool]:
        return self.query.is_descending, self.query.offset > 0, self.query.limit is not None

    @property
    def _parameters(self) -> list[object]:
        query, source = self.query, self.query.relation.source.parameters
        parameters = [*source]
        if query.offset:
            parameters += [
                query.relation.record_count,
                query.offset,
                *source,
                query.offset,
                *source,
            ]
        return parameters if query.limit is None else [*parameters, query.limit]


def _compile_key_scan(
    source: sql.Composable, is_descending: bool, has_offset: bool, has_limit: bool
) -> sql.Composable:
    """Scan keys in order; where ``_id`` has gaps, keys are skipped, then records are fetched."""
    start: sql.Composable = sql.SQL("true")
    order = sql.SQL("_id DESC" if is_descending else "_id")
    if has_offset:
        end, step, beyond = ("last", "-", "<=") if is_descending else ("first", "+", ">=")
        start = sql.SQL(
            "_id {beyond} (SELECT CASE WHEN last - first + 1 = %s THEN {end} {step} %s ELSE"
            " (SELECT _id FROM {source} ORDER BY {order} LIMIT 1 OFFSET %s) END"
            " FROM (SELECT min(_id) AS first, max(_id) AS last FROM {source}) AS ends)"
        ).format(
            beyond=sql.SQL(beyond),
            end=sql.SQL(end),
            step=sql.SQL(step),
            source=source,
            order=order,
        )
    return sql.SQL("SELECT _id, data FROM {} WHERE {} ORDER BY {}{}").format(
        source, start, order, sql.SQL(" LIMIT %s" if has_limit else "")
    )


def _render_key_scan(
    relation: Relation, columns: Columns, as_lists: bool, begin: str, *shape: bool
) -> sql.SQL:
    texts = columns.render_texts(as_lists=as_lists, begin=begin)
    return sql.SQL(
        columns.compose_select(texts, _compile_key_scan(relation.source.text, *shape)).as_string()
    )


_render_narrow_key_scan = lru_cache(maxsize=MAX_NARROW_ENTRIES)(_render_key_scan)
_render_wide_key_scan = lru_cache(maxsize=MAX_WIDE_ENTRIES)(_render_key_scan)


@dataclass(frozen=True, slots=True)
class IndexScan(_Plan):
    """Scan an index in order until the page is full, perhaps only the first ``window`` records."""

    window: int | None = None

    def select(self) -> Clause:
        """Select the matches among the records in the order of the index."""
        query, window = self.query, self.window
        if window is None:
            return query.select_page(query.compile_index_order())
        if query.is_by_id:
            columns = Clause(sql.SQL("_id, data, search"))
        else:
            columns = compose(
                "_id, data, search, {} AS key", query.compile_key(query.sort[0].field)
            )
        order = query.compile_index_order(Clause(sql.SQL("key")))
        scanned = compose(
            "SELECT {} FROM {} ORDER BY {} LIMIT %s", columns, query.relation.source, order
        )
        matches = compose(
            "SELECT _id, data, search FROM ({}) AS record WHERE {} ORDER BY {}",
            Clause(scanned.text, [*scanned.parameters, window]),
            query.where,
            order,
        )
        return query.add_ranks(query.take_page(matches))

    def select_last_id(self) -> Clause:
        """Read the last ``_id`` of the page; without a window, for the page is full."""
        return _Plan.select_last_id(replace(self, window=None))

    def is_complete(self, found: FoundRecords) -> bool:
        """Return whether the window held a full page."""
        return self.window is None or found.count == self.query.limit


@dataclass(frozen=True, slots=True)
class Sort(_Plan):
    """Sort all matches; this is slow for many."""

    def select(self) -> Clause:
        """Select the matches in order."""
        return self.query.select_page(self.query.compile_sort_order())


@dataclass(frozen=True, slots=True)
class RankSort(_Plan):
    """
    Rank all matches, and fetch the records of the best; perhaps count them in one go.

    A plan that ``lists_ids`` gives the ids of the first ``MAX_TOP_IDS`` matches too, after their
    number: null if there are fewer matches.  Both are in a first row without a record.
    """

    lists_ids: bool = False

    def select(self) -> Clause:
        """Select the best matches."""
        query = self.query
        matches = query.select(query.compile_match_columns())
        return self._fetch(
            query.take_page(compose("{} ORDER BY {}", matches, query.compile_rank_order()))
        )

    def select_texts(self, begin: str = "") -> Clause:
        """Read the number of matches and the ids, if requested, then the text of each record."""
        query = self.query
        order = query.compile_rank_order()
        matches = query.select(query.compile_match_columns())
        if not self.lists_ids and not self.counts_matches:
            return self._compose_select(query.render_texts(begin), self.select())
        if not self.lists_ids:
            best = query.take_page(compose("SELECT * FROM found ORDER BY {}", order))
            is_there = sql.SQL("page._id IS NOT NULL")
            return _count_and_read_page(query, matches, self._fetch(best), is_there)
        page = self._fetch(query.take_page(compose("SELECT * FROM top ORDER BY {}", order)))
        end = max(query.end or 0, MAX_TOP_IDS)
        # Matches that are not counted are not stored either: several processes may rank them.
        return Clause(
            sql.SQL(
                "WITH found AS {hint}({matches}), top AS MATERIALIZED"
                " (SELECT * FROM found ORDER BY {order} LIMIT %s)"
                " SELECT {total}, (SELECT CASE WHEN count(*) >= %s"
                " THEN (array_agg(_id ORDER BY {order}))[:%s] END FROM top), NULL"
                " UNION ALL SELECT NULL, NULL, {texts} FROM ({page}) AS page"
            ).format(
                hint=sql.SQL("MATERIALIZED " if self.counts_matches else ""),
                matches=matches.text,
                order=order.text,
                texts=query.render_texts(begin),
                total=sql.SQL("(SELECT count(*) FROM found)" if self.counts_matches else "NULL"),
                page=query.columns.unpack(page.text),
            ),
            [
                *matches.parameters, *order.parameters, end,
                MAX_TOP_IDS, *order.parameters, MAX_TOP_IDS, *page.parameters,
            ],
        )  # fmt: skip

    def _fetch(self, best: Clause) -> Clause:
        """Fetch the records of the best matches, of which only the match columns are read."""
        relation = self.query.relation
        return compose(
            "SELECT best.*, (SELECT data FROM {} WHERE {} = best.row_locator) AS data"
            " FROM ({}) AS best",
            relation.source,
            Clause(sql.SQL(relation.row_locator)),
            best,
        )


@dataclass(frozen=True, slots=True)
class TopMatchesLookup(_Plan):
    """Look up the records of the page by their ids, which were ranked before."""

    def select(self) -> Clause:
        """Select the records in the order of the ids."""
        query = self.query
        ids = query.top_ids[query.offset : query.end]
        records = compose(
            "SELECT _id, data, search FROM unnest({}) WITH ORDINALITY AS top (_id, position)"
            " JOIN {} USING (_id) ORDER BY position",
            Clause(sql.SQL("%s::bigint[]"), [list(ids)]),
            query.relation.source,
        )
        return query.add_ranks(records)


@dataclass(frozen=True, slots=True)
class Grouping(_Plan):
    """Group all matches by the asked fields, for ``distinct``; perhaps count them in one go."""

    def select(self) -> Clause:
        """Select the combinations of values."""
        query = self.query
        groups = compose("SELECT * FROM ({}) AS page", query.select_groups())
        return query.take_page(compose("{} ORDER BY {}", groups, query.compile_group_order()))

    def select_texts(self, begin: str = "") -> Clause:
        """Read the text of each group, after the number of groups if the plan counts them."""
        query = self.query
        if not self.counts_matches:
            return self._compose_select(query.render_texts(begin), self.select())
        return _count_and_read_groups(query, query.select_groups())


@dataclass(frozen=True, slots=True)
class SkipScan(_Plan):
    """
    Skip through an index over the single field of a ``distinct`` query, from value to value.

    This is fast where the field has few values; at most ``_MAX_SKIPPED_VALUES`` are found.

    Source: PostgreSQL's wiki, "Loose indexscan": a recursive query that finds the next value.
    """

    def select_texts(self, begin: str = "") -> Clause:
        """Read the text of each value, after the number of values."""
        query = self.query
        ((name, _kind),) = query.fields
        key, source = query.compile_key(name), query.relation.source
        values = Clause(
            sql.SQL(
                "WITH RECURSIVE value (key, c0) AS ("
                " (SELECT {key}, data -> %s FROM {source} WHERE {key} IS NOT NULL"
                " ORDER BY {key}, _id LIMIT 1)"
                " UNION ALL SELECT next.key, next.c0 FROM value CROSS JOIN LATERAL"
                " (SELECT {key} AS key, data -> %s AS c0 FROM {source} WHERE {key} > value.key"
                " ORDER BY {key}, _id LIMIT 1) AS next)"
                " SELECT c0 FROM (SELECT c0 FROM value LIMIT %s) AS first"
                " UNION ALL SELECT 'null' FROM (SELECT {key} AS key FROM {source}"
                " ORDER BY {key} DESC, _id DESC LIMIT 1) AS last WHERE key IS NULL"
            ).format(key=key.text, source=source.text),
            [
                *key.parameters, name, *source.parameters, *key.parameters, *key.parameters,
                *key.parameters, name, *source.parameters, *key.parameters, *key.parameters,
                _MAX_SKIPPED_VALUES + 1, *key.parameters, *source.parameters, *key.parameters,
            ],
        )  # fmt: skip
        return _count_and_read_groups(query, values)

    def is_complete(self, found: FoundRecords) -> bool:
        """Return whether all values were found."""
        return found.total <= _MAX_SKIPPED_VALUES


def _count_and_read_groups(query: BoundQuery, groups: Clause) -> Clause:
    page = query.take_page(
        compose("SELECT true AS is_there, * FROM found ORDER BY {}", query.compile_group_order())
    )
    return _count_and_read_page(query, groups, page, sql.SQL("page.is_there"))


def _count_and_read_page(
    query: BoundQuery, matches: Clause, page: Clause, is_there: sql.SQL
) -> Clause:
    unpacked = Clause(query.columns.unpack(page.text), page.parameters)
    return count_and_read(matches, unpacked, query.render_texts(), is_there)


def count_and_read(matches: Clause, page: Clause, texts: sql.SQL, is_there: sql.SQL) -> Clause:
    """
    Read the number of matches and the text of each record of a page, in at least one row.

    ``page`` selects from the matches, which it names ``found``.
    """
    return Clause(
        sql.SQL(
            "WITH found AS MATERIALIZED ({}) SELECT total, CASE WHEN {} THEN {} END"
            " FROM (SELECT count(*) AS total FROM found) AS counted"
            " LEFT JOIN ({}) AS page ON true"
        ).format(matches.text, is_there, texts, page.text),
        [*matches.parameters, *page.parameters],
    )


#: How a page is read: one of these.
Plan = KeyScan | IndexScan | Sort | RankSort | TopMatchesLookup | Grouping | SkipScan


# The choice ---------------------------------------------------------------------------------------


def choose_plans(query: BoundQuery, total: int | None) -> list[Plan]:
    """
    Choose the plans that are tried one after the other, until one is complete; the last one is.

    ``total`` is the number of matches, where it is known.  Where all matches must be read anyway,
    they are counted by the statement that reads the page.
    """
    if query.is_distinct:
        grouping = Grouping(query, counts_matches=query.counts_matches)
        skips = query.can_skip_scan and query.counts_matches
        return [SkipScan(query, counts_matches=True), grouping] if skips else [grouping]
    if query.is_ranked:
        rank = RankSort(query, query.counts_matches, lists_ids=query.lists_top_ids)
        return [TopMatchesLookup(query) if query.top_ids else rank]
    if query.is_unfiltered and query.is_by_id:
        return [KeyScan(query)]
    if not query.has_index_order:
        return [Sort(query)]
    if query.is_unfiltered:
        scanned = query.offset + (query.limit or 0)
        is_far = scanned * _INDEX_SCAN_COST > (query.relation.record_count or 0)
        return [Sort(query) if is_far else IndexScan(query)]
    window = _choose_window(query, total)
    return [Sort(query)] if window is None else [IndexScan(query, window=window), Sort(query)]


def choose_stream_plan(query: BoundQuery, count: Callable[[], int]) -> Plan:
    """
    Choose the plan of a stream, which is sent while it is read, so a second plan is impossible.

    ``count`` counts the matches; without a ``limit`` PostgreSQL chooses well by itself.
    """
    *_others, plan = choose_plans(query, query.known_total)
    if isinstance(plan, KeyScan) or not query.has_index_order:
        return replace(plan, counts_matches=False)
    if query.is_unfiltered or query.limit is None:
        return IndexScan(query)
    total = count() if query.known_total is None else query.known_total
    return Sort(query) if _choose_window(query, total) is None else IndexScan(query)


def _choose_window(query: BoundQuery, total: int | None) -> int | None:
    """Choose a window that should hold a full page; None where all matches should be sorted."""
    end, rows = query.end, query.relation.record_count
    if end is None:
        return None
    if total is None or rows is None:
        window = end * _RECORDS_PER_MATCH + _WINDOW_MARGIN
        return window if rows is None or window < rows else None
    if total <= _MAX_SORTED_MATCHES:
        return None
    window = end * rows * _WINDOW_FACTOR // total + _WINDOW_MARGIN
    return window if window < total else None


# Reading ------------------------------------------------------------------------------------------

_DELIMITERS = {RecordsFormat.CSV: ",", RecordsFormat.TSV: "\t"}


def read_page(read: ConsistentRead, query: Query) -> Page:
    """
    Read the records that match a query.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``; ``RecordsIncomplete``;
    ``StaleVersion`` when the resource must be read again.
    """
    slot = nullcontext() if query.is_light else read.session.hold_slot()
    with slot, translate_database_errors(plain=query.plain):
        bound = BoundQuery(read.relation, query, read.connection)
        key = build_top_matches_key(read, query, bound)
        if key is None or use_top_matches(key, bound, is_counted=query.include_total):
            return _read_page(read, query, bound)
        bound.lists_top_ids = True
        return _read_page(read, query, bound, key)


def _read_page(
    read: ConsistentRead, query: Query, bound: BoundQuery, key: TopMatchesKey | None = None
) -> Page:
    """Read a page, and keep its top matches under a ``key``."""
    total = bound.known_total
    if total is None and query.include_total and not bound.counts_matches:
        total = count_matches(read, bound)
    if query.limit == 0 or (total is not None and query.offset >= total):
        _check_table(read, bound)
        found = FoundRecords([b'""'] if query.is_text else [b"[", b"]"], 0, 0)
        next_page = None
    else:
        plan, found = _find_records(read, bound, total)
        total = found.total if plan.counts_matches else total
        if key is not None and isinstance(plan, RankSort):
            keep_top_matches(key, found.head, is_counted=plan.counts_matches)
        next_page = _find_next_page(read, plan) if query.include_next_page else None
    highlights = None
    if query.highlight:
        names = [name for name, _kind in bound.fields]
        highlights = highlight_records(read, query, found, names)
    return Page(
        records=found.records,
        total=total if query.include_total else None,
        fields=bound.fields,
        next_page=next_page,
        highlights=highlights,
        record_count=found.count,
    )


def count_matches(read: ConsistentRead, query: BoundQuery) -> int:
    """Count the matches by a statement."""
    ((total,),) = read.fetch_rows(query.select_count())
    return int(total)


def _find_records(
    read: ConsistentRead, query: BoundQuery, total: int | None
) -> tuple[Plan, FoundRecords]:
    """Run plans until one is complete."""
    for plan in choose_plans(query, total):
        found = _run_plan(read, plan)
        if plan.is_complete(found):
            break
        close_records(found.records)
    if query.known_total is not None and found.count < query.count_page(query.known_total):
        close_records(found.records)
        raise RecordsIncomplete
    return plan, found


def _run_plan(read: ConsistentRead, plan: Plan) -> FoundRecords:
    """Run a plan; what is copied needs a snapshot."""
    query = plan.query
    if not query.is_copied:
        sizes = query.relation.sizes
        found = read.fetch_texts(
            plan.select_texts(),
            collect_records,
            batch_rows=sizes.choose_batch_rows(query.limit),
            # Ranking without counting may scan half the table (``docs/decisions/0021``).
            is_scan=isinstance(plan, RankSort) and not plan.counts_matches,
        )
        sizes.note_size(found.count, found.size_bytes)
        return found
    is_text = query.records_format in _DELIMITERS
    statement = plan.select_cells() if is_text else plan.select_texts(begin=",")
    return copy_records(read, statement, query.records_format)


def copy_records(
    read: ConsistentRead, statement: Clause, records_format: RecordsFormat
) -> FoundRecords:
    """Copy cells into a spool, or texts each after a comma; the session must show one snapshot."""
    delimiter = _DELIMITERS.get(records_format)
    options = JSON_LINES if delimiter is None else compose_csv_options(delimiter)
    build = Spool.from_list_lines if delimiter is None else Spool.from_text_lines
    with read.session.watch_statements(), read.copy(statement, options) as copy:
        spool = build(map(bytes, copy))
        return FoundRecords(spool, copy.cursor.rowcount, spool.size_bytes)


def _check_table(read: ConsistentRead, query: BoundQuery) -> None:
    """Check that a table has records at all, when the page is to have none."""
    if query.known_total:
        ((size_bytes,),) = read.fetch_rows(query.select_table_size())
        if not size_bytes:
            raise RecordsIncomplete


def _find_next_page(read: ConsistentRead, plan: Plan) -> NextPage | None:
    """Read where the next page begins, in the order of ``_id``."""
    query = plan.query
    if not query.is_by_id:
        return None
    ((last_id,),) = read.fetch_rows(plan.select_last_id())
    return (
        None if last_id is None else NextPage("lt" if query.is_descending else "gt", int(last_id))
    )
